"""What a release says: consistent tables of the views, and any marginal from them with a predicted error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError
from mechdesign.core.text import listed, table
from mechdesign.mechanisms.kary import KaryResponse
from mechdesign.mechanisms.labels import Codes
from mechdesign.mechanisms.marginals.attributes import Attributes
from mechdesign.mechanisms.marginals.choice import Oracle, cell_variance, support_shares
from mechdesign.mechanisms.marginals.nonnegative import NonNegative, non_negative
from mechdesign.mechanisms.marginals.reconstruction import MOST_CELLS, reconstruct, require_cells

Array = NDArray[np.float64]
View = tuple[int, ...]

NO_FORMULA = (
    "no view contains it: reconstructed by maximum entropy; the error told is that of the noise alone, the "
    "error of the reconstruction has no formula"
)


class Releasing(Protocol):
    """What estimates need to know of the mechanism."""

    attributes: Attributes
    views: tuple[View, ...]
    oracles: tuple[Oracle, ...]


def effect_errors(
    wanted: Sequence[int], views: Sequence[View], sizes: Sequence[int], precision: Sequence[float]
) -> float:
    """Return the expected sum of squared errors of a marginal from the noise of the views that share in it.

    The effect of a set B of attributes, averaged over the views i that contain B, contributes
    prod_{b in B} (c_b - 1) / (C_B sum_i p_i / C_i), where C_B and C_i are the cells of the marginal and of
    the view in a cell of B, and p_i one over the variance of a cell. Effects that no view has add nothing.

    Parameters
    ----------
    wanted : sequence of int
    views : sequence of tuple of int
    sizes : sequence of int
    precision : sequence of float
        p_i; 0 for a view without reports.

    Examples
    --------
    >>> effect_errors((0,), [(0, 1), (0, 2)], [2, 2, 2], [1.0, 1.0])  # the mean of two sums of two cells
    1.0
    """
    cells = [float(np.prod([sizes[a] for a in view])) for view in views]
    inside = [set(view) for view in views]
    whole = float(np.prod([sizes[a] for a in wanted]))
    error = 0.0
    for count in range(1, len(wanted) + 1):
        for effect in combinations(wanted, count):
            own, free = float(np.prod([sizes[a] for a in effect])), np.prod([sizes[a] - 1 for a in effect])
            chosen = set(effect)
            sure = sum(
                p * own / c for p, c, view in zip(precision, cells, inside, strict=True) if chosen <= view
            )
            if sure > 0.0:
                error += float(free) * own / (whole * sure)
    return error


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEstimate:
    """An estimated marginal: non-negative, with sum 1, consistent with every other one that a view contains.

    Attributes
    ----------
    attributes : tuple of str
    value : array
        Shares, one axis an attribute.
    standard_error : float
        Predicted root mean squared error of a cell.
    contained : bool
        Whether a view contains it; if not it is reconstructed, and the error is that of the noise alone.
    residual : float
        The largest difference from a marginal of the views that it should have.
    users : int
    labels : tuple of tuple of str
        The values of each attribute.
    """

    attributes: tuple[str, ...]
    value: Array
    standard_error: float
    contained: bool
    residual: float
    users: int
    labels: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def total_squared_error(self) -> float:
        """The predicted sum of squared errors over all cells."""
        return self.standard_error**2 * self.value.size

    def __repr__(self) -> str:
        kind = "contained" if self.contained else "reconstructed"
        return f"MarginalEstimate({listed(self.attributes)}: {self.value.size} cells, {kind})"

    def __str__(self) -> str:
        flat = self.value.ravel()
        rows = []
        for cell in range(min(len(flat), 60)):
            places = np.unravel_index(cell, self.value.shape)
            names = [texts[int(place)] for texts, place in zip(self.labels, places, strict=True)]
            rows.append([*names, f"{flat[cell]:.5f}"])
        more = f"\n... and {len(flat) - 60} more cells" if len(flat) > 60 else ""
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        said = f"predicted standard error of a cell {self.standard_error:.2g}"
        return f"{self.users} reports; {said}\n{table([*self.attributes, 'estimate'], rows)}{more}{notes}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return {
            "attributes": list(self.attributes),
            "users": self.users,
            "value": self.value,
            "standard_error": self.standard_error,
            "total_squared_error": self.total_squared_error,
            "contained": self.contained,
            "residual": self.residual,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedMarginals:
    """Tables of all views, from which any marginal can be had.

    Attributes
    ----------
    attributes : Attributes
    views : tuple of tuple of int
        Those with reports.
    unbiased : list of array
        The unbiased estimates of their tables, before anything was done to them.
    precision : (m,) array
        One over the variance of a cell of each, at even data.
    reports : tuple of int
        How many users reported each of them.
    population : bool
    oracles : tuple
    """

    attributes: Attributes
    views: tuple[View, ...]
    unbiased: list[Array]
    precision: Array
    reports: tuple[int, ...]
    population: bool = False
    oracles: tuple[Oracle, ...] = field(default=(), repr=False)

    @classmethod
    def from_counts(
        cls, mechanism: Releasing, counts: Sequence[Codes], reports: Sequence[int], population: bool = False
    ) -> Self:
        """Return what the server's counts say; refuse fewer users than views."""
        users = sum(reports)
        if users < len(mechanism.views):
            raise DataError(
                f"reports: {users} users are fewer than the {len(mechanism.views)} views; collect from more"
            )
        used = [place for place, count in enumerate(reports) if count]
        attributes = mechanism.attributes
        tables = [
            unbiased_table(mechanism.oracles[place], counts[place], reports[place]).reshape(
                attributes.shape(mechanism.views[place])
            )
            for place in used
        ]
        precision = [reports[place] / cell_variance(mechanism.oracles[place]) for place in used]
        return cls(
            attributes,
            tuple(mechanism.views[place] for place in used),
            tables,
            np.array(precision),
            tuple(reports[place] for place in used),
            population,
            tuple(mechanism.oracles[place] for place in used),
        )

    @property
    def users(self) -> int:
        """How many people reported."""
        return sum(self.reports)

    def __repr__(self) -> str:
        return f"ReleasedMarginals({self.users} reports, {len(self.views)} views, {self.attributes!r})"

    @cached_property
    def fitted(self) -> NonNegative:
        """The consistent non-negative tables of the views."""
        return non_negative(self.views, self.unbiased, self.attributes.sizes, self.precision.tolist(), 1.0)

    @property
    def value(self) -> list[Array]:
        """The consistent non-negative table of each view."""
        return self.fitted.tables

    def marginal(self, wanted: Sequence[Any], most_cells: int = MOST_CELLS) -> MarginalEstimate:
        """Return the marginal over attributes given by name or number, in this order."""
        places = self.attributes.positions(wanted)
        sizes = self.attributes.sizes
        require_cells(places, sizes, most_cells)
        found = reconstruct(places, self.views, self.value, sizes, most_cells)
        contained = any(set(places) <= set(view) for view in self.views)
        error = effect_errors(places, self.views, sizes, self.precision.tolist())
        shown = self.attributes.shown()
        return MarginalEstimate(
            tuple(shown[place] for place in places),
            found.table,
            (error / found.table.size) ** 0.5,
            contained,
            found.residual,
            self.users,
            tuple(tuple(self.attributes.labels[place].shown()) for place in places),
            () if contained else (NO_FORMULA,),
        )


def unbiased_table(oracle: Oracle, counts: Codes, users: int) -> Array:
    """Return the unbiased estimates of the shares of all cells, flat."""
    own, other = support_shares(oracle)
    supports = counts if isinstance(oracle, KaryResponse) else oracle.supports(counts, users)
    shares: Array = (np.asarray(supports) / users - float(other)) / float(own - other)
    return shares
