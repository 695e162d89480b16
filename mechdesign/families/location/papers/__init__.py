"""The sources of the family ``location``: what they publish, measured and judged."""
