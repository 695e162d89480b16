"""The problem ``shuffle-range`` and its methods."""
