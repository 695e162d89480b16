"""Coverage of the intervals of frequency oracles, joint responses, marginals and bought reports.

See :mod:`benchmarks.coverage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage_cases import BOTH, Counting, Covered, Measure, all_reports, kind_of
from benchmarks.coverage_frequencies import TAIL, cases, drawn_reports, nearly
from mechdesign.collect.codec import Domain
from mechdesign.core.errors import MechDesignError
from mechdesign.families.contract.menu import ContractMenu, Terms
from mechdesign.families.joint import JointResponse
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.items.estimates import key_value_estimate
from mechdesign.families.marginals.items.hashing import SetHashing
from mechdesign.families.marginals.items.selection import KeyValueSelection, SetSelection
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    SubsetSelection,
    SupportOracle,
    UnaryEncoding,
)
from mechdesign.families.marginals.sets import CellSet, MatchSet, ProductSet, SetResponse, SetShape
from mechdesign.families.marginals.weeks.response import WeeklyResponse
from mechdesign.families.mean import AttributeSampling, Duchi, Harmony, Laplace
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.primitives import KaryChannel, KaryResponse

FEW = 5
SIZES = (4, 100)
"""Categories of the oracles."""

ORACLES: dict[str, Callable[[int, float], SupportOracle]] = {
    "unary-encoding": UnaryEncoding.optimised,
    "subset-selection": lambda size, epsilon: SubsetSelection.of(
        size, epsilon, max(1, round(size / (np.exp(epsilon) + 1.0)))
    ),
    "local-hashing": lambda size, epsilon: LocalHashing.of(
        size, epsilon, min(size, max(2, round(np.exp(epsilon)) + 1))
    ),
    "hadamard-response": HadamardResponse.of,
    "set-selection": lambda size, epsilon: SetSelection.of(
        size, epsilon, 2, max(1, round(size / 2 / (np.exp(epsilon) + 1.0)))
    ),
    "set-hashing": lambda size, epsilon: SetHashing.of(
        size, epsilon, 2, max(1, round(size / 2 / (np.exp(epsilon) + 1.0)))
    ),
    "projective-geometry": lambda size, epsilon: ProjectiveGeometry.of(size, epsilon, 3),
    "weekly-response": lambda size, epsilon: WeeklyResponse.of(
        size, 2.0 * epsilon, epsilon, 1, max(1, round(size / (np.exp(epsilon) + 1.0))), weeks=10
    ),
}


def oracle_measure(build: Callable[[int, float], SupportOracle]) -> Measure:
    """Return the measurement of an oracle, whose counters are drawn from what it says of its reports.

    A category's counter is a sum of independent reports that support it with p or q, whatever the oracle;
    so repetitions take the place of categories in one estimate.
    """

    def measure(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
        found: list[Covered] = []
        for size in SIZES:
            try:
                estimator = build(size, epsilon)._estimator
            except MechDesignError:
                continue
            p, q = float(estimator.own), float(estimator.other)
            for counts in cases(size, users):
                for held in np.unique(counts).tolist():
                    for population in (False, True):
                        chance = held / users * p + (1.0 - held / users) * q
                        supports = rng.binomial(held, p, repetitions) + rng.binomial(
                            users - held, q, repetitions
                        )
                        if population:
                            supports = rng.binomial(users, chance, repetitions)
                        estimate = estimator.estimate(supports, users, ("",) * repetitions, population)
                        assert estimate.limits is not None
                        inside = estimate.limits.reach(nearly(held / users - estimate.value), TAIL)
                        kind = "population" if population else "users"
                        case = f"{size} categories, {held} hold it, {kind}"
                        found.append(Covered(case, int(inside.sum()), repetitions))
        return found

    return measure


Joint = NDArray[np.int64]


def rows(users: int) -> Iterator[tuple[str, Joint]]:
    """Yield what users hold of three attributes with 2, 3 and 2 values."""
    yield "all alike", np.zeros((users, 3), dtype=np.int64)
    one = np.zeros((users, 3), dtype=np.int64)
    one[0] = 1
    yield "one other", one
    few = np.zeros((users, 3), dtype=np.int64)
    few[: min(5, users)] = 1
    yield "five others", few
    halves = np.zeros((users, 3), dtype=np.int64)
    halves[: users // 2] = (1, 2, 1)
    yield "half and half", halves
    yield (
        "even",
        np.stack([np.arange(users) % 2, np.arange(users) // 2 % 3, np.arange(users) // 6 % 2], axis=1),
    )


NAMES = ("a", "b", "c")


def share_table(values: Joint, places: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the true shares of a marginal."""
    shape = tuple((2, 3, 2)[place] for place in places)
    cells = np.ravel_multi_index(tuple(values[:, place] for place in places), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))) / len(values)


@cache
def joint_response(epsilon: float) -> JointResponse:
    """Return the one-hot response whose three changed pairs of bits use up epsilon."""
    other = 1.0 / (1.0 + np.exp(epsilon / 6.0))
    return JointResponse.of(
        [2, 3, 2], epsilon * (1.0 + 1e-9), redraw=0.0, keep=1.0 - other, add=other, names=NAMES
    )


def data_of(
    users: int, names: Sequence[str] | None, populations: Sequence[bool]
) -> Iterator[tuple[str, Joint, bool]]:
    """Yield what users hold, all of :func:`rows` or those with these names, for each kind of truth."""
    for name, values in rows(users):
        for population in populations if names is None or name in names else ():
            yield f"{name}, {kind_of(population)}", values, population


def joint(
    epsilon: float,
    users: int,
    repetitions: int,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
    populations: Sequence[bool] = BOTH,
    **options: Any,
) -> list[Covered]:
    """Return the coverage of unbiased joint shares: single attributes, pairs, cells, and given another.

    The options are those of ``estimate``: a given penalty saves the time of cross-validation.
    """
    mechanism, found = joint_response(epsilon), []
    for name, values, population in data_of(users, names, populations):
        wanted = [(0,), (1,), (0, 1), (0, 1, 2)]
        counts = [
            Counting(f"{len(places)} attributes, {name}", share_table(values, places)) for places in wanted
        ]
        both, below = share_table(values, (0, 2)).reshape(2, 2), share_table(values, (2,))
        given = Counting(f"given another, {name}", both / np.where(below > 0.0, below, np.nan))
        for reports in all_reports(mechanism, values, population, repetitions, rng):
            estimate = mechanism.estimate(reports, population, **options)
            for places, counting in zip(wanted, counts, strict=True):
                counting.add_estimate(estimate.marginal([NAMES[place] for place in places]))
            table = estimate.conditional(["a"], given=["c"])
            given.add_limits(table.unbiased, table.limits)
        found += [item for counting in (*counts, given) for item in counting.found()]
    return found


@cache
def release_of(epsilon: float) -> MarginalRelease:
    """Return a release of all pairs."""
    return MarginalRelease.of([2, 3, 2], [(0, 1), (1, 2), (0, 2)], epsilon, names=NAMES)


def release(
    epsilon: float,
    users: int,
    repetitions: int,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
    populations: Sequence[bool] = BOTH,
) -> list[Covered]:
    """Return the coverage of raw marginals; consistent ones have a predicted error and no interval."""
    mechanism, found = release_of(epsilon), []
    for name, values, population in data_of(users, names, populations):
        wanted = [(0,), (1,), (0, 1)]
        raw = [
            Counting(f"raw, {len(places)} attributes, {name}", share_table(values, places))
            for places in wanted
        ]
        for reports in all_reports(mechanism, values, population, repetitions, rng):
            estimate = mechanism.estimate(reports, population=population)
            for places, counting in zip(wanted, raw, strict=True):
                found_raw: Any = estimate.marginal([NAMES[place] for place in places], raw=True)
                counting.add_estimate(found_raw.cells)
        found += [item for counting in raw for item in counting.found()]
    return found


SHAPES: tuple[SetShape, ...] = (ProductSet([1, 2, 1]), MatchSet([1, 1, 1], 1), CellSet(3))
"""Shapes of sets of three attributes with 2, 3 and 2 values."""


def sets(
    epsilon: float,
    users: int,
    repetitions: int,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
    populations: Sequence[bool] = BOTH,
) -> list[Covered]:
    """Return the coverage of single attributes and pairs from reported sets, of users and of a population."""
    found = []
    for shape in SHAPES:
        mechanism = SetResponse.of([2, 3, 2], epsilon, shape, NAMES)
        for name, values, population in data_of(users, names, populations):
            wanted = [(0,), (1,), (0, 1)]
            counts = [
                Counting(f"{shape.kind}, {len(places)} attributes, {name}", share_table(values, places))
                for places in wanted
            ]
            for reports in all_reports(mechanism, values, population, repetitions, rng, anyway=True):
                estimate = mechanism.estimate(reports, population=population)
                for places, counting in zip(wanted, counts, strict=True):
                    table = estimate.table([NAMES[place] for place in places])
                    counting.add_estimate(table.cells)
            found += [item for counting in counts for item in counting.found()]
    return found


def attributes_measure(build: Callable[[float], AttributeSampling]) -> Measure:
    """Return the measurement of a mechanism in which users report some of four attributes."""

    def measure(
        epsilon: float,
        users: int,
        repetitions: int,
        rng: np.random.Generator,
        populations: Sequence[bool] = BOTH,
    ) -> list[Covered]:
        mechanism, found = build(epsilon), []
        high = np.array([0, 1, users // 2, users - 1])
        values = (np.arange(users)[:, None] < high).astype(np.float64)
        for population in populations:
            counting = Counting(kind_of(population), high / users)
            for reports in all_reports(mechanism, values, population, repetitions, rng):
                counting.add_estimate(mechanism.estimate(reports, population=population))
            found += list(counting.found())
        return found

    return measure


def sampled(epsilon: float) -> AttributeSampling:
    """Return one of four attributes with Laplace noise, self-normalized."""
    return AttributeSampling.of(Laplace, epsilon, 4, low=0.0, high=1.0)


def harmony(epsilon: float) -> AttributeSampling:
    """Return Harmony on four attributes."""
    return Harmony(epsilon, 4, 0.0, 1.0)


def kary(
    epsilon: float,
    users: int,
    repetitions: int,
    rng: np.random.Generator,
    populations: Sequence[bool] = BOTH,
) -> list[Covered]:
    """Return the coverage of k-ary responses by themselves, all answers kept and some."""
    found: list[Covered] = []
    for size, kept, delta in ((4, 4, 0.0), (5, 3, 0.05), (30, 30, 0.0)):
        response = KaryResponse.from_channel(KaryChannel(size, np.arange(kept), epsilon, delta))
        channel = response.channel
        chosen = cases(size, users)[3 if size > FEW else 0 :]  # many answers: one user differs, and even data
        for answers, population in product(chosen, populations):
            drawn = drawn_reports(answers, channel, population, repetitions, rng)
            case = f"{size} answers, {answers.max()} give one, {kind_of(population)}"
            counting = Counting(case, answers / users)
            kinds, times = np.unique(drawn, axis=0, return_counts=True)
            for counts, number in zip(kinds, times.tolist(), strict=True):
                value, _, limits, _ = response.scores.estimate(counts, population)
                counting.add_limits(value, limits, number)
            found += list(counting.found())
    return found


def shuffled(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
    """Return the coverage of a local mechanism with a central guarantee."""
    try:
        mechanism = Shuffled(Duchi(epsilon, 0.0, 1.0), Promise(users, epsilon, 1e-4))
    except MechDesignError:
        return []
    found = []
    for high, population in product((0, users // 2, 1), BOTH):
        counting = Counting(f"{high} high, {kind_of(population)}", high / users)
        values = (np.arange(users) < high).astype(float)
        for reports in all_reports(mechanism.local, values, population, repetitions, rng):
            counting.add_estimate(mechanism.local.estimate(reports, population=population))
        found += list(counting.found())
    return found


@cache
def menu_for(epsilon: float) -> ContractMenu:
    """Return a menu of one item."""
    terms = Terms(np.ones(1), np.ones(1), np.zeros(1), confidence=0.95)
    return ContractMenu([epsilon], [10.0 * epsilon], terms)


def bought(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
    """Return how often the buyers' average is within alpha of the truth; its confidence is 0.95."""
    menu = menu_for(epsilon)
    found = []
    for name, value in (("all low", 0.0), ("in the middle", menu.terms.data_range / 2.0)):
        values, chosen = np.full(users, value), np.zeros(users, dtype=np.int64)
        counting = Counting(f"within alpha, {name}", value)
        for _ in range(repetitions):
            average = menu.estimate(menu.randomize(values, chosen, rng=rng), chosen)
            counting.add((average.value - average.alpha, average.value + average.alpha))
        found += list(counting.found())
    return found


def pairs(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
    """Return the coverage of shares and means of keys, repetitions in the place of keys."""
    law = KeyValueSelection.of(20, epsilon, 2, max(1, round(20 / (np.exp(epsilon) + 1.0)))).pair_law
    domain, result = Domain(-1.0, 1.0), []
    for held in sorted({0, 1, users // 10, users // 2, users}):
        for mean in (-1.0, 0.0, 0.6):
            high = rng.binomial(held, (1.0 + mean) / 2.0, repetitions)
            counts = np.zeros(2 * repetitions, dtype=np.int64)
            kinds = {"high": high, "low": held - high, "none": np.full(repetitions, users - held)}
            for kind, number in kinds.items():
                _, alone, other, both = rng.multinomial(number, law.chances(kind)).T
                counts[1::2] += alone + both
                counts[0::2] += other + both
            names = ("",) * repetitions
            estimate = key_value_estimate(law, counts, users, names, domain, 1.0, False)
            assert estimate.limits is not None
            inside = estimate.limits.reach(nearly(held / users - estimate.value), TAIL)
            result.append(Covered(f"{held} have the key, share", int(inside.sum()), repetitions))
            if held:
                low, top = estimate.mean_interval(1.0 - 2.0 * TAIL)
                inside = (low <= mean + 1e-9) & (mean - 1e-9 <= top)
                result.append(Covered(f"{held} have the key, mean {mean:g}", int(inside.sum()), repetitions))
    return result


LOCAL: dict[str, Measure] = {
    **{name: oracle_measure(build) for name, build in ORACLES.items()},
    "marginal-release": release,
    "attribute-sampling": attributes_measure(sampled),
    "harmony": attributes_measure(harmony),
    "kary-response": kary,
    "shuffled": shuffled,
    "contract-menu": bought,
    "joint-response": joint,
    "set-response": sets,
    "key-value-selection": pairs,
}
"""By type: how its intervals are measured."""
