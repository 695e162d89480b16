"""Other ways to release marginals: FC, AM, FT, EM, Uni, BE, central PriView; CALM's estimate from views."""

from mechdesign.families.marginals.papers.rivals.base import Rival, nearest_table, true_marginal
from mechdesign.families.marginals.papers.rivals.central import PriView
from mechdesign.families.marginals.papers.rivals.consistency import make_consistent, non_negative
from mechdesign.families.marginals.papers.rivals.encoded import BinaryEncoded
from mechdesign.families.marginals.papers.rivals.entropy import maximum_entropy
from mechdesign.families.marginals.papers.rivals.expectation import ExpectationMaximization
from mechdesign.families.marginals.papers.rivals.fourier import FourierCoefficients
from mechdesign.families.marginals.papers.rivals.mechanism import MarginalRival
from mechdesign.families.marginals.papers.rivals.tables import AllMarginals, FullContingency, UniformAnswer

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
