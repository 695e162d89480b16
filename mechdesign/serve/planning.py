"""The plan of a draft: margins of error of the design that would run, and what would change them.

**Margins.** A draft is solved and its mechanism is made, as ``mechdesign build`` does it; the margin of a
result is 1.96 of its expected standard errors. The designs for an epsilon do not depend on the number of
people (the errors of all results are in proportion to 1/sqrt(people), and each goal is a function of their
ratios), so that number is left out of what a solution is remembered by.

**The least epsilon.** For the goal "epsilon" the designs for the goal "worst" are tried at a few epsilons,
until the largest ratio of a margin to the requested one is just below 1. The page has the design at that
epsilon, rounded up to three digits: it gives the requested margins. ``mechdesign build`` proves the least.

**Points.** A margin of a mean is compared with those of shares as a part of its range: 5 points of a number
from 0 to 60 are 3.
"""

from __future__ import annotations

import json
import math
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mechdesign.catalog.load import Model
from mechdesign.catalog.survey_file import tick_names
from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import NORMAL, MechDesignError, ParameterError
from mechdesign.core.fields import parameters_of
from mechdesign.core.values import USERS
from mechdesign.families.survey.design import SurveyDesign
from mechdesign.families.survey.part_plans import expected_errors, users_for
from mechdesign.families.survey.survey import SurveyMechanism
from mechdesign.serve.draft import HEAD, NAME, QUESTIONS, Document, draft_model, is_number, private_folder
from mechdesign.show.draw import svg
from mechdesign.show.figure import Figure, Line, Panel, Reference
from mechdesign.solvers.solve import solve
from mechdesign.survey import Survey

JOINT = ("tables", "group_means")
"""Where results of several questions are stated."""

LEAST_EPSILON, LARGEST_EPSILON, STEPS = 0.01, 50.0, 20
"""Between which ends, and in how many steps, an epsilon is searched."""

MOST_REMEMBERED = 200
"""Solutions that a process keeps."""

EPSILONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
"""Where the curve over epsilon is computed."""

PEOPLE = tuple(10.0 ** (step / 8.0) for step in range(-8, 9))
"""The people of the curve over them, as parts of those that are planned."""


@dataclass(frozen=True)
class ResultMargin:
    """The margin of error of one result.

    Attributes
    ----------
    name : str
    place : str
        Of the question or the joint result in the draft.
    margin : float
        With the planned people; infinite where nothing is learned.
    is_share : bool
        Whether it is of shares, and not of a mean.
    width : float
        The range of a mean; 1 for shares.
    target : float or None
        The margin that is requested.
    users : int or None
        How many people take it to the target.
    """

    name: str
    place: str
    margin: float
    is_share: bool
    width: float
    target: float | None = None
    users: int | None = None

    @property
    def points(self) -> float:
        """The margin in percentage points: of a mean, of its range."""
        return 100.0 * self.margin / self.width


@dataclass(frozen=True)
class SurveyPlan:
    """What is to be expected of a draft.

    Attributes
    ----------
    goal : str
    epsilon : float
        Of the design: for the goal "epsilon" the least one.
    users : int
        For whom the margins are.
    needed : int or None
        For the goal "users", how many people take all margins to the requested ones.
    results : tuple of ResultMargin
    """

    goal: str
    epsilon: float
    users: int
    needed: int | None
    results: tuple[ResultMargin, ...]

    @property
    def least_exact(self) -> float:
        """The largest margin in points."""
        return max(result.points for result in self.results)

    @property
    def most_exact(self) -> float:
        """The smallest margin in points."""
        return min(result.points for result in self.results)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; an infinite margin is None."""
        rows = [
            {**asdict(one), "points": _finite(one.points), "margin": _finite(one.margin)}
            for one in self.results
        ]
        return {**asdict(self), "results": rows}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


_solved: OrderedDict[str, tuple[Mechanism, float]] = OrderedDict()


def _mechanism_of(model: Model) -> tuple[Mechanism, float]:
    """Return the mechanism that a model builds, and the value of its solution.

    Raises
    ------
    ParameterError
        Where there is none, with what would help.
    """
    parameters = parameters_of(model.problem)
    if isinstance(model.problem, SurveyDesign) and model.problem.goal != "epsilon":
        parameters.pop("users", None)
    content = json.dumps([model.problem.name, parameters, repr(model.data)], sort_keys=True, default=str)
    if content in _solved:
        _solved.move_to_end(content)
        return _solved[content]
    solution = solve(model.problem)
    if not solution.found or solution.broken:
        raise ParameterError("design", solution.message or str(solution.broken[0]))
    _solved[content] = model.data.applied(solution.mechanism()), float(solution.value)
    if len(_solved) > MOST_REMEMBERED:
        _solved.popitem(last=False)
    return _solved[content]


def plan_of(document: Mapping[str, Any]) -> SurveyPlan:
    """Return the plan of a draft that can be built.

    Raises
    ------
    MechDesignError
        Where the file of the draft is refused, or nothing can be estimated with its numbers.

    Examples
    --------
    >>> plan = plan_of({
    ...     "survey": {"title": "Mood", "epsilon": 2.0, "users": 1000},
    ...     "questions": [{"name": "mood", "labels": ["bad", "good"]}, {"name": "age", "range": [18, 90]}],
    ... })
    >>> [(one.name, round(one.margin, 3), round(one.points, 1)) for one in plan.results]
    [('mood', 0.06, 6.0), ('age', 3.124, 4.3)]
    """
    model = draft_model(document)
    if document[HEAD].get("goal") == "epsilon":
        return _plan_of_least(document)
    mechanism, value = _mechanism_of(model)
    problem = model.problem
    users = problem.planned_users or model.about.users or USERS
    if isinstance(mechanism, SurveyMechanism) and isinstance(problem, SurveyDesign):
        needed = math.ceil(value * (1.0 - 2.0**-40)) if problem.goal == "users" else None
        results = _survey_margins(document, problem, mechanism, users)
        return SurveyPlan(problem.goal, mechanism.epsilon, users, needed, results)
    name, place = document[QUESTIONS][0]["name"], f"{QUESTIONS}.0"
    forecast = mechanism.forecast(users)
    error = math.inf
    if forecast is not None and forecast.possible and forecast.largest is not None:
        error = forecast.largest
    is_share = not is_number(document[QUESTIONS][0])
    width = 1.0 if is_share else _width(document[QUESTIONS][0])
    epsilon = float(document[HEAD]["epsilon"])
    return SurveyPlan(
        "mean", epsilon, users, None, (ResultMargin(name, place, NORMAL * error, is_share, width),)
    )


def _plan_of_least(document: Mapping[str, Any]) -> SurveyPlan:
    """Return the plan with the least epsilon for the requested margins, rounded up to three digits."""
    head = {**document[HEAD], "goal": "worst"}

    def plan_at(epsilon: float) -> SurveyPlan:
        return plan_of({**document, HEAD: {**head, "epsilon": epsilon}})

    def ratio(epsilon: float) -> float:
        return max(one.margin / one.target for one in plan_at(epsilon).results if one.target is not None)

    least = smallest_epsilon(ratio, float(head["epsilon"]), 0.005)
    if least is None:
        what = f"no epsilon up to {LARGEST_EPSILON:g} gives these margins"
        raise ParameterError("design", what, "plan with more people, or accept larger margins")
    return replace(plan_at(up_to_digits(least)), goal="epsilon")


def up_to_digits(number: float, digits: int = 3) -> float:
    """Return a number > 0 rounded up to some digits.

    Examples
    --------
    >>> up_to_digits(0.72335135), up_to_digits(2.0), up_to_digits(12.01)
    (0.724, 2.0, 12.1)
    """
    unit = 10.0 ** (math.floor(math.log10(number)) + 1 - digits)
    return float(f"{math.ceil(number / unit - 1e-9) * unit:.{digits}g}")


def smallest_epsilon(ratio: Callable[[float], float], epsilon: float, within: float) -> float | None:
    """Return the least epsilon at which a ratio of margins is at most 1; None where none up to 50 is.

    The margins are nearly a power of epsilon: a secant in logarithms, between ends that are known.

    Parameters
    ----------
    ratio : callable
        The largest ratio of a margin to the requested one, of an epsilon; infinite for no information.
    epsilon : float
        Where to begin.
    within : float
        By what part it may be too large.

    Examples
    --------
    >>> 2.0 <= smallest_epsilon(lambda epsilon: 2.0 / epsilon, 1.0, 0.01) <= 2.02
    True
    """
    low, high = LEAST_EPSILON, math.inf
    value, slope = ratio(epsilon), -1.0
    for _ in range(STEPS):
        low, high = (low, epsilon) if value <= 1.0 else (epsilon, high)
        if low >= LARGEST_EPSILON:
            return None
        if high <= (1.0 + within) * low:
            break
        guess = math.inf
        if math.isfinite(value):
            guess = epsilon * (1.0 / value) ** (1.0 / slope)
        if math.isinf(high) or value > 1.0:
            guess *= 1.0 + 0.3 * within  # a little beyond, to have it from both sides
        else:
            guess *= 1.0 - 0.6 * within
        if not low < guess < high:
            guess = LARGEST_EPSILON if math.isinf(high) else math.sqrt(low * high)
        guess = min(float(f"{guess:.5g}"), LARGEST_EPSILON)
        before, epsilon, value = (epsilon, value), guess, ratio(guess)
        if math.isfinite(value) and math.isfinite(before[1]) and epsilon != before[0]:
            slope = min(-0.2, math.log(value / before[1]) / math.log(epsilon / before[0]))
    return high if math.isfinite(high) else None


def _survey_margins(
    document: Mapping[str, Any], problem: SurveyDesign, survey: SurveyMechanism, users: int
) -> tuple[ResultMargin, ...]:
    alone = expected_errors(survey, 1).tolist()
    margins = []
    for target, place, one in zip(problem.targets, result_places(document), alone, strict=True):
        question = problem.questionnaire[target.request.subject]
        is_share = not question.is_number
        margins.append(
            ResultMargin(
                target.name,
                place,
                NORMAL * one / math.sqrt(users),
                is_share,
                1.0 if is_share else question.domain.width,
                None if target.error is None else NORMAL * target.error,
                None if target.error is None else users_for(one, target.error),
            )
        )
    return tuple(margins)


def result_places(document: Mapping[str, Any]) -> list[str]:
    """Return the place in the draft of each result, in the order of the design problem.

    Examples
    --------
    >>> ticks = {"name": "tools", "kind": "several", "labels": ["mail", "chat"]}
    >>> result_places({"survey": {"tables": [["a", "b"]]}, "questions": [ticks]})
    ['questions.0', 'questions.0', 'survey.tables.0']
    """
    places = []
    for number, question in enumerate(document[QUESTIONS]):
        places += [f"{QUESTIONS}.{number}"] * max(1, len(tick_names("draft", question)))
    for key in JOINT:
        places += [f"{HEAD}.{key}.{number}" for number in range(len(document[HEAD].get(key, [])))]
    return places


def _width(question: Mapping[str, Any]) -> float:
    low, high = question["range"]
    return float(high) - float(low)


# Margins that are requested


def with_margin(document: Mapping[str, Any], points: float) -> Document:
    """Return a draft in which each result without a requested error has that of a margin in points.

    Examples
    --------
    >>> draft = {"survey": {"tables": [["a", "b"]]}, "questions": [{"name": "age", "range": [0, 60]}]}
    >>> filled = with_margin(draft, 5.0)
    >>> filled["questions"][0]["error"], filled["survey"]["tables"]
    (1.5306, [{'questions': ['a', 'b'], 'error': 0.025511}])
    """
    share = points / 100.0 / NORMAL
    names = {item.get("name"): item for item in document[QUESTIONS]}

    def error(question: Mapping[str, Any] | None) -> float:
        is_mean = question is not None and is_number(question) and not question.get("bins")
        return float(f"{share * (_width(question) if is_mean and question else 1.0):.5g}")

    questions = [{**item, "error": item.get("error", error(item))} for item in document[QUESTIONS]]
    head = dict(document[HEAD])
    if "tables" in head:
        listed = [item if isinstance(item, Mapping) else {"questions": item} for item in head["tables"]]
        head["tables"] = [{**item, "error": item.get("error", error(None))} for item in listed]
    if "group_means" in head:
        head["group_means"] = [
            {**item, "error": item.get("error", error(names.get(item.get("number"))))}
            for item in head["group_means"]
        ]
    return {**document, HEAD: head, QUESTIONS: questions}


def with_stated_numbers(document: Mapping[str, Any]) -> Document:
    """Return a draft whose goal states margins, for a number of people and an epsilon: never the inverse."""
    head = dict(document[HEAD])
    if head.get("goal") in ("users", "epsilon"):
        del head["goal"]
    return {**document, HEAD: head}


# What would change them


def curves(document: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Return the margins over people and over epsilon: as pictures, and as rows of numbers.

    Parameters
    ----------
    document : mapping
        A draft that can be built.
    words : mapping of str to str
        The texts of the pictures: ``people``, ``epsilon``, ``margin``, ``largest``, ``smallest``, ``now``,
        ``over_people``, ``over_epsilon``, ``caption``.
    """
    plain = with_stated_numbers(document)
    plan = plan_of(plain)
    people = sorted({plan.users, *(max(1, int(float(f"{plan.users * part:.2g}"))) for part in PEOPLE)})
    over_people = [(float(count), plan_with(plain, users=count)) for count in people]
    own = float(plain[HEAD]["epsilon"])
    epsilons = sorted({*EPSILONS, own})
    over_epsilon = [(epsilon, plan_with(plain, epsilon=epsilon)) for epsilon in epsilons]
    return {
        "people": _curve(over_people, float(plan.users), words, "people"),
        "epsilon": _curve(over_epsilon, own, words, "epsilon"),
    }


def plan_with(document: Mapping[str, Any], **numbers: float) -> SurveyPlan | None:
    """Return the plan of a draft with other numbers; None where nothing can be estimated."""
    try:
        return plan_of({**document, HEAD: {**document[HEAD], **numbers}})
    except MechDesignError:
        return None


def _curve(
    plans: Sequence[tuple[float, SurveyPlan | None]], own: float, words: Mapping[str, str], axis: str
) -> dict[str, Any]:
    there = [
        (x, plan.least_exact, plan.most_exact)
        for x, plan in plans
        if plan is not None and math.isfinite(plan.least_exact)
    ]
    rows = [{"x": x, "largest": largest, "smallest": smallest} for x, largest, smallest in there]
    if len(there) < 2:
        return {"rows": rows, "picture": ""}
    x, largest, smallest = zip(*there, strict=True)
    marks: list[Any] = [Line(x=x, y=largest, label=words["largest"], dots=axis == "epsilon")]
    if smallest != largest:
        marks.append(Line(x=x, y=smallest, label=words["smallest"], dots=axis == "epsilon"))
    marks.append(Reference(own, axis="x", label=words["now"]))
    scale: Any = "log" if axis == "people" else "linear"
    panel = Panel(words[axis], words["margin"], marks, x_scale=scale, y_scale="log")
    figure = Figure(words[f"over_{axis}"], [panel], words["caption"])
    return {"rows": rows, "picture": svg(figure, narrow=True)}


def without(document: Mapping[str, Any], places: Sequence[str]) -> Document:
    """Return a draft without some questions and joint results, and what needs the questions.

    Examples
    --------
    >>> draft = {"survey": {"tables": [["a", "b"]]}, "questions": [{"name": "a"}, {"name": "b"}]}
    >>> without(draft, ["questions.1"])
    {'survey': {}, 'questions': [{'name': 'a'}]}
    """
    gone = {int(place.split(".")[1]) for place in places if place.startswith(QUESTIONS)}
    questions = [item for number, item in enumerate(document[QUESTIONS]) if number not in gone]
    names = {item["name"] for number, item in enumerate(document[QUESTIONS]) if number in gone}
    names |= {tick for number in gone for tick in tick_names("draft", document[QUESTIONS][number])}
    head = dict(document[HEAD])
    for key in JOINT:
        stay = [
            item
            for number, item in enumerate(head.get(key, []))
            if f"{HEAD}.{key}.{number}" not in places and not names & set(names_in(item))
        ]
        head.pop(key, None)
        if stay:
            head[key] = stay
    translations = head.get("translations")
    if isinstance(translations, Mapping):
        head["translations"] = {key: _without_names(texts, names) for key, texts in translations.items()}
    return {**document, HEAD: head, QUESTIONS: questions}


def _without_names(texts: Any, names: set[str]) -> Any:
    """Return a translation without the words of some questions."""
    if not isinstance(texts, Mapping) or not isinstance(texts.get(QUESTIONS), Mapping):
        return texts
    rest = {name: words for name, words in texts[QUESTIONS].items() if name not in names}
    return {**texts, QUESTIONS: rest}


def names_in(item: Any) -> Iterator[str]:
    """Yield the names of the questions of a cross table or of group means, as a draft states them."""
    if isinstance(item, Mapping):
        yield from map(str, item.get("questions", ()))
        yield from (str(item[key]) for key in ("number", "by") if key in item)
    else:
        yield from map(str, item)


def built_survey(text: str, path: str) -> None:
    """Build the draft of a text, and write its mechanism to a path, as ``mechdesign build`` does.

    Raises
    ------
    MechDesignError
        Where the draft cannot be built.
    """
    with private_folder() as folder:
        source = folder / NAME
        source.write_text(text, encoding="utf-8")
        Survey.load(source).build().save(path)
    os.chmod(path, 0o600)
