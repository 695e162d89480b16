"""Mechanisms for means: client, mergeable server, variance formulas, audits, JSON.

Exact (integer weights, audited without tolerance): ``Duchi``, ``CensoringInterval``, ``GridMean``,
``DiscretePiecewise``, and ``AttributeSampling`` around any of them. For real numbers only (their
floating-point reports leak): ``Laplace``, ``Piecewise``, ``Hybrid``, ``SquareWave``.
"""

from mechdesign.mechanisms.mean.attributes import AttributeSampling, Harmony
from mechdesign.mechanisms.mean.base import MeanAggregator, MeanMechanism
from mechdesign.mechanisms.mean.bits import CensoringInterval, Duchi
from mechdesign.mechanisms.mean.collect import AttributeAggregator
from mechdesign.mechanisms.mean.discrete import DiscretePiecewise
from mechdesign.mechanisms.mean.estimates import AttributeMeans, MeanEstimate
from mechdesign.mechanisms.mean.grid import GridMean
from mechdesign.mechanisms.mean.laplace import Laplace
from mechdesign.mechanisms.mean.piecewise import Hybrid, Piecewise
from mechdesign.mechanisms.mean.variance import VARIANCES, WORST_VARIANCES
from mechdesign.mechanisms.mean.wave import Distribution, SquareWave

__all__ = [
    "VARIANCES",
    "WORST_VARIANCES",
    "AttributeAggregator",
    "AttributeMeans",
    "AttributeSampling",
    "CensoringInterval",
    "DiscretePiecewise",
    "Distribution",
    "Duchi",
    "GridMean",
    "Harmony",
    "Hybrid",
    "Laplace",
    "MeanAggregator",
    "MeanEstimate",
    "MeanMechanism",
    "Piecewise",
    "SquareWave",
]
