"""The sources of the family ``mean``: what they publish, measured and judged."""
