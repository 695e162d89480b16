"""The problem ``location-noise`` and its methods."""
