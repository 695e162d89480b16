"""The problem ``shuffle-sum``, its methods and its quantities."""
