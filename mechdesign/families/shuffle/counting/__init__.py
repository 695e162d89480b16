"""The problem ``shuffle-counting``, its methods and its quantities."""
