"""Other ways to release marginals, for comparison: FC, AM, FT, EM and Uni, with exact errors and refusals."""

from mechdesign.mechanisms.marginals.rivals.base import Rival, nearest_table, true_marginal
from mechdesign.mechanisms.marginals.rivals.contingency import FullContingency
from mechdesign.mechanisms.marginals.rivals.expectation import ExpectationMaximization
from mechdesign.mechanisms.marginals.rivals.fourier import FourierCoefficients
from mechdesign.mechanisms.marginals.rivals.tables import AllMarginals
from mechdesign.mechanisms.marginals.rivals.uniform import Uniform

__all__ = [
    "AllMarginals",
    "ExpectationMaximization",
    "FourierCoefficients",
    "FullContingency",
    "Rival",
    "Uniform",
    "nearest_table",
    "true_marginal",
]
