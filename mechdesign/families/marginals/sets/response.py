"""The set response: several attributes in one report, a random set that holds the answer likelier than not.

Each user's client reports a set of answers, drawn with exact chances: either uniformly among all sets of a
shape that hold the user's own answer, or uniformly among all of them. So every set has one of two chances, by
whether it holds the answer, and their ratio is the whole privacy loss: one epsilon for all attributes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit
from mechdesign.audit.losses import LossCurve
from mechdesign.collect.codec import Codes
from mechdesign.collect.collecting import Operation
from mechdesign.collect.kernel import Steps
from mechdesign.collect.report_scores import ReportScores, without_scores
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError, counted
from mechdesign.core.extensions import former_arguments
from mechdesign.core.validation import double_epsilon, privacy_epsilon, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.data.intake import Values
from mechdesign.exact.bits import Packed, as_texts, read_sets, unpacked_members
from mechdesign.exact.numbers import text_of
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, weight
from mechdesign.families.marginals.oracles.support import audit_classes
from mechdesign.families.marginals.sets.estimates import (
    SetCounts,
    SetMechanism,
    set_operations,
    weights_of_patterns,
)
from mechdesign.families.marginals.sets.scores import CellScore, CountedParts, ProductScore, TableScore
from mechdesign.families.marginals.sets.shapes import (
    CellSet,
    SetLaw,
    SetShape,
    draw_sets,
    sets_steps,
    shape_of,
)
from mechdesign.primitives.attributes import Attributes

Array = NDArray[np.float64]
View = tuple[int, ...]

MOST_BITS = 1 << 16
"""Longer reports are refused."""

MOST_COUNTERS, MOST_BY_DEFAULT = 1 << 22, 1 << 14
"""Counters of a server at most, and where nobody says which tables are requested."""

LARGEST_TABLE = 6
"""Attributes of a table at most: a score has one value for each pattern of matches."""


class SetResponse(SetMechanism):
    """Report a set of answers to several questions at once, one that holds the user's answer likelier.

    Parameters
    ----------
    attributes : Attributes
    epsilon : float
        The promise for the whole report, audited here.
    sets : ProductSet, MatchSet or CellSet
        The shape of the sets.
    include : int
        R, out of T = 2**62: with this weight the set is uniform among those that hold the answer, else
        uniform among all sets of the shape.
    tables : sequence of sequences, optional
        Cross tables that the server counts, by name or number; by default all pairs where these have at
        most 16384 cells in all. Single attributes are always counted, and of a CellSet every table.

    Notes
    -----
    Source: k-ary response on product cells and subset selection (Ye, Barg 2018) are its ends.

    Examples
    --------
    >>> from mechdesign.families.marginals.sets import ProductSet
    >>> mechanism = SetResponse.of([2, 3, 4], 2.0, ProductSet([1, 2, 1]), names=["sex", "view", "region"])
    >>> print(mechanism.audit())
    privacy: holds (exact); epsilon = 2, true_epsilon = 2; witness input = 0, other = 1, report = a set ...
    >>> estimate = mechanism.estimate(mechanism.randomize([[0, 2, 1], [1, 0, 3]] * 5000, rng=1))
    >>> table = estimate.table(["sex", "region"])
    >>> bool(abs(table.value[0, 1] - 0.5) < 5 * table.standard_error[0, 1])
    True
    >>> round(float(mechanism.effective_share(["view"])), 4)  # of the users, asked in clear, say as much
    0.0302
    """

    type: ClassVar[str] = "set-response"
    subject: ClassVar[str] = "reports of sets take"
    fields: ClassVar[tuple[str, ...]] = ("attributes", "epsilon", "sets", "include", "tables", "total")

    def __init__(
        self,
        attributes: Attributes,
        epsilon: float,
        sets: SetShape,
        include: int,
        tables: Sequence[Sequence[Any]] | None = None,
    ) -> None:
        attributes, sets = Attributes.of(attributes), shape_of(sets) if isinstance(sets, Mapping) else sets
        if not isinstance(sets, SetShape):
            raise ParameterError("sets", f"expected a ProductSet, MatchSet or CellSet, got {text_of(sets)}")
        self.attributes, self.sets = attributes, sets
        self.epsilon = double_epsilon(epsilon)
        self.law = SetLaw(sets.factors(attributes), sets.least(attributes))
        bits = sum(size for size, _ in self.law.factors)
        if bits > MOST_BITS:
            raise ParameterError("attributes", f"{bits} bits a report", f"give at most {MOST_BITS}")
        self.include = weight("include", include)
        if not self.audit().holds:
            raise CertificateError("channel", f"not private as stated: {self.audit()}")
        self.tables = self._tables(tables)
        self.layout = CountedParts(self.law.factors, () if self.joined else self.tables)
        if self.layout.counters > MOST_COUNTERS:
            raise ParameterError(
                "tables", f"{self.layout.counters} cells to count", f"request at most {MOST_COUNTERS}"
            )

    @classmethod
    def of(
        cls,
        sizes: Sequence[int] | Attributes,
        epsilon: float,
        sets: SetShape,
        names: Sequence[str] | None = None,
        labels: Sequence[Sequence[str] | None] | None = None,
        tables: Sequence[Sequence[Any]] | None = None,
    ) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        attributes = sizes if isinstance(sizes, Attributes) else Attributes(sizes, names, labels)
        include = SetLaw(sets.factors(attributes), sets.least(attributes)).largest_weight(epsilon)
        if include < 1:
            raise ParameterError(
                "epsilon",
                "is so small that such sets contain no information",
                "give a larger one, or ask less at once",
            )
        return cls(attributes, privacy_epsilon(epsilon), sets, include, tables)

    @property
    def joined(self) -> bool:
        """Whether sets are of cells of the whole table, so that every table can be summed."""
        return isinstance(self.sets, CellSet)

    def _tables(self, tables: Sequence[Sequence[Any]] | None) -> tuple[View, ...]:
        """Return the counted tables as increasing numbers; refuse one of which reports say nothing."""
        if self.joined:
            if tables is not None:
                raise ParameterError("tables", "are all known from cells", "omit it")
            return ()
        if tables is None:
            pairs = list(combinations(range(self.attributes.count), 2))
            if sum(self.attributes.cells(pair) for pair in pairs) > MOST_BY_DEFAULT:
                return ()
            return tuple(pair for pair in pairs if self._score(pair).gain((0, 1)))
        views = dict.fromkeys(tuple(sorted(self.attributes.positions(table))) for table in tables)
        for table in views:
            self._require_known(table)
        return tuple(views)

    def _require_known(self, table: View) -> None:
        names = ", ".join(self.attributes.shown()[place] for place in table)
        if len(table) > LARGEST_TABLE:
            raise ParameterError(
                "tables", f"{names}: {counted(len(table), 'attribute')}", f"give at most {LARGEST_TABLE}"
            )
        score = self._score(table)
        for size in range(2, len(table) + 1):
            if not all(score.gain(part) for part in combinations(range(len(table)), size)):
                raise ParameterError(
                    "tables",
                    f"the sets contain no information on what {names} have in common",
                    "choose another number of matches, or a ProductSet",
                )

    # Client

    def draw(self, codes: Codes, source: BitSource) -> Packed:
        """Return the sets for the numbers of users' values, (n, d)."""
        if self.joined:
            codes = self.attributes.cell_of(codes, range(self.attributes.count))[:, None]
        return draw_sets(self.law, self.include, codes, source)

    def _client_steps(self) -> Steps:
        """Return the factors and the weight, as plain values."""
        return sets_steps(self.law, self.include, self.attributes.sizes if self.joined else None)

    def written(self, reports: Packed) -> Values:
        return as_texts(reports)

    def read(self, reports: Any) -> Packed:
        """Return packed sets, from those or from texts; refuse sets of another shape."""
        packed = read_sets(reports, self.layout.bits)
        self.layout.require_widths(packed)
        return packed

    # Server

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        """Return the scores of each question, of a product of sets."""
        if self.sets.kind != "product":
            raise without_scores(self.type)
        self.aggregator().update(reports)  # refuses what is no report
        read, result = self.read(reports), []
        for axis, name in enumerate(self.attributes.shown()):
            labels = tuple(map(str, self.attributes.labels[axis].shown()))
            values, likelihood = self.attribute_tables(read, axis)
            result.append(ReportScores(str(name), labels, values, np.ones(len(values)), likelihood))
        return tuple(result)

    def pair_scores(self, reports: Any, first: int, second: int) -> tuple[Array, Array]:
        if self.sets.kind != "product":
            raise without_scores(self.type)
        values = self.pair_tables(self.read(reports), first, second)
        return values, np.ones(len(values))

    def pair_tables(self, read: Packed, first: int, second: int) -> Array:
        """Return scores of pairs of values of two attributes, (n, k_1, k_2), of a product of sets.

        With the share rho the set is drawn around the answer, and then holds another value of an attribute
        with a = (w - 1)/(k - 1), apart in both: the product of the bits has the mean
        (1 - rho) w_1 w_2/(k_1 k_2) + rho A_1 A_2 with A = (1 - a) I + a J, which is inverted.
        """
        share, even = self.include / TOTAL, 1.0
        product: Array | None = None
        bits = unpacked_members(read, 8 * read.shape[1])
        for axis in (first, second):
            size, width = self.law.factors[axis]
            other = (width - 1.0) / (size - 1.0)
            inverse = np.linalg.inv((1.0 - other) * np.eye(size) + other)
            held: Array = bits[:, self.layout.places[(axis,)]] @ inverse
            even = even * width / size * inverse.sum(axis=0)[0]
            product = held if product is None else product[:, :, None] * held[:, None, :]
        assert product is not None
        result: Array = (product - (1.0 - share) * even) / share
        return result

    def attribute_tables(self, read: Packed, axis: int) -> tuple[Array, Array]:
        """Return scores and likelihoods, both (n, k), about one question of a product of sets."""
        cells, size = self.layout.places[(axis,)], self.attributes.sizes[axis]
        bits = unpacked_members(read, 8 * read.shape[1])[:, cells]
        width, share = self.law.factors[axis][1], self.include / TOTAL
        own = share + (1.0 - share) * width / size
        other = (width - own) / (size - 1)
        ratio = (1.0 - own) / (size - width) / (own / width) if width < size else 1.0
        values: Array = np.asarray((bits - other) / (own - other), dtype=np.float64)
        likelihood: Array = np.where(bits, 1.0, ratio)
        return values, likelihood

    def aggregator(self) -> SetCounts:
        return SetCounts(self)

    def score(self, places: View) -> TableScore:
        """Return the score of a table, whose attributes are in any order; refuse one that is not counted."""
        if self.joined:
            cells = self.attributes.cells(places)
            if cells not in self._joined_scores:
                self._joined_scores[cells] = CellScore(self.law, self.include, cells)
            return self._joined_scores[cells]
        if len(places) > 1 and tuple(sorted(places)) not in self.layout.places:
            names = ", ".join(self.attributes.shown()[place] for place in places)
            raise ParameterError(
                "tables", f"the table of {names} is not counted", "add it to the tables that you build with"
            )
        return self._score(places)

    def _score(self, places: View) -> ProductScore:
        if places not in self._scores:
            kinds = tuple(self.law.factors[place] for place in places)
            if kinds not in self._alike:
                self._alike[kinds] = ProductScore(self.law, self.include, places)
            self._scores[places] = self._alike[kinds]
        return self._scores[places]

    @cached_property
    def _joined_scores(self) -> dict[int, CellScore]:
        return {}

    @cached_property
    def _scores(self) -> dict[View, ProductScore]:
        return {}

    @cached_property
    def _alike(self) -> dict[tuple[tuple[int, int], ...], ProductScore]:
        """Scores by the factors of their tables: equal wherever these are."""
        return {}

    # Accuracy

    def effective_share(self, effect: Sequence[Any]) -> Fraction:
        """Return eta of what some attributes have in common, exactly.

        At even data the reports of n users say as much of it as answers of eta n users in clear.
        """
        places = self.attributes.positions(effect)
        if self.joined:
            return CellScore(self.law, self.include, 2).effect()
        return self._score(places).effect(tuple(range(len(places))))

    @former_arguments(wanted="attributes")
    def total_variance(
        self, attributes: Sequence[Any], frequencies: Any = None, population: bool = True
    ) -> float:
        """Return users times the sum over a table's cells of the squared error, in closed form.

        Parameters
        ----------
        attributes : sequence of str or int
        frequencies : array, optional
            The true table, even by default.
        population : bool
            Whether for the population that the users are drawn from, else for the users themselves.

        Examples
        --------
        >>> from mechdesign.families.marginals.sets import ProductSet
        >>> mechanism = SetResponse.of([2, 2], 2.0, ProductSet([1, 1]))
        >>> round(mechanism.total_variance([0]), 4)  # 1 / (2 eta)
        1.322
        """
        places = self.attributes.positions(attributes)
        shares = self._frequencies(places, frequencies)
        squares = float((shares**2).sum()) if population else 1.0
        return float(self.score(places).square()) - squares

    @former_arguments(wanted="attributes")
    def variances(self, attributes: Sequence[Any], frequencies: Any = None, population: bool = True) -> Array:
        """Return users times the variance of each cell; parameters as of :meth:`total_variance`."""
        places = self.attributes.positions(attributes)
        shares, score = self._frequencies(places, frequencies), self.score(places)
        squares = score.table[:, 0] @ weights_of_patterns(score, shares)
        result: Array = squares.reshape(shares.shape) - (shares**2 if population else shares)
        return result

    def _frequencies(self, places: View, value: Any) -> Array:
        shape = self.attributes.shape(places)
        if value is None:
            return np.full(shape, 1.0 / math.prod(shape))
        shares = np.asarray(value, dtype=np.float64)
        if shares.shape != shape or not np.isfinite(shares).all() or (shares < 0).any():
            raise ParameterError("frequencies", f"expected shares of shape {shape}, none below 0")
        return shares

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of a share of one attribute with this many users."""
        count = user_count(users)
        scores = {self.score((place,)) for place in range(self.attributes.count)}
        largest = max(max(score.table[0, 0] - 1.0, score.table[1, 0]) for score in scores)
        typical = max(
            (score.table[0, 0] - 1.0 + (score.cells - 1) * score.table[1, 0]) / score.cells
            for score in scores
        )
        return Forecast.of_shares(
            count,
            math.sqrt(largest / count),
            math.sqrt(typical / count),
            "for a share of one attribute, if all its values are equally frequent",
        )

    # Tables

    @property
    def _report_text(self) -> str:
        """Content of a column of reports."""
        what = "cell of the table" if self.joined else "value of each attribute"
        return f"'x' and {2 * ((self.layout.bits + 7) // 8)} hexadecimal digits: a bit a {what}"

    def operations(self) -> tuple[Operation, ...]:
        """Return ``randomize`` and ``estimate``."""
        return set_operations(self)

    # Certificates and file

    def audit(self) -> ClassAudit:
        """Return the exact audit of the two weights of a set: one that holds the answer, and any other."""
        return audit_classes(self.law.classes(self.include), self.epsilon)

    def loss_curve(self) -> LossCurve:
        """Return the curve of the pair that the fewest sets hold both of; where unknown, as if none did."""
        classes, law = self.law.classes(self.include), self.law
        if self.sets.kind != "product":
            alone = min(law.holding, law.sets - law.holding)
            counts = (law.holding - alone, alone, alone, law.sets - law.holding - alone)
            classes = tuple(replace(each, count=count) for each, count in zip(classes, counts, strict=True))
        return LossCurve.of_pairs([[(each.count, each.weight, each.other) for each in classes]])

    def certificates(self) -> tuple[Certificate, ...]:
        return self.audit().certificate(), Certificate("normalization", True, True, {"row_sum": f"2**{BITS}"})

    def _figures(self) -> str:
        numbers = ", ".join(f"{key}={value}" for key, value in self.sets.as_json().items() if key != "kind")
        shortened = numbers if len(numbers) <= 60 else f"{numbers[:57]}..."
        return (
            f"{counted(self.attributes.count, 'attribute')}, {self.sets.kind} "
            f"{shortened}, epsilon={self.epsilon:g}"
        )

    def content(self) -> dict[str, Any]:
        return {**super().content(), **({"tables": None} if self.joined else {})}
