"""Release of marginal tables: views of several attributes, made consistent, and any marginal from them."""

from mechdesign.mechanisms.marginals.attributes import Attributes
from mechdesign.mechanisms.marginals.consistency import make_consistent, residual
from mechdesign.mechanisms.marginals.nonnegative import non_negative
from mechdesign.mechanisms.marginals.reconstruction import maximum_entropy
from mechdesign.mechanisms.marginals.release import MarginalRelease
from mechdesign.mechanisms.marginals.server import MarginalAggregator

__all__ = [
    "Attributes",
    "MarginalAggregator",
    "MarginalRelease",
    "make_consistent",
    "maximum_entropy",
    "non_negative",
    "residual",
]
