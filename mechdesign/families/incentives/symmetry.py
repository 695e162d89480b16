"""Agents that are alike: a program with one variable for each orbit of profiles, expanded to the whole one.

Agents are alike if exchanging any two of them, with the outcomes exchanged in the same way, changes neither
prior nor values, costs, weights or requirements. Then the average of an optimal rule over all exchanges is
feasible, as the constraints are linear and exchanged into each other, and has the same value. So it is enough
to look for rules that are the same under all exchanges: all variables of an orbit are one variable, and rows
that have become the same are one row.

Multipliers of the small program, divided evenly among the rows that were the same, are multipliers of the
whole one. That program checks both, exactly; so nothing depends on whether agents were rightly taken for
alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import lcm

import numpy as np

from mechdesign.families.incentives.direct_mechanism import DirectMechanism
from mechdesign.families.incentives.environment import Environment, Whole
from mechdesign.families.incentives.program import DirectProgram
from mechdesign.solvers.exact_linear import (
    ExactOptimum,
    IntegerProgram,
    IntegerRows,
    Places,
    solve_exactly,
    whole_array,
)
from mechdesign.solvers.linear_systems import CommonFractions


def why_not_alike(problem: DirectMechanism) -> str | None:
    """Return why agents are not alike; None if exchanging any two of them changes nothing."""
    environment = problem.environment
    if len(environment.agents) < 2:
        return "there is one agent"
    if any(environment.is_interdependent(agent) for agent in range(len(environment.agents))):
        return "values depend on the types of others"
    if len(set(environment.types)) > 1 or len(set(environment.outside)) > 1:
        return "agents have different types or outside values"
    for first, second in pairwise(range(len(environment.agents))):
        if not (environment.prior == np.swapaxes(environment.prior, first, second)).all():
            return "the prior tells agents apart"
    tables = [problem.outcome_weights, problem.payment_weights]
    if any(table is not None and table.table.ndim > 1 for table in tables):
        return "weights depend on the profile"
    if problem.payment_weights is not None and len(set(problem.payment_weights.table.tolist())) > 1:
        return "payments of agents have different weights"
    return None if _labels(problem) is not None else "outcomes treat agents in different ways"


def _labels(problem: DirectMechanism) -> tuple[Places, Places] | None:
    """Return what each outcome is for each agent, by number, and what else tells outcomes apart.

    None where exchanging agents leads to something that is no outcome.
    """
    environment = problem.environment
    known: dict[object, int] = {}

    def number(thing: object) -> int:
        return known.setdefault(thing, len(known))

    columns = [
        [
            number(tuple(environment.values[agent][:, outcome].tolist()))
            for agent in range(len(environment.agents))
        ]
        for outcome in range(len(environment.outcomes))
    ]
    weights = problem.outcome_weights
    seen: dict[tuple[object, ...], int] = {}
    rest = []
    for outcome, labels in enumerate(columns):
        own = ("rest", environment.cost[outcome], None if weights is None else weights.table[outcome])
        copies = seen.setdefault((*labels, own), 0)  # equal outcomes are told apart by their order
        seen[(*labels, own)] = copies + 1
        rest.append(number((own, copies)))
    places = {(*labels, other) for labels, other in zip(columns, rest, strict=True)}
    for labels, other in zip(columns, rest, strict=True):
        for first, second in pairwise(range(len(labels))):
            moved = list(labels)
            moved[first], moved[second] = moved[second], moved[first]
            if (*moved, other) not in places:
                return None
    return np.array(columns, dtype=np.int64), np.array(rest, dtype=np.int64)


def orbits(program: DirectProgram) -> Places:
    """Return the orbit of each column of a program whose agents are alike."""
    environment = program.environment
    pair = _labels(program.problem)
    assert pair is not None
    labels, rest = pair
    profiles = np.indices(environment.counts).reshape(len(environment.agents), -1).T
    base = int(max(labels.max(), rest.max())) + 1
    pairs = np.sort(profiles[:, None, :] * base + labels[None, :, :], axis=2)
    chances = _numbered(pairs.reshape(-1, pairs.shape[2]), np.tile(rest, len(profiles)))
    if program.width == len(chances):
        return chances
    payments = _payment_orbits(environment, profiles, program.payments_by_type)
    return np.concatenate([chances, payments + int(chances.max()) + 1])


def _payment_orbits(environment: Environment, profiles: Places, by_type: bool) -> Places:
    """Return the orbit of each payment: the own type, and the types of the others in any order."""
    if by_type:
        return np.tile(np.arange(environment.counts[0]), len(environment.agents))
    agents = range(len(environment.agents))
    others = [np.sort(np.delete(profiles, agent, axis=1), axis=1) for agent in agents]
    table = np.stack(others, axis=1)
    return _numbered(table.reshape(-1, table.shape[2]), profiles.reshape(-1))


def _numbered(rows: Places, more: Places) -> Places:
    """Return a number for each row, the same for equal rows."""
    table = np.column_stack([rows, more])
    return np.asarray(np.unique(table, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SmallProgram:
    """A program with one variable for each orbit, and each row once.

    Attributes
    ----------
    program : IntegerProgram
    columns : array of int
        The variable of each variable of the whole program.
    rows : array of int
        The row of each of its rows.
    """

    program: IntegerProgram
    columns: Places
    rows: Places

    @classmethod
    def of(cls, whole: IntegerProgram, columns: Places) -> SmallProgram | None:
        """Return the small program of orbits; None where integers are too large to be compared quickly."""
        width = int(columns.max()) + 1
        if (
            whole.rows.values.dtype == object
            or whole.limits.dtype == object
            or whole.objective.dtype == object
        ):
            return None
        keys = whole.rows.row_places * width + columns[whole.rows.columns]
        places, inverse = np.unique(keys, return_inverse=True)
        values = np.zeros(len(places), dtype=np.int64)
        np.add.at(values, inverse.reshape(-1), whole.rows.values)
        rows, own = np.divmod(places, width)
        classes, first = _classes(rows, own, values, whole)
        new = np.full(whole.rows.height, -1, dtype=np.int64)
        new[first] = np.arange(len(first))
        used = new[rows] >= 0
        entries = IntegerRows.of_entries(new[rows[used]], own[used], values[used], (len(first), width))
        objective: Whole = np.zeros(width, dtype=object)
        np.add.at(objective, columns, whole.objective.astype(object))
        free = np.zeros(width, dtype=bool)
        free[columns] = whole.free
        small = IntegerProgram(whole_array(objective), entries, whole.limits[first], whole.equal[first], free)
        return cls(small, columns, classes)

    def expanded_point(self, point: CommonFractions) -> CommonFractions:
        """Return the variables of the whole program: those of an orbit are equal."""
        return CommonFractions(
            [point.numerators[column] for column in self.columns.tolist()], point.denominator
        )

    def expanded_prices(self, prices: CommonFractions) -> CommonFractions:
        """Return the multipliers of the whole program: rows that are the same have equal parts."""
        counts = np.bincount(self.rows).tolist()
        common = lcm(*(count for count, number in zip(counts, prices.numerators, strict=True) if number), 1)
        parts = [number * common // count if number else 0
                 for count, number in zip(counts, prices.numerators, strict=True)]  # fmt: skip
        return CommonFractions([parts[row] for row in self.rows.tolist()], prices.denominator * common)


def _classes(rows: Places, own: Places, values: Places, whole: IntegerProgram) -> tuple[Places, Places]:
    """Return the class of each row, the same for equal rows, and the first row of each class.

    Rows are compared by two sums with random weights; if these should coincide by chance, the check of the
    expanded multipliers fails.
    """
    rng = np.random.default_rng(20260101)
    table = np.zeros((whole.rows.height, 4), dtype=np.uint64)
    for place in range(2):
        weights = rng.integers(0, 1 << 63, int(own.max()) + 1, dtype=np.uint64)
        np.add.at(table[:, place], rows, weights[own] * values.astype(np.uint64))
    table[:, 2], table[:, 3] = whole.limits.astype(np.uint64), whole.equal
    _, first, classes = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return classes.reshape(-1).astype(np.int64), first.astype(np.int64)


def solve_alike(program: DirectProgram) -> ExactOptimum:
    """Return the exact optimum of a program whose agents are alike: the small one, checked in the whole one.

    Where the check fails the whole program is solved.
    """
    whole = program.program
    small = SmallProgram.of(whole, orbits(program))
    if small is None:
        return solve_exactly(whole)
    optimum = solve_exactly(small.program)
    if optimum.prices is None:
        return solve_exactly(whole) if optimum.status == "failed" else optimum
    prices = small.expanded_prices(optimum.prices)
    if optimum.point is None:
        nothing = replace(whole, objective=np.zeros(whole.rows.width, dtype=np.int64))
        proven = nothing.dual_is_feasible(prices) and nothing.bound(prices) < 0
        return ExactOptimum("infeasible", None, prices, optimum.how) if proven else solve_exactly(whole)
    point = small.expanded_point(optimum.point)
    proven = (
        whole.primal_is_feasible(point)
        and whole.dual_is_feasible(prices)
        and whole.value(point) == whole.bound(prices)
    )
    return ExactOptimum(optimum.status, point, prices, optimum.how) if proven else solve_exactly(whole)
