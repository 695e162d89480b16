"""What a survey is to tell, and how much one report tells of it.

The targets are weights, sampling variances, units and required standard errors of the results. The
information of a report is an effective share of the users, by the formulas of the mechanisms.

A report of a set of d of k cells, drawn around the true one with chance rho = (E - 1)t/(1 + (E - 1)t), t =
d/k, E = e^epsilon, is worth eta = rho^2 (k - d)/(d (k - 1)) users who answer in clear, for the cells and for
every sum of them. A report of a product of such sets about several questions is worth rho^2 (k - d)/(d (k -
1)) for each of them, with the rho of the whole product. See docs/families/survey.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import in_range, require_keys
from mechdesign.families.mean.discrete import best_shape
from mechdesign.families.mean.optimal_channel import ladder, worst_variance_of
from mechdesign.families.survey.part_plans import is_cumulative, of_share, unit, wanted_spread
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.results import Wanted, singles, wanted_means, wanted_table
from mechdesign.families.workload.prefix import best_prefix_channel, prefix_ladder


@dataclass(frozen=True)
class SurveyTarget:
    """One requested result.

    Attributes
    ----------
    wanted : Wanted
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

    wanted: Wanted
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
        alone = self.cells == 0 or self.wanted.number is not None or self.cumulative
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
        return len(self.wanted.places) == 1 and self.cells == 0


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
    found = [
        _target(questions, wanted, item, f"question '{item['name']}'")
        for wanted, item in zip(singles(questions), value, strict=True)
    ]
    for item in tables:
        listed = item["questions"] if isinstance(item, Mapping) and "questions" in item else item
        options = item if isinstance(item, Mapping) else {}
        require_keys("tables", options, ("questions", "importance", "error"))
        wanted = wanted_table(questions, listed)
        found.append(_target(questions, wanted, options, f"tables: {wanted.name(questions)}"))
    for item in means:
        wanted = wanted_means(questions, item)
        found.append(_target(questions, wanted, item, f"group_means: {wanted.name(questions)}"))
    names = [target.name for target in found]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError("tables", f"'{name}' is requested twice", "name it once")
    return tuple(found)


def _target(questions: Questions, wanted: Wanted, options: Mapping[str, Any], where: str) -> SurveyTarget:
    importance = in_range(
        f"{where}: importance", options.get("importance", 1.0), 0.0, math.inf, low_open=True, high_open=True
    )
    error = options.get("error")
    if error is not None:
        error = in_range(f"{where}: error", error, 0.0, math.inf, low_open=True, high_open=True)
    name, question = wanted.name(questions), questions[wanted.places[0]]
    cells, spread = math.prod(wanted.shape(questions)), 1.0
    if wanted.number is None and question.is_mean:
        cells, spread = 0, question.relative_spread**2
    elif wanted.number is None:
        spread = wanted_spread(questions, wanted)
    cumulative = is_cumulative(questions, wanted)
    return SurveyTarget(wanted, name, cells, spread, unit(questions, wanted), importance, error, cumulative)


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
    result: Array = around / (1.0 + around)
    return result


def effective(epsilon: float, cells: int, size: Array | int) -> Array:
    """Return eta for sets of this size.

    Examples
    --------
    >>> round(float(effective(2.0, 2, 1)), 6)  # tanh(1)^2
    0.580026
    """
    size = np.asarray(size, dtype=np.float64)
    result: Array = certainty(epsilon, size / cells) ** 2 * (cells - size) / (size * (cells - 1.0))
    return result


@lru_cache(maxsize=1 << 14)
def best_effective(epsilon: float, cells: int) -> float:
    """Return eta of the best size of sets.

    Examples
    --------
    >>> best_effective(2.0, 2) == float(effective(2.0, 2, 1))
    True
    """
    if epsilon <= 0.0:
        return 0.0
    middle = cells / (math.exp(epsilon) + 1.0)  # the best size is next to it
    sizes = {min(max(round(middle) + step, 1), cells - 1) for step in (-2, -1, 0, 1, 2)}
    return float(effective(epsilon, cells, np.array(sorted(sizes))).max())


def single(questions: Questions, place: int, epsilon: float) -> Ask:
    """Return the part that answers one question alone, in the way that tells most.

    A number is rounded to one of its ends where that tells more: the variance of a bit is at most 1/eta with
    the sampling of the user, that of the mean mechanisms is known only without it.
    """
    question = questions[place]
    if question.cumulative:
        spread = wanted_spread(questions, Wanted("question", (place,)))
        share = best_effective(epsilon, question.size)
        better = ordered_noise(question.size, epsilon) + spread < spread / max(share, 1e-300)
        return Ask("ordered" if better else "table", (place,), epsilon)
    if not question.is_mean:
        return Ask("table", (place,), epsilon)
    spread = question.relative_spread**2
    told = {kind: 1.0 / (noise(kind, epsilon) + spread) for kind in NUMBERS}
    told["cells"] = float(effective(epsilon, 2, 1))
    return Ask(max(told, key=lambda kind: told[kind]), (place,), epsilon)


NUMBERS = ("number", "piecewise")
"""The kinds of parts that report a number for its mean."""

PLANNED = "between"
"""A number whose channel is not solved yet: its variance lies between those of the ladder of solved ones."""


@lru_cache(maxsize=1 << 12)
def noise(kind: str, epsilon: float) -> float:
    """Return the largest variance of one report of a number on [-1, 1].

    Examples
    --------
    >>> round(noise("number", 1.0), 3), round(noise("piecewise", 1.0), 3)
    (3.992, 4.683)
    """
    if epsilon <= 0.0:
        return math.inf
    if kind == PLANNED:
        return ladder().between(epsilon)
    return worst_variance_of(epsilon) if kind == "number" else best_shape(epsilon)[0]


@lru_cache(maxsize=1 << 12)
def ordered_noise(size: int, epsilon: float) -> float:
    """Return the variance of one report, summed over the cumulative shares of ``size`` categories.

    At even answers; infinite where no channel is known.

    Examples
    --------
    >>> round(ordered_noise(5, 1.0), 3), ordered_noise(5, 0.0)
    (9.645, inf)
    """
    known = prefix_ladder()
    if not known.has(size, epsilon):
        return math.inf
    place = known.below(epsilon)
    if float(known.epsilons[place]) == epsilon:
        return known.error(size, place)
    found = best_prefix_channel(size, epsilon)
    return math.inf if found is None else found.average_error


def told(questions: Questions, targets: Sequence[SurveyTarget], asks: Sequence[Ask]) -> Array:
    """Return the information of one report about each target, summed over the parts of a design."""
    return np.array([sum(_one(questions, target, ask) for ask in asks) for target in targets])


def _one(questions: Questions, target: SurveyTarget, ask: Ask) -> float:
    wanted = target.wanted
    if not set(wanted.places) <= set(ask.places) or ask.epsilon <= 0.0:
        return 0.0
    if ask.kind in (*NUMBERS, PLANNED):
        return 1.0 / (noise(ask.kind, ask.epsilon) + target.spread)
    if ask.kind == "ordered":
        return 1.0 / (ordered_noise(target.cells, ask.epsilon) + target.spread)
    eta = _share(questions, wanted.places, ask)
    if wanted.number is not None:
        return eta if ask.kind == "cells" else 0.0
    return eta if target.is_mean else target.of_share(eta)


def _share(questions: Questions, wanted: Sequence[int], ask: Ask) -> float:
    sizes = [questions[place].size for place in ask.places]
    cells = math.prod(sizes)
    if ask.kind == "cells":
        return float(effective(ask.epsilon, cells, 1))
    if ask.kind == "table":
        return best_effective(ask.epsilon, cells)
    if len(wanted) > 1:
        return 0.0
    share = math.prod(size / full for size, full in zip(ask.sets, sizes, strict=True))
    place = ask.places.index(wanted[0])
    full, size = sizes[place], ask.sets[place]
    if size == full:
        return 0.0
    return float(certainty(ask.epsilon, share) ** 2 * (full - size) / (size * (full - 1.0)))
