"""The least epsilon with which the planned users are enough, with a design there and a proof just below.

The users that are needed fall steadily as epsilon rises, nearly like a power of it: a secant in logarithms
finds where they are the planned ones in a few steps, each started from the designs of the one before. Where
a number is asked for its mean, the first steps take its variance from between the rungs of the ladder of
solved channels; only the last ones solve the channel at their epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from mechdesign.families.survey.design import SurveyDesign
from mechdesign.families.survey.design_bundles import Independent
from mechdesign.families.survey.design_mixtures import Column, Mixture, generate_mixture
from mechdesign.families.survey.design_setting import STEPS, SurveySetting

AIM = 4e-6
"""A step aims at this part fewer users than planned, so that it ends where the planned ones are enough."""

NEAR = 1e-5
"""When the users needed are that close to the planned ones, the proof just below is tried."""

ROUNDS = 60

DIGITS = 8
"""Decimal digits of the epsilons that are tried: solvers that round otherwise lead to the same ones."""


@dataclass(frozen=True)
class TriedEpsilon:
    """A mixture at one epsilon."""

    setting: SurveySetting
    mixture: Mixture

    @property
    def epsilon(self) -> float:
        """Its epsilon."""
        return self.setting.epsilon

    @property
    def needed(self) -> float:
        """The users that are needed."""
        return self.mixture.value


@dataclass
class EpsilonSearch:
    """The ends between which the least epsilon lies, and the slope of the users needed.

    Attributes
    ----------
    high : TriedEpsilon
        Where the planned users are enough.
    low : float
        Where they are not, for any design of the class.
    slope : float
        Of the logarithm of the users needed against that of epsilon, at the last steps.
    done : bool
        Whether low is just below high.
    """

    high: TriedEpsilon
    low: float = 0.0
    slope: float = -2.0
    done: bool = False


def search_least_epsilon(problem: SurveyDesign, kind: type[Independent]) -> EpsilonSearch | TriedEpsilon:
    """Return where the least epsilon is; a single try where no epsilon up to the problem's is enough."""
    first = _tried(problem.own_setting, kind, None)
    if first.needed > problem.users:
        return first
    search, last = EpsilonSearch(first), first
    if any(question.is_mean for question in problem.asked.all):
        plan = EpsilonSearch(_tried(problem.setting(planned=True), kind, first, False))
        if plan.high.needed <= problem.users:
            _narrowed(plan, plan.high, problem, kind, lambda epsilon: problem.setting(epsilon, planned=True))
            search.slope = plan.slope
            last = _step(search, problem, kind, problem.setting(plan.high.epsilon), plan.high)
    _narrowed(search, last, problem, kind, problem.setting)
    return search


def _narrowed(
    search: EpsilonSearch,
    last: TriedEpsilon,
    problem: SurveyDesign,
    kind: type[Independent],
    setting: Callable[[float], SurveySetting],
) -> None:
    """Bring the ends of a search together, from its last step on."""
    within = problem.optimal_within / 2.0
    beyond = False
    for _ in range(ROUNDS):
        high = search.high
        if high.epsilon - search.low <= within * high.epsilon:
            search.done = True
            return
        if beyond and last.needed > problem.users >= last.mixture.bound:
            return  # within the gap of the optimum
        beyond = last is high and math.log(problem.users / high.needed) <= NEAR
        missing = math.log(problem.users * (1.0 - AIM) / last.needed)
        epsilon = last.epsilon * math.exp(missing / search.slope)
        if beyond:
            epsilon = high.epsilon * (1.0 - 0.9 * within)
        if not search.low < epsilon < high.epsilon:
            epsilon = (search.low + high.epsilon) / 2.0
        before, epsilon = last, float(f"{epsilon:.{DIGITS}g}")
        last = _step(search, problem, kind, setting(epsilon), last, beyond)
        change = math.log(last.epsilon / before.epsilon)
        if abs(change) > 1e-4:
            slope = math.log(last.needed / before.needed) / change
            search.slope = min(slope, -0.1)


def _step(
    search: EpsilonSearch,
    problem: SurveyDesign,
    kind: type[Independent],
    setting: SurveySetting,
    near: TriedEpsilon,
    proven: bool = False,
) -> TriedEpsilon:
    """Try one epsilon and move an end of the search there."""
    result = _tried(setting, kind, near, proven)
    if result.needed <= problem.users:
        if result.epsilon < search.high.epsilon:
            search.high = result
    elif result.mixture.bound > problem.users:
        search.low = max(search.low, result.epsilon)
    return result


def _tried(
    setting: SurveySetting, kind: type[Independent], near: TriedEpsilon | None, proven: bool = True
) -> TriedEpsilon:
    pricing = kind(setting)
    start = pricing.start()
    if near is not None:
        start += [moved(column, near.setting, setting) for column in near.mixture.columns]
    return TriedEpsilon(setting, generate_mixture(setting, start, pricing, proven))


def moved(column: Column, old: SurveySetting, new: SurveySetting) -> Column:
    """Return a design with its budgets in the same proportion of another epsilon.

    Examples
    --------
    >>> from mechdesign.families.survey.questions import Question, Questions
    >>> from mechdesign.families.survey.design_setting import Ask
    >>> from mechdesign.families.survey.design_setting import targets_of
    >>> asked = Questions([Question(name, labels=("no", "yes")) for name in "ab"])
    >>> targets = targets_of(asked, [{"name": "a"}, {"name": "b"}], [], [])
    >>> old, new = SurveySetting(asked, targets, 1.0), SurveySetting(asked, targets, 2.0)
    >>> [(ask.places, ask.epsilon) for ask in moved((Ask("cells", (0, 1), 1.0),), old, new)]
    [((0, 1), 2.0)]
    """
    found = []
    for ask in column:
        step = min(STEPS, math.ceil(ask.epsilon / old.epsilon * STEPS - 1e-9))
        if len(ask.places) == 1:
            found.append(new.menu.ask(ask.places[0], step))
        else:
            found.append(replace(ask, epsilon=float(new.menu.budgets[step])))
    return tuple(found)
