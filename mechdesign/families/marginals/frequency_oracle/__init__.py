"""The problem ``frequency-oracle``, its methods and its quantities."""
