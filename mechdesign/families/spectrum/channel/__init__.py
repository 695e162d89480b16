"""The problem ``spectrum-channel``."""
