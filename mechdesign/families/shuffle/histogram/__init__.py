"""The problem ``shuffle-histogram``, its methods and its quantities."""
