"""The methods of ``heavy-hitters``: a dynamic program, and for short strings all compositions one by one.

Both are judged by exact tails. The second shares with the first only this judge: for every way to divide the
bits among at most two levels it moves the sizes of the groups and the false alarms until nothing is gained.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from mechdesign.core.problem import Method, Outcome
from mechdesign.families.hitters.detection import Detection, Level, design_levels
from mechdesign.families.hitters.heavy_hitters import HeavyHitters
from mechdesign.families.hitters.prefix_hashing import MOST_STEP
from mechdesign.families.hitters.search import SearchSetting, best_design

MOST_ENUMERATED = 6
"""Bits of strings whose compositions are all tried."""

MOST_USERS_ENUMERATED = 5_000
MOST_PARTS = 2

LITTLE = 0.5
"""Where a design uses less than this part of the work, the work does not bind it much."""

NEAR = 1.25
"""Designs that have enough work are within this of the bound."""

BOUND = "the test of n reports with the least false alarm (Neyman and Pearson), whatever the levels"


def best_buckets(problem: HeavyHitters) -> list[int]:
    """Return bits of hashes from the best on downwards: fewer make the server's work less."""
    best = min(
        range(1, problem.most_buckets + 1),
        key=lambda buckets: _variance(problem, buckets),
    )
    return list(range(best, 0, -1))


def _variance(problem: HeavyHitters, buckets: int) -> float:
    own, other = (float(share) for share in problem.weights(buckets).support_shares())
    return other * (1.0 - other) / (own - other) ** 2


def impossible(problem: HeavyHitters) -> str | None:
    """Return why no design exists, if so."""
    if problem.epsilon == 0.0:
        return "with epsilon = 0 reports contain no information; give a larger epsilon"
    return None


def outcome_of(problem: HeavyHitters, design: Detection | None, solver: str) -> Outcome:
    """Return a design as an outcome; without one, why there is none."""
    if design is None or math.isinf(design.least_share(problem.failure)):
        message = (
            f"no design of at most {problem.work:g} additions finds even a string that all users have; "
            "give more work, more users or a larger epsilon"
        )
        return Outcome(status="infeasible", solver=solver, message=message)
    variables = {
        "buckets": design.buckets,
        "lengths": [level.length for level in design.levels],
        "shares": [level.share for level in design.levels],
        "alarms": [level.alarm for level in design.levels],
    }
    return Outcome(
        status="feasible",
        variables=variables,
        bound=problem.lower_bound(),
        bound_source=BOUND,
        solver=solver,
        notes={"kept": [round(survivors, 1) for survivors in design.survivors], "work": design.work},
    )


def run_program(problem: HeavyHitters) -> Outcome:
    """Search by a dynamic program over bits and survivors prefixes, for the best bits of a hash and fewer."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="dynamic program", message=reason)
    best, least = None, math.inf
    for buckets in best_buckets(problem):
        design = best_design(problem.setting(buckets))
        share = math.inf if design is None else design.least_share(problem.failure)
        if share < least:
            best, least = design, share
        elif best is not None:
            break
        if best is not None and best.work < LITTLE * problem.work and least < NEAR * problem.lower_bound():
            break  # fewer bits of a hash only save work
    return outcome_of(problem, best, "dynamic program")


# All compositions


def compositions(bits: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield the lengths of all ways to divide bits among at most ``most`` levels.

    Examples
    --------
    >>> sorted(compositions(3, 2))
    [(1, 3), (2, 3), (3,)]
    """
    for count in range(1, most + 1):
        for inner in itertools.combinations(range(1, bits), count - 1):
            lengths = (*inner, bits)
            if max(b - a for a, b in zip((0, *inner), lengths, strict=True)) <= MOST_STEP:
                yield lengths


def improved(setting: SearchSetting, lengths: tuple[int, ...]) -> Detection | None:
    """Return the best design of given lengths that moving one number at a time finds, by exact tails."""
    count = len(lengths)
    shares, extra = [1.0 / count] * count, [1.0] * (count - 1)
    best = _design(setting, lengths, shares, extra)
    least = _judged(setting, best)
    for factor in (3.0, 1.5, 1.15, 1.05):
        moved = True
        while moved:
            moved = False
            for place, scale in itertools.product(range(2 * count - 1), (factor, 1.0 / factor)):
                numbers = [*shares, *extra]
                numbers[place] *= scale
                total = sum(numbers[:count])
                trial = [number / total for number in numbers[:count]], numbers[count:]
                design = _design(setting, lengths, *trial)
                better = least * (1.0 - 1e-7)
                value = _judged(setting, design, better)
                if value < better:
                    best, least, (shares, extra), moved = design, value, trial, True
    return best if math.isfinite(least) else None


def _design(
    setting: SearchSetting, lengths: tuple[int, ...], shares: list[float], extra: list[float]
) -> Detection | None:
    """Return the design with these expected false prefixes after each level; the last has all that may be."""
    levels: tuple[Level, ...] = ()
    design: Detection | None = None
    for length, share, false in zip(lengths, shares, [*extra, setting.false_strings], strict=True):
        start = levels[-1].length if levels else 0
        survivors = design.survivors[-1] if design is not None else 1.0
        alarm = false / (survivors * 2.0 ** (length - start)) * (1.0 - 1e-8)
        if not 0.0 < alarm < 1.0:
            return None
        levels = (*levels, replace(design_levels([length], [share], [alarm])[0], start=start))
        design = Detection(setting.users, setting.own, setting.other, setting.buckets, levels, setting.known)
    return design


def _judged(setting: SearchSetting, design: Detection | None, below: float = math.inf) -> float:
    """Return the least share that a design lists; infinity beyond the limits, and where it is not below."""
    if design is None or design.false_strings > setting.false_strings or design.work > setting.work:
        return math.inf
    return design.least_share(setting.failure) if design.may_list(below, setting.failure) else math.inf


def run_enumeration(problem: HeavyHitters) -> Outcome:
    """Go through all compositions of the bits into at most two levels."""
    reason = impossible(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="enumeration", message=reason)
    best, least = None, math.inf
    for buckets in best_buckets(problem)[:1]:
        setting = problem.setting(buckets)
        for lengths in compositions(problem.bits, MOST_PARTS):
            design = improved(setting, lengths)
            share = math.inf if design is None else design.least_share(problem.failure)
            if share < least:
                best, least = design, share
    return outcome_of(problem, best, "enumeration")


def why_not_enumerated(problem: HeavyHitters) -> str | None:
    """Return why the enumeration does not apply, or None."""
    if problem.bits > MOST_ENUMERATED:
        return f"it goes through all compositions of the bits; at most {MOST_ENUMERATED} bits"
    if problem.users > MOST_USERS_ENUMERATED:
        return f"it sums over all sizes of groups many times; at most {MOST_USERS_ENUMERATED} users"
    return None


METHODS = (
    Method("dynamic-program", HeavyHitters, "heuristic",
           "levels from a dynamic program with normal tails, judged by exact ones", run_program),
    Method("enumeration", HeavyHitters, "heuristic",
           "all compositions of few bits into at most two levels", run_enumeration, why_not_enumerated),
)  # fmt: skip
