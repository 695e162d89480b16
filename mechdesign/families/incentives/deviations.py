"""Every deviation of every agent in whole numbers: incentives, participation, budget, limits of payments.

A rule has a lottery over outcomes and payments for each profile. Lotteries, payments, values and the prior
are integers over common denominators, so each verdict is a comparison of integers, in int64 where nothing can
overflow and with Python's integers elsewhere. Nothing here knows how a rule was designed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import prod
from typing import Any, Literal, get_args

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import one_of
from mechdesign.core.values import frozen_value, value_field
from mechdesign.families.incentives.environment import (
    Environment,
    Profile,
    Whole,
    fraction_amount,
    profile_text,
    written,
)
from mechdesign.solvers.exact_linear import SAFE, largest_integer, products_fit, whole_array

Incentives = Literal["dominant", "bayesian"]
Participation = Literal["ex-post", "interim", "none"]
Budget = Literal["none", "no-deficit", "balanced", "expected"]


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(name, f"expected true or false, got {value!r}")
    return value


@frozen_value()
class Demands:
    """What a rule has to satisfy.

    Attributes
    ----------
    incentives : {"dominant", "bayesian"}
    participation : {"ex-post", "interim", "none"}
    budget : {"none", "no-deficit", "balanced", "expected"}
    transfers : bool
        Whether there are payments.
    payment_low, payment_high : Fraction or None
        Limits of each payment in each profile.
    """

    incentives: str = value_field(partial(one_of, known=get_args(Incentives)), default="dominant")
    participation: str = value_field(partial(one_of, known=get_args(Participation)), default="ex-post")
    budget: str = value_field(partial(one_of, known=get_args(Budget)), default="none")
    transfers: bool = value_field(_flag, default=True)
    payment_low: Fraction | None = value_field(fraction_amount, default=None, optional=True)
    payment_high: Fraction | None = value_field(fraction_amount, default=None, optional=True)

    def as_json(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {
            "incentives": self.incentives,
            "participation": self.participation,
            "budget": self.budget,
            "transfers": self.transfers,
            "payment_low": None if self.payment_low is None else written(self.payment_low),
            "payment_high": None if self.payment_high is None else written(self.payment_high),
        }


@dataclass(frozen=True, eq=False)
class ExactRule:
    """Lotteries and payments by profile: ``lotteries / out_of`` and ``payments / per``.

    Attributes
    ----------
    lotteries : array of int, shape (types of each agent, outcomes)
    out_of : int
    payments : array of int, shape (types of each agent, agents)
    per : int
    """

    lotteries: Whole
    out_of: int
    payments: Whole
    per: int

    def lottery_fractions(self) -> Whole:
        """Return the probabilities as an array of fractions."""
        return fraction_array(self.lotteries, self.out_of)

    def payment_fractions(self) -> Whole:
        """Return the payments as an array of fractions."""
        return fraction_array(self.payments, self.per)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values, a row for each profile: integers out of a number, and quotients."""
        payments = self.payment_fractions().reshape(-1, self.payments.shape[-1])
        return {
            "out_of": self.out_of,
            "weights": self.lotteries.reshape(-1, self.lotteries.shape[-1]).tolist(),
            "payments": [[written(paid) for paid in row] for row in payments.tolist()],
        }


def fraction_array(numbers: Whole, denominator: int) -> Whole:
    """Return an array of integers over a denominator as fractions."""
    known = {number: Fraction(number, denominator) for number in set(numbers.reshape(-1).tolist())}
    result = np.empty(numbers.size, dtype=object)
    result[:] = [known[number] for number in numbers.reshape(-1).tolist()]
    return result.reshape(numbers.shape)


def common_integers(table: Whole) -> tuple[Whole, int]:
    """Return an array of fractions as integers over their common denominator.

    Examples
    --------
    >>> common_integers(np.array([Fraction(1, 2), Fraction(1, 3)]))
    (array([3, 2]), 6)
    """
    entries = table.reshape(-1).tolist()
    common = int(np.lcm.reduce(np.array([entry.denominator for entry in entries] or [1], dtype=object)))
    numbers = whole_array([int(entry * common) for entry in entries])
    return numbers.reshape(table.shape), common


def exact_rule(lotteries: Whole, payments: Whole) -> ExactRule:
    """Return the rule of arrays of fractions."""
    return ExactRule(*common_integers(lotteries), *common_integers(payments))


@dataclass(frozen=True)
class Judged:
    """A group of requirements: how many, by how much the worst is missed, and which one it is."""

    name: str
    count: int
    slack: Fraction
    witness: Mapping[str, Any]

    @property
    def violation(self) -> Fraction:
        """By how much the worst one is violated, 0 where all are satisfied."""
        return max(Fraction(0), -self.slack)


def exact_product(left: Whole, right: Whole) -> Whole:
    """Return the product of broadcast integer arrays, exactly."""
    if products_fit(left, right):
        return np.asarray(left.astype(np.int64) * right.astype(np.int64))
    return np.asarray(left.astype(object) * right.astype(object))


def _inner(left: Whole, right: Whole) -> Whole:
    """Return the sums of products over the last axes of (a, o) and (b, r, o): shape (a, b, r)."""
    size = left.shape[-1]
    kind = np.int64 if products_fit(left, right, size) else object
    product = np.tensordot(left.astype(kind), right.astype(kind), axes=([1], [2]))
    return np.asarray(product)


class ExactAudit:
    """All that can be asked about a rule in an environment, in integers.

    Parameters
    ----------
    environment : Environment
    rule : ExactRule
    """

    def __init__(self, environment: Environment, rule: ExactRule) -> None:
        self.environment, self.rule = environment, rule
        self._unit = environment.scale * rule.out_of * rule.per

    @cached_property
    def _prior(self) -> Whole:
        environment = self.environment
        numbers = [int(p * environment.prior_scale) for p in environment.prior.reshape(-1).tolist()]
        return whole_array(numbers).reshape(environment.counts)

    def utilities(self, agent: int) -> Whole:
        """Return the utilities of an agent by true type, reported type and others' types, in units.

        Shape (types, types, profiles of the others); one unit is 1 over the common denominator.
        """
        environment, rule = self.environment, self.rule
        count = environment.counts[agent]
        chances = np.moveaxis(rule.lotteries, agent, 0).reshape(count, -1, len(environment.outcomes))
        paid = np.moveaxis(rule.payments[..., agent], agent, 0).reshape(count, -1)
        worth = scaled_values(environment, agent)
        if environment.is_interdependent(agent):
            ordered = np.moveaxis(worth, agent, 0).reshape(count, -1, len(environment.outcomes))
            gross = np.stack([_row_sums(own, chances) for own in ordered])
        else:
            gross = _inner(worth, chances)
        gross = exact_product(gross, whole_array(rule.per))
        charge = exact_product(paid, whole_array(environment.scale * rule.out_of))
        if largest_integer(gross) + largest_integer(charge) >= SAFE:
            gross, charge = gross.astype(object), charge.astype(object)
        return np.asarray(gross - charge[None])

    def beliefs(self, agent: int) -> Whole:
        """Return the joint probabilities by own type and others' types, over the prior's denominator."""
        return np.moveaxis(self._prior, agent, 0).reshape(self.environment.counts[agent], -1)

    def incentives(self, kind: str) -> Judged:
        """Return the deviation by which an agent gains most."""
        judged = [self.agent_incentives(agent, kind) for agent in range(len(self.environment.agents))]
        tried = [one for one in judged if one.count]
        count = sum(one.count for one in tried)
        if not tried:
            return Judged("incentive_compatibility", 0, Fraction(0), {})
        worst = min(tried, key=lambda one: one.slack)
        return Judged("incentive_compatibility", count, worst.slack, worst.witness)

    def agent_incentives(self, agent: int, kind: str) -> Judged:
        """Return the deviation by which one agent gains most."""
        size = self.environment.counts[agent]
        if size < 2:
            return Judged("incentive_compatibility", 0, Fraction(0), {})
        values = self.utilities(agent)
        table = values - values[np.arange(size), np.arange(size)][:, None]
        if kind == "bayesian":
            exact = [
                [Fraction(int(one), self._unit * weight) for one in row]
                for row, weight in self._expected(agent, table)
            ]
            table = np.array(exact, dtype=object)
        count = size * (size - 1) * (table.shape[2] if table.ndim > 2 else 1)
        table[np.arange(size), np.arange(size)] = min(0, table.min()) - 1
        place = np.unravel_index(int(table.argmax()), table.shape)
        best = table[place]
        gain = best if kind == "bayesian" else Fraction(int(best), self._unit)
        return Judged("incentive_compatibility", count, -gain, self._deviation(agent, place, gain))

    def gains(self, agent: int, kind: str) -> Whole:
        """Return what each lie brings an agent over the truth at most, by type and report, in any unit."""
        values = self.utilities(agent)
        count = self.environment.counts[agent]
        gain = values - values[np.arange(count), np.arange(count)][:, None]
        if kind == "dominant":
            return np.asarray(gain.max(axis=2))
        return np.array([row.astype(object) for row, _ in self._expected(agent, gain)], dtype=object)

    def _expected(self, agent: int, table: Whole) -> Iterator[tuple[Whole, int]]:
        """Yield for each own type the sums over the others' types, and the weight of that type."""
        for own, weights in zip(table, self.beliefs(agent), strict=True):
            yield _row_sums(weights, own), int(weights.sum())

    def _deviation(self, agent: int, place: tuple[Any, ...], gain: Fraction) -> dict[str, Any]:
        environment = self.environment
        names = environment.types[agent]
        witness = {
            "agent": environment.agents[agent],
            "type": names[int(place[0])],
            "report": names[int(place[1])],
            "gain": gain,
        }
        if len(place) > 2 and len(environment.agents) > 1:
            witness["others"] = profile_text(environment, self._profile(agent, place), without=agent)
        return witness

    def _profile(self, agent: int, place: tuple[Any, ...]) -> Profile:
        counts = self.environment.counts
        others = [size for one, size in enumerate(counts) if one != agent]
        profile = [int(part) for part in np.unravel_index(int(place[-1]), others)] if others else []
        profile.insert(agent, int(place[0]))
        return tuple(profile)

    def participation(self, kind: str) -> Judged:
        """Return the type, and in ex-post the profile, that gains least over staying out."""
        agents = range(len(self.environment.agents))
        judged = [self._agent_participation(agent, kind) for agent in agents]
        worst = min(judged, key=lambda one: one.slack)
        return Judged("participation", sum(one.count for one in judged), worst.slack, worst.witness)

    def least_gain(self, agent: int, kind: str) -> Fraction:
        """Return what an agent gains over staying out at least."""
        return self._agent_participation(agent, kind).slack

    def _agent_participation(self, agent: int, kind: str) -> Judged:
        environment = self.environment
        size = environment.counts[agent]
        truth = self.utilities(agent)[np.arange(size), np.arange(size)]
        least_gains = []
        for own, outside in enumerate(environment.outside[agent]):
            if kind == "interim":
                weights = self.beliefs(agent)[own]
                least = Fraction(int(_row_sums(weights, truth[own])), self._unit * int(weights.sum()))
                place: tuple[int, ...] = (own,)
            else:
                low = int(truth[own].argmin())
                least, place = Fraction(int(truth[own][low]), self._unit), (own, low)
            least_gains.append((least - outside, place))
        slack, place = min(least_gains)
        witness = {"agent": environment.agents[agent], "type": environment.types[agent][place[0]]}
        if len(place) > 1 and len(environment.agents) > 1:
            witness["others"] = profile_text(environment, self._profile(agent, place), without=agent)
        count = size if kind == "interim" else truth.size
        return Judged("participation", count, slack, witness)

    def surplus(self) -> Whole:
        """Return payments less cost by profile, in units."""
        rule, environment = self.rule, self.environment
        costs = whole_array([int(cost * environment.scale) for cost in environment.cost])
        spent = exact_product(_row_sums(costs, rule.lotteries), whole_array(rule.per))
        paid = rule.payments.sum(axis=-1) if rule.payments.dtype != object else _summed(rule.payments)
        taken = exact_product(paid, whole_array(environment.scale * rule.out_of))
        if largest_integer(taken) + largest_integer(spent) >= SAFE:
            taken, spent = taken.astype(object), spent.astype(object)
        return np.asarray(taken - spent)

    def budget(self, kind: str) -> Judged:
        """Return the profile with the largest deficit; of a balanced budget, with the largest difference."""
        left = self.surplus()
        if kind == "expected":
            total = Fraction(int(_row_sums(self._prior.reshape(-1), left.reshape(-1))), self._unit)
            return Judged("budget", 1, total / self.environment.prior_scale, {})
        judged = -np.abs(left) if kind == "balanced" else left
        place = np.unravel_index(int(judged.argmin()), judged.shape)
        profile = tuple(int(part) for part in place)
        witness = {
            "profile": profile_text(self.environment, profile),
            "surplus": Fraction(int(left[place]), self._unit),
        }
        return Judged("budget", left.size, Fraction(int(judged[place]), self._unit), witness)

    def limits(self, demands: Demands) -> Judged | None:
        """Return the payment that is furthest beyond its limits; None without limits."""
        low, high = demands.payment_low, demands.payment_high
        if not demands.transfers:
            low = high = Fraction(0)
        if low is None and high is None:
            return None
        payments, slacks = self.rule.payments, []
        if low is not None:
            place = int(payments.argmin())
            slacks.append((Fraction(int(payments.reshape(-1)[place]), self.rule.per) - low, place))
        if high is not None:
            place = int(payments.argmax())
            slacks.append((high - Fraction(int(payments.reshape(-1)[place]), self.rule.per), place))
        slack, place = min(slacks)
        profile, agent = divmod(place, len(self.environment.agents))
        where = tuple(int(part) for part in np.unravel_index(profile, self.environment.counts))
        witness = {
            "agent": self.environment.agents[agent],
            "profile": profile_text(self.environment, where),
            "payment": Fraction(int(payments.reshape(-1)[place]), self.rule.per),
        }
        return Judged("payments", payments.size, slack, witness)

    def distribution(self) -> Judged:
        """Return the lottery that is furthest from being one."""
        lotteries, out_of = self.rule.lotteries, self.rule.out_of
        sums = lotteries.sum(axis=-1) if lotteries.dtype != object else _summed(lotteries)
        off = np.abs(sums - out_of)
        slack = min(Fraction(int(lotteries.min()), out_of), -Fraction(int(off.max()), out_of))
        place = np.unravel_index(int(off.argmax()), off.shape)
        profile = profile_text(self.environment, tuple(int(part) for part in place))
        return Judged("lotteries", int(off.size), slack, {} if slack >= 0 else {"profile": profile})

    def all(self, demands: Demands) -> tuple[Judged, ...]:
        """Return every group of requirements that is demanded."""
        groups = [self.distribution(), self.incentives(demands.incentives)]
        if demands.participation != "none":
            groups.append(self.participation(demands.participation))
        if demands.budget != "none":
            groups.append(self.budget(demands.budget))
        limits = self.limits(demands)
        return tuple(groups) if limits is None else (*groups, limits)

    def expected(self, weights: Whole, charges: Whole) -> Fraction:
        """Return the expectation of weights on outcomes and on payments, both arrays of fractions by profile.

        Shapes (types of each agent, outcomes) and (types of each agent, agents).
        """
        outcomes, scale = common_integers(weights)
        paid, per = common_integers(charges)
        first = _row_sums(outcomes, self.rule.lotteries)
        second = _row_sums(paid, self.rule.payments)
        prior = self._prior
        total = Fraction(int(_row_sums(prior.reshape(-1), first.reshape(-1))), scale * self.rule.out_of)
        total += Fraction(int(_row_sums(prior.reshape(-1), second.reshape(-1))), per * self.rule.per)
        return total / self.environment.prior_scale


def _row_sums(left: Whole, right: Whole) -> Whole:
    """Return the sums over the last axis of products, exactly."""
    if products_fit(left, right, left.shape[-1]):
        return np.asarray((left.astype(np.int64) * right.astype(np.int64)).sum(axis=-1))
    return _summed(left.astype(object) * right.astype(object))


def _summed(table: Whole) -> Whole:
    """Return the sums over the last axis of Python's integers."""
    result = np.empty(prod(table.shape[:-1]), dtype=object)
    result[:] = [sum(row) for row in table.reshape(-1, table.shape[-1]).tolist()]
    return result.reshape(table.shape[:-1])


def scaled_values(environment: Environment, agent: int) -> Whole:
    """Return the values of an agent as integers over the environment's denominator."""
    table = environment.values[agent]
    numbers = [int(value * environment.scale) for value in table.reshape(-1).tolist()]
    return whole_array(numbers).reshape(table.shape)


NAMES = {
    "incentive_compatibility": ("deviations", "worst_gain"),
    "participation": ("checked", "least_gain"),
    "budget": ("checked", "least_surplus"),
    "payments": ("checked", "least_slack"),
    "lotteries": ("checked", "least_slack"),
}
"""What the figures of a certificate are called."""


def certificate_of(judged: Judged, kind: str = "") -> Certificate:
    """Return the certificate of a group of requirements.

    Examples
    --------
    >>> lie = Judged("incentive_compatibility", 6, Fraction(-1, 2), {"agent": "a"})
    >>> print(certificate_of(lie, "dominant"))
    incentive_compatibility: FAILS (exact); deviations = 6, worst_gain = 1/2; witness agent = a; dominant
    """
    number, figure = NAMES[judged.name]
    worst = -judged.slack if figure == "worst_gain" else judged.slack
    figures = {number: judged.count, figure: worst}
    return Certificate(judged.name, judged.slack >= 0, True, figures, dict(judged.witness), kind)


def certificates_of(audit: ExactAudit, demands: Demands) -> tuple[Certificate, ...]:
    """Return a certificate for each group of requirements."""
    kinds = {
        "incentive_compatibility": demands.incentives,
        "participation": demands.participation,
        "budget": demands.budget,
    }
    return tuple(certificate_of(judged, kinds.get(judged.name, "")) for judged in audit.all(demands))
