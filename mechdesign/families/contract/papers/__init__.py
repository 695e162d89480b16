"""The sources of the family ``contract``: what they publish, measured and judged."""
