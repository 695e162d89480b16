"""Payments under which the truth pays for given lotteries, or the cycle of lies that shows there are none.

For an agent, and for fixed types of the others, let ``a -> b`` have the length v(b, x(b)) - v(b, x(a)),
what b loses, before payments, by the report a. Payments implement x iff t(b) <= t(a) + length(a -> b) for
all a and b, so iff no cycle of the graph has a negative length (Rochet 1987), and shortest distances are
such payments. A source with arcs of length v(b, x(b)) - outside(b) adds participation; its distances are
the largest payments with both. With Bayesian incentives and independent types all lengths are expectations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import one_of
from mechdesign.families.incentives.deviations import (
    Demands,
    ExactAudit,
    ExactRule,
    common_integers,
    fraction_array,
)
from mechdesign.families.incentives.environment import Environment, Whole, fraction_amount, profile_text
from mechdesign.families.incentives.environments import environment_of


@dataclass(frozen=True, eq=False)
class Implementation:
    """Whether lotteries can be implemented, with the payments or with the lies that exclude it.

    Attributes
    ----------
    payments : array of Fraction or None
        By profile and agent: the largest payments with participation, if it is demanded.
    cycle : mapping
        The agent, the others' types, the types of the cycle and its length below 0; empty where there are
        payments.
    """

    payments: Whole | None
    cycle: Mapping[str, Any]

    @property
    def holds(self) -> bool:
        """Whether there are payments."""
        return self.payments is not None

    def __str__(self) -> str:
        if self.holds:
            return "implementable: payments exist"
        parts = [f"{key} = {value}" for key, value in self.cycle.items()]
        return f"not implementable; a cycle of lies pays: {', '.join(parts)}"


def implementable(
    environment: Environment | Mapping[str, Any],
    lotteries: Any,
    incentives: str = "dominant",
    participation: bool = False,
) -> Implementation:
    """Return payments for lotteries, or a cycle of lies by which agents would gain whatever is paid.

    Parameters
    ----------
    environment : Environment or mapping
        As the problem ``direct-mechanism`` takes it.
    lotteries : array of numbers, shape (types of each agent, outcomes)
        Or a row for each profile, as the variables of a solution have them. Fractions are exact.
    incentives : {"dominant", "bayesian"}
    participation : bool
        Whether no type may pay more than it gains over staying out, ex post or, for Bayesian incentives, in
        expectation.

    Raises
    ------
    ParameterError
        For Bayesian incentives with dependent types, where payments may bet on the others' types: there
        the method ``exact-lp`` decides.

    Examples
    --------
    >>> sale = {"name": "single-item", "types": [1, 2, 3]}
    >>> no, yes = [1, 0], [0, 1]
    >>> implementable(sale, np.array([no, yes, yes]), participation=True).payments.tolist()
    [[Fraction(0, 1)], [Fraction(2, 1)], [Fraction(2, 1)]]
    >>> print(implementable(sale, np.array([no, yes, no])))
    not implementable; a cycle of lies pays: agent = bidder1, types = 3 -> 2 -> 3, length = -1
    """
    environment = environment_of("environment", environment)
    one_of("incentives", incentives, ("dominant", "bayesian"))
    if incentives == "bayesian" and not environment.is_independent:
        raise ParameterError(
            "incentives", "types are dependent, so payments may bet on others' types", "use method exact-lp"
        )
    shape = (*environment.counts, len(environment.outcomes))
    table = _checked_lotteries(lotteries, shape)
    nothing: Whole = np.zeros((*environment.counts, len(environment.agents)), dtype=np.int64)
    audit = ExactAudit(environment, ExactRule(*common_integers(table), nothing, 1))
    parts = []
    for agent in range(len(environment.agents)):
        answer = _potentials(audit, agent, incentives, participation)
        if isinstance(answer, Implementation):
            return answer
        parts.append(answer)
    return Implementation(np.stack(parts, axis=-1), {})


def _checked_lotteries(lotteries: Any, shape: tuple[int, ...]) -> Whole:
    try:
        table = np.array(lotteries, dtype=object)
    except ValueError:  # rows of different lengths
        table = np.zeros(0, dtype=object)
    if table.shape == (prod(shape[:-1]), shape[-1]):
        table = table.reshape(shape)
    if table.shape != shape:
        raise ParameterError("lotteries", f"expected an array of shape {shape}, got {table.shape}")
    entries = [fraction_amount("lotteries", entry) for entry in table.reshape(-1).tolist()]
    result = np.empty(len(entries), dtype=object)
    result[:] = entries
    result = result.reshape(shape)
    if min(entries) < 0 or (result.sum(axis=-1) != 1).any():
        raise ParameterError(
            "lotteries", "are not probabilities that sum to 1", "write quotients such as 1/3"
        )
    return result


def _potentials(
    audit: ExactAudit, agent: int, incentives: str, participation: bool
) -> Whole | Implementation:
    """Return the payments of an agent by profile, or the failure with its cycle."""
    environment = audit.environment
    count = environment.counts[agent]
    values = audit.utilities(agent).astype(object)
    unit = environment.scale * audit.rule.out_of * audit.rule.per
    if incentives == "bayesian":
        weights = audit.beliefs(agent)[0].astype(object)
        values = (values * weights).sum(axis=2, keepdims=True)
        unit *= int(weights.sum())
    truth = values[np.arange(count), np.arange(count)]
    lengths = np.moveaxis(truth[:, None] - values, 1, 0)  # [a, b]: the report a of the true type b
    outside = np.array([int(value * unit) for value in environment.outside[agent]], dtype=object)
    if participation:
        distances = truth - outside[:, None]
    else:
        distances = np.zeros_like(truth)
    for _ in range(count):
        shorter = np.minimum(distances, (distances[:, None] + lengths).min(axis=0))
        if (shorter == distances).all():
            break
        distances = shorter
    else:
        return Implementation(None, _negative_cycle(audit, agent, lengths, unit))
    own = fraction_array(distances, unit)
    return _by_profile(environment, agent, own)


def _by_profile(environment: Environment, agent: int, table: Whole) -> Whole:
    """Return a table by own type and others' types as one by profile."""
    count = environment.counts[agent]
    others = [size for one, size in enumerate(environment.counts) if one != agent]
    if table.shape[1] == 1 and environment.profiles > count:
        table = np.repeat(table, environment.profiles // count, axis=1)
    return np.moveaxis(table.reshape(count, *others), 0, agent)


def _negative_cycle(audit: ExactAudit, agent: int, lengths: Whole, unit: int) -> dict[str, Any]:
    """Return a cycle of negative length, by shortest paths, for the first profile with one."""
    environment = audit.environment
    count = environment.counts[agent]
    for place in range(lengths.shape[2]):
        cycle = negative_cycle(lengths[:, :, place].tolist())
        if cycle:
            names = environment.types[agent]
            total = sum(lengths[a, b, place] for a, b in pairwise(cycle))
            result = {
                "agent": environment.agents[agent],
                "types": " -> ".join(names[node] for node in cycle),
                "length": Fraction(int(total), unit),
            }
            others = [size for one, size in enumerate(environment.counts) if one != agent]
            if others and lengths.shape[2] > 1:
                profile = [int(part) for part in np.unravel_index(place, others)]
                profile.insert(agent, 0)
                result["others"] = profile_text(environment, tuple(profile), without=agent)
            return result
    raise AssertionError(f"no negative cycle among {count} types")


def negative_cycle(lengths: list[list[Any]]) -> list[int]:
    """Return the nodes of a cycle of negative length, the first one again at the end; empty without one.

    Examples
    --------
    >>> negative_cycle([[0, 1], [-2, 0]]), negative_cycle([[0, 1], [-1, 0]])
    ([0, 1, 0], [])
    """
    count = len(lengths)
    distances, before, last = [0] * count, [-1] * count, -1
    for _ in range(count + 1):
        last = -1
        for a in range(count):
            for b in range(count):
                if a != b and distances[a] + lengths[a][b] < distances[b]:
                    distances[b], before[b], last = distances[a] + lengths[a][b], a, b
        if last < 0:
            return []
    node = last
    for _ in range(count):
        node = before[node]
    cycle = [node]
    while len(cycle) == 1 or cycle[-1] != node:
        cycle.append(before[cycle[-1]])
    return cycle[::-1]


def rounded_rule(environment: Environment, demands: Demands, rule: ExactRule, total: int) -> ExactRule | None:
    """Return the rule with lotteries in integers out of ``total`` and payments for exactly these.

    None where there are no such payments, or where requirements on the budget or on single payments tie them
    together.
    """
    lotteries = rounded_lotteries(rule, total)
    tied = demands.budget != "none" or demands.payment_low is not None or demands.payment_high is not None
    expost = demands.incentives == "bayesian" and demands.participation == "ex-post"
    dependent = demands.incentives == "bayesian" and not environment.is_independent
    if tied or expost or dependent or not demands.transfers:
        return None
    answer = implementable(
        environment,
        fraction_array(lotteries, total),
        demands.incentives,
        participation=demands.participation != "none",
    )
    if answer.payments is None:
        return None
    return ExactRule(lotteries, total, *common_integers(answer.payments))


def rounded_lotteries(rule: ExactRule, total: int) -> Whole:
    """Return lotteries in integers that sum to ``total``, each at most 1 from the exact number.

    Examples
    --------
    >>> rounded_lotteries(ExactRule(np.array([[1, 2]]), 3, np.zeros((1, 1), dtype=int), 1), 16).tolist()
    [[5, 11]]
    """
    rows = rule.lotteries.reshape(-1, rule.lotteries.shape[-1]).tolist()
    result = []
    for row in rows:
        exact = [int(number) * total for number in row]
        whole = [number // rule.out_of for number in exact]
        left = total - sum(whole)
        order = sorted(range(len(row)), key=lambda place: -(exact[place] % rule.out_of))
        for place in order[:left]:
            whole[place] += 1
        result.append(whole)
    return np.array(result, dtype=np.int64 if total <= 1 << 62 else object).reshape(rule.lotteries.shape)
