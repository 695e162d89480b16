"""Other ways to release marginals, for comparison: FC, AM, FT, EM, Uni, BE and the centralised PriView."""

from mechdesign.mechanisms.marginals.rivals.base import Rival, nearest_table, true_marginal
from mechdesign.mechanisms.marginals.rivals.central import PriView
from mechdesign.mechanisms.marginals.rivals.contingency import FullContingency
from mechdesign.mechanisms.marginals.rivals.encoded import BinaryEncoded
from mechdesign.mechanisms.marginals.rivals.expectation import ExpectationMaximization
from mechdesign.mechanisms.marginals.rivals.fourier import FourierCoefficients
from mechdesign.mechanisms.marginals.rivals.mechanism import MarginalRival
from mechdesign.mechanisms.marginals.rivals.tables import AllMarginals
from mechdesign.mechanisms.marginals.rivals.uniform import Uniform

__all__ = [
    "AllMarginals",
    "BinaryEncoded",
    "ExpectationMaximization",
    "FourierCoefficients",
    "FullContingency",
    "MarginalRival",
    "PriView",
    "Rival",
    "Uniform",
    "nearest_table",
    "true_marginal",
]
