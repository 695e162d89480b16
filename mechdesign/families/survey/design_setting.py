"""The survey as its optimization sees it: questions, targets, epsilon, and the information of one report.

The targets are weights, sampling variances, units and required standard errors of the results. The
information of a report is an effective share of the users, by the formulas of docs/families/survey.md. The
menu of a setting is what one question tells at each epsilon of a grid, when it is answered alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import in_range, require_keys
from mechdesign.exact.numbers import text_of
from mechdesign.families.survey.part_plans import is_cumulative, of_share, request_spread, unit
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.results import Request, means_request, singles, table_request
from mechdesign.primitives.combine import question_kind


@dataclass(frozen=True)
class SurveyTarget:
    """One requested result.

    Attributes
    ----------
    request : Request
    name : str
    cells : int
        Cells of its table; 2 for a number.
    spread : float
        The variance of one user who answers in clear: of a table summed over its cells at the planned
        frequencies, of a number in squared halves of its range.
    unit : float
        From that variance to a squared standard error: of a cell, or in the units of the number.
    importance : float
    error : float or None
        The wanted standard error.
    cumulative : bool
        Whether the cumulative shares of a question are wanted, at even answers.
    """

    request: Request
    name: str
    cells: int
    spread: float
    unit: float
    importance: float
    error: float | None
    cumulative: bool = False

    @property
    def is_even(self) -> bool:
        """Whether answers are planned to be even, or it is about a number."""
        alone = self.cells == 0 or self.request.number is not None or self.cumulative
        return alone or self.spread == self.even

    @property
    def even(self) -> float:
        """The spread of a table at even answers, which is 1/eta times as large for reports."""
        return self.spread if self.cumulative else 1.0 - 1.0 / self.cells

    def of_share(self, eta: float) -> float:
        """Return the information of a report with this effective share about its table."""
        return eta / self.spread if self.cumulative else of_share(eta, self.cells, self.spread)

    @property
    def is_mean(self) -> bool:
        """Whether a number is asked for its mean."""
        return len(self.request.places) == 1 and self.cells == 0


def targets_of(
    questions: Questions,
    value: Sequence[Mapping[str, Any]],
    tables: Sequence[Any],
    means: Sequence[Any],
) -> tuple[SurveyTarget, ...]:
    """Return everything that is wanted, with what the model says of it.

    Parameters
    ----------
    questions : Questions
    value : sequence of mapping
        The questions as the model states them, with ``importance`` and ``error``.
    tables, means : sequence
        Cross tables and group means as the model states them.
    """
    targets = [
        _target(questions, request, item, f"question '{item['name']}'")
        for request, item in zip(singles(questions), value, strict=True)
    ]
    for item in tables:
        listed = item["questions"] if isinstance(item, Mapping) and "questions" in item else item
        options = item if isinstance(item, Mapping) else {}
        require_keys("tables", options, ("questions", "importance", "error"))
        request = table_request(questions, listed)
        targets.append(_target(questions, request, options, f"tables: {request.name(questions)}"))
    for item in means:
        request = means_request(questions, item)
        targets.append(_target(questions, request, item, f"group_means: {request.name(questions)}"))
    names = [target.name for target in targets]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError("tables", f"'{name}' is requested twice", "name it once")
    return tuple(targets)


def _target(questions: Questions, request: Request, options: Mapping[str, Any], where: str) -> SurveyTarget:
    importance = in_range(
        f"{where}: importance", options.get("importance", 1.0), 0.0, math.inf, low_open=True, high_open=True
    )
    error = options.get("error")
    if error is not None:
        if isinstance(error, str):
            what = f"expected a number, got {text_of(error)}"
            raise ParameterError(f"{where}: error", what, "write a share, 0.03 for 3%, or the unit of a mean")
        error = in_range(f"{where}: error", error, 0.0, math.inf, low_open=True, high_open=True)
        if request.number is None and not questions[request.places[0]].is_number and error >= 1.0:
            what = f"{error:g} is no standard error of a share"
            raise ParameterError(f"{where}: error", what, "write 0.03 for 3%")
    name, question = request.name(questions), questions[request.places[0]]
    cells, spread = math.prod(request.shape(questions)), 1.0
    if request.number is None and question.is_mean:
        cells, spread = 0, question.relative_spread**2
    elif request.number is None:
        spread = request_spread(questions, request)
    cumulative = is_cumulative(questions, request)
    return SurveyTarget(request, name, cells, spread, unit(questions, request), importance, error, cumulative)


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ask:
    """A part of a design: some questions that are reported together.

    Attributes
    ----------
    kind : {"number", "piecewise", "ordered", "table", "cells", "sets"}
        The best channel for one number; the best piecewise mechanism on a grid for it; the best channel for
        the cumulative shares of one question; the cell of a table by
        the best frequency oracle; the same by k-ary response; a product of sets, one of each question.
    places : tuple of int
    epsilon : float
    sets : tuple of int
        The sizes of the sets, for ``sets``.
    """

    kind: str
    places: tuple[int, ...]
    epsilon: float
    sets: tuple[int, ...] = ()


def certainty(epsilon: float, share: Array | float) -> Array:
    """Return rho, the probability that a set of this share of all cells is drawn around the true one.

    Examples
    --------
    >>> float(certainty(math.log(3), 0.5))
    0.5
    """
    around = math.expm1(epsilon) * np.asarray(share, dtype=np.float64)
    return around / (1.0 + around)


def effective(epsilon: float, cells: int, size: Array | int) -> Array:
    """Return eta for sets of this size.

    Examples
    --------
    >>> round(float(effective(2.0, 2, 1)), 6)  # tanh(1)^2
    0.580026
    """
    size = np.asarray(size, dtype=np.float64)
    return certainty(epsilon, size / cells) ** 2 * (cells - size) / (size * (cells - 1.0))


@lru_cache(maxsize=1 << 14)
def best_effective(epsilon: float, cells: int) -> float:
    """Return eta of the best size of sets.

    Examples
    --------
    >>> best_effective(2.0, 2) == float(effective(2.0, 2, 1))
    True
    """
    return float(best_effectives([epsilon], cells)[0])


def best_effectives(epsilons: Sequence[float], cells: int) -> Array:
    """Return eta of the best size of sets for each epsilon.

    Examples
    --------
    >>> best_effectives([0.0, 2.0], 2).round(6).tolist()
    [0.0, 0.580026]
    """
    known = [epsilon for epsilon in epsilons if epsilon > 0.0]
    result = np.zeros(len(epsilons))
    if known:
        middles = [round(cells / (math.exp(epsilon) + 1.0)) for epsilon in known]  # the best is next to it
        sizes = np.add.outer(np.array(middles, dtype=np.float64), np.arange(-2.0, 3.0))
        sizes = np.minimum(np.maximum(sizes, 1.0), cells - 1.0)
        around = np.array([math.expm1(epsilon) for epsilon in known])[:, None] * (sizes / cells)
        etas = (around / (1.0 + around)) ** 2 * (cells - sizes) / (sizes * (cells - 1.0))
        result[np.asarray(epsilons) > 0.0] = etas.max(axis=1)
    return result


def single(questions: Questions, place: int, epsilon: float) -> Ask:
    """Return the part that answers one question alone, in the way that tells most.

    A number is rounded to one of its ends where that tells more: the variance of a bit is at most 1/eta with
    the sampling of the user, that of the mean mechanisms is known only without it.
    """
    question = questions[place]
    if question.cumulative:
        spread = request_spread(questions, Request("question", (place,)))
        share = best_effective(epsilon, question.size)
        better = noise("ordered", epsilon, question.size) + spread < spread / max(share, 1e-300)
        return Ask("ordered" if better else "table", (place,), epsilon)
    if not question.is_mean:
        return Ask("table", (place,), epsilon)
    spread = question.relative_spread**2
    information = {kind: 1.0 / (noise(kind, epsilon) + spread) for kind in NUMBERS}
    information["cells"] = float(effective(epsilon, 2, 1))
    return Ask(max(information, key=lambda kind: information[kind]), (place,), epsilon)


NUMBERS = ("number", "piecewise")
"""The kinds of parts that report a number for its mean."""

PLANNED = "between"
"""A number whose channel is not solved yet: about its variance is interpolated, in logarithms, between those
of the solved ones next to it; good for plans, not for promises."""


@lru_cache(maxsize=1 << 12)
def noise(kind: str, epsilon: float, size: int = 2) -> float:
    """Return the variance of one report of a solved channel; infinite where none is known.

    Of a number it is the largest one on [-1, 1], of ``size`` ordered categories that of their cumulative
    shares at even answers, summed.

    Examples
    --------
    >>> round(noise("number", 1.0), 3), round(noise("piecewise", 1.0), 3), round(noise("ordered", 1.0, 5), 3)
    (3.992, 4.683, 9.645)
    """
    if epsilon <= 0.0:
        return math.inf
    if kind == PLANNED:
        nodes, values = map(np.log, question_kind("number").solved(size))
        return float(np.exp(np.interp(np.log(epsilon), nodes, values)))
    return question_kind(kind).variance(size, epsilon)


def design_information(questions: Questions, targets: Sequence[SurveyTarget], asks: Sequence[Ask]) -> Array:
    """Return the information of one report about each target, summed over the parts of a design."""
    parts = [(ask, frozenset(ask.places), _table_share(questions, ask)) for ask in asks if ask.epsilon > 0.0]
    return np.array(
        [sum(_one(questions, target, *part) for part in parts) for target in targets], dtype=float
    )


def _one(
    questions: Questions, target: SurveyTarget, ask: Ask, places: frozenset[int], whole: float | None
) -> float:
    request = target.request
    if not places.issuperset(request.places):
        return 0.0
    if ask.kind in (*NUMBERS, PLANNED):
        return 1.0 / (noise(ask.kind, ask.epsilon) + target.spread)
    if ask.kind == "ordered":
        return 1.0 / (noise("ordered", ask.epsilon, target.cells) + target.spread)
    eta = _share(questions, request.places, ask) if whole is None else whole
    if request.number is not None:
        return eta if ask.kind == "cells" else 0.0
    return eta if target.is_mean else target.of_share(eta)


def _table_share(questions: Questions, ask: Ask) -> float | None:
    """Return eta of a whole table; None for other parts."""
    if ask.kind not in ("cells", "table"):
        return None
    cells = math.prod(questions[place].size for place in ask.places)
    return (
        float(effective(ask.epsilon, cells, 1)) if ask.kind == "cells" else best_effective(ask.epsilon, cells)
    )


def _share(questions: Questions, places: Sequence[int], ask: Ask) -> float:
    """Return eta of one question in a product of sets; 0 for several questions together."""
    if len(places) > 1:
        return 0.0
    sizes = [questions[place].size for place in ask.places]
    share = math.prod(size / full for size, full in zip(ask.sets, sizes, strict=True))
    place = ask.places.index(places[0])
    full, size = sizes[place], ask.sets[place]
    if size == full:
        return 0.0
    return float(certainty(ask.epsilon, share) ** 2 * (full - size) / (size * (full - 1.0)))


STEPS = 200
"""Parts of epsilon in which single answers take their budgets."""

NUMBER_KINDS = ("number", "piecewise", "cells")


@dataclass(frozen=True)
class Menu:
    """The information of one answer to each question, for each budget.

    A number takes the best channel with all of epsilon, or with the largest epsilon of the ladder of solved
    channels that its budget allows; outside the ladder the best piecewise mechanism, or a bit. In the same
    way a question that is wanted for its cumulative shares takes the best channel for these, or the best
    frequency oracle where that tells more.

    Attributes
    ----------
    budgets : (G + 1,) array
        0 to epsilon in equal steps.
    information : (m, G + 1) array
        Of the target that is the question alone; never decreasing.
    asks : tuple of tuple of Ask
        The parts that attain it: of each question, for each budget. Their places are not set.
    """

    budgets: Array
    information: Array
    asks: tuple[tuple[Ask, ...], ...]

    def ask(self, place: int, step: int) -> Ask:
        """Return the part that answers one question with this budget."""
        return replace(self.asks[place][step], places=(place,))


def menu_of(
    questions: Questions,
    targets: Sequence[SurveyTarget],
    epsilon: float,
    steps: int = STEPS,
    planned: bool = False,
) -> Menu:
    """Return the menu of all questions; ``planned`` as in the setting."""
    budgets = epsilon * np.arange(steps + 1) / steps
    budgets[-1] = epsilon
    rows: dict[tuple[int, float, bool], tuple[Array, tuple[Ask, ...]]] = {}
    keys = [(target.cells, target.spread, target.cumulative) for target in targets[: len(questions)]]
    for question, target, key in zip(questions.all, targets, keys, strict=False):
        if key not in rows:
            rows[key] = (
                _number_row(budgets, target, planned) if question.is_mean else _table_row(budgets, target)
            )
    return Menu(budgets, np.array([rows[key][0] for key in keys]), tuple(rows[key][1] for key in keys))


def _table_row(budgets: Array, target: SurveyTarget) -> tuple[Array, tuple[Ask, ...]]:
    etas = best_effectives(budgets.tolist(), target.cells).tolist()
    information = np.array([target.of_share(eta) for eta in etas])
    asks = [Ask("table", (), float(epsilon)) for epsilon in budgets]
    if target.cumulative:
        at = _rungs(budgets, question_kind("ordered").solved(target.cells)[0])
        ordered = np.array(
            [1.0 / (noise("ordered", epsilon, target.cells) + target.spread) for epsilon in at]
        )
        for step in np.flatnonzero(ordered > information).tolist():
            asks[step] = Ask("ordered", (), at[step])
        information = np.maximum(information, ordered)
    return _increasing(information, asks)


def _rungs(budgets: Array, epsilons: Array) -> list[float]:
    """Return the largest solved epsilons that budgets allow, 0 where none is, and the last budget."""
    places = np.searchsorted(epsilons, budgets[:-1] * (1.0 + 2.0**-50), side="right")
    return [*np.concatenate([[0.0], epsilons])[places].tolist(), float(budgets[-1])]


def _number_row(budgets: Array, target: SurveyTarget, planned: bool) -> tuple[Array, tuple[Ask, ...]]:
    """Return the best of the channels that are solved, piecewise mechanisms on grids, and bits."""
    epsilons, _ = question_kind("number").solved(2)
    at = _rungs(budgets, epsilons)
    inside = epsilons[0] <= at[-1] <= epsilons[-1]
    last = PLANNED if planned and inside else "number"
    channel = [noise("number", epsilon) for epsilon in at[:-1]] + [noise(last, at[-1])]
    piecewise = question_kind("piecewise").variances(2, budgets)
    bits = [float(effective(float(epsilon), 2, 1)) for epsilon in budgets]
    information = np.stack(
        [1.0 / (np.array(channel) + target.spread), 1.0 / (piecewise + target.spread), bits]
    )
    kinds = information.argmax(axis=0)
    asks = [
        Ask(NUMBER_KINDS[kind], (), at[step] if kind == 0 else float(budgets[step]))
        for step, kind in enumerate(kinds.tolist())
    ]
    if kinds[-1] == 0:
        asks[-1] = Ask(last, (), at[-1])
    return _increasing(information.max(axis=0), asks)


def _increasing(information: Array, asks: Sequence[Ask]) -> tuple[Array, tuple[Ask, ...]]:
    """Return the same with parts of a smaller budget where they tell more."""
    best = np.maximum.accumulate(information)
    places = np.maximum.accumulate(np.where(information >= best, np.arange(len(information)), 0))
    return best, tuple(asks[place] for place in places.tolist())


@dataclass(frozen=True, eq=False)
class SurveySetting:
    """Questions and requests of a survey, under one epsilon.

    Attributes
    ----------
    questions : Questions
    targets : tuple of SurveyTarget
        First every question alone.
    epsilon : float
    by_errors : bool
        Whether wanted standard errors decide, not the mean error.
    planned : bool
        Whether a number that takes all of epsilon has about the variance of its channel, which is not solved.
    """

    questions: Questions
    targets: tuple[SurveyTarget, ...]
    epsilon: float
    by_errors: bool = False
    planned: bool = False

    @cached_property
    def menu(self) -> Menu:
        """Information of single answers at each budget."""
        return menu_of(self.questions, self.targets, self.epsilon, STEPS, self.planned)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Targets that are alike; with cross tables or group means each is a group of its own."""
        if len(self.targets) > len(self.questions):
            return tuple((place,) for place in range(len(self.targets)))
        members_by_key: dict[tuple[object, ...], list[int]] = {}
        for place, target in enumerate(self.targets):
            needed = float(self.each_needed[place])
            key = (target.cells, target.spread, target.importance, needed, target.cumulative)
            members_by_key.setdefault(key, []).append(place)
        return tuple(tuple(members) for members in members_by_key.values())

    @cached_property
    def each_weight(self) -> Array:
        """The weight of each target: its importance over its variance in clear, all adding up to 1."""
        importance = np.array([target.importance for target in self.targets])
        spread = np.array([target.spread for target in self.targets])
        weights: Array = importance / importance.sum() / spread
        return weights

    @cached_property
    def weights(self) -> Array:
        """The weights of the groups."""
        return np.array([self.each_weight[list(group)].sum() for group in self.groups])

    @cached_property
    def each_needed(self) -> Array:
        """Total information that each target needs for its requested error; 0 where none is requested."""
        return np.array(
            [0.0 if target.error is None else target.unit / target.error**2 for target in self.targets]
        )

    @cached_property
    def needed(self) -> Array | None:
        """The same for the groups; None where the mean error decides."""
        if not self.by_errors:
            return None
        return np.array([self.each_needed[group[0]] for group in self.groups])

    def information(self, column: Sequence[Ask]) -> Array:
        """Return the information of one report of a design about each target."""
        return design_information(self.questions, self.targets, column)

    def grouped(self, column: Sequence[Ask]) -> Array:
        """Return the information of it and its rotations about each group: the mean over the members."""
        each = self.information(column)
        return np.array([each[list(group)].mean() for group in self.groups])

    def spread_over(self, prices: Array) -> Array:
        """Return the prices of the targets from those of the groups: an even part for each member."""
        result = np.zeros(len(self.targets))
        for price, group in zip(prices, self.groups, strict=True):
            result[list(group)] = price / len(group)
        return result
