"""Joint distributions of several attributes from one-hot reports."""

from mechdesign.mechanisms.joint.client import PermanentResponse
from mechdesign.mechanisms.joint.estimate import JointEstimate
from mechdesign.mechanisms.joint.likelihood import Likelihood
from mechdesign.mechanisms.joint.maximum import LikelihoodMaximum, judged, most_likely
from mechdesign.mechanisms.joint.patterns import PatternCounts
from mechdesign.mechanisms.joint.response import JointResponse
from mechdesign.mechanisms.joint.table import JointTable

__all__ = [
    "JointEstimate",
    "JointResponse",
    "JointTable",
    "Likelihood",
    "LikelihoodMaximum",
    "PatternCounts",
    "PermanentResponse",
    "judged",
    "most_likely",
]
