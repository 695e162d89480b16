"""The release of marginals: every user reports the cell of one view, drawn by the user's own client (CALM).

Privacy. A report is the number of a view, drawn without looking at the data, and what that view's oracle
makes of the user's cell: the ratio of its chances for two users is that of the oracle's, so the release is as
private as the least private of its oracles, whatever the views and their shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import weakest
from mechdesign.audit.losses import LossCurve
from mechdesign.collect.base import Mechanism, mechanism_type
from mechdesign.collect.codec import Codec, Codes
from mechdesign.collect.collecting import Operation, marked
from mechdesign.collect.kernel import Answer, Recipe, plain_report, rng_alone
from mechdesign.core.certificate import Certificate, PrivacyFinding
from mechdesign.core.errors import CertificateError, ParameterError, counted
from mechdesign.core.extensions import former_arguments
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import integer, user_count
from mechdesign.core.values import USERS, Forecast, PrivacyVerdict, changed, frozen_value
from mechdesign.data.frames import is_table
from mechdesign.exact.randomness import TOTAL, BitSource
from mechdesign.families.marginals.estimates import ReleasedMarginals
from mechdesign.families.marginals.oracles.best import KINDS, best_oracle
from mechdesign.families.marginals.oracles.support import SupportOracle
from mechdesign.families.marginals.penalized import FOLDS, draw_folds, penalty_for, read_penalty
from mechdesign.families.marginals.server import (
    REPORT,
    VIEW,
    CountedViews,
    Drawn,
    Layout,
    MarginalAggregator,
    estimated_from_table,
    release_operations,
)
from mechdesign.families.marginals.views import (
    View,
    check_views,
    covered_order,
    effect_errors,
    effect_variance,
    memory,
    noisiest_variance,
    require_oracle,
)
from mechdesign.primitives.attributes import Attributes, Columns
from mechdesign.primitives.combine import Split
from mechdesign.primitives.oracle import Oracle, cell_variance


class MarginalRelease(CountedViews):
    """Reports of views: each user's client draws a view and reports its cell through the view's oracle.

    Parameters
    ----------
    attributes : Attributes
    views : sequence of tuple of int
        Different sets of attributes as increasing numbers; every attribute in one of them at least.
    oracles : sequence
        One a view, for as many categories as the view has cells; views of equal size may share one.
    shares : sequence of int or Fraction, optional
        In which proportion the views are drawn; even by default.
    users : int, optional
        Planned number of users; by default ten thousand per view. If they are too few to
        estimate anything, it is not collected with, unless this is explicitly requested.

    Examples
    --------
    >>> release = MarginalRelease.of([2, 2, 3], [(0, 1), (1, 2)], epsilon=4.0)
    >>> reports = release.randomize([[0, 0, 2], [1, 1, 0]] * 5000, rng=1)
    >>> estimate = release.estimate(reports).marginal([0, 1])
    >>> bool(abs(estimate.value[0, 0] - 0.5) < 5 * estimate.unpenalized_error)
    True
    """

    users_alike: ClassVar[bool] = True
    type: ClassVar[str] = "marginal-release"
    subject: ClassVar[str] = "a marginal release takes"

    def __init__(
        self,
        attributes: Attributes,
        views: Sequence[Sequence[int]],
        oracles: Sequence[Oracle],
        shares: Sequence[Any] | None = None,
        users: int | None = None,
    ) -> None:
        self.attributes = attributes = Attributes.of(attributes)
        self.views = _covering(check_views(views, attributes.count), attributes)
        if len(oracles) != len(self.views):
            raise ParameterError("oracles", f"{len(oracles)} for {len(self.views)} views", "give one each")
        self.oracles = tuple(
            require_oracle(number, oracle, attributes.cells(view))
            for number, (view, oracle) in enumerate(zip(self.views, oracles, strict=True))
        )
        self.split = Split([[oracle] for oracle in self.oracles], shares)
        self.users = None if users is None else user_count(users)
        self.epsilon = max(oracle.epsilon for oracle in self.oracles)
        self.layout = Layout(self.oracles)

    @classmethod
    def of(
        cls,
        sizes: Sequence[int] | Attributes,
        views: Sequence[Sequence[int]],
        epsilon: float,
        names: Sequence[str] | None = None,
        labels: Sequence[Sequence[str] | None] | None = None,
        shares: Sequence[Any] | None = None,
        kinds: Sequence[str] = KINDS,
    ) -> Self:
        """Return the release whose views are reported by the oracles of least variance for their sizes."""
        attributes = sizes if isinstance(sizes, Attributes) else Attributes(sizes, names, labels)
        counts = [_reportable(attributes, view) for view in check_views(views, attributes.count)]
        oracles = {count: best_oracle(count, epsilon, kinds) for count in sorted(set(counts))}
        return cls(attributes, views, [oracles[count] for count in counts], shares)

    @property
    def shares(self) -> tuple[int, ...]:
        """The weights of the views out of 2**62."""
        return self.split.weights

    # Client

    @cached_property
    def codec(self) -> Codec:
        return Columns(self.attributes, narrow=True)

    def _reports_of(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return one report per user: records with the fields ``view`` and ``report`` (bytes)."""
        records = np.zeros(len(codes), dtype=self.layout.dtype)
        start = 0
        for piece in self.draw(codes, source):
            block = records[start : start + len(piece.views)]
            block[VIEW] = piece.views
            for number, rows, reports in piece.parts:
                block[REPORT][rows] = self.layout.packed(number, reports)
            start += len(piece.views)
        return records

    def draw(self, codes: Codes, source: BitSource) -> Iterator[Drawn]:
        """Yield the reports of pieces of the users, given the numbers of their values, shape (n, d)."""
        for start, views in self.split.draw(len(codes), source):
            part = codes[start : start + len(views)]
            order = np.argsort(views, kind="stable")
            bounds = np.searchsorted(views[order], np.arange(len(self.views) + 1)).tolist()
            cells = np.empty(len(part), dtype=np.int64)
            for view, (first, last) in zip(self.views, pairwise(bounds), strict=True):
                rows = order[first:last]
                cells[rows] = self.attributes.cell_of(part[rows], view)
            draws = []
            for number, members in self._sharing.items():
                rows = np.flatnonzero(np.isin(views, members))
                if len(rows):
                    draws.append((number, rows, self.oracles[number].draw(cells[rows], source)))
            yield Drawn(views, draws)

    def recipe(self) -> Recipe:
        document = self.content()
        steps = {
            "step": "view",
            "ends": self.split.ends(),
            "views": document["views"],
            "oracle_of_view": document["oracle_of_view"],
            "oracles": [self.oracles[number]._client_steps() for number in self._sharing],
        }
        columns = (VIEW, marked(REPORT, self.survey_digest))
        return Recipe(self.codec.questions(), columns, steps, False)

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return one report, a list of the view and what is reported of it, from the bits of a source."""
        (piece,) = self.draw(self.attributes.encode([answer]), source)
        ((number, _, reports),) = piece.parts
        return [int(piece.views[0]), plain_report(self.oracles[number].written(reports))]

    # Tables

    def operations(self) -> tuple[Operation, ...]:
        return release_operations(self)

    # Assignment

    @cached_property
    def _sharing(self) -> dict[int, list[int]]:
        """The views of each distinct oracle, by the first one."""
        views_of: dict[int, list[int]] = {}
        first: dict[int, int] = {}
        for number, oracle in enumerate(self.oracles):
            views_of.setdefault(first.setdefault(id(oracle), number), []).append(number)
        return views_of

    @cached_property
    def _prospect(self) -> Forecast:
        return self.forecast(USERS * len(self.views) if self.users is None else self.users)

    # Server

    def aggregator(self) -> MarginalAggregator:
        return MarginalAggregator(self)

    @rng_alone
    def estimate(self, reports: Any, population: bool = False, penalty: Any = None) -> ReleasedMarginals:
        """Return the release from the reports of all users; ask it for marginals.

        Parameters
        ----------
        reports : records
        population : bool
            Whether intervals are for the population that the users were drawn from.
        penalty : float or "cross-validated", optional
            lambda of the penalized distribution; cross-validated by default, and 30 for fewer than 100 users.
        """
        if is_table(reports):
            return estimated_from_table(self, reports, population, penalty)
        counter = self.aggregator()
        counter.update(reports)
        parts: list[MarginalAggregator] = []
        penalty = penalty_for(penalty, counter.users)
        if read_penalty(penalty) is None:
            which = draw_folds(counter.users, np.random.default_rng(0))
            for fold in range(FOLDS):
                parts.append(self.aggregator())
                parts[-1].update(np.asarray(reports)[which == fold])
        return counter.estimate(population, penalty, parts)

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of an unbiased cell of the view with the largest one."""
        count = user_count(users)
        pairs = [
            (noisiest_variance(oracle) / share, cell_variance(oracle) / share)
            for oracle, share in {(id(o), s): (o, s / TOTAL) for o, s in self._shared_out()}.values()
        ]
        largest, typical = (max(each) for each in zip(*pairs, strict=True))
        errors = ((largest / count) ** 0.5, (typical / count) ** 0.5)
        figures = Forecast.of_shares(count, *errors, "if all cells are equally frequent", "a cell of a view")
        return changed(figures, quantity="marginals")

    def _shared_out(self) -> list[tuple[Oracle, int]]:
        return list(zip(self.oracles, self.shares, strict=True))

    @former_arguments(wanted="attributes")
    def predicted_error(self, attributes: Sequence[Any], users: int) -> float:
        """Return the predicted root mean squared error of a cell of the unbiased average, at even data.

        It is that of the best linear unbiased estimate from all views, before the penalty. For a marginal
        that no view contains it is the error of the effects that views have.

        Parameters
        ----------
        attributes : sequence of str or int
        users : int

        Examples
        --------
        >>> release = MarginalRelease.of([2, 2, 3], [(0, 1), (1, 2)], epsilon=1.0)
        >>> release.predicted_error([1], 10_000) < release.predicted_error([0], 10_000)  # in both views
        True
        """
        places, count = self.attributes.positions(attributes), user_count(users)
        precision = [count * share / TOTAL / effect_variance(oracle) for oracle, share in self._shared_out()]
        total = effect_errors(places, self.views, self.attributes.sizes, precision)
        return float((total / self.attributes.cells(places)) ** 0.5)

    # Certificates and file

    def audit(self) -> ReleaseAudit:
        """Return the exact audit of the least private oracle, which is that of the release."""
        audits = [self.oracles[number].audit() for number in self._sharing]
        promise = Guarantee(self.epsilon)
        return ReleaseAudit(weakest(promise, [audit.proof for audit in audits]), {}, tuple(audits))

    def loss_curve(self) -> LossCurve | None:
        return self.split.curve([[oracle.loss_curve()] for oracle in self.oracles])

    def certificates(self) -> tuple[Certificate, ...]:
        order = covered_order(self.views, self.attributes.count)
        covering = {"attributes": self.attributes.count, "views": len(self.views), "covered_order": order}
        return (
            self.audit().certificate(),
            self.split.normalization(),
            Certificate("covering", order >= 1, True, covering),
        )

    def _figures(self) -> str:
        return (
            f"{counted(self.attributes.count, 'attribute')}, "
            f"{counted(len(self.views), 'view')}, epsilon={self.epsilon:g}"
        )

    def content(self) -> dict[str, Any]:
        sharing = self._sharing
        place = {number: kind for kind, members in enumerate(sharing.values()) for number in members}
        return {
            "attributes": self.attributes.as_json(),
            "views": [list(view) for view in self.views],
            "oracles": [
                {"type": self.oracles[number].type, "content": self.oracles[number].content()}
                for number in sharing
            ],
            "oracle_of_view": [place[number] for number in range(len(self.views))],
            "shares": list(self.shares),
            "users": self.users,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        oracles = [_oracle(item) for item in content["oracles"]]
        which = [integer("oracle_of_view", item, 0, len(oracles) - 1) for item in content["oracle_of_view"]]
        shares = [integer("shares", share, 1, TOTAL) for share in content["shares"]]
        if sum(shares) != TOTAL:
            raise CertificateError("shares", "do not sum to 2**62")
        named = {key: content["attributes"][key] for key in ("sizes", "names", "labels")}
        used = [oracles[place] for place in which]
        return cls(Attributes(**named), content["views"], used, shares, content["users"])


@frozen_value(repr=False)
class ReleaseAudit(PrivacyFinding):
    """The audits of all oracles of a release: it is as private as the least private of them."""

    oracles: tuple[PrivacyVerdict, ...]

    def _figures(self) -> dict[str, Any]:
        return {**super()._figures(), "oracles": len(self.oracles)}


def _covering(views: list[View], attributes: Attributes) -> tuple[View, ...]:
    """Return the views, or raise unless they differ and every attribute is in one of them."""
    if len(set(views)) < len(views):
        double = next(view for view in views if views.count(view) > 1)
        raise ParameterError("views", f"{double} appears twice", "name it once, with the share of both")
    missing = set(range(attributes.count)) - {place for view in views for place in view}
    if missing:
        name = attributes.shown()[min(missing)]
        raise ParameterError(
            "views", f"no view has attribute '{name}'", "add one, or leave the attribute out"
        )
    return tuple(views)


def _reportable(attributes: Attributes, view: View) -> int:
    """Return the number of cells of a view, or raise when no oracle of this package reports this many."""
    cells, most = attributes.cells(view), SupportOracle.most_categories
    if cells > most:
        names = ", ".join(attributes.shown()[place] for place in view[:8]) + ("..." if len(view) > 8 else "")
        raise ParameterError(
            "views",
            f"that of {names} has {cells} cells, whose counts would take {memory(cells)}",
            f"{most} cells are the limit: take smaller views, or merge values",
        )
    return cells


def _oracle(document: Mapping[str, Any]) -> Oracle:
    kind: type[Mechanism] | None = mechanism_type(str(document["type"]))
    if kind is None or not issubclass(kind, Oracle):
        raise CertificateError("oracles", f"'{document['type']}' is not a frequency oracle")
    return kind.from_content(document["content"])
