"""The problem ``shuffle-uniformity`` and its methods."""
