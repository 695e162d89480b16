"""The sources of the family ``survey``: what they publish, measured and judged."""
