"""A survey of several questions under one epsilon: each user's client draws a design and answers its parts.

Privacy. The design is drawn without looking at the answers and is part of the report. Given the design the
parts are independent, each with an exact epsilon e_i, so the ratio of the chances of a report for two users
is at most exp(e_1 + ... + e_k), whatever they differ in. The sum is taken over the exact fractions that the
doubles e_i are, and compared with the fraction that epsilon is: no rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.losses import LossCurve
from mechdesign.collect.base import CollectingMechanism
from mechdesign.collect.codec import Labels
from mechdesign.collect.collecting import Operation, marked
from mechdesign.collect.kernel import Answer, AskedChoice, AskedNumber, Recipe, Steps, rng_alone
from mechdesign.collect.report_scores import ReportScores
from mechdesign.collect.server import on_table
from mechdesign.core.certificate import Certificate, PrivacyFinding
from mechdesign.core.errors import CertificateError, ParameterError, counted
from mechdesign.core.extensions import FormerAttribute, former_arguments
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import (
    double_delta,
    double_epsilon,
    integer,
    largest_reading,
    privacy_epsilon,
    user_count,
)
from mechdesign.core.values import USERS, Forecast, frozen_value
from mechdesign.data.frames import is_table
from mechdesign.data.identifiers import identifiers
from mechdesign.data.intake import Intake
from mechdesign.exact.randomness import TOTAL, BitSource, Rng, float_up
from mechdesign.families.survey.part_plans import PlannedSurvey, best_part, expected_errors, part_of
from mechdesign.families.survey.parts import SetPart, SurveyPart
from mechdesign.families.survey.questions import NO_ANSWER, Question, Questions
from mechdesign.families.survey.results import (
    Request,
    requests_of,
    singles,
)
from mechdesign.primitives.combine import Split

if TYPE_CHECKING:
    from mechdesign.families.survey.remembered_reports import RememberedReports
    from mechdesign.families.survey.server import SurveyCounts
    from mechdesign.show.figure import Figure, Mark

COVERS = "all reports of a survey"

MARGIN = 0.44
"""Half the width of a question's box; questions are 1 apart."""

ORDINALS = ("first", "second", "third", "fourth", "fifth")

GAP = 0.06
"""The part of a band's height that stays free."""

Bands = tuple[tuple[int, ...], ...]


@frozen_value(repr=False)
class SurveyAudit(PrivacyFinding):
    """Result of the audit of a survey: the guarantee of all reports of a user together.

    The true epsilon is that of the design that gives away most; the witness names it, and for each of its
    parts two answers and a report that attain it. With a delta, a design counts its parts' promised epsilons
    and least deltas where its true epsilon is above the promise.

    Attributes
    ----------
    most : float
        The sum of the parts' true epsilons in that design, each rounded up.
    """

    most: float

    @property
    def true_epsilon(self) -> float:
        """The largest sum of the parts' true epsilons, each rounded up."""
        return self.most

    def _figures(self) -> dict[str, Any]:
        figures = super()._figures()
        if self.delta == 0.0:
            return figures
        least = self.proof.least_delta
        return {**figures, "delta": self.delta, "least_delta": 1.0 if least is None else float_up(least)}


def _input_of(question: Question) -> AskedChoice | AskedNumber:
    if question.is_number:
        return AskedNumber(question.name, question.domain.low, question.domain.high, question.skip)
    return AskedChoice(question.name, question.size, tuple(question.categories))


def _encoded(question: Question, value: Any) -> Any:
    if question.is_number:
        return question.encode(np.array([value], dtype=object))
    return Labels(question.size, question.categories).encode([value], f"question '{question.name}'")


def _steps_of(part: Any) -> Steps:
    return {"questions": list(part.places), "kind": part.kind, "draw": part.mechanism._client_steps()}


MOST_EXPLAINED = 12
"""Designs that are put in words."""

SKIPPED = "category"
"""What is done with empty fields of a file: each question takes them for skipping, or refuses them."""


@dataclass(frozen=True)
class Design:
    """Questions to some of the users: parts about different questions.

    Attributes
    ----------
    parts : tuple of SurveyPart
    weight : int
        Out of 2**62, the chance of a user to get this design.
    """

    parts: tuple[SurveyPart, ...]
    weight: int

    @property
    def places(self) -> tuple[int, ...]:
        """The questions that it asks."""
        return tuple(sorted(place for part in self.parts for place in part.places))


class SurveyMechanism(PlannedSurvey):
    """Several questions of the same user under one epsilon, as its client draws what to ask and how.

    Parameters
    ----------
    questions : sequence of Question
    epsilon : float
        The promise for everything that a user reports, audited here.
    designs : sequence of sequence of SurveyPart
        What a user may be asked; the parts of one design are about different questions.
    shares : sequence, optional
        In which proportion the designs are drawn; even by default.
    requests : sequence of Request, optional
        Cross tables and group means, in addition to every question alone.
    users : int, optional
        How many are planned.
    delta : float
        The promise for everything that a user reports, where parts have a delta: theirs add up.

    Examples
    --------
    >>> questions = [Question("smokes", labels=("no", "yes")), Question("age", "number", low=18, high=90)]
    >>> survey = SurveyMechanism.of(questions, epsilon=3.0)
    >>> reports = survey.randomize({"smokes": ["no", "yes"] * 4000, "age": [20, 60] * 4000}, rng=1)
    >>> results = survey.estimate(reports)
    >>> bool(abs(results["age"].value - 40) < 4 * results["age"].standard_error)
    True
    """

    type: ClassVar[str] = "survey"
    intake: Intake = Intake((), SKIPPED)
    _missing_word: ClassVar[str] = NO_ANSWER

    @former_arguments(wanted="requests")
    def __init__(
        self,
        questions: Sequence[Question] | Questions,
        epsilon: float,
        designs: Sequence[Sequence[SurveyPart]],
        shares: Sequence[Any] | None = None,
        requests: Sequence[Request] = (),
        users: int | None = None,
        delta: float = 0.0,
    ) -> None:
        self.questions = questions if isinstance(questions, Questions) else Questions(questions)
        self.epsilon, self.delta = double_epsilon(epsilon), double_delta(delta)
        if not designs:
            raise ParameterError("designs", "there are none", "give at least one")
        self.split = Split(designs, shares)
        for number, parts in enumerate(self.split.branches):
            _require_disjoint(number, parts)
        self.requests = (*singles(self.questions), *requests)
        self.users = None if users is None else user_count(users)
        if not self.audit().holds:
            raise CertificateError("designs", f"not private as stated: {self.audit()}", "rebuild it")

    @classmethod
    def of(
        cls, questions: Sequence[Question] | Questions, epsilon: float, shares: Sequence[Any] | None = None
    ) -> Self:
        """Return the survey in which every user is asked one question, with the best mechanism for it.

        Examples
        --------
        >>> SurveyMechanism.of([Question("a", labels=("x", "y")), Question("b", labels=("x", "y", "z"))], 1.0)
        SurveyMechanism(2 questions, 2 designs, epsilon=1)
        """
        questionnaire = questions if isinstance(questions, Questions) else Questions(questions)
        designs = [[best_part(questionnaire, place, epsilon)] for place in range(len(questionnaire))]
        return cls(questionnaire, privacy_epsilon(epsilon), designs, shares)

    @classmethod
    def of_sets(
        cls,
        questions: Mapping[str, Sequence[str]],
        epsilon: float,
        designs: Sequence[tuple[Sequence[int], CollectingMechanism[Any]]],
        shares: Sequence[Any],
        users: int | None = None,
    ) -> Self:
        """Return the survey in which every user reports one product of sets.

        Parameters
        ----------
        questions : mapping
            The labels of each question by its name.
        epsilon : float
        designs : sequence of (places, set response)
            The questions that a design asks, by their places, and how.
        shares : sequence of numbers
            Probabilities of the designs.
        users : int, optional
        """
        questionnaire = Questions(
            [Question(name, labels=tuple(labels)) for name, labels in questions.items()]
        )
        parts = [[SetPart(questionnaire, places, response)] for places, response in designs]
        return cls(questionnaire, epsilon, parts, shares, users=users)

    # What it is

    @property
    def designs(self) -> tuple[Design, ...]:
        """What users may be asked, with their probabilities."""
        return tuple(map(Design, self.split.branches, self.split.weights))

    wanted, told = FormerAttribute("requests"), FormerAttribute("part_information")

    @property
    def data_columns(self) -> tuple[str, ...]:
        """The columns of users' data: the names of the questions."""
        return self.intake.columns or self.questions.names

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        """Return the survey for columns of a file, which have to be its questions."""
        if ranges:
            raise ParameterError("range", "a survey has the ranges of its questions", "omit it")
        for name in intake.columns:
            self.questions.place(name, "columns")
        if intake.columns and len(intake.columns) != len(self.questions):
            what = f"{len(intake.columns)} for {counted(len(self.questions), 'question')}"
            raise ParameterError("columns", what, "name all")
        rule = SKIPPED if intake.missing == "refuse" else intake.missing
        return self.replaced(intake=Intake(intake.columns, rule))

    def _require_missing(self, rule: str) -> None:
        """Accept every rule about missing values: unless rows are dropped, each question has its own."""

    # Client

    @rng_alone
    def randomize(self, answers: Any, rng: Rng = None, clip: bool = False) -> NDArray[np.str_]:
        """Return one report per user, a text: the number of the design and a report of each of its parts.

        Parameters
        ----------
        answers : mapping, data frame, or rows
            Columns by the names of the questions, or one row a user in their order. An empty text, None or
            NaN is not an answer, where a question may be skipped.
        rng : None, int or numpy Generator
            None, the default, draws from the operating system; give a seed only in simulations.
        clip : bool
            Whether numbers outside their range are moved to its nearest end.

        Raises
        ------
        DataError
            For an answer that is not possible, with its question and row.
        """
        if is_table(answers):
            return on_table(self, "randomize", answers, rng=rng, clip=clip)
        return self.draw(self.questions.encode(answers, clip), self.source(rng))

    def remember(
        self, answers: Any, rng: Rng = None, clip: bool = False, users: Sequence[Any] | None = None
    ) -> RememberedReports:
        """Return reports that are drawn once and kept: who is asked again sends the same one.

        Parameters
        ----------
        answers, rng, clip
            See :meth:`randomize`.
        users : sequence, optional
            What tells the users apart, one a row; by default numbers from 0, as on a device with one user.
        """
        from mechdesign.families.survey.remembered_reports import PURPOSE, RememberedReports

        encoded, memory = self.questions.encode(answers, clip), RememberedReports(self)
        names = identifiers(range(len(encoded[0])) if users is None else users)
        memory.reports_for(names, encoded, self.source(rng, PURPOSE))
        return memory

    def recipe(self) -> Recipe:
        questions = self.questions.all
        steps = {
            "step": "survey",
            "ends": self.split.ends(),
            "means": [question.is_number for question in questions],
            "sizes": [question.size for question in questions],
            "designs": [[_steps_of(part) for part in parts] for parts in self.split.branches],
        }
        inputs = tuple(map(_input_of, questions))
        return Recipe(inputs, (marked("report", self.survey_digest),), steps, False)

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return one report as a text, from the bits of a source."""
        return str(self.draw(list(map(_encoded, self.questions.all, answer)), source)[0])

    # Server

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        from mechdesign.families.survey.report_scores import survey_scores

        return survey_scores(self, reports)

    def pair_scores(
        self, reports: Any, first: int, second: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from mechdesign.families.survey.report_scores import survey_pairs

        return survey_pairs(self, reports, first, second)

    def aggregator(self) -> SurveyCounts:
        """Return empty counters; those of many servers can be merged."""
        from mechdesign.families.survey.server import SurveyCounts

        return SurveyCounts(self)

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the largest standard error of a share, or of a mean over the width of its range."""
        count = user_count(users)
        errors = expected_errors(self, count)
        for place, request in enumerate(self.requests):
            question = self.questions[request.subject]
            if question.is_number:
                errors[place] /= question.domain.width
        worst = int(np.argmax(errors))
        name, largest = self.names()[worst], float(errors[worst])
        if largest > 1.0:
            amount = (
                "nothing" if math.isinf(largest) else f"too little ({largest:.3g} times what is possible)"
            )
            crowd = counted(count, "user")
            reason = (
                f"with {crowd} the reports tell {amount} about '{name}'; ask more users, or raise epsilon"
            )
            return Forecast("survey", count, False, reason=reason)
        is_mean = self.questions[self.requests[worst].subject].is_number
        whose = f"'{name}'{' over the width of its range' * is_mean}, the least exact result,"
        return Forecast("survey", count, True, largest, None, f"for '{name}'", of=whose)

    # Certificates and file

    @property
    def guarantee(self) -> Guarantee:
        """What is promised for all reports of a user together.

        Parts of 0.1 and 0.2 are within 0.3: the decimal is meant where the double is below it.
        """
        return Guarantee(largest_reading(self.epsilon), largest_reading(self.delta), covers=COVERS)

    def audit(self) -> SurveyAudit:
        """Return the exact audit of the composition: the design that gives away most."""
        return self._audit

    @cached_property
    def _audit(self) -> SurveyAudit:
        designs, names = self.split.branches, self.questions.names
        audits: list[list[Any]] = [[part.audit() for part in parts] for parts in designs]
        epsilons = [[audit.true_epsilon for audit in row] for row in audits]
        true = [math.inf if math.inf in row else sum(map(Fraction, row), Fraction(0)) for row in epsilons]
        worst = max(range(self.count), key=lambda number: true[number])
        witness = {
            "design": worst,
            "parts": [
                {"questions": [names[place] for place in part.places], **audit.certificate().witness}
                for part, audit in zip(designs[worst], audits[worst], strict=True)
            ],
        }
        proof = self.split.proof(self.guarantee, [[audit.proof for audit in row] for row in audits])
        largest = true[worst]
        return SurveyAudit(proof, witness, float_up(largest) if isinstance(largest, Fraction) else largest)

    def loss_curve(self) -> LossCurve | None:
        return self.split.curve(
            [[part.mechanism.loss_curve() for part in parts] for parts in self.split.branches]
        )

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the exact certificates of privacy and of the probabilities of the designs."""
        return self.audit().certificate(), self.split.normalization()

    def operations(self) -> tuple[Operation, ...]:
        """Return ``randomize``, ``remember`` and ``estimate``."""
        from mechdesign.families.survey.remembered_reports import survey_operations

        return survey_operations(self)

    def figures(self) -> list[Figure]:
        """Return figures of the plan of questions, and of the expected errors over the number of users."""
        return survey_figures(self)

    def explained(self) -> tuple[str, ...]:
        """Return an explanation of the questions of a user and of the reports that leave the device."""
        lines = [
            f"{len(self.questions)} questions, of which a random choice is reported: the device draws one of "
            f"{self.count} designs, without looking at the answers, and reports the answers to its questions "
            "only, each at random.",
        ]
        often = shares_of(self)
        for parts, share in often[:MOST_EXPLAINED]:
            text = " and ".join(" with ".join(self.questions[place].name for place in part) for part in parts)
            lines.append(f"Of 1000 users about {round(1000 * share)} report {text}.")
        if len(often) > MOST_EXPLAINED:
            lines.append(f"The other {len(often) - MOST_EXPLAINED} choices are rarer.")
        return (
            *lines,
            f"Everything that a user reports together gives away at most {self.guarantee.in_short}.",
        )

    def _figures(self) -> str:
        designs = f"{self.count} design{'s' * (self.count > 1)}"
        delta = f", delta={self.delta:g}" if self.delta else ""
        return f"{counted(len(self.questions), 'question')}, {designs}, epsilon={self.epsilon:g}{delta}"

    def content(self) -> dict[str, Any]:
        """Return questions, designs with their mechanisms, shares as integers, and what is wanted."""
        return {
            "epsilon": self.epsilon,
            **({"delta": self.delta} if self.delta else {}),
            "questions": self.questions.as_json(),
            "designs": [
                {"weight": design.weight, "parts": [part.as_json() for part in design.parts]}
                for design in self.designs
            ],
            "wanted": [request.as_json() for request in self.requests[len(self.questions) :]],
            "users": self.users,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the survey from plain values, auditing every part and the composition again."""
        questions = Questions.from_json(content["questions"])
        designs = [[part_of(questions, part) for part in item["parts"]] for item in content["designs"]]
        weights = [integer("designs: weight", item["weight"], 1, TOTAL) for item in content["designs"]]
        if sum(weights) != TOTAL:
            raise CertificateError("designs", "their weights do not sum to 2**62")
        requests = requests_of(questions, content["wanted"])
        delta = content.get("delta", 0.0)
        return cls(questions, content["epsilon"], designs, weights, requests, content["users"], delta)


def _require_disjoint(number: int, parts: Sequence[SurveyPart]) -> None:
    """Refuse a design with two parts about one question: their errors would go together."""
    places = [place for part in parts for place in part.places]
    if not places or len(set(places)) < len(places):
        raise ParameterError("designs", f"design {number} has no part, or asks a question twice")


def survey_figures(survey: PlannedSurvey) -> list[Figure]:
    """Return figures of the plan of questions, and of the expected errors with the planned users."""
    return [_questions_figure(survey), _errors(survey)]


def _questions_figure(survey: PlannedSurvey) -> Figure:
    """Return a band for each choice of questions, as high as its share, with a box for each report."""
    from mechdesign.show.figure import Figure, Panel
    from mechdesign.show.panels import axis_names

    marks: list[Mark] = []
    named: set[int] = set()
    bands, top = shares_of(survey), 100.0
    several = any(len(parts) > 1 for parts, _ in bands)
    for parts, share in bands:
        bottom = top - 100.0 * share
        for number, places in enumerate(parts):
            kind = min(number, len(ORDINALS) - 1)
            label = f"{ORDINALS[kind]} report" if several and kind not in named else ""
            named.add(kind)
            marks += _boxes(places, bottom, top - GAP * (top - bottom), kind, label)
        top = bottom
    names = axis_names(survey.questions.names)
    panel = Panel("question", "users (%)", marks, x_names=names, y_limits=(0.0, 100.0))
    caption = (
        "A band is what some of the users report, as high as their share. A box, or boxes that a line "
        "connects, are one report of all its questions; other questions are not reported."
    )
    return Figure("Which users are asked which questions", [panel], caption)


def _boxes(places: Sequence[int], bottom: float, top: float, kind: int, label: str) -> Iterator[Mark]:
    """Yield the boxes of a report, and lines between those that are apart."""
    from mechdesign.show.figure import Line, Polygon

    ends = list(_runs(places))
    for number, (first, last) in enumerate(ends):
        left, right = first - MARGIN, last + MARGIN
        corners = ([left, right, right, left], [bottom, bottom, top, top])
        yield Polygon(*corners, label="" if number else label, series=kind)
    middle = (bottom + top) / 2.0
    for (_, end), (start, _) in pairwise(ends):
        yield Line([end + MARGIN, start - MARGIN], [middle, middle], series=kind)


def shares_of(survey: PlannedSurvey) -> list[tuple[Bands, float]]:
    """Return the questions that are reported together, with their shares; the largest first."""
    shares: dict[Bands, float] = {}
    for number, parts in enumerate(survey.split.branches):
        reports = tuple(sorted(part.places for part in parts))
        shares[reports] = shares.get(reports, 0.0) + survey.share(number)
    return sorted(shares.items(), key=lambda item: (-item[1], item[0]))


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of the places that follow each other.

    Examples
    --------
    >>> list(_runs([0, 1, 3]))
    [(0, 1), (3, 3)]
    """
    for _, pairs in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
        run = [place for _, place in pairs]
        yield run[0], run[-1]


def _errors(survey: PlannedSurvey) -> Figure:
    """Return the standard errors: of shares in percentage points, and of means in their units."""
    from mechdesign.show.figure import Bars, Figure, Panel
    from mechdesign.show.panels import MOST_NAMES, axis_names

    users = survey.users or USERS
    errors = survey.errors(users)
    shares: dict[str, float] = {}
    means: dict[str, float] = {}
    for (name, error), request in zip(errors.items(), survey.requests, strict=True):
        if np.isfinite(error):
            (means if survey.questions[request.subject].is_number else shares)[name] = error
    panels = []
    for errors_of, factor, unit in (shares, 100.0, "percentage points"), (means, 1.0, "units of the number"):
        if errors_of:
            chosen = dict(sorted(errors_of.items(), key=lambda item: -item[1])[:MOST_NAMES])
            bars = Bars(x=np.arange(len(chosen)), y=[factor * error for error in chosen.values()])
            names = axis_names(list(chosen))
            panels.append(Panel("result", f"standard error ({unit})", [bars], x_names=names))
    caption = (
        "Of shares it is the root mean square over the categories. Errors fall with the square root of "
        "the number of users."
    )
    return Figure(f"Expected standard errors with {counted(users, 'user')}", panels, caption)
