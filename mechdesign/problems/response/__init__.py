"""Optimal channels for categorical answers (Zhou, Lu, Wu 2019, and what the paper leaves open)."""

from mechdesign.problems.response.randomized_response.extend import (
    ExtendedResponse,
    mutual_information,
    output_entropy,
)
from mechdesign.problems.response.randomized_response.problem import RandomizedResponse

PROBLEMS = (RandomizedResponse,)

__all__ = ["PROBLEMS", "ExtendedResponse", "RandomizedResponse", "mutual_information", "output_entropy"]
