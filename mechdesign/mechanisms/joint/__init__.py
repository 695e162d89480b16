"""Joint distributions of several attributes from one-hot reports."""
