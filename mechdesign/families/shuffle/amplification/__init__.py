"""The problem ``shuffle-amplification``, its methods and its quantities."""
