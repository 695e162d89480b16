"""The problem ``spectrum-secondary``."""
