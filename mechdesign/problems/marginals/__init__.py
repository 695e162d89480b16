"""Marginal tables of many attributes: which views to ask for, and with which frequency oracle."""

from mechdesign.problems.marginals.covering_design.problem import CoveringDesign
from mechdesign.problems.marginals.frequency_oracle.problem import FrequencyOracle
from mechdesign.problems.marginals.marginal_views.problem import MarginalViews

PROBLEMS = (CoveringDesign, FrequencyOracle, MarginalViews)

__all__ = ["PROBLEMS", "CoveringDesign", "FrequencyOracle", "MarginalViews"]
