"""The sources of the family ``auction``: what they publish, measured and judged."""
