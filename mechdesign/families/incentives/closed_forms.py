"""Rules with a formula: Myerson's auction, Clarke's pivot, expected externalities, side bets, the median.

Each returns the rule and what no rule can exceed, as a fraction; proofs are on the family's page. Nothing
here is believed: the problem audits every deviation of what comes out.

With shares f_1, ..., f_k of the values v_1 <= ... <= v_k, adjacent downward incentives and participation of
the lowest type give  sum f_a T_a <= sum f_a phi_a W_a  for any quantities W, where

    phi_a = v_a - (v_{a+1} - v_a) (1 - F_a) / f_a,   F_a = f_1 + ... + f_a,

with equality where these bind. Incentives make W non-decreasing, so that phi may be replaced by its ironed
form, the non-decreasing regression with weights f: it makes the right-hand side no smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechdesign.families.incentives.deviations import ExactAudit, ExactRule, exact_rule
from mechdesign.families.incentives.direct_mechanism import DirectMechanism
from mechdesign.families.incentives.environment import Environment, Whole, outer_product
from mechdesign.families.incentives.program import LinearTypes, linear_types
from mechdesign.solvers.exact_linear import (
    IntegerProgram,
    IntegerRows,
    solve_exactly,
    whole_array,
)

Profitable = tuple[ExactRule, Fraction]
"""A rule, and the most that any rule can reach."""


def best_outcomes(environment: Environment, scores: Whole) -> tuple[Whole, Whole]:
    """Return the first outcome of the largest score by profile: as lotteries, and by number."""
    shape = (*environment.counts, len(environment.outcomes))
    rows = scores.reshape(-1, shape[-1]).tolist()
    places = [row.index(max(row)) for row in rows]
    lotteries = np.zeros((len(places), shape[-1]), dtype=object) + Fraction(0)
    lotteries[np.arange(len(places)), places] = Fraction(1)
    return lotteries.reshape(shape), np.array(places).reshape(environment.counts)


def expectation(environment: Environment, table: Whole) -> Fraction:
    """Return the expectation of a table by profile."""
    return Fraction((environment.prior * table).sum())


# One dimension


def virtual_values(values: Sequence[Fraction], shares: Sequence[Fraction]) -> list[Fraction]:
    """Return the virtual value of each type; values are in increasing order.

    Examples
    --------
    >>> virtual_values([Fraction(1), Fraction(2), Fraction(3)], [Fraction(1, 3)] * 3)
    [Fraction(-1, 1), Fraction(1, 1), Fraction(3, 1)]
    """
    result, below = [], Fraction(0)
    for place, (value, share) in enumerate(zip(values, shares, strict=True)):
        below += share
        step = values[place + 1] - value if place + 1 < len(values) else Fraction(0)
        result.append(value - step * (1 - below) / share)
    return result


def ironed_values(values: Sequence[Fraction], weights: Sequence[Fraction]) -> list[Fraction]:
    """Return the non-decreasing regression with these weights, by pooling neighbors that violate the order.

    Examples
    --------
    >>> ironed_values([Fraction(1), Fraction(4), Fraction(2)], [Fraction(1)] * 3)
    [Fraction(1, 1), Fraction(3, 1), Fraction(3, 1)]
    """
    blocks: list[tuple[Fraction, Fraction, int]] = []
    for value, weight in zip(values, weights, strict=True):
        blocks.append((value * weight, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            total, mass, size = blocks.pop()
            before = blocks.pop()
            blocks.append((before[0] + total, before[1] + mass, before[2] + size))
    return [total / mass for total, mass, size in blocks for _ in range(size)]


@dataclass(frozen=True)
class IronedLine:
    """Types of an agent in the order of their values, with virtual and ironed virtual values.

    Attributes
    ----------
    order : tuple of int
    virtual, ironed : tuple of Fraction
        By type, as they are numbered in the problem.
    """

    order: tuple[int, ...]
    virtual: tuple[Fraction, ...]
    ironed: tuple[Fraction, ...]

    @property
    def is_regular(self) -> bool:
        """Whether ironing changes nothing."""
        return self.virtual == self.ironed


def ironed_line(values: Sequence[Fraction], shares: Sequence[Fraction]) -> IronedLine:
    """Return virtual and ironed values of types in any order.

    Examples
    --------
    >>> ironed_line([Fraction(2), Fraction(1)], [Fraction(1, 2)] * 2).virtual
    (Fraction(2, 1), Fraction(0, 1))
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    weights = [shares[place] for place in order]
    virtual = virtual_values([values[place] for place in order], weights)
    ironed = ironed_values(virtual, weights)
    places = {place: number for number, place in enumerate(order)}
    return IronedLine(
        tuple(order),
        tuple(virtual[places[place]] for place in range(len(values))),
        tuple(ironed[places[place]] for place in range(len(values))),
    )


def upward_lines(environment: Environment) -> list[LinearTypes] | None:
    """Return the lines of all agents, upwards; None where one has none, or loses with a higher type."""
    lines = [linear_types(environment, agent) for agent in range(len(environment.agents))]
    upward = [line for line in lines if line is not None and min(line.weights) >= 0]
    return upward if len(upward) == len(lines) else None


def ironed_lines(environment: Environment, lines: Sequence[LinearTypes]) -> list[IronedLine]:
    """Return virtual and ironed values of all agents.

    Examples
    --------
    >>> from mechdesign.families.incentives.environments import environment_of
    >>> sale = environment_of("environment", {"name": "single-item", "types": [1, 2, 3]})
    >>> ironed_lines(sale, upward_lines(sale))[0].ironed
    (Fraction(-1, 1), Fraction(1, 1), Fraction(3, 1))
    """
    return [
        ironed_line(line.numbers, shares.tolist())
        for line, shares in zip(lines, environment.marginals, strict=True)
    ]


def virtual_surplus(
    environment: Environment, lines: Sequence[LinearTypes], values: Sequence[Sequence[Fraction]]
) -> Whole:
    """Return the sum of virtual values less cost and outside values, by profile and outcome."""
    outcomes = len(environment.outcomes)
    total = np.zeros((*environment.counts, outcomes), dtype=object) - np.array(environment.cost, dtype=object)
    for agent, (line, numbers) in enumerate(zip(lines, values, strict=True)):
        base = np.array(line.base, dtype=object) - environment.outside[agent][0]
        own = np.multiply.outer(np.array(numbers, dtype=object), np.array(line.weights, dtype=object)) + base
        shape = [1] * len(environment.agents)
        shape[agent] = environment.counts[agent]
        total = total + own.reshape(*shape, outcomes)
    return np.asarray(total)


def threshold_rule(environment: Environment, lines: Sequence[LinearTypes], lotteries: Whole) -> ExactRule:
    """Return the rule with the largest payments: the lowest type and downward lies gain nothing."""
    payments = np.zeros((*environment.counts, len(environment.agents)), dtype=object)
    for agent, line in enumerate(lines):
        chances = np.moveaxis(lotteries, agent, 0)
        worth = environment.values[agent]
        paid: Whole = np.array(Fraction(0), dtype=object)
        before = None
        target = np.moveaxis(payments[..., agent], agent, 0)
        for own in line.order:
            gain = (chances[own] * worth[own]).sum(axis=-1)
            if before is None:
                paid = gain - environment.outside[agent][0]
            else:
                paid = paid + gain - (chances[before] * worth[own]).sum(axis=-1)
            target[own] = paid
            before = own
    return exact_rule(lotteries, payments)


def myerson_rule(problem: DirectMechanism) -> Profitable:
    """Return the rule that chooses the outcome of the largest ironed virtual surplus."""
    environment = problem.environment
    lines = upward_lines(environment)
    assert lines is not None
    ironed = [line.ironed for line in ironed_lines(environment, lines)]
    surplus = virtual_surplus(environment, lines, ironed)
    lotteries, _ = best_outcomes(environment, surplus)
    bound = expectation(environment, surplus.max(axis=-1))
    return threshold_rule(environment, lines, lotteries), bound


def posted_price_rule(problem: DirectMechanism) -> Profitable:
    """Return the best price of the list, for the one outcome that the buyer pays for."""
    environment = problem.environment
    line = linear_types(environment, 0)
    assert line is not None
    sold = line.weights.index(max(line.weights))
    idle = 1 - sold
    best: tuple[Fraction, int] | None = None
    shares = environment.marginals[0].tolist()
    for start in range(len(line.order) + 1):
        buyers = line.order[start:]
        part = sum((shares[own] for own in buyers), Fraction(0))
        price = line.numbers[buyers[0]] if buyers else Fraction(0)
        profit = part * (price - environment.cost[sold]) - (1 - part) * environment.cost[idle]
        if best is None or profit > best[0]:
            best = (profit, start)
    assert best is not None
    buying = set(line.order[best[1] :])
    lotteries = np.array(
        [
            [Fraction(int((place == sold) == (own in buying))) for place in range(2)]
            for own in range(len(line.numbers))
        ],
        dtype=object,
    )
    return threshold_rule(environment, [line], lotteries), best[0]


# Welfare


def pivot_rule(problem: DirectMechanism) -> Profitable:
    """Return the efficient outcome with Clarke's payments: what an agent's presence costs the others.

    Where taking part has to be worth it and is not at these payments, each agent is paid a constant more.
    """
    environment = problem.environment
    surplus = environment.surplus()
    lotteries, places = best_outcomes(environment, surplus)
    payments = np.zeros((*environment.counts, len(environment.agents)), dtype=object)
    for agent in range(len(environment.agents)):
        others = surplus - environment.by_profile(agent)
        at_choice = np.take_along_axis(others, places[..., None], axis=-1)[..., 0]
        payments[..., agent] = others.max(axis=-1) - at_choice
    rule = exact_rule(lotteries, payments)
    if problem.participation != "none":
        rule = _subsidized(problem, lotteries, payments, rule)
    return rule, expectation(environment, surplus.max(axis=-1))


def _subsidized(problem: DirectMechanism, lotteries: Whole, payments: Whole, rule: ExactRule) -> ExactRule:
    """Return the rule with constants taken off the payments, so that each agent takes part."""
    audit = ExactAudit(problem.environment, rule)
    for agent in range(len(problem.environment.agents)):
        least = audit.least_gain(agent, problem.participation)
        if least < 0:
            payments[..., agent] = payments[..., agent] + least
    return exact_rule(lotteries, payments)


def expected_externality_rule(problem: DirectMechanism) -> Profitable:
    """Return the efficient outcome; each pays a share of the cost and its expected externality, balanced."""
    environment = problem.environment
    count = len(environment.agents)
    lotteries, places = best_outcomes(environment, environment.surplus())
    cost = np.array(environment.cost, dtype=object)
    externalities = []
    for agent in range(count):
        others = environment.surplus() - environment.by_profile(agent) + cost / count
        at_choice = np.take_along_axis(others, places[..., None], axis=-1)[..., 0]
        rest = [row for one, row in enumerate(environment.marginals) if one != agent]
        weights = outer_product(rest).reshape(-1)
        table = np.moveaxis(at_choice, agent, 0).reshape(environment.counts[agent], -1)
        shape = [1] * count
        shape[agent] = environment.counts[agent]
        externalities.append((table * weights).sum(axis=1).reshape(shape))
    everyone = sum(externalities)
    share = cost[places] / count
    payments = np.stack(
        [
            np.broadcast_to(share - own + (everyone - own) / (count - 1), environment.counts)
            for own in externalities
        ],
        axis=-1,
    )
    return exact_rule(lotteries, payments), expectation(environment, environment.surplus().max(axis=-1))


# Correlated types


def side_bets(environment: Environment, agent: int) -> list[list[Fraction]] | tuple[int, list[Fraction]]:
    """Return a bet on the others' types for each own type: 0 expected for it, at least 1 for all others.

    Where the beliefs of a type are a combination with weights >= 0 of those of others there is none: then the
    type and the weights are returned, which prove it.
    """
    rows = np.moveaxis(environment.prior, agent, 0).reshape(environment.counts[agent], -1)
    beliefs = [[share / sum(row) for share in row] for row in rows.tolist()]
    bets = []
    for own in range(len(beliefs)):
        bet = _bet(beliefs, own)
        if bet is None:
            return own, cone_weights(beliefs, own)
        bets.append(bet)
    return bets


def _bet(beliefs: list[list[Fraction]], own: int) -> list[Fraction] | None:
    """Return the bet with the least sum of absolute stakes."""
    size = len(beliefs[0])
    order = [own, *(other for other in range(len(beliefs)) if other != own)]
    entries, limits = [], []
    for row, kind in enumerate(order):
        scale = int(np.lcm.reduce(np.array([share.denominator for share in beliefs[kind]], dtype=object)))
        sign = 1 if kind == own else -1
        for place, share in enumerate(beliefs[kind]):
            number = int(share * scale) * sign
            entries += [(row, place, number), (row, size + place, -number)]
        limits.append(0 if kind == own else -scale)
    matrix = _matrix(entries, len(order), 2 * size)
    program = IntegerProgram(
        -np.ones(2 * size, dtype=np.int64),
        matrix,
        whole_array(limits),
        np.array([kind == own for kind in order]),
        np.zeros(2 * size, dtype=bool),
    )
    bet = solve_exactly(program)
    if bet.point is None:
        return None
    values = bet.point.fractions()
    return [plus - minus for plus, minus in zip(values[:size], values[size:], strict=True)]


def cone_weights(beliefs: list[list[Fraction]], own: int) -> list[Fraction]:
    """Return weights >= 0 of the other types' beliefs that give those of a type; empty where there are none.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> cone_weights([[half, half], [Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]], 0)
    [Fraction(0, 1), Fraction(1, 2), Fraction(1, 2)]
    """
    others = [other for other in range(len(beliefs)) if other != own]
    size = len(beliefs[0])
    scale = int(
        np.lcm.reduce(np.array([share.denominator for row in beliefs for share in row] or [1], dtype=object))
    )
    entries = [
        (place, column, int(beliefs[other][place] * scale))
        for column, other in enumerate(others)
        for place in range(size)
    ]
    program = IntegerProgram(
        np.zeros(len(others), dtype=np.int64),
        _matrix(entries, size, len(others)),
        whole_array([int(share * scale) for share in beliefs[own]]),
        np.ones(size, dtype=bool),
        np.zeros(len(others), dtype=bool),
    )
    bet = solve_exactly(program)
    if bet.point is None:
        return []
    weights = bet.point.fractions()
    weights.insert(own, Fraction(0))
    return weights


def _matrix(entries: list[tuple[int, int, int]], height: int, width: int) -> IntegerRows:
    rows, columns, values = zip(*entries, strict=True)
    return IntegerRows.of_entries(
        np.array(rows), np.array(columns), whole_array(list(values)), (height, width)
    )


def full_surplus_rule(problem: DirectMechanism) -> Profitable | None:
    """Return the efficient outcome, all surplus as payment, and bets that make every lie lose.

    None where a type's beliefs are a combination of others'.
    """
    environment = problem.environment
    lotteries, places = best_outcomes(environment, environment.surplus())
    payments = np.zeros((*environment.counts, len(environment.agents)), dtype=object)
    for agent, count in enumerate(environment.counts):
        worth = np.take_along_axis(environment.by_profile(agent), places[..., None], axis=-1)[..., 0]
        outside = np.array(environment.outside[agent], dtype=object)
        shape = [1] * len(environment.agents)
        shape[agent] = count
        payments[..., agent] = worth - outside.reshape(shape)
    audit = ExactAudit(environment, exact_rule(lotteries, payments))
    for agent, count in enumerate(environment.counts):
        bets = side_bets(environment, agent)
        if isinstance(bets, tuple):
            return None
        stake = max(Fraction(0), -audit.agent_incentives(agent, "bayesian").slack)
        others = [size for one, size in enumerate(environment.counts) if one != agent]
        table = np.array(bets, dtype=object).reshape(count, *others)
        payments[..., agent] = payments[..., agent] + stake * np.moveaxis(table, 0, agent)
    forgone = sum(
        (
            share * least
            for agent, shares in enumerate(environment.marginals)
            for share, least in zip(shares.tolist(), environment.outside[agent], strict=True)
        ),
        Fraction(0),
    )
    bound = expectation(environment, environment.surplus().max(axis=-1)) - forgone
    return exact_rule(lotteries, payments), bound


# Without payments


def peaks_of(environment: Environment) -> tuple[list[Fraction], list[list[int]]] | None:
    """Return places of the outcomes and the peak of each type, where values are minus distances on a line.

    None where they are not; the places are those of the first agent's first type and of its mirror image.
    """
    table = environment.values[0]
    if any(values.ndim != 2 for values in environment.values):
        return None
    peaks = [[row.index(max(row)) for row in values.tolist()] for values in environment.values]
    outcomes = range(len(environment.outcomes))
    known = {peak: -table[own] for own, peak in enumerate(peaks[0])}
    low = max(outcomes, key=lambda outcome: next(iter(known.values()))[outcome])
    start = known.get(low)
    if start is None:
        return None
    places = [Fraction(distance) for distance in start.tolist()]
    for agent, values in enumerate(environment.values):
        for own, row in enumerate(values.tolist()):
            spot = places[peaks[agent][own]]
            if any(row[outcome] != -abs(places[outcome] - spot) for outcome in outcomes):
                return None
    return places, peaks


def median_rule(problem: DirectMechanism) -> Profitable | None:
    """Return the rule that takes the lower median of the peaks; None where values are no distances."""
    environment = problem.environment
    line = peaks_of(environment)
    if line is None:
        return None
    places, peaks = line
    count = len(environment.agents)
    lotteries = np.zeros((*environment.counts, len(environment.outcomes)), dtype=object) + Fraction(0)
    for profile in np.ndindex(*environment.counts):
        reported_peaks = sorted(
            (peaks[agent][own] for agent, own in enumerate(profile)), key=lambda o: places[o]
        )
        lotteries[(*profile, reported_peaks[(count - 1) // 2])] = Fraction(1)
    payments = np.zeros((*environment.counts, count), dtype=object) + Fraction(0)
    bound = expectation(environment, environment.surplus().max(axis=-1))
    return exact_rule(lotteries, payments), bound


def violated(problem: DirectMechanism, rule: ExactRule) -> list[str]:
    """Return the names of the requirements that a rule violates."""
    judged = ExactAudit(problem.environment, rule).all(problem.demands)
    return [group.name for group in judged if group.slack < 0]
