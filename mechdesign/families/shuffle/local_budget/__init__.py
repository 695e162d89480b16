"""The problem ``shuffle-local-budget``, its methods and its quantities."""
