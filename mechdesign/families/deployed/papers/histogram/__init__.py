"""What the sources say of ``deployed-histogram``: quantities."""
