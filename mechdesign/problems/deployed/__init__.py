"""Mechanisms of real systems: what they do with public parameters, and the optimum at the same epsilon."""

from mechdesign.problems.deployed.frequencies.problem import DeployedFrequencies
from mechdesign.problems.deployed.histogram.problem import DeployedHistogram

PROBLEMS = (DeployedFrequencies, DeployedHistogram)

__all__ = ["PROBLEMS", "DeployedFrequencies", "DeployedHistogram"]
