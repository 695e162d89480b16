"""Release of marginal tables: views of several attributes, made consistent, and any marginal from them."""

from mechdesign.mechanisms.marginals.release import MarginalRelease
from mechdesign.mechanisms.marginals.server import MarginalAggregator
from mechdesign.mechanisms.marginals.views import residual

__all__ = [
    "MarginalAggregator",
    "MarginalRelease",
    "residual",
]
