"""Other ways to release marginals: FC, AM, FT, EM, Uni, BE, central PriView; CALM's estimate from views."""

from mechdesign.papers.marginals.rivals.base import Rival, nearest_table, true_marginal
from mechdesign.papers.marginals.rivals.central import PriView
from mechdesign.papers.marginals.rivals.contingency import FullContingency
from mechdesign.papers.marginals.rivals.encoded import BinaryEncoded
from mechdesign.papers.marginals.rivals.expectation import ExpectationMaximization
from mechdesign.papers.marginals.rivals.fourier import FourierCoefficients
from mechdesign.papers.marginals.rivals.mechanism import MarginalRival
from mechdesign.papers.marginals.rivals.nonnegative import non_negative
from mechdesign.papers.marginals.rivals.passes import make_consistent
from mechdesign.papers.marginals.rivals.reconstruction import maximum_entropy
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
    "make_consistent",
    "maximum_entropy",
    "nearest_table",
    "non_negative",
    "true_marginal",
]
