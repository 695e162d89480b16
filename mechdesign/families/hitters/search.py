"""The search for a design of levels: a dynamic program with normal tails; exact tails only judge the result.

Let c = z(a) + k z(b) for the normal quantiles z of false alarm a and loss b, k^2 = r (1 - r) / (q (1 - q)).
A level with these needs N = (c / (f (p - q)))^2 q (1 - q) users to find the share f. For f, a number g of
levels and the loss b = failure / g of each, the program finds the levels with the fewest users in all: a
state is the bits that are done and the number of prefixes that are survivors, on a grid of powers of
2^(1/2). What each step costs the server is limited. Users go with 1/f^2 nearly, so that f is corrected a
few times until all users are needed. Then numbers of false prefixes and losses are moved one by one, and
the groups are as large as what their levels need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.hitters.detection import Detection, design_levels, level_work, single_test_bound
from mechdesign.families.hitters.prefix_hashing import MOST_STEP

Array = NDArray[np.float64]
Wholes = NDArray[np.int64]

GRID = 2
"""States of kept prefixes to a factor of two."""

STATES = 41
"""The largest state stands for 2^((STATES - 1) / GRID) prefixes."""

EXTRA = 2.0 ** (np.arange(STATES) / GRID - 3.0)
"""Expected false prefixes that are tried."""

LARGEST_ALARM = 0.05
"""Above this a level keeps nearly all prefixes that somebody has, and says little."""

MOST_LEVELS = 8
CORRECTIONS = 5
TIGHTENED = 12
"""How often a design is sought again with less work, where it exceeds the limit."""


@dataclass(frozen=True)
class SearchSetting:
    """What a search is for: users, p and q, bits of hashes and of strings, limits."""

    users: int
    own: float
    other: float
    buckets: int
    bits: int
    work: float
    failure: float
    false_strings: float
    known: int = 0

    def spread(self, share: float) -> float:
        """Return k for a share."""
        chance = min(self.other + share * (self.own - self.other), 1.0 - 1e-9)
        return math.sqrt(chance * (1.0 - chance) / (self.other * (1.0 - self.other)))

    @property
    def unit(self) -> float:
        """Users times f^2 / c^2."""
        return self.other * (1.0 - self.other) / (self.own - self.other) ** 2


@dataclass(frozen=True)
class LevelPlan:
    """A design before it is judged: lengths, expected false prefixes after each level, losses."""

    lengths: tuple[int, ...]
    extra: tuple[float, ...]
    losses: tuple[float, ...]


def quantile(tail: Array | float) -> Array:
    """Return the normal quantile of an upper tail."""
    from scipy.special import ndtri

    result: Array = -ndtri(np.clip(tail, 1e-300, 0.5))
    return result


def _held(z_alarm: Array | float, z_loss: float, share: float) -> Array | float:
    """Return about how many prefixes that somebody has are survivors: one over the threshold."""
    return (z_alarm + z_loss) / (share * np.maximum(z_alarm, 0.5))


@dataclass(frozen=True)
class _Steps:
    """Users that a step needs by state and false prefixes (infinite: forbidden), and the state after it."""

    users: Array
    place: Wholes


def _steps(setting: SearchSetting, share: float, loss: float, start: int, step: int, last: bool) -> _Steps:
    survivors = 2.0 ** (np.arange(STATES) / GRID)
    extra = np.array([setting.false_strings]) if last else EXTRA
    alarm = extra / (survivors * 2.0**step)[:, None]
    z_alarm, z_loss = quantile(alarm), float(quantile(loss)) * setting.spread(share)
    users = setting.unit * (z_alarm + z_loss) ** 2 / share**2
    cost = survivors[:, None] * level_work(users, setting.buckets, start, step)
    place = np.ceil(np.log2(extra + _held(z_alarm, z_loss, share) + setting.known) * GRID - 1e-9)
    possible = (alarm < (0.5 if last else LARGEST_ALARM)) & (cost <= setting.work) & ((place < STATES) | last)
    return _Steps(np.where(possible, users, np.inf), np.minimum(place, STATES - 1).astype(np.int64))


def programmed(setting: SearchSetting, count: int, share: float) -> tuple[float, LevelPlan] | None:
    """Return the fewest users with which ``count`` levels find a share, and how; None beyond the work."""
    loss, bits = setting.failure / count, setting.bits
    best = np.full((bits + 1, STATES), np.inf)
    best[0, 0] = 0.0
    trace = []
    longest = min(MOST_STEP, bits)
    tables: dict[tuple[bool, bool, int], _Steps] = {}
    for turn in range(count):
        last = turn == count - 1
        after = np.full_like(best, np.inf)
        origin = np.zeros((3, bits + 1, STATES), dtype=np.int64)
        for start in np.flatnonzero(np.isfinite(best).any(axis=1)).tolist():
            left = bits - start
            for step in [left] if last else range(1, min(longest, left - (count - 1 - turn)) + 1):
                if not 1 <= step <= longest:
                    continue
                key = (start > 0, last, step)
                if key not in tables:
                    tables[key] = _steps(setting, share, loss, int(start > 0), step, last)
                table = tables[key]
                value = best[start][:, None] + table.users
                state = value.argmin(axis=0)
                columns = np.arange(value.shape[1])
                least = value[state, columns]
                to = np.zeros_like(columns) if last else table.place[state, columns]
                before = after[start + step].copy()
                np.minimum.at(after[start + step], to, least)
                moved = np.flatnonzero((least < before[to]) & (least == after[start + step, to]))
                origin[:, start + step, to[moved]] = np.full(len(moved), step), state[moved], moved
        best = after
        trace.append(origin)
    if not np.isfinite(best[bits, 0]):
        return None
    lengths: list[int] = []
    extra: list[float] = []
    at, state = bits, 0
    for origin in reversed(trace):
        step, before, column = origin[:, at, state].tolist()
        lengths.append(at)
        extra.append(float(EXTRA[column]) if extra else setting.false_strings)
        at, state = at - step, before
    return float(best[bits, 0]), LevelPlan(tuple(lengths[::-1]), tuple(extra[::-1]), (loss,) * count)


@dataclass(frozen=True)
class Needs:
    """Users, false alarms and costs of the levels of a plan, for a share."""

    users: Array
    alarms: Array
    cost: float


def needs(setting: SearchSetting, plan: LevelPlan, share: float) -> Needs:
    """Return what the levels of a plan need to find a share, by normal tails."""
    users, alarms, cost, survivors, start = [], [], 0.0, 1.0, 0
    for length, extra, loss in zip(plan.lengths, plan.extra, plan.losses, strict=True):
        largest = 0.5 if length == setting.bits else LARGEST_ALARM
        alarm = min(extra / (survivors * 2.0 ** (length - start)), largest)
        z_alarm, z_loss = float(quantile(alarm)), float(quantile(loss)) * setting.spread(share)
        size = setting.unit * (z_alarm + z_loss) ** 2 / share**2
        users.append(size)
        alarms.append(alarm)
        cost += survivors * level_work(size, setting.buckets, start, length - start)
        survivors, start = extra + float(_held(z_alarm, z_loss, share)) + setting.known, length
    return Needs(np.array(users), np.array(alarms), cost)


def smaller_plan(setting: SearchSetting, plan: LevelPlan, share: float) -> LevelPlan:
    """Return a plan that needs fewer users: false prefixes and losses are moved one by one."""

    def total(candidate: LevelPlan) -> float:
        need = needs(setting, candidate, share)
        return float(need.users.sum()) if need.cost <= setting.work else math.inf

    best, least = plan, total(plan)
    for factor in (2.0, 1.4, 1.15, 1.05):
        moved = True
        while moved:
            moved = False
            for candidate in _neighbours(best, factor):
                value = total(candidate)
                if value < least * (1.0 - 1e-6):
                    best, least, moved = candidate, value, True
    return best


def _neighbours(plan: LevelPlan, factor: float) -> list[LevelPlan]:
    """Return plans with other numbers of false prefixes, or with loss moved from one level to another."""
    result = []
    count = len(plan.lengths)
    for level in range(count - 1):
        for scale in (factor, 1.0 / factor):
            extra = [*plan.extra]
            extra[level] *= scale
            result.append(replace(plan, extra=tuple(extra)))
    for source in range(count):
        for target in range(count):
            losses = [*plan.losses]
            part = losses[source] * (1.0 - 1.0 / factor)
            losses[source] -= part
            losses[target] += part
            if source != target:
                result.append(replace(plan, losses=tuple(losses)))
    return result


def detection_of(setting: SearchSetting, plan: LevelPlan, share: float) -> Detection:
    """Return the design of a plan with groups as large as their levels need, judged by exact tails.

    The false alarm of the last level is the largest that the limit of false strings allows.
    """
    need = needs(setting, plan, share)
    parts = need.users / need.users.sum()
    design = Detection(
        setting.users,
        setting.own,
        setting.other,
        setting.buckets,
        design_levels(plan.lengths, parts.tolist(), need.alarms.tolist()),
        setting.known,
    )
    factor = setting.false_strings / design.false_strings * (1.0 - 1e-9)
    levels = (*design.levels[:-1], replace(design.levels[-1], alarm=design.levels[-1].alarm * factor))
    return replace(design, levels=levels)


def best_design(setting: SearchSetting) -> Detection | None:
    """Return the best design of the search within the limits; None where the work allows none."""
    best, least = None, math.inf
    for count in range(1, min(MOST_LEVELS, setting.bits) + 1):
        candidate = _of_count(setting, count)
        if candidate is None:
            continue
        share = candidate.least_share(setting.failure)
        if share < least:
            best, least = candidate, share
        elif best is not None:
            break  # more levels than needed split the users without a use
    return best


def _of_count(setting: SearchSetting, count: int) -> Detection | None:
    """Return a design with this many levels; where its exact work exceeds the limit, with less work."""
    limit = setting
    alarm = setting.false_strings / 2.0**setting.bits
    least = single_test_bound(setting.users, setting.own, setting.other, setting.failure, alarm)
    for _ in range(TIGHTENED):
        plan, share = None, 1.1 * least
        for _ in range(CORRECTIONS):
            candidate = programmed(limit, count, min(share, 0.9))
            if candidate is None:
                return None
            share, plan = min(share, 0.9) * math.sqrt(candidate[0] / setting.users), candidate[1]
        assert plan is not None
        for _ in range(3):
            plan = smaller_plan(limit, plan, min(share, 0.9))
            share = min(share, 0.9) * math.sqrt(float(needs(limit, plan, share).users.sum()) / setting.users)
        design = detection_of(limit, plan, min(share, 0.9))
        if design.work <= setting.work:
            return design
        limit = replace(limit, work=limit.work * min(0.9, setting.work / design.work))
    return None
