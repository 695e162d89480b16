"""The plan of a survey: the information of its parts, expected errors, and the outlook for its owner.

The information of a report is 1 over its variance in a few units. The variance is that of a user drawn from
the planned population: even answers or the planned frequencies, independent of each other, and numbers with
the planned spread. Of a table it is summed over the cells, of a number counted in squared halves of its
range, of group means it is that of the sums in the groups.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import CollectingMechanism, mechanism_type
from mechdesign.core.errors import NORMAL, CertificateError, counted, margin_text
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import integer, user_count
from mechdesign.core.values import USERS
from mechdesign.data.intake import Coded
from mechdesign.exact.randomness import BitSource
from mechdesign.families.survey.parts import (
    Answers,
    NumberPart,
    OrderedPart,
    SetPart,
    SurveyPart,
    TablePart,
    has_type,
    joined_texts,
)
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.results import Request, SurveyResults
from mechdesign.primitives.combine import QuestionForm, Split, question_kind
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import Oracle, cell_variance
from mechdesign.show.tables import table


def effective_share(part: TablePart) -> float:
    """Return eta: the users who answer in clear and tell as much as one report.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> from mechdesign.families.survey.questions import Question
    >>> questions = Questions([Question("smokes", labels=("no", "yes"))])
    >>> round(effective_share(TablePart(questions, [0], KaryResponse.of(2, 2.0))), 6)  # tanh(1)^2
    0.580026
    """
    cells = part.mechanism.labels.size
    return (1.0 - 1.0 / cells) / (cells * cell_variance(part.mechanism))


def part_information(questions: Questions, request: Request, part: SurveyPart) -> float:
    """Return the information of one report of a part about a requested result; 0 where it has none."""
    if not set(request.places) <= set(part.places):
        return 0.0
    if isinstance(part, NumberPart):
        question = questions[part.places[0]]
        noise: float = part.mechanism.worst_variance() / question.domain.half**2
        return 1.0 / (noise + question.relative_spread**2)
    if isinstance(part, OrderedPart):
        question = questions[part.places[0]]
        shares = np.array(question.frequencies or (1.0 / question.size,) * question.size)
        return 1.0 / (part.noise(question.cumulative, shares) + request_spread(questions, request))
    if isinstance(part, SetPart):
        if len(request.places) > 1:
            return 0.0  # cross tables are not counted
        share = float(part.mechanism.effective_share([part.places.index(request.places[0])]))
    elif not isinstance(part, TablePart):
        return 0.0
    elif request.number is not None and not isinstance(part.mechanism, KaryResponse):
        return 0.0  # its reports support several cells, whose errors go together
    else:
        share = effective_share(part)
    if request.number is not None or (len(request.places) == 1 and questions[request.places[0]].is_mean):
        return share
    if is_cumulative(questions, request):
        return share / request_spread(questions, request)
    cells = math.prod(request.shape(questions))
    return of_share(share, cells, planned_spread(questions, request.places))


def is_cumulative(questions: Questions, request: Request) -> bool:
    """Whether the cumulative shares of one question are wanted."""
    return len(request.places) == 1 and questions[request.places[0]].cumulative


def request_spread(questions: Questions, request: Request) -> float:
    """Return the variance of a user who answers in clear, summed over the shares that are wanted.

    Of the cumulative shares of k categories at even answers it is sum i/k (1 - i/k) = (k^2 - 1)/(6k).

    Examples
    --------
    >>> from mechdesign.families.survey.questions import Question
    >>> questions = Questions([Question("health", "ordered", ("bad", "fair", "good"), cumulative=True)])
    >>> round(request_spread(questions, Request("question", (0,))), 6)  # 1/3 2/3 + 2/3 1/3
    0.444444
    """
    if not is_cumulative(questions, request):
        return planned_spread(questions, request.places)
    size = questions[request.places[0]].size
    return (size * size - 1.0) / (6.0 * size)


def planned_spread(questions: Questions, places: Sequence[int]) -> float:
    """Return the variance of a user who answers in clear, summed over the cells of the table of questions.

    Examples
    --------
    >>> from mechdesign.families.survey.questions import Question
    >>> ill = Question("ill", labels=("no", "yes"), frequencies=(0.9, 0.1))
    >>> questions = Questions([ill, Question("sex", labels="fm")])
    >>> round(planned_spread(questions, [0]), 6), round(planned_spread(questions, [0, 1]), 6)
    (0.18, 0.59)
    """
    return 1.0 - math.prod(questions[place].planned_match for place in places)


def of_share(eta: float, cells: int, spread: float) -> float:
    """Return the information of a report with this effective share, about a table of planned spread.

    Whatever the population, the squared error of a report, summed over the cells, is (1 - 1/cells)(1/eta - 1)
    and the spread of the answers themselves: 1/eta times the spread where answers are even.

    Examples
    --------
    >>> of_share(0.5, 2, 0.5), round(of_share(0.5, 2, 0.18), 6)
    (1.0, 1.470588)
    """
    even = 1.0 - 1.0 / cells
    return eta / (even - eta * (even - spread))


class PlannedSurvey(CollectingMechanism[SurveyResults]):
    """A survey as it is planned: questions, designs with their shares, and what their reports tell."""

    questions: Questions
    epsilon: float
    delta: float
    split: Split[SurveyPart]
    requests: tuple[Request, ...]
    users: int | None

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised for all reports of a user together."""

    @property
    def count(self) -> int:
        """Number of designs."""
        return len(self.split.branches)

    def share(self, number: int) -> float:
        """Return the probability of a design."""
        return self.split.share(number)

    def part_information(self, request: Request, part: SurveyPart) -> float:
        """Return the planned information of one report of a part about a requested result."""
        return part_information(self.questions, request, part)

    def information(self, request: Request, number: int) -> float:
        """Return the planned information of one report of a design about a requested result."""
        return sum(self.part_information(request, part) for part in self.split.branches[number])

    def names(self) -> tuple[str, ...]:
        """Return the names of the requested results."""
        return tuple(request.name(self.questions) for request in self.requests)

    def errors(self, users: int | None = None) -> dict[str, float]:
        """Return the standard error of each result, expected with this many users at even answers.

        Of a table it is the root mean square over its cells, of a mean in the units of the number.
        """
        count = user_count(self.users or USERS if users is None else users)
        return dict(zip(self.names(), expected_errors(self, count).tolist(), strict=True))

    def draw(self, answers: Answers, source: BitSource) -> NDArray[np.str_]:
        """Return the reports for encoded answers."""
        return np.asarray(self.coded_reports(answers, source))

    def coded_reports(self, answers: Answers, source: BitSource) -> Coded:
        """Return the reports for encoded answers, each different text once."""
        codes = np.empty(len(answers[0]), dtype=np.int64)
        places: dict[str, int] = {}
        for start, numbers in self.split.draw(len(codes), source):
            for number, parts in enumerate(self.split.branches):
                rows = start + np.flatnonzero(numbers == number)
                if len(rows):
                    chosen = [column[rows] for column in answers]
                    columns = [part.draw(self.questions, chosen, source) for part in parts]
                    texts, own = joined_texts(f"{number}:", columns)
                    known = np.array([places.setdefault(text, len(places)) for text in texts])
                    codes[rows] = known[own]
        return Coded(np.array(list(places), dtype=str), codes)


def expected_errors(survey: PlannedSurvey, users: int) -> NDArray[np.float64]:
    """Return the standard error of each requested result with ``users`` users; infinite for no information.

    Of a table it is the root mean square over the cells (of a question that is wanted for its cumulative
    shares over these), of a number in its units, of group means for groups
    of equal size.
    """
    shares = list(map(survey.share, range(survey.count)))
    information = [
        sum(share * survey.information(request, number) for number, share in enumerate(shares))
        for request in survey.requests
    ]
    units = np.array([unit(survey.questions, request) for request in survey.requests])
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(units / (users * np.array(information))))


def unit(questions: Questions, request: Request) -> float:
    """Return the factor from the variance of a requested result as planned to the squared standard error."""
    if request.number is not None:
        return questions[request.number].domain.half ** 2 * questions[request.group].size
    first = questions[request.places[0]]
    if first.is_number and len(request.places) == 1:
        return first.domain.half**2 * (ROUNDED if first.skip else 1.0)
    if is_cumulative(questions, request):
        return 1.0 / (first.size - 1)
    return 1.0 / math.prod(request.shape(questions))


ROUNDED = 9.0 / 4.0
"""From the variance of the three shares of a number that may be skipped, summed, to that of its mean.

With shares u, v of the ends and r = u / (u + v) the variance of r is that of (1 - r) u - r v over (u + v)^2.
At even shares it is (9/4)(1/4)(var u + var v - 2 cov), and the bracket is the summed variance of all three:
the mean, in squared halves of the range, has 4 (9/4)(1/4) = 9/4 of it.
"""


def part_of(questions: Questions, document: Any) -> SurveyPart:
    """Return the part that :meth:`SurveyPart.as_json` describes, audited again."""
    if not isinstance(document, Mapping):
        raise CertificateError("designs", "a part is damaged", "rebuild it")
    places = [integer("designs: question", place, 0, len(questions) - 1) for place in document["questions"]]
    kind = document["type"]
    mechanism_class = mechanism_type(kind)
    if mechanism_class is None:
        raise CertificateError("designs", f"no mechanism type '{kind}'", "rebuild it")
    mechanism: Any = mechanism_class.from_content(document["content"])
    for word, part_class in PART_OF_TYPE.items():
        if has_type(mechanism, word) and (part_class is SetPart or len(places) == 1):
            return part_class(questions, places, mechanism)
    if isinstance(mechanism, Oracle):
        return TablePart(questions, places, mechanism)
    raise CertificateError("designs", f"a '{kind}' is not a part of a survey", "rebuild it")


PART_OF_TYPE: Mapping[str, type[SurveyPart]] = {
    "grid-mean": NumberPart,
    "linear-queries": OrderedPart,
    "set-response": SetPart,
}
"""How the reports of mechanisms of these types are read; of other frequency oracles as those of a table."""


# Parts by their kinds, which families offer

PARTS: Mapping[str, type[SurveyPart]] = {
    "number": NumberPart,
    "piecewise": NumberPart,
    "ordered": OrderedPart,
    "table": TablePart,
    "cells": TablePart,
    "sets": SetPart,
}
"""How the reports of each kind are read."""


@cache
def _mechanism(kind: str, form: QuestionForm, epsilon: float, promised: float) -> Any:
    """Return the mechanism of a part, one for all that are alike; None where no channel is solved."""
    return question_kind(kind).mechanism(form, epsilon, promised)


def planned_part(
    questions: Questions,
    kind: str,
    places: Sequence[int],
    epsilon: float,
    promised: float,
    sets: tuple[int, ...] = (),
) -> SurveyPart | None:
    """Return the part of a kind that is designed for epsilon and private at the promised one.

    None where its channel is not solved.
    """
    first = questions[places[0]]
    domain = first.domain if PARTS[kind] is NumberPart else None
    form = QuestionForm(tuple(questions[place].size for place in places), domain, sets)
    mechanism = _mechanism(kind, form, epsilon, promised)
    return None if mechanism is None else PARTS[kind](questions, places, mechanism)


def best_part(questions: Questions, place: int, epsilon: float) -> SurveyPart:
    """Return the part that reports one question and tells most of it.

    A number takes the channel with the least worst variance where that is known, else the best piecewise
    mechanism; a question that is wanted for its cumulative shares the best channel for these where that tells
    more than the best frequency oracle; others that oracle.
    """
    question = questions[place]
    kinds = ("number", "piecewise") if question.is_mean else ("table", "ordered")[: 1 + question.cumulative]
    parts = (planned_part(questions, kind, [place], epsilon, epsilon) for kind in kinds)
    known = (part for part in parts if part is not None)
    if question.is_mean:
        return next(known)
    request = Request("question", (place,))
    return max(known, key=lambda part: part_information(questions, request, part))


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
    goal : float or None
        The requested standard error.
    users : int or None
        How many users take the error to the goal.
    is_share : bool
        Whether it is of shares, and not of a mean.
    """

    name: str
    standard_error: float
    goal: float | None = None
    users: int | None = None
    is_share: bool = True

    @property
    def margin(self) -> float:
        """The margin of error that is expected: half the width of a normal 95% interval."""
        return NORMAL * self.standard_error


@dataclass(frozen=True)
class SurveyOutlook:
    """Plan of a survey: questions of each user, expected errors, and the privacy that each user loses.

    Attributes
    ----------
    survey : SurveyMechanism
    users : int
        For whom the errors are.
    results : tuple of Expected
    remarks : tuple of str
        What else is known, such as bounds.
    """

    survey: PlannedSurvey
    users: int
    results: tuple[Expected, ...]
    remarks: tuple[str, ...] = ()

    @property
    def users_needed(self) -> int | None:
        """Number of users for which all errors meet their targets; None if there is none."""
        goals = [item for item in self.results if item.goal is not None]
        counts = [item.users for item in goals if item.users is not None]
        return max(counts) if counts and len(counts) == len(goals) else None

    @property
    def ledger(self) -> str:
        """Epsilon of each user, as text."""
        return f"each user gives away {self.survey.guarantee.in_short} in total, over all questions together"

    def __str__(self) -> str:
        shares: dict[str, float] = {}
        for number in range(self.survey.count):
            text = design_in_words(self.survey, number)
            shares[text] = shares.get(text, 0.0) + self.survey.share(number)
        rows = sorted(shares.items(), key=lambda item: -item[1])
        parts = [table(["users", "report"], [[f"{share:.1%}", text] for text, share in rows[:MOST_SHOWN]])]
        if len(rows) > MOST_SHOWN:
            rest = sum(share for _, share in rows[MOST_SHOWN:])
            parts.append(f"{rest:.1%}  one of {len(rows) - MOST_SHOWN} more designs")
        parts += ["", self._expected(), *self.remarks, self.ledger]
        return "\n".join(parts)

    def _expected(self) -> str:
        header = ["result", f"standard error, {counted(self.users, 'user')}", "margin of error"]
        rows = [
            [item.name, f"{item.standard_error:.4g}", margin_text(item.margin, item.is_share)]
            for item in self.results
        ]
        if any(item.goal is not None for item in self.results):
            header += ["target", "users needed"]
            for row, item in zip(rows, self.results, strict=True):
                enough = "none are enough" if item.users is None else str(item.users)
                row += ["-", "-"] if item.goal is None else [f"{item.goal:g}", enough]
        return table(header, rows)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        names = self.survey.questions.names
        return {
            "users": self.users,
            "epsilon": self.survey.epsilon,
            "designs": [
                {
                    "share": self.survey.share(number),
                    "parts": [
                        {"questions": [names[place] for place in part.places], "epsilon": part.epsilon}
                        for part in parts
                    ],
                }
                for number, parts in enumerate(self.survey.split.branches)
            ],
            "results": [
                {("wanted" if key == "goal" else key): value for key, value in vars(item).items()}
                | {"margin": item.margin}
                for item in self.results
            ],
            "users_needed": self.users_needed,
        }


def outlook_of(
    survey: PlannedSurvey, users: int, goals: Sequence[float | None] = (), remarks: Sequence[str] = ()
) -> SurveyOutlook:
    """Return the forecast before any user is asked.

    Parameters
    ----------
    survey : SurveyMechanism
    users : int
    goals : sequence of float or None
        The requested standard error of each result; none by default.
    remarks : sequence of str

    Examples
    --------
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> questions = [Question("smokes", labels=("no", "yes")), Question("sex", labels=("f", "m"))]
    >>> print(outlook_of(SurveyMechanism.of(questions, epsilon=2.0), 1000, [0.05, None]))
    users  report
    -----  ------
    50.0%  smokes
    50.0%  sex
    <BLANKLINE>
    result  standard error, 1000 users  margin of error  target  users needed
    ------  --------------------------  ---------------  ------  ------------
    smokes                     0.02936      ±5.8 points    0.05           345
    sex                        0.02936      ±5.8 points       -             -
    each user gives away epsilon = 2 in total, over all questions together
    """
    alone, names = expected_errors(survey, 1).tolist(), survey.names()
    expected = []
    means = [survey.questions[request.subject].is_number for request in survey.requests]
    for name, one, goal, is_mean in zip(names, alone, goals or [None] * len(names), means, strict=True):
        count = None if goal is None else users_for(one, goal)
        expected.append(Expected(name, one / math.sqrt(users), goal, count, not is_mean))
    return SurveyOutlook(survey, users, tuple(expected), tuple(remarks))


def users_for(alone: float, error: float) -> int | None:
    """Return the number of users for a standard error, from that of one user; None if none does.

    Examples
    --------
    >>> users_for(2.0, 0.5), users_for(float("inf"), 0.5)
    (16, None)
    """
    needed = (alone / error) ** 2
    return math.ceil(needed * (1.0 - 2.0**-40)) if math.isfinite(needed) else None


def design_in_words(survey: PlannedSurvey, number: int) -> str:
    """Return the questions of a design in words: 'a with b' in one report, 'a and b' in two."""
    parts = survey.split.branches[number]
    texts = []
    for part in parts:
        names = " with ".join(survey.questions[place].name for place in part.places)
        texts.append(names if len(parts) == 1 else f"{names} (epsilon {part.epsilon:.3g})")
    return " and ".join(texts)
