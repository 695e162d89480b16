"""The problem ``spectrum-primary``."""
