"""What the sources print about direct mechanisms and screening, kept to be compared and refuted."""
