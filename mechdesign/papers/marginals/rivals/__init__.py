"""Other ways to release marginals, for comparison: FC, AM, FT, EM, Uni, BE and the centralised PriView."""

from mechdesign.papers.marginals.rivals.base import Rival, nearest_table, true_marginal
from mechdesign.papers.marginals.rivals.central import PriView
from mechdesign.papers.marginals.rivals.contingency import FullContingency
from mechdesign.papers.marginals.rivals.encoded import BinaryEncoded
from mechdesign.papers.marginals.rivals.expectation import ExpectationMaximization
from mechdesign.papers.marginals.rivals.fourier import FourierCoefficients
from mechdesign.papers.marginals.rivals.mechanism import MarginalRival
from mechdesign.papers.marginals.rivals.tables import AllMarginals
from mechdesign.papers.marginals.rivals.uniform import UniformAnswer

__all__ = [
    "AllMarginals",
    "BinaryEncoded",
    "ExpectationMaximization",
    "FourierCoefficients",
    "FullContingency",
    "MarginalRival",
    "PriView",
    "Rival",
    "UniformAnswer",
    "nearest_table",
    "true_marginal",
]
