"""Mixtures of designs: the best one by column generation, usual rules, rotations, and general bounds.

The master splits the users among the designs found so far and says at which prices more information would
help; the pricing finds the design that gives most at these prices and bounds what any design of the class
gives, and so the error of every mixture (weak duality, docs/families/survey.md). For the least number of
users the prices are the dual variables of a linear program.

Questions that are alike in all that counts make a group: a design and its rotations through the group, in
which every member takes each place equally often, give the same to each, so the master works with groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.families.survey.design_setting import Ask, SurveySetting, single
from mechdesign.solvers.descent import ErrorTerms, allocate

if TYPE_CHECKING:
    from mechdesign.families.survey.limit_bounds import Effects
    from mechdesign.families.survey.limit_columns import SetClasses

Array = NDArray[np.float64]
Column = tuple[Ask, ...]
Pricing = Callable[[Array, float], tuple[list[Column], float]]
"""From prices of the targets, and a price up to which the bound is good enough, to designs and the bound."""

Master = Callable[["SurveySetting", Array], tuple[Array, float, Array]]

TOLERANCE = 1e-5
"""The relative gap at which it ends."""

ROUNDS = 400

RARE = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Designs with smaller shares are left out where that costs next to nothing, the largest of these first."""

NEGLIGIBLE = 1e-11
"""Shares below this are dropped."""

IDLE = 20
"""Rounds for which designs without a share are kept: with prices that are not unique they would return."""


@dataclass
class Mixture:
    """Designs, how the users are split among them, and a bound.

    Attributes
    ----------
    columns : list of tuple of Ask
        Of a design with groups one representative; see :func:`rotated`.
    shares : (C,) array
    value : float
        The mean error, or the least number of users.
    bound : float
        No mixture of the class goes below.
    prices : (m,) array
        Of the information about each target, at the end.
    rounds : int
    """

    columns: list[Column]
    shares: Array
    value: float
    bound: float
    prices: Array
    rounds: int = field(default=0)


def generate_mixture(
    setting: SurveySetting, start: Sequence[Column], pricing: Pricing, proven: bool = True
) -> Mixture:
    """Return the best mixture of the designs that ``pricing`` chooses from.

    Parameters
    ----------
    setting : SurveySetting
    start : sequence of tuple of Ask
        Designs that together tell every target.
    pricing : callable
    proven : bool
        Whether the bound is refined at the end where it is not as close as it should be.
    """
    master = _mean_master if setting.needed is None else _users_master
    columns = list(dict.fromkeys(start))
    table = np.array([setting.grouped(column) for column in columns])
    idle = np.zeros(len(columns), dtype=np.int64)
    best_bound, rounds = 0.0, 0
    enough = np.inf
    while True:
        rounds += 1
        shares, value, prices = master(setting, table)
        each, paid = setting.spread_over(prices), value if setting.needed is None else 1.0 / value
        priced, most = pricing(each, enough * paid)
        best_bound = max(best_bound, _bound(setting, value, most))
        fresh = [
            column
            for column in dict.fromkeys(priced)
            if column not in columns and setting.information(column) @ each > paid * (1.0 + TOLERANCE / 100.0)
        ]
        if value - best_bound <= TOLERANCE * value or rounds >= ROUNDS:
            break
        if not fresh and (not proven or enough < np.inf):
            break
        # A finer grid may know designs and bounds that the first one does not.
        enough = np.inf if fresh and enough == np.inf else 1.0 + TOLERANCE / 2.0
        idle = np.where(shares > NEGLIGIBLE, 0, idle + 1)
        keep = idle < IDLE
        columns = [column for column, stays in zip(columns, keep, strict=True) if stays] + fresh
        table, idle = table[keep], np.append(idle[keep], np.zeros(len(fresh), dtype=np.int64))
        if fresh:
            table = np.vstack([table, [setting.grouped(column) for column in fresh]])
    places, shares, value = _without_rare(master, setting, table, shares, value)
    return Mixture([columns[place] for place in places], shares, value, min(best_bound, value), each, rounds)


def _without_rare(
    master: Master, setting: SurveySetting, table: Array, shares: Array, value: float
) -> tuple[NDArray[np.int64], Array, float]:
    """Return which designs are kept, with their shares: as few as cost next to nothing."""
    for least in RARE:
        keep = np.flatnonzero(shares > least)
        if not (table[keep].max(axis=0, initial=0.0) > 0.0).all():
            continue
        fewer, error, _ = master(setting, table[keep])
        if error <= value * (1.0 + TOLERANCE):
            left = np.flatnonzero(fewer > NEGLIGIBLE)
            return keep[left], fewer[left] / fewer[left].sum(), error
    keep = np.flatnonzero(shares > NEGLIGIBLE)
    return keep, shares[keep] / shares[keep].sum(), value


def _bound(setting: SurveySetting, value: float, most: float) -> float:
    """Return the bound of weak duality, from the largest price of a design."""
    if most <= 0.0:
        return 0.0
    return value * value / most if setting.needed is None else 1.0 / most


def _mean_master(setting: SurveySetting, table: Array) -> tuple[Array, float, Array]:
    """Return shares, the mean error and its prices."""
    terms = ErrorTerms(setting.weights, table.T)
    shares = allocate(terms).shares
    information = shares @ table
    return shares, float((setting.weights / information).sum()), setting.weights / information**2


def _users_master(setting: SurveySetting, table: Array) -> tuple[Array, float, Array]:
    """Return shares, the least number of users, and prices: max t with information >= t needed."""
    from scipy.sparse import csr_array

    from mechdesign.solvers.linear import LinearProgram, solve_linear

    needed = np.asarray(setting.needed)
    finite = needed > 0.0
    scale = 1.0 / needed[finite]
    gains = table[:, finite] * scale
    unit = float(gains.max())  # t is at most the largest entry
    count, rows = len(table), np.hstack([-gains.T / unit, np.ones((int(finite.sum()), 1))])
    program = LinearProgram(
        objective=np.append(np.zeros(count), 1.0),
        upper_rows=csr_array(rows),
        upper_limits=np.zeros(len(rows)),
        equal_rows=csr_array(np.append(np.ones(count), 0.0)[None, :]),
        equal_limits=np.ones(1),
        low=np.zeros(count + 1),
        high=np.append(np.ones(count), 2.0),  # never reached, so that all prices are those of the rows
    )
    result = solve_linear(program)
    shares = np.maximum(result.variables[:-1], 0.0)
    shares /= shares.sum()
    duals = result.upper_multipliers / result.upper_multipliers.sum()
    prices = np.zeros(len(needed))
    prices[finite] = duals * scale
    return shares, float(1.0 / (shares @ gains).min()), prices


MOST_DESIGNS = 1 << 14


def rotated(mixture: Mixture, groups: Sequence[Sequence[int]]) -> tuple[list[Column], Array]:
    """Return all rotations of the designs through the groups, each with an even part of the share.

    Raises
    ------
    ParameterError
        When there are more designs than a mechanism file should have.
    """
    share_of: dict[Column, float] = {}
    for column, share in zip(mixture.columns, mixture.shares.tolist(), strict=True):
        moves = [(group, *_roles(column, group)) for group in groups]
        turns = math.lcm(*(len(group) // math.gcd(len(group), step) for group, _, step in moves if step))
        if turns > MOST_DESIGNS:
            what = f"their groups need {turns} designs"
            raise ParameterError("questions", what, "ask fewer of the same kind")
        for turn in range(turns):
            one = _turned(column, moves, turn)
            share_of[one] = share_of.get(one, 0.0) + share / turns
    return list(share_of), np.array(list(share_of.values()))


Role = tuple[int, int]
"""The part that asks a question, and the size of its set there."""


def _roles(column: Column, group: Sequence[int]) -> tuple[list[Role], int]:
    """Return the roles of those members of a group that are asked, and how far a turn moves.

    It moves past all that are asked where they are interchangeable, else by one; by none where none is.
    """
    role: dict[int, Role] = {}
    for number, ask in enumerate(column):
        for position, place in enumerate(ask.places):
            role[place] = (number, ask.sets[position] if ask.sets else 0)
    roles = sorted(role[place] for place in group if place in role)
    return roles, len(roles) if len(set(roles)) == 1 else min(1, len(roles))


def _turned(column: Column, moves: Sequence[tuple[Sequence[int], list[Role], int]], turn: int) -> Column:
    """Return the design in which the members of each group have moved on."""
    members: list[dict[int, int]] = [{} for _ in column]
    for group, roles, step in moves:
        for position, (number, size) in enumerate(roles):
            members[number][group[(position + turn * step) % len(group)]] = size
    asks: list[Ask] = []
    for ask, sizes in zip(column, members, strict=True):
        places = tuple(sorted(sizes))
        asks.append(
            replace(ask, places=places, sets=tuple(sizes[place] for place in places) if ask.sets else ())
        )
    return tuple(asks)


def even_turns(setting: SurveySetting, count: int) -> tuple[list[Column], list[float]]:
    """Return designs of ``count`` questions each that ask all questions equally often, with even budgets.

    Windows of neighboring questions, one after the other around the circle, each with the same share.
    """
    total = len(setting.questions)
    windows = total // math.gcd(total, count)
    columns = []
    for number in range(windows):
        places = sorted((number * count + step) % total for step in range(count))
        columns.append(tuple(single(setting.questions, place, setting.epsilon / count) for place in places))
    return columns, [1.0 / windows] * windows


def rule_count(setting: SurveySetting) -> int:
    """Return k = max(1, min(d, floor(epsilon / 2.5))) (Wang et al. 2019, section 4.2).

    Examples
    --------
    >>> [max(1, min(5, math.floor(epsilon / 2.5))) for epsilon in (1.0, 5.0, 8.0, 50.0)]
    [1, 2, 3, 5]
    """
    return max(1, min(len(setting.questions), math.floor(setting.epsilon / 2.5)))


RULES: Sequence[tuple[str, Callable[[SurveySetting], int], str]] = (
    (
        "even",
        lambda setting: len(setting.questions),
        "every question of every user, with epsilon divided evenly",
    ),
    ("sampled", lambda setting: 1, "one question of each user, drawn evenly, with all of epsilon"),
    ("rule", rule_count, "max(1, min(d, floor(epsilon / 2.5))) questions of each user (Wang et al. 2019)"),
)


MOST_PLACES = 8
"""Questions of a requested table whose components are listed."""


MOST_ANSWERS = 16
"""Answers in all up to which every set of them is gone through: a few tenths of a second."""

TOTAL, SETS, ENTROPY = "total information", "all sets of answers", "entropy of sets"
"""Where bounds come from: corollary 8, theorem 7 and corollary 10 of docs/families/survey_limit.md."""


def bounds_for_any(setting: SurveySetting, information: Array | None = None) -> dict[str, float]:
    """Return lower bounds of the mean error of every epsilon-private mechanism at even answers.

    The total information always bounds; all sets of answers where they are few, also with cross tables; the
    entropy of sets where only questions are requested. None where a number, group means or cumulative shares
    are wanted, or other than even answers are planned: the bounds are for tables at even answers.

    Parameters
    ----------
    setting : SurveySetting
    information : (m,) array, optional
        What a report of a mixture tells of each target, for the bound by entropy, which takes a second;
        without it that bound is left out.

    Returns
    -------
    dict
        Bounds by where they come from.

    Examples
    --------
    >>> from mechdesign.families.survey.questions import Question, Questions
    >>> from mechdesign.families.survey.design_setting import targets_of
    >>> questions = Questions([Question(name, labels=("no", "yes")) for name in "ab"])
    >>> targets = targets_of(questions, [{"name": "a"}, {"name": "b"}], [], [])
    >>> bounds = bounds_for_any(SurveySetting(questions, targets, 1.0), np.array([0.2, 0.2]))
    >>> {source: round(bound, 3) for source, bound in bounds.items()}  # one question a user has 9.3654
    {'total information': 7.365, 'all sets of answers': 9.365, 'entropy of sets': 7.949}
    """
    effects = _effects(setting)
    if effects is None:
        return {}
    from mechdesign.families.survey.limit_bounds import entropy_bound, information_bound

    result = {TOTAL: information_bound(effects, setting.epsilon)}
    if math.prod(effects.sizes) <= MOST_ANSWERS:
        result[SETS] = _classes(effects).best_mixture(effects, setting.epsilon)[-1]
    if information is not None and effects.singles:
        shares = information * np.array([target.spread for target in setting.targets])
        each = np.array([np.mean([shares[part[0]] for part in kind]) for kind in effects.members])
        result[ENTROPY] = entropy_bound(effects, setting.epsilon, each)
    return result


def _effects(setting: SurveySetting) -> Effects | None:
    """Return the parts of the requested tables; None where the bounds do not hold or would be too many."""
    targets = setting.targets
    if any(target.is_mean or target.request.number is not None or not target.is_even for target in targets):
        return None
    if any(target.cumulative for target in targets):
        return None
    if max(len(target.request.places) for target in targets) > MOST_PLACES:
        return None
    weights: dict[tuple[int, ...], Fraction] = {}
    for target, weight in zip(targets, setting.each_weight.tolist(), strict=True):
        places = target.request.places
        weights[places] = weights.get(places, Fraction(0)) + Fraction(weight)
    from mechdesign.families.survey.limit_bounds import effects_of

    return effects_of(setting.questions.sizes, weights)


@lru_cache(maxsize=8)
def _classes(effects: Effects) -> SetClasses:
    from mechdesign.families.survey.limit_columns import classes_of

    return classes_of(effects)
