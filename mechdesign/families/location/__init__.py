"""Location privacy: noise in the plane. The best channel of a few places is ``randomized-response``.

Mechanisms for places in the plane: private reports at epsilon per unit of distance.

Exact (integer weights, audited without tolerance): ``PlanarLattice``. For real numbers only (its reports
in floating point leak): ``PlanarLaplace``.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("LocationNoise",)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.location.lattice import PlanarLattice as PlanarLattice
    from mechdesign.families.location.mechanism import (
        LocationMechanism as LocationMechanism,
        PlanarLaplace as PlanarLaplace,
        planar_quantile as planar_quantile,
    )
    from mechdesign.families.location.noise import LocationNoise as LocationNoise
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "mechanism": "LocationMechanism PlanarLaplace planar_quantile",
            "lattice": "PlanarLattice",
            "noise": "LocationNoise",
        },
    )
