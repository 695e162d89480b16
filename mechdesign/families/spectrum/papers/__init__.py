"""The sources of the family ``spectrum``: what they publish, measured and judged."""
