"""The sources of the family ``marginals``: what they publish, measured and judged; rivals of the views."""

from mechdesign.families.marginals.papers.rivals import MarginalRival

__all__ = ["MarginalRival"]
