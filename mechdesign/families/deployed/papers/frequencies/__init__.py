"""What the sources say of ``deployed-frequencies``: quantities."""
