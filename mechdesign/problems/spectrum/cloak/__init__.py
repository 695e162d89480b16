"""The problem ``spectrum-cloak``."""
