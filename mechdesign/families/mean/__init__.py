"""Mean estimation: the one-bit interval (Liu, Zhou 2023), and the best mechanism itself.

Mechanisms for means: client, mergeable server, variance formulas, audits, JSON.

Exact (integer weights, audited without tolerance): ``Duchi``, ``CensoringInterval``, ``GridMean``,
``DiscretePiecewise``, and ``AttributeSampling`` around any of them. For real numbers only (their
floating-point reports leak): ``Laplace``, ``Piecewise``, ``Hybrid``, ``SquareWave``.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("MeanInterval", "MeanChannel")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.mean.attribute_tables import AttributeAggregator as AttributeAggregator
    from mechdesign.families.mean.attributes import AttributeSampling as AttributeSampling, Harmony as Harmony
    from mechdesign.families.mean.bits import CensoringInterval as CensoringInterval, Duchi as Duchi
    from mechdesign.families.mean.channel import MeanChannel as MeanChannel
    from mechdesign.families.mean.continuous import (
        Hybrid as Hybrid,
        Laplace as Laplace,
        Piecewise as Piecewise,
    )
    from mechdesign.families.mean.discrete import DiscretePiecewise as DiscretePiecewise
    from mechdesign.families.mean.grid import GridMean as GridMean
    from mechdesign.families.mean.interval import MeanInterval as MeanInterval
    from mechdesign.families.mean.variance import VARIANCES as VARIANCES, WORST_VARIANCES as WORST_VARIANCES
    from mechdesign.families.mean.wave import Distribution as Distribution, SquareWave as SquareWave
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "attributes": "AttributeSampling Harmony",
            "bits": "CensoringInterval Duchi",
            "channel": "MeanChannel",
            "attribute_tables": "AttributeAggregator",
            "discrete": "DiscretePiecewise",
            "grid": "GridMean",
            "interval": "MeanInterval",
            "continuous": "Hybrid Laplace Piecewise",
            "variance": "VARIANCES WORST_VARIANCES",
            "wave": "Distribution SquareWave",
        },
    )
