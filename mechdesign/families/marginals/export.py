"""Export to the package ``mbi`` (private-pgm), which fits graphical models to noisy marginals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.attributes import Attributes
from mechdesign.core.errors import MissingPackageError

Array = NDArray[np.float64]


def mbi_measurements(
    attributes: Attributes, views: Sequence[tuple[int, ...]], tables: Sequence[Array], precision: Array
) -> tuple[Any, list[Any]]:
    """Return ``mbi.Domain`` and one ``LinearMeasurement`` a view: shares, with their standard deviation.

    Raises
    ------
    MissingPackageError
        When ``mbi`` is not installed.
    """
    try:
        import mbi
    except ImportError:
        raise MissingPackageError("mbi", "is not installed", "install it with 'pip install mbi'") from None
    names = attributes.shown()
    domain = mbi.Domain(names, list(attributes.sizes))
    measurements = [
        mbi.LinearMeasurement(
            np.ravel(table), tuple(names[place] for place in view), stddev=float(certain) ** -0.5
        )
        for view, table, certain in zip(views, tables, precision.tolist(), strict=True)
    ]
    return domain, measurements
