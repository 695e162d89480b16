"""The problem ``shuffle-distinct`` and its methods."""
