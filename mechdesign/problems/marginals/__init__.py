"""Marginals and the frequency oracles that they are collected with."""

from mechdesign.problems.marginals.frequency_oracle.problem import FrequencyOracle

PROBLEMS = (FrequencyOracle,)

__all__ = ["PROBLEMS", "FrequencyOracle"]
