"""Mechanisms for places in the plane: private reports at epsilon per unit of distance.

Exact (integer weights, audited without tolerance): ``PlanarLattice``. For real numbers only (its reports
in floating point leak): ``PlanarLaplace``.
"""

from mechdesign.mechanisms.location.base import LocationMechanism
from mechdesign.mechanisms.location.lattice import PlanarLattice
from mechdesign.mechanisms.location.planar import PlanarLaplace, planar_quantile

__all__ = ["LocationMechanism", "PlanarLaplace", "PlanarLattice", "planar_quantile"]
