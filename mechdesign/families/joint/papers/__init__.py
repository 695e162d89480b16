"""The sources of the family ``joint``: what they publish, measured and judged."""
