"""Marginal tables of many attributes: which views to ask for."""

from mechdesign.problems.marginals.covering_design.problem import CoveringDesign

PROBLEMS = (CoveringDesign,)

__all__ = ["PROBLEMS", "CoveringDesign"]
