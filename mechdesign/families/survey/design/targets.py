"""What a survey is to tell, in numbers: weights, sampling variances, units and wanted standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import in_range, require_keys
from mechdesign.families.survey.planned import is_cumulative, of_share, unit, wanted_spread
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.wanted import Wanted, singles, wanted_means, wanted_table


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
    given: Sequence[Mapping[str, Any]],
    tables: Sequence[Any],
    means: Sequence[Any],
) -> tuple[SurveyTarget, ...]:
    """Return everything that is wanted, with what the model says of it.

    Parameters
    ----------
    questions : Questions
    given : sequence of mapping
        The questions as the model states them, with ``importance`` and ``error``.
    tables, means : sequence
        Cross tables and group means as the model states them.
    """
    found = [
        _target(questions, wanted, item, f"question '{item['name']}'")
        for wanted, item in zip(singles(questions), given, strict=True)
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
