"""One item and equal bidders: chances of winning by type, with Border's rows, solved exactly.

With n independent bidders of types 1, ..., k in increasing order, shares f and F_c = f_1 + ... + f_{c-1},
non-decreasing chances x can be had by an auction iff  n sum_{a >= c} f_a x_a <= 1 - F_c^n  for every c
(Border 1991): somebody of type c or above has to be there for one of them to win. So the program has two
variables for each type, whatever the number of bidders. An extreme point is a hierarchy: blocks of types; the
item goes to a bidder of the highest block that is present, each with the same chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.problem import Outcome
from mechdesign.core.validation import integer
from mechdesign.families.incentives.closed_forms import ironed_line
from mechdesign.families.incentives.deviations import exact_rule
from mechdesign.families.incentives.direct_mechanism import DirectMechanism, variables_of
from mechdesign.families.incentives.environment import (
    Environment,
    Whole,
    amounts_of,
    decimal_name,
    fraction_amount,
)
from mechdesign.families.incentives.program import LinearTypes, linear_types
from mechdesign.solvers.exact_linear import (
    ExactBasis,
    IntegerProgram,
    IntegerRows,
    solve_exactly,
    whole_array,
)

MOST_BIDDERS = 1000
"""Chances to win are fractions with the power of a share in their denominators."""


@dataclass(frozen=True)
class InterimAuction:
    """The optimal auction of one item among equal bidders, by type.

    Attributes
    ----------
    bidders : int
    chances : tuple of Fraction
        Of winning, by type in increasing order.
    payments : tuple of Fraction
        Expected, by type.
    blocks : tuple of int
        The block of each type in the hierarchy, from 1; 0 never wins.
    revenue : Fraction
    """

    bidders: int
    chances: tuple[Fraction, ...]
    payments: tuple[Fraction, ...]
    blocks: tuple[int, ...]
    revenue: Fraction


def interim_auction(
    values: Sequence[Any], shares: Sequence[Any], bidders: int, worth: Any = 0
) -> InterimAuction:
    """Return the revenue-optimal auction of one item among equal, independent bidders, exactly.

    Parameters
    ----------
    values, shares : sequence of numbers
        Of the types, values increasing; quotients such as ``"1/3"`` are exact.
    bidders : int
    worth : number
        Of the item to the seller.

    Raises
    ------
    ParameterError
        For values that do not increase, or shares that are not probabilities above 0.
    MethodError
        When HiGHS proposes no basis that is exactly optimal.

    Examples
    --------
    >>> found = interim_auction([1, 2, 3], ["1/3"] * 3, 2)
    >>> found.revenue, found.chances, found.blocks
    (Fraction(2, 1), (Fraction(0, 1), Fraction(1, 2), Fraction(5, 6)), (0, 1, 2))
    """
    values, shares, bidders, worth = _checked(values, shares, bidders, worth)
    program, scale = _border_program(values, shares, bidders, worth)
    answer = solve_exactly(program, ironed_basis(values, shares, worth))
    if answer.point is None or answer.prices is None:
        raise MethodError("interim", "HiGHS proposes no basis that is exactly optimal", "use 'myerson'")
    numbers = answer.point.fractions()
    count = len(values)
    chances, payments = numbers[:count], numbers[count:]
    revenue = program.bound(answer.prices) / scale
    blocks = hierarchy(chances)
    if hierarchical_chances(blocks, shares, bidders) != chances:
        raise MethodError("interim", "the optimum is no hierarchy", "use 'myerson'")
    return InterimAuction(bidders, tuple(chances), tuple(payments), tuple(blocks), revenue)


def _checked(
    values: Any, shares: Any, bidders: Any, worth: Any
) -> tuple[list[Fraction], list[Fraction], int, Fraction]:
    """Return what describes the bidders as fractions, or say what is wrong."""
    numbers = list(amounts_of("values", values))
    if not numbers:
        raise ParameterError("values", "is empty", "give at least one number")
    for place, (one, other) in enumerate(pairwise(numbers)):
        if other <= one:
            raise ParameterError(
                f"values[{place + 1}]", f"{other} is not above {one}", "sort them, each once"
            )
    if numbers[0] < 0:
        raise ParameterError("values[0]", f"{numbers[0]} is negative", "give numbers >= 0")
    parts = list(amounts_of("shares", shares, len(numbers)))
    for place, part in enumerate(parts):
        if part <= 0:
            raise ParameterError(f"shares[{place}]", f"{part} is not above 0", "leave the type out")
    if sum(parts) != 1:
        what = f"sums to {decimal_name(sum(parts, Fraction(0)))}, not 1"
        raise ParameterError("shares", what, "write quotients such as 1/3")
    count = integer("bidders", bidders, 1, MOST_BIDDERS)
    return numbers, parts, count, fraction_amount("worth", worth)


def _border_program(
    values: Sequence[Fraction], shares: Sequence[Fraction], bidders: int, worth: Fraction
) -> tuple[IntegerProgram, Fraction]:
    """Return the program in chances and expected payments, and what its objective is multiplied by."""
    count = len(values)
    unit = lcm(*(value.denominator for value in [*values, worth]))
    part = lcm(*(share.denominator for share in shares))
    entries: list[tuple[int, int, int]] = []
    limits: list[int] = []
    for own in range(count):  # participation, then neighbors
        entries += [(own, own, -int(values[own] * unit)), (own, count + own, unit)]
        limits.append(0)
    for low in range(count - 1):
        for own, other in ((low, low + 1), (low + 1, low)):
            row, number = len(limits), int(values[own] * unit)
            entries += [(row, other, number), (row, own, -number)]
            entries += [(row, count + other, -unit), (row, count + own, unit)]
            limits.append(0)
    below = Fraction(0)
    for start in range(count):
        limit = 1 - below**bidders
        row, common = len(limits), lcm(limit.denominator, part)
        entries += [(row, own, int(bidders * shares[own] * common)) for own in range(start, count)]
        limits.append(int(limit * common))
        below += shares[start]
    gains = [int(-bidders * share * part * worth * unit) for share in shares]
    gains += [int(bidders * share * part) * unit for share in shares]
    rows, columns, numbers = zip(*entries, strict=True)
    matrix = IntegerRows.of_entries(
        np.array(rows), np.array(columns), whole_array(list(numbers)), (len(limits), 2 * count)
    )
    free = np.arange(2 * count) >= count
    program = IntegerProgram(
        whole_array(gains), matrix, whole_array(limits), np.zeros(len(limits), dtype=bool), free
    )
    return program, Fraction(part * unit)


def ironed_basis(values: Sequence[Fraction], shares: Sequence[Fraction], worth: Fraction) -> ExactBasis:
    """Return the basis that ironing suggests; the program's own exact check decides whether it is optimal.

    Limits of Border's rows may differ by less than a double can tell, so that HiGHS is lost between them.
    """
    count = len(values)
    ironed = ironed_line([value - worth for value in values], shares).ironed
    buying = [own for own in range(count) if ironed[own] > 0]
    tight = [0, *(count + 2 * low + 1 for low in range(count - 1))]
    for own in buying:
        pooled = own > 0 and ironed[own] == ironed[own - 1]
        tight.append(count + 2 * (own - 1) if pooled else 3 * count - 2 + own)
    return ExactBasis(tuple([*buying, *range(count, 2 * count)]), tuple(sorted(tight)))


def hierarchy(chances: Sequence[Fraction]) -> list[int]:
    """Return the block of each type: equal chances are one block, and no chance is block 0.

    Examples
    --------
    >>> hierarchy([Fraction(0), Fraction(1, 3), Fraction(1, 3), Fraction(1, 2)])
    [0, 1, 1, 2]
    """
    blocks: list[int] = []
    before = Fraction(0)
    for chance in chances:
        blocks.append((blocks[-1] if blocks else 0) + (chance != before))
        before = chance
    return blocks


def hierarchical_chances(blocks: Sequence[int], shares: Sequence[Fraction], bidders: int) -> list[Fraction]:
    """Return the chances of winning by type, where the item goes to a bidder of the highest block present."""
    result = []
    for block in blocks:
        below = sum(
            (share for other, share in zip(blocks, shares, strict=True) if other < block), Fraction(0)
        )
        own = sum((share for other, share in zip(blocks, shares, strict=True) if other == block), Fraction(0))
        chance = ((below + own) ** bidders - below**bidders) / (bidders * own) if block else Fraction(0)
        result.append(chance)
    return result


def equal_bidders(environment: Environment) -> tuple[LinearTypes, list[int]] | None:
    """Return the common line of types and the outcome in which each agent wins; None for anything else."""
    lines = [linear_types(environment, agent) for agent in range(len(environment.agents))]
    first = lines[0]
    if first is None or len(environment.outcomes) != len(lines) + 1:
        return None
    wins = []
    for line in lines:
        if line is None or sorted(line.weights) != [0] * len(lines) + [1] or any(line.base):
            return None
        if line.numbers != first.numbers:
            return None
        wins.append(line.weights.index(max(line.weights)))
    idle = set(range(len(environment.outcomes))) - set(wins)
    if len(idle) != 1 or environment.cost[idle.pop()] != 0:
        return None
    if len({environment.cost[outcome] for outcome in wins}) > 1:
        return None
    marginals = [row.tolist() for row in environment.marginals]
    same = environment.is_independent and all(row == marginals[0] for row in marginals)
    return (first, wins) if same else None


def why_not_equal(problem: DirectMechanism) -> str | None:
    """Return why Border's rows do not describe the problem."""
    if problem.goal != "revenue" or problem.incentives != "bayesian" or problem.participation != "interim":
        return "it is for revenue with bayesian incentives and interim participation"
    limited = problem.payment_low is not None or problem.payment_high is not None
    if problem.budget != "none" or problem.efficient or limited or problem.outcomes == "deterministic":
        return "outcomes, payments or the budget are restricted"
    environment = problem.environment
    if any(any(row) for row in environment.outside) or equal_bidders(environment) is None:
        return "it is for one item and equal, independent bidders"
    return None


def interim_optimum(problem: DirectMechanism) -> Outcome:
    """Return the optimum by Border's rows, its lotteries spelled out profile by profile."""
    environment = problem.environment
    answer = equal_bidders(environment)
    assert answer is not None
    line, wins = answer
    order = line.order
    shares = environment.marginals[0].tolist()
    auction = interim_auction(
        [line.numbers[own] for own in order],
        [shares[own] for own in order],
        len(environment.agents),
        environment.cost[wins[0]],
    )
    blocks = dict(zip(order, auction.blocks, strict=True))
    paid = dict(zip(order, auction.payments, strict=True))
    idle = next(iter(set(range(len(environment.outcomes))) - set(wins)))
    lotteries: Whole = np.zeros((*environment.counts, len(environment.outcomes)), dtype=object) + Fraction(0)
    payments: Whole = np.zeros((*environment.counts, len(environment.agents)), dtype=object) + Fraction(0)
    for profile in np.ndindex(*environment.counts):
        top = max(blocks[own] for own in profile)
        winners = [wins[agent] for agent, own in enumerate(profile) if top and blocks[own] == top] or [idle]
        for outcome in winners:
            lotteries[(*profile, outcome)] = Fraction(1, len(winners))
        payments[profile] = [paid[own] for own in profile]
    return Outcome(
        "optimal",
        variables_of(exact_rule(lotteries, payments)),
        bound=float(auction.revenue),
        bound_source="an exact dual of the program with Border's rows",
        solver="HiGHS, then fractions",
        notes={"exact_value": str(auction.revenue), "blocks": list(auction.blocks)},
    )
