"""What the owner of a survey knows before any user is asked: who is asked what, and every expected error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mechdesign.core.text import counted, table
from mechdesign.families.survey.part_plans import expected_errors

if TYPE_CHECKING:
    from mechdesign.families.survey.survey import Design, Survey

MOST_SHOWN = 20
"""Designs that are printed; the others are counted."""


@dataclass(frozen=True)
class Expected:
    """One result before it is collected.

    Attributes
    ----------
    name : str
    standard_error : float
        With the planned users: of a table the root mean square over its cells, of a mean
        in its units.
    wanted : float or None
        The requested standard error.
    users : int or None
        How many users take the error to what is wanted.
    """

    name: str
    standard_error: float
    wanted: float | None = None
    users: int | None = None


@dataclass(frozen=True)
class SurveyOutlook:
    """Plan of a survey: questions of each user, expected errors, and the privacy that each user loses.

    Attributes
    ----------
    survey : Survey
    users : int
        For whom the errors are.
    results : tuple of Expected
    remarks : tuple of str
        What else is known, such as bounds.
    """

    survey: Survey
    users: int
    results: tuple[Expected, ...]
    remarks: tuple[str, ...] = ()

    @property
    def users_needed(self) -> int | None:
        """Number of users for which all errors meet their targets; None if there is none."""
        asked = [item for item in self.results if item.wanted is not None]
        counts = [item.users for item in asked if item.users is not None]
        return max(counts) if counts and len(counts) == len(asked) else None

    @property
    def ledger(self) -> str:
        """Epsilon of each user, as text."""
        return f"each user gives away {self.survey.guarantee.in_short} in total, over all questions together"

    def __str__(self) -> str:
        shares: dict[str, float] = {}
        for number in range(self.survey.count):
            text = asked_in_words(self.survey, number)
            shares[text] = shares.get(text, 0.0) + self.survey.share(number)
        rows = sorted(shares.items(), key=lambda item: -item[1])
        parts = [table(["users", "report"], [[f"{share:.1%}", text] for text, share in rows[:MOST_SHOWN]])]
        if len(rows) > MOST_SHOWN:
            rest = sum(share for _, share in rows[MOST_SHOWN:])
            parts.append(f"{rest:.1%}  one of {len(rows) - MOST_SHOWN} more designs")
        parts += ["", self._expected(), *self.remarks, self.ledger]
        return "\n".join(parts)

    def _expected(self) -> str:
        header = ["result", f"standard error, {counted(self.users, 'user')}"]
        rows = [[item.name, f"{item.standard_error:.4g}"] for item in self.results]
        if any(item.wanted is not None for item in self.results):
            header += ["target", "users needed"]
            for row, item in zip(rows, self.results, strict=True):
                row += ["-" if item.wanted is None else f"{item.wanted:g}", _count(item)]
        return table(header, rows)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        survey = self.survey
        return {
            "users": self.users,
            "epsilon": survey.epsilon,
            "designs": [
                {"share": survey.share(number), "parts": _parts(survey, design)}
                for number, design in enumerate(survey.designs)
            ],
            "results": [vars(item) for item in self.results],
            "users_needed": self.users_needed,
        }


def outlook_of(
    survey: Survey, users: int, wanted: Sequence[float | None] = (), remarks: Sequence[str] = ()
) -> SurveyOutlook:
    """Return the forecast before any user is asked.

    Parameters
    ----------
    survey : Survey
    users : int
    wanted : sequence of float or None
        The requested standard error of each result; none by default.
    remarks : sequence of str

    Examples
    --------
    >>> from mechdesign.families.survey import Question, Survey
    >>> asked = [Question("smokes", labels=("no", "yes")), Question("sex", labels=("f", "m"))]
    >>> print(outlook_of(Survey.of(asked, epsilon=2.0), 1000, [0.05, None]))
    users  report
    -----  ------
    50.0%  smokes
    50.0%  sex
    <BLANKLINE>
    result  standard error, 1000 users  target  users needed
    ------  --------------------------  ------  ------------
    smokes                     0.02936    0.05           345
    sex                        0.02936       -             -
    each user gives away epsilon = 2 in total, over all questions together
    """
    alone, names = expected_errors(survey, 1).tolist(), survey.names()
    goals = list(wanted) or [None] * len(names)
    found = []
    for name, one, goal in zip(names, alone, goals, strict=True):
        count = None if goal is None else users_for(one, goal)
        found.append(Expected(name, one / math.sqrt(users), goal, count))
    return SurveyOutlook(survey, users, tuple(found), tuple(remarks))


def users_for(alone: float, error: float) -> int | None:
    """Return the number of users for a standard error, from that of one user; None if none does.

    Examples
    --------
    >>> users_for(2.0, 0.5), users_for(float("inf"), 0.5)
    (16, None)
    """
    needed = (alone / error) ** 2
    return math.ceil(needed * (1.0 - 2.0**-40)) if math.isfinite(needed) else None


def asked_in_words(survey: Survey, number: int) -> str:
    """Return the questions of a design in words: 'a with b' in one report, 'a and b' in two."""
    parts = survey.designs[number].parts
    texts = []
    for part in parts:
        names = " with ".join(survey.questions[place].name for place in part.places)
        texts.append(names if len(parts) == 1 else f"{names} (epsilon {part.epsilon:.3g})")
    return " and ".join(texts)


def _count(item: Expected) -> str:
    if item.wanted is None:
        return "-"
    return "none are enough" if item.users is None else str(item.users)


def _parts(survey: Survey, design: Design) -> list[dict[str, Any]]:
    names = survey.questions.names
    return [
        {"questions": [names[place] for place in part.places], "epsilon": part.epsilon}
        for part in design.parts
    ]
