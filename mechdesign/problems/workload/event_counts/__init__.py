"""The problem ``event-counts``."""
