"""What a release says: consistent tables of the views, and any marginal from them with a predicted error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError
from mechdesign.core.figure import Figure
from mechdesign.core.randomness import Rng, numpy_generator
from mechdesign.core.text import listed, table
from mechdesign.mechanisms.figures import MOST_PANELS, interval_figures, together
from mechdesign.mechanisms.kary import KaryResponse
from mechdesign.mechanisms.labels import Codes
from mechdesign.mechanisms.marginals.attributes import Attributes
from mechdesign.mechanisms.marginals.choice import Oracle, effect_variance, support_shares
from mechdesign.mechanisms.marginals.consistency import residual
from mechdesign.mechanisms.marginals.errors import effect_errors
from mechdesign.mechanisms.marginals.export import mbi_measurements
from mechdesign.mechanisms.marginals.nonnegative import NonNegative, non_negative
from mechdesign.mechanisms.marginals.raw import RawMarginal, averaged, containing
from mechdesign.mechanisms.marginals.reconstruction import MOST_CELLS, reconstruct_checked, require_cells
from mechdesign.mechanisms.marginals.synthetic import SyntheticModel

Array = NDArray[np.float64]
View = tuple[int, ...]

ROUNDING = 1e-9
"""Tables agree when no cell of a common marginal differs by more: sums of doubles below 1 are rounded."""

NO_FORMULA = (
    "no view contains it: reconstructed by maximum entropy; the error told is that of the noise alone, the "
    "error of the reconstruction has no formula"
)


class Releasing(Protocol):
    """What estimates need to know of the mechanism."""

    attributes: Attributes
    views: tuple[View, ...]
    oracles: tuple[Oracle, ...]


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

    def figures(self) -> list[Figure]:
        """Return the shares with twice the predicted error on each side."""
        names = [", ".join(cell) for cell in product(*self.labels)]
        spread = 1.96 * self.standard_error
        title = f"{' x '.join(self.attributes)}: {self.users} reports"
        return interval_figures(
            title, names, self.value, (self.value - spread, self.value + spread), "cell", "share"
        )

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
        more = f"\n... and {len(flat) - 60} more cells (--json prints all)" if len(flat) > 60 else ""
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        said = f"predicted standard error of a cell {self.standard_error:.2g}"
        return f"{self.users} reports; {said}\n{table([*self.attributes, 'estimate'], rows)}{more}{notes}"

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return {
            "attributes": list(self.attributes),
            "labels": [list(names) for names in self.labels],
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
        precision = [reports[place] / effect_variance(mechanism.oracles[place]) for place in used]
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

    def figures(self) -> list[Figure]:
        """Return the shares of each attribute by itself, of the first six that a view holds."""
        held = sorted({place for view in self.views for place in view})[:MOST_PANELS]
        alone = [self._consistent((place,), MOST_CELLS).figures() for place in held]
        title = f"Estimated shares of {self.users} users"
        return together(title, [figure for figures in alone for figure in figures])

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

    @property
    def standard_error(self) -> list[float]:
        """The predicted root mean squared error of a cell of each view's table."""
        return [self._error(view, self.attributes.cells(view)) for view in self.views]

    def _error(self, places: View, cells: int) -> float:
        total = effect_errors(places, self.views, self.attributes.sizes, self.precision.tolist())
        return float((total / cells) ** 0.5)

    def interval(self, level: float = 0.95) -> tuple[list[Array], list[Array]]:
        """Return the ends of confidence intervals of the unbiased cells of every view."""
        found = [self._raw(view).interval(level) for view in self.views]
        return [low for low, _ in found], [high for _, high in found]

    def marginal(
        self, wanted: Sequence[Any], raw: bool = False, most_cells: int = MOST_CELLS
    ) -> MarginalEstimate | RawMarginal:
        """Return the marginal over attributes given by name or number, in this order.

        Parameters
        ----------
        wanted : sequence of str or int
        raw : bool
            Whether to give the unbiased estimate with intervals, from the views that contain it, instead of
            the consistent non-negative one.
        most_cells : int
            A table with more cells is refused.

        Raises
        ------
        UnknownNameError
            For an attribute that does not exist.
        ParameterError
            For an attribute that stands twice, or a table with too many cells.
        EstimationError
            For ``raw`` when no view contains it.
        """
        places = self.attributes.positions(wanted)
        require_cells(places, self.attributes.sizes, most_cells)
        return self._raw(places) if raw else self._consistent(places, most_cells)

    def _names(self, places: View) -> tuple[str, ...]:
        shown = self.attributes.shown()
        return tuple(shown[place] for place in places)

    def _values(self, places: View) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(self.attributes.labels[place].shown()) for place in places)

    def _raw(self, places: View) -> RawMarginal:
        containing(places, self.views)  # before names are made of what may be many cells
        names = tuple(", ".join(texts) for texts in product(*self._values(places)))
        cells, views = averaged(
            places,
            self.views,
            self.unbiased,
            self.oracles,
            self.reports,
            self.precision,
            names,
            self.population,
        )
        return RawMarginal(self._names(places), self.attributes.shape(places), cells, views)

    def _consistent(self, places: View, most_cells: int) -> MarginalEstimate:
        found = reconstruct_checked(places, self.views, self.value, self.attributes.sizes, most_cells)
        contained = any(set(places) <= set(view) for view in self.views)
        unseen = set(places) - {place for view in self.views for place in view}
        notes: tuple[str, ...] = () if contained else (NO_FORMULA,)
        if unseen:
            notes += (f"nobody reported a view with {', '.join(self._names(tuple(sorted(unseen))))}: even",)
        return MarginalEstimate(
            self._names(places),
            found.table,
            self._error(places, found.table.size),
            contained,
            found.residual,
            self.users,
            self._values(places),
            notes,
        )

    @cached_property
    def synthetic(self) -> SyntheticModel:
        """The distribution of synthetic rows; it says which marginals they have."""
        return SyntheticModel.of(self.views, self.value, self.attributes.sizes)

    def sample(self, rows: int, rng: Rng = None) -> Codes:
        """Return synthetic rows as numbers of values, shape (rows, d); private, being made from reports.

        Their distribution is ``synthetic``, which has the marginals of its cliques exactly, not all others.
        """
        return self.synthetic.sample(rows, numpy_generator(rng, "synthetic rows"))

    def to_mbi(self) -> tuple[Any, list[Any]]:
        """Return the domain and the unbiased tables as measurements of the package ``mbi``."""
        return mbi_measurements(self.attributes, self.views, self.unbiased, self.precision)

    def certificates(self) -> tuple[Certificate, ...]:
        """Return whether the tables agree and are non-negative, with what is left."""
        gap = residual(self.views, self.value)
        low = min(float(found.min()) for found in self.value)
        figures = {"residual": gap, "least": low, "mixed": self.fitted.mixed, "rounds": self.fitted.rounds}
        return (Certificate("consistency", gap <= ROUNDING and low >= 0.0, False, figures),)

    def __str__(self) -> str:
        singles = [str(self._consistent((place,), MOST_CELLS)) for place in range(self.attributes.count)]
        return "\n\n".join(singles)

    def as_json(self) -> dict[str, Any]:
        """Return the tables of the views as plain values."""
        return {
            "users": self.users,
            "views": [list(self._names(view)) for view in self.views],
            "reports": list(self.reports),
            "value": self.value,
            "standard_error": self.standard_error,
            "certificates": [certificate.as_dict() for certificate in self.certificates()],
        }


def unbiased_table(oracle: Oracle, counts: Codes, users: int) -> Array:
    """Return the unbiased estimates of the shares of all cells, flat."""
    own, other = support_shares(oracle)
    supports = counts if isinstance(oracle, KaryResponse) else oracle.supports(counts, users)
    shares: Array = (np.asarray(supports) / users - float(other)) / float(own - other)
    return shares
