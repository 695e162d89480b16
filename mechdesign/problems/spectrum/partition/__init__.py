"""The problem ``spectrum-partition``."""
