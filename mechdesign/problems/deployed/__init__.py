"""Mechanisms of real systems: what they do with public parameters, and the optimum at the same epsilon."""

from mechdesign.problems.deployed.frequencies.problem import DeployedFrequencies

PROBLEMS = (DeployedFrequencies,)

__all__ = ["PROBLEMS", "DeployedFrequencies"]
