"""The linear program of a direct mechanism, in whole numbers: its columns, its rows, and their names.

Columns are the probabilities of the outcomes in each profile, then the payments: of each agent in each
profile, or of each type where only expectations count. Every row is multiplied by common denominators, so
that the program is one of integers; ``units`` has what a unit of utility, or of money, is in each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from mechdesign.families.incentives.deviations import ExactRule, common_integers, scaled_values
from mechdesign.families.incentives.environment import Environment, Whole, profile_text
from mechdesign.solvers.exact_linear import IntegerProgram, IntegerRows, Places, whole_array
from mechdesign.solvers.linear_systems import CommonFractions

if TYPE_CHECKING:
    from mechdesign.families.incentives.direct_mechanism import DirectMechanism

Lie = tuple[int, int, int]
"""An agent, its true type and the type that it reports, by number."""


@dataclass(frozen=True)
class LinearTypes:
    """Types along a line: ``values[a][o] = base[o] + numbers[a] * weights[o]``.

    Attributes
    ----------
    order : tuple of int
        The types from the lowest number.
    numbers, weights, base : tuple of Fraction
    """

    order: tuple[int, ...]
    numbers: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    base: tuple[Fraction, ...]


def linear_types(environment: Environment, agent: int) -> LinearTypes | None:
    """Return the types of an agent as points of a line, where its values are linear in one number.

    Then adjacent deviations are enough, and the formulas of one dimension apply.

    Examples
    --------
    >>> from mechdesign.families.incentives.environments import environment_of
    >>> sale = environment_of("environment", {"name": "single-item", "types": [3, 1, 2]})
    >>> linear_types(sale, 0).order, linear_types(sale, 0).weights
    ((1, 2, 0), (Fraction(0, 1), Fraction(1, 1)))
    """
    if environment.is_interdependent(agent):
        return None
    table = environment.values[agent].tolist()
    outcomes = range(len(environment.outcomes))
    pivot = max(outcomes, key=lambda o: max(row[o] for row in table) - min(row[o] for row in table))
    numbers = [row[pivot] for row in table]
    order = sorted(range(len(table)), key=lambda a: numbers[a])
    low, high = order[0], order[-1]
    placed_fractions = numbers[high] - numbers[low]
    if placed_fractions == 0:
        if any(row != table[0] for row in table):
            return None
        return LinearTypes(tuple(order), tuple(numbers), (Fraction(0),) * len(outcomes), tuple(table[0]))
    weights = [(table[high][o] - table[low][o]) / placed_fractions for o in outcomes]
    base = [table[low][o] - numbers[low] * weights[o] for o in outcomes]
    for number, row in zip(numbers, table, strict=True):
        if any(row[o] != base[o] + number * weights[o] for o in outcomes):
            return None
    return LinearTypes(tuple(order), tuple(numbers), tuple(weights), tuple(base))


def adjacent_lies(environment: Environment) -> list[Lie]:
    """Return the deviations between types that are next to each other, along the line if there is one."""
    lies = []
    for agent, count in enumerate(environment.counts):
        line = linear_types(environment, agent)
        order = range(count) if line is None else line.order
        for one, other in zip(order, list(order)[1:], strict=False):
            lies += [(agent, one, other), (agent, other, one)]
    return lies


def all_lies(environment: Environment) -> list[Lie]:
    """Return every deviation of every agent."""
    return [
        (agent, one, other)
        for agent, count in enumerate(environment.counts)
        for one, other in permutations(range(count), 2)
    ]


@dataclass(frozen=True)
class RowGroup:
    """Consecutive rows of one kind; ``names[k]`` is what their (k-th) part is called in a price list."""

    requirement: str
    names: tuple[str, ...]
    repeats: int
    """Rows for each name."""


class _Entries:
    """Entries of rows as they are added, and the rows' limits."""

    def __init__(self) -> None:
        self.rows: list[Places] = []
        self.columns: list[Places] = []
        self.values: list[Whole] = []
        self.limits: list[int] = []
        self.equal: list[bool] = []
        self.units: list[Fraction] = []
        self.groups: list[RowGroup] = []

    @property
    def count(self) -> int:
        return len(self.limits)

    def add(self, rows: Whole, columns: Whole, values: Whole) -> None:
        shape = np.broadcast_shapes(np.shape(rows), np.shape(columns), np.shape(values))
        for store, part in ((self.rows, rows), (self.columns, columns), (self.values, values)):
            store.append(np.broadcast_to(part, shape).reshape(-1))

    def close(
        self,
        requirement: str,
        names: Sequence[str],
        limits: Iterable[int],
        units: Iterable[Fraction],
        equal: bool = False,
    ) -> None:
        before = self.count
        self.limits += limits
        self.units += units
        added = self.count - before
        self.equal += [equal] * added
        self.groups.append(RowGroup(requirement, tuple(names), added // max(len(names), 1)))

    def program(self, objective: Whole, width: int, free: np.ndarray) -> IntegerProgram:
        values = np.concatenate([part.astype(object) for part in self.values])
        rows = np.concatenate(self.rows).astype(np.int64)
        columns = np.concatenate(self.columns).astype(np.int64)
        matrix = IntegerRows.of_entries(rows, columns, whole_array(values), (self.count, width))
        return IntegerProgram(
            objective, matrix, whole_array(self.limits), np.array(self.equal, dtype=bool), free
        )


class DirectProgram:
    """The program of a problem with some of its rows of incentives.

    Parameters
    ----------
    problem : DirectMechanism
    lies : sequence of (agent, type, report)
        Which deviations have rows.
    fixed : mapping, optional
        Columns of probabilities that are fixed to 0 or 1, for branching.
    """

    def __init__(
        self, problem: DirectMechanism, lies: Sequence[Lie], fixed: dict[int, int] | None = None
    ) -> None:
        self.problem, self.lies, self.fixed = problem, lies, fixed or {}
        self.environment = problem.environment
        self.demands = problem.demands
        self._outcomes = len(self.environment.outcomes)
        self._index = np.arange(self.environment.profiles).reshape(self.environment.counts)
        self._first_payment = self.environment.profiles * self._outcomes
        self._entries = _Entries()
        self._add_lotteries()
        self._add_efficiency()
        self._add_fixed()
        for lie in lies:
            self._add_lie(*lie)
        self._add_participation()
        self._add_budget()
        self._add_limits()
        objective, self.scale = self._objective()
        free = np.zeros(self.width, dtype=bool)
        free[self._first_payment :] = True
        self.program = self._entries.program(objective, self.width, free)
        self.groups, self.units = tuple(self._entries.groups), self._entries.units

    # Columns

    @cached_property
    def payments_by_type(self) -> bool:
        """Whether a payment for each type is enough: only expectations count, and types are independent."""
        demands = self.demands
        return (
            demands.incentives == "bayesian"
            and self.environment.is_independent
            and demands.participation != "ex-post"
            and demands.budget in ("none", "expected")
            and demands.payment_low is None
            and demands.payment_high is None
            and self.problem.charges_are_uniform
        )

    @cached_property
    def width(self) -> int:
        """Number of columns."""
        if not self.demands.transfers:
            return self._first_payment
        if self.payments_by_type:
            return self._first_payment + sum(self.environment.counts)
        return self._first_payment + self.environment.profiles * len(self.environment.agents)

    def _profiles(self, agent: int) -> Places:
        """Return the numbers of the profiles by own type and others' types."""
        return np.moveaxis(self._index, agent, 0).reshape(self.environment.counts[agent], -1)

    def _payment(self, agent: int, profiles: Places, own: int) -> Places:
        """Return the columns of the payments of an agent in profiles in which it is of a type."""
        if self.payments_by_type:
            start = self._first_payment + sum(self.environment.counts[:agent])
            return np.full(1, start + own, dtype=np.int64)
        return self._first_payment + profiles * len(self.environment.agents) + agent

    def _chances(self, profiles: Places) -> Places:
        """Return the columns of the probabilities of profiles, by profile and outcome."""
        return profiles[:, None] * self._outcomes + np.arange(self._outcomes)

    # Numbers

    @cached_property
    def _worths(self) -> list[Whole]:
        """Values of each agent, times the scale, by own type, others' types (1 where private) and outcome."""
        result = []
        for agent, count in enumerate(self.environment.counts):
            table = (
                np.moveaxis(scaled_values(self.environment, agent), agent, 0)
                if (self.environment.is_interdependent(agent))
                else scaled_values(self.environment, agent)
            )
            result.append(table.reshape(count, -1, self._outcomes))
        return result

    @cached_property
    def _prior(self) -> Whole:
        scale = self.environment.prior_scale
        numbers = [int(share * scale) for share in self.environment.prior.reshape(-1).tolist()]
        return whole_array(numbers)

    @cached_property
    def _costs(self) -> Whole:
        return whole_array([int(cost * self.environment.scale) for cost in self.environment.cost])

    def _objective(self) -> tuple[Whole, Fraction]:
        """Return the objective in whole numbers, and what it is multiplied by."""
        weights, charges = self.problem.weights
        outcomes, first = common_integers(weights.reshape(self.environment.profiles, -1))
        paid, second = common_integers(charges.reshape(self.environment.profiles, -1))
        unit = int(np.lcm(first, second)) if max(first, second) < 1 << 31 else first * second
        prior = self._prior.astype(object)[:, None]
        gains = [(prior * outcomes.astype(object) * (unit // first)).reshape(-1)]
        if self.demands.transfers:
            by_profile = prior * paid.astype(object) * (unit // second)
            if self.payments_by_type:
                for agent in range(len(self.environment.agents)):
                    gains.append(by_profile[self._profiles(agent), agent].sum(axis=1))
            else:
                gains.append(by_profile.reshape(-1))
        return whole_array(np.concatenate(gains)), Fraction(unit * self.environment.prior_scale)

    # Rows

    def _add_lotteries(self) -> None:
        profiles = np.arange(self.environment.profiles)
        self._entries.add(profiles[:, None], self._chances(profiles), np.ones((1, 1), dtype=np.int64))
        self._entries.close("lotteries", [], [1] * len(profiles), [Fraction(1)] * len(profiles), equal=True)

    def _add_efficiency(self) -> None:
        """Give the outcomes with less than the largest surplus no probability."""
        if not self.problem.efficient:
            return
        surplus = self.environment.surplus().reshape(self.environment.profiles, -1)
        less = surplus < surplus.max(axis=1, keepdims=True)
        profiles = np.flatnonzero(less.any(axis=1))
        start = self._entries.count
        for row, profile in enumerate(profiles.tolist()):
            columns = profile * self._outcomes + np.flatnonzero(less[profile])
            self._entries.add(np.array([start + row]), columns, np.ones(1, dtype=np.int64))
        names = [f"efficient outcome for {self._profile_name(profile)}" for profile in profiles.tolist()]
        self._entries.close(
            "efficiency", names, [0] * len(profiles), [Fraction(1)] * len(profiles), equal=True
        )

    def _add_fixed(self) -> None:
        if not self.fixed:
            return
        rows = self._entries.count + np.arange(len(self.fixed))
        self._entries.add(rows, np.array(list(self.fixed)), np.ones(1, dtype=np.int64))
        limits = list(self.fixed.values())
        self._entries.close("branch", [], limits, [Fraction(1)] * len(limits), equal=True)

    def _add_lie(self, agent: int, own: int, other: int) -> None:
        """Add the rows of a deviation: what it brings less what the truth brings is at most 0."""
        profiles = self._profiles(agent)
        worth = np.broadcast_to(self._worths[agent][own], (profiles.shape[1], self._outcomes))
        start = self._entries.count
        name = f"{self.environment.agents[agent]} of type {self.environment.types[agent][own]} reports"
        name += f" {self.environment.types[agent][other]}"
        bayesian = self.demands.incentives == "bayesian"
        if bayesian:
            weights, total = self._weights(agent, own)
            rows: Places = np.array([start])
        else:
            weights, total = np.ones(profiles.shape[1], dtype=np.int64), 1
            rows = start + np.arange(profiles.shape[1])
        for kind, sign in ((other, 1), (own, -1)):
            chances = self._chances(profiles[kind])
            self._entries.add(rows[:, None], chances, _exact_scaled(worth, sign * weights[:, None]))
            self._add_payments(agent, kind, rows, -sign * weights, -sign * total)
        count, unit = len(rows), self.environment.scale * total
        self._entries.close("incentives", [name], [0] * count, [Fraction(unit)] * count)

    def _add_payments(self, agent: int, own: int, rows: Places, weights: Whole, total: int) -> None:
        """Add the payments of an agent with these weights, or of its type with the total."""
        if not self.demands.transfers:
            return
        columns = self._payment(agent, self._profiles(agent)[own], own)
        if self.payments_by_type:
            self._entries.add(rows, columns, whole_array([total * self.environment.scale]))
        else:
            self._entries.add(rows, columns, _exact_scaled(weights, whole_array([self.environment.scale])))

    def _weights(self, agent: int, own: int) -> tuple[Whole, int]:
        """Return the beliefs of a type in the smallest whole numbers, and their sum."""
        weights = self._prior[self._profiles(agent)[own]].astype(object)
        common = int(np.gcd.reduce(weights))
        weights = whole_array([weight // common for weight in weights.tolist()])
        return weights, int(weights.astype(object).sum())

    def _add_participation(self) -> None:
        kind, scale = self.demands.participation, self.environment.scale
        if kind == "none":
            return
        for agent, count in enumerate(self.environment.counts):
            profiles = self._profiles(agent)
            for own in range(count):
                worth = np.broadcast_to(self._worths[agent][own], (profiles.shape[1], self._outcomes))
                start = self._entries.count
                if kind == "interim":
                    weights, total = self._weights(agent, own)
                    rows: Places = np.array([start])
                else:
                    weights, total = np.ones(profiles.shape[1], dtype=np.int64), 1
                    rows = start + np.arange(profiles.shape[1])
                chances = self._chances(profiles[own])
                self._entries.add(rows[:, None], chances, _exact_scaled(worth, -weights[:, None]))
                self._add_payments(agent, own, rows, weights, total)
                least = -int(self.environment.outside[agent][own] * scale) * total
                kinds = self.environment.types[agent]
                name = f"{self.environment.agents[agent]} of type {kinds[own]} takes part"
                unit = [Fraction(scale * total)] * len(rows)
                self._entries.close("participation", [name], [least] * len(rows), unit)

    def _add_budget(self) -> None:
        kind, scale = self.demands.budget, self.environment.scale
        if kind == "none":
            return
        count, start = self.environment.profiles, self._entries.count
        profiles = np.arange(count)
        weights = self._prior if kind == "expected" else np.ones(count, dtype=np.int64)
        rows = np.full(count, start) if kind == "expected" else start + profiles
        self._entries.add(
            rows[:, None], self._chances(profiles), _exact_scaled(self._costs, weights[:, None])
        )
        if self.demands.transfers:
            for agent, types in enumerate(self.environment.counts):
                for own in range(types):
                    places = self._profiles(agent)[own]
                    columns = self._payment(agent, places, own)
                    if self.payments_by_type:
                        total = int(weights[places].astype(object).sum())
                        self._entries.add(rows[:1], columns, whole_array([-scale * total]))
                    else:
                        self._entries.add(
                            rows[places], columns, _exact_scaled(weights[places], whole_array([-scale]))
                        )
        if kind == "expected":
            unit = Fraction(scale * self.environment.prior_scale)
            self._entries.close("budget", ["budget in expectation"], [0], [unit])
            return
        names = [f"budget for {self._profile_name(profile)}" for profile in range(count)]
        self._entries.close("budget", names, [0] * count, [Fraction(scale)] * count, equal=kind == "balanced")

    def _add_limits(self) -> None:
        if not self.demands.transfers:
            return
        size = self.width - self._first_payment
        for limit, sign, word in (
            (self.demands.payment_high, 1, "largest"),
            (self.demands.payment_low, -1, "smallest"),
        ):
            if limit is None:
                continue
            rows = self._entries.count + np.arange(size)
            columns = self._first_payment + np.arange(size)
            self._entries.add(rows, columns, whole_array([sign * limit.denominator]))
            units = [Fraction(limit.denominator)] * size
            self._entries.close("payments", [f"{word} payment"], [sign * limit.numerator] * size, units)

    def _profile_name(self, profile: int) -> str:
        place = np.unravel_index(profile, self.environment.counts)
        return profile_text(self.environment, tuple(int(part) for part in place))

    # What comes out

    def rule(self, point: CommonFractions) -> ExactRule:
        """Return the rule of exact variables."""
        counts, agents = self.environment.counts, len(self.environment.agents)
        numbers = whole_array(point.numerators)
        lotteries = numbers[: self._first_payment].reshape(*counts, self._outcomes)
        paid: Whole = np.zeros((*counts, agents), dtype=numbers.dtype)
        if self.demands.transfers and self.payments_by_type:
            start = self._first_payment
            for agent, count in enumerate(counts):
                shape = [1] * agents
                shape[agent] = count
                paid[..., agent] = numbers[start : start + count].reshape(shape)
                start += count
        elif self.demands.transfers:
            paid = numbers[self._first_payment :].reshape(*counts, agents)
        return ExactRule(*_reduced(lotteries, point.denominator), *_reduced(paid, point.denominator))

    def named_prices(self, prices: CommonFractions) -> list[tuple[str, str, Fraction, int]]:
        """Return requirement, name, price and number of rows of all rows with a price.

        A price is by how much the optimum rises for one unit of utility, or of money, by which it is relaxed.
        """
        result, start = [], 0
        for group in self.groups:
            for name in group.names:
                rows = range(start, start + group.repeats)
                start += group.repeats
                parts = [prices.numerators[row] * self.units[row] for row in rows]
                total = sum(parts, Fraction(0)) / (prices.denominator * self.scale)
                if total:
                    result.append((group.requirement, name, total, sum(1 for part in parts if part)))
            if not group.names:
                start += group.repeats
        return result


def _exact_scaled(values: Whole, weights: Whole) -> Whole:
    """Return the products of integers as Python's own."""
    return np.asarray(np.asarray(values).astype(object) * np.asarray(weights).astype(object))


def _reduced(numbers: Whole, denominator: int) -> tuple[Whole, int]:
    """Return integers over the least common denominator."""
    entries = numbers.reshape(-1).tolist()
    common = gcd(denominator, *set(entries))
    if common == 1:
        return numbers, denominator
    return whole_array([entry // common for entry in entries]).reshape(numbers.shape), denominator // common
