"""Joint distributions of several attributes: how to ask for them, and what the reports say."""

from mechdesign.problems.joint.collection.problem import JointCollection
from mechdesign.problems.joint.distribution.problem import JointDistribution

PROBLEMS = (JointCollection, JointDistribution)

__all__ = ["PROBLEMS", "JointCollection", "JointDistribution"]
