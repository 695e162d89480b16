"""The sources of the family ``shuffle``: what they publish, measured and judged."""
