"""The sources of the family ``response``: what they publish, measured and judged."""
