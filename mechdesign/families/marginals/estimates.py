"""What a release says: any marginal as a sum of one distribution, or unbiased with intervals.

Besides, its noisy marginals as the package ``mbi`` (private-pgm) reads them, which fits graphical models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError, MissingPackageError, counted
from mechdesign.core.extensions import former_arguments
from mechdesign.core.validation import integer
from mechdesign.core.values import json_object
from mechdesign.data.tidy import CrossTables
from mechdesign.exact.randomness import Rng, numpy_generator
from mechdesign.families.marginals.marginal_table import (
    MarginalEstimate,
    RawMarginal,
    SyntheticModel,
    averaged,
    containing,
)
from mechdesign.families.marginals.penalized import PENALTY, Fold, PenalizedTables
from mechdesign.families.marginals.views import MOST_CELLS, Observed, effect_variance, require_cells, residual
from mechdesign.primitives.attributes import AttributeMechanism, Attributes
from mechdesign.primitives.oracle import Oracle
from mechdesign.show.panels import in_pictures

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]
View = tuple[int, ...]


class ViewMechanism(AttributeMechanism["ReleasedMarginals"]):
    """What estimates use of a mechanism of views."""

    views: tuple[View, ...]
    oracles: tuple[Oracle, ...]


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


Counts = tuple[Sequence[Codes], Sequence[int]]
"""Counts of the reports of every view, and how many there are."""

CLOSE = 1e-4
"""A fit is certified when it is proven to be within this variation distance of the exact one."""

ROUNDING = 1e-9
"""Tables agree when no cell of a common marginal differs by more: sums of doubles below 1 are rounded."""

MOST_RESAMPLED = 10_000

NOT_CONTAINED = (
    "no view contains it: beyond the views, its attributes are taken to be as independent as possible; the "
    "error covers the part that views measure"
)
CLUSTERED = (
    "{} attributes are too many to be fitted at once: it is summed from a distribution over {}, and answers "
    "from other such distributions agree with it up to their errors only"
)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedMarginals(CrossTables):
    """Estimates from the views, from which any marginal can be had.

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
    penalty : float or None
        lambda of the penalized distribution; None for cross-validation.
    parts : tuple of pairs of ReleasedMarginals
        For cross-validation: for each part of the users, what the others say and what it says itself.
    """

    attributes: Attributes
    views: tuple[View, ...]
    unbiased: list[Array]
    precision: Array
    reports: tuple[int, ...]
    population: bool = False
    oracles: tuple[Oracle, ...] = field(default=(), repr=False)
    penalty: float | None = PENALTY
    parts: tuple[tuple[ReleasedMarginals, ReleasedMarginals], ...] = field(default=(), repr=False)

    @classmethod
    def from_counts(
        cls,
        mechanism: ViewMechanism,
        counts: Sequence[Codes],
        reports: Sequence[int],
        population: bool = False,
        penalty: float | None = PENALTY,
        parts: Sequence[Counts] = (),
    ) -> Self:
        """Return the estimates from the server's counts; refuse fewer users than views.

        With ``parts``, the counts of parts of the users that make up all, the penalty can be chosen by
        cross-validation.
        """
        users = sum(reports)
        if users < len(mechanism.views):
            raise DataError(
                "reports",
                f"{users} users are fewer than the {counted(len(mechanism.views), 'view')}",
                "collect from more",
            )
        pairs = []
        for own, size in parts:
            rest = [every - less for every, less in zip(counts, own, strict=True)]
            left = [every - less for every, less in zip(reports, size, strict=True)]
            if any(size) and any(left):
                pairs.append((cls._of(mechanism, rest, left), cls._of(mechanism, own, size)))
        return cls._of(mechanism, counts, reports, population, penalty, tuple(pairs))

    @classmethod
    def _of(
        cls, mechanism: ViewMechanism, counts: Sequence[Codes], reports: Sequence[int], *options: Any
    ) -> Self:
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
            options[0] if options else False,
            tuple(mechanism.oracles[place] for place in used),
            *options[1:],
        )

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return sum(self.reports)

    def figures(self) -> list[Figure]:
        """Return the unbiased shares of each attribute by itself that a view holds."""
        held = sorted({place for view in self.views for place in view})
        alone = [self._raw((place,)).figures() for place in held]
        title = f"Unbiased shares of {self.users} users"
        return in_pictures(title, [figure for figures in alone for figure in figures])

    def __repr__(self) -> str:
        return (
            f"ReleasedMarginals({counted(self.users, 'report')}, "
            f"{counted(len(self.views), 'view')}, {self.attributes!r})"
        )

    @cached_property
    def observed(self) -> Observed:
        """The averaged effects of the views."""
        return Observed(self.views, self.unbiased, self.attributes.sizes, self.precision)

    @cached_property
    def fitted(self) -> PenalizedTables:
        """The penalized distribution, of all attributes or of clusters of them."""
        folds = [Fold(self._said_by(others), self._said_by(own)) for others, own in self.parts]
        return PenalizedTables(self.observed, self.penalty, folds)

    def _said_by(self, part: ReleasedMarginals) -> Observed:
        """Return the observations of some users, in the effects numbered before where they have all views."""
        if part.views != self.views:
            return part.observed
        return self.observed.again(part.unbiased, part.precision)

    @cached_property
    def value(self) -> list[Array]:
        """The table of each view, as a sum of the penalized distribution."""
        return [self.fitted.marginal(view)[0] for view in self.views]

    @property
    def standard_error(self) -> list[Array]:
        """The standard errors of the unbiased cells of every view; :meth:`interval` goes with them."""
        return [self._raw(view).standard_error for view in self.views]

    def _error(self, places: View, cells: int) -> float:
        return float((self.observed.error(places) / cells) ** 0.5)

    def interval(self, level: float = 0.95) -> tuple[list[Array], list[Array]]:
        """Return the ends of confidence intervals of the unbiased cells of every view."""
        limits = [self._raw(view).interval(level) for view in self.views]
        return [low for low, _ in limits], [high for _, high in limits]

    @former_arguments(wanted="attributes")
    def marginal(
        self, attributes: Sequence[Any], raw: bool = False, most_cells: int = MOST_CELLS, spread: int = 0
    ) -> MarginalEstimate | RawMarginal:
        """Return the marginal over attributes given by name or number, in this order.

        Parameters
        ----------
        attributes : sequence of str or int
        raw : bool
            Whether to give the unbiased estimate with intervals, from the views that contain it, instead of
            the sums of the penalized distribution.
        most_cells : int
            A table with more cells is refused.
        spread : int
            Resamplings for the spread of the penalized shares; 0 for none.

        Raises
        ------
        UnknownNameError
            For an attribute that does not exist.
        ParameterError
            For an attribute that appears twice, or a table with too many cells.
        EstimationError
            For ``raw`` when no view contains it.
        """
        places = self.attributes.positions(attributes)
        require_cells(places, self.attributes.sizes, most_cells)
        if raw:
            return self._raw(places)
        return self._penalized(places, integer("spread", spread, 0, MOST_RESAMPLED))

    def _names(self, places: View) -> tuple[str, ...]:
        text = self.attributes.shown()
        return tuple(text[place] for place in places)

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
        shape = self.attributes.shape(places)
        return RawMarginal(self._names(places), self._values(places), shape, cells, views)

    def _penalized(self, places: View, resampled: int = 0) -> MarginalEstimate:
        contained = any(set(places) <= set(view) for view in self.views)
        shares, fit = self.fitted.marginal(places, contained)
        fitted = self.fitted.cluster(places)
        unseen = set(places) - {place for view in self.views for place in view}
        notes: tuple[str, ...] = () if contained else (NOT_CONTAINED,)
        if unseen:
            notes += (f"no user reported a view with {', '.join(self._names(tuple(sorted(unseen))))}: even",)
        if not self.fitted.whole:
            notes += (CLUSTERED.format(self.attributes.count, ", ".join(self._names(fitted))),)
        tables = self.fitted.resampled(places, contained, resampled) if resampled else None
        return MarginalEstimate(
            self._names(places),
            shares,
            self._error(places, shares.size),
            contained,
            fit.penalty,
            fit.gap,
            fit.distance,
            self.users,
            self._values(places),
            self._names(fitted),
            None if tables is None else tables.std(axis=0, ddof=1),
            notes,
            partial(self.fitted.foreseen, places, contained),
            partial(self._raw, places) if contained else None,
        )

    @cached_property
    def synthetic(self) -> SyntheticModel:
        """The distribution of synthetic rows: the penalized one, or a chain of those of clusters."""
        sets = self.fitted.cover()
        tables = [self.fitted.marginal(each)[0] for each in sets]
        return SyntheticModel.of(sets, tables, self.attributes.sizes)

    def sample(self, rows: int, rng: Rng = None) -> Codes:
        """Return synthetic rows as numbers of values, shape (rows, d); private, being made from reports.

        Their distribution is ``synthetic``: that of which the marginals are sums where all attributes are
        fitted at once, else a chain of such distributions.
        """
        return self.synthetic.sample(rows, numpy_generator(rng, "synthetic rows"))

    def to_mbi(self) -> tuple[Any, list[Any]]:
        """Return the domain and the unbiased tables as measurements of the package ``mbi``."""
        return mbi_measurements(self.attributes, self.views, self.unbiased, self.precision)

    def certificates(self) -> tuple[Certificate, ...]:
        """Return whether the views' tables are near those of the exact minimizer, and whether they agree."""
        fits = [self.fitted.marginal(view)[1] for view in self.views]
        worst = max(fits, key=lambda fit: fit.distance)
        figures = {"distance": worst.distance, "gap": worst.gap, "penalty": worst.penalty}
        low, gap = min(float(table.min()) for table in self.value), residual(self.views, self.value)
        proofs = [
            Certificate("estimate", worst.distance <= CLOSE, False, figures),
            Certificate("distribution", low >= 0.0, False, {"least": low}),
        ]
        if self.fitted.whole:
            proofs.append(Certificate("consistency", gap <= ROUNDING, False, {"residual": gap}))
        return tuple(proofs)

    def _tables(self) -> list[MarginalEstimate]:
        """Return the shares of every attribute by itself; :meth:`marginal` has more."""
        return [self._penalized((place,)) for place in range(self.attributes.count)]

    def as_json(self) -> dict[str, Any]:
        return json_object(
            {
                "users": self.users,
                "views": [list(self._names(view)) for view in self.views],
                "reports": list(self.reports),
                "value": self.value,
                "unpenalized_error": [self._error(view, self.attributes.cells(view)) for view in self.views],
                "certificates": [certificate.as_dict() for certificate in self.certificates()],
            }
        )


def unbiased_table(oracle: Oracle, counts: Codes, users: int) -> Array:
    """Return the unbiased estimates of the shares of all cells, flat."""
    own, other = oracle.support_shares()
    shares: Array = (np.asarray(oracle.supports(counts, users)) / users - float(other)) / float(own - other)
    return shares
