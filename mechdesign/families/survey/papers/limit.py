"""What the sources of ``survey-limit`` say: random sampling plus fake data, as methods and next to the limit.

With random sampling plus fake data (RS+FD, RS+RFD) one attribute is randomized, all others are made up. A
user's client draws one of d attributes evenly, reports it through a randomizer of a larger epsilon' with
e^epsilon' = d (e^epsilon - 1) + 1, and reports fake values for the other d - 1; which attribute was drawn is
not said. With P_j(y_j | x_j) the chance of the part y_j of a report and F_j(y_j) that of a fake part, a
report y has the chance (prod_i F_i(y_i)) (1/d) sum_j r_j(y_j | x_j), with r_j = P_j / F_j.

For two users who differ in every attribute the ratio of their chances is sum_j r_j(y_j | x_j) / sum_j
r_j(y_j | x'_j). Each term is at most e^epsilon' times the one below it, and a report that speaks for x in all
its parts makes all of them this large: the true epsilon is epsilon', not epsilon. For users who differ in one
attribute only, the parts of the others stand above and below, at their least.

Sources: Arcolezi, Couchot, Al Bouna, Xiao (2021), with the clients and variances of multi-freq-ldpy;
Arcolezi, Gambs, Couchot, Palamidessi (2023) with realistic fakes, here drawn evenly.

The published methods have their errors as printed; ``otherwise`` is how the problem judges such a collection.
The quantities set the limit next to one question a user, an even split, fake data, and other bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Literal

from mechdesign.core.certificate import Certificate
from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.exact.randomness import exp_lower, exp_upper, float_up, log_ratio
from mechdesign.families.survey import limit as mixtures
from mechdesign.families.survey.limit import SurveyLimit
from mechdesign.families.survey.limit_bounds import bounds_of
from mechdesign.primitives.oracle import share_in

Randomizer = Literal["GRR", "OUE-z", "OUE-r"]
"""k-ary response with even fakes; unary bits with fakes made of no value, or of a random one."""


@dataclass(frozen=True)
class FakeData:
    """RS+FD for attributes of these sizes, each with its randomizer.

    Examples
    --------
    >>> pair = FakeData((2, 3), 1.0, ("GRR", "GRR"))
    >>> print(f"{pair.true_epsilon:.4f} {math.exp(pair.one_changed):.4f}")  # promised: 1, and e = 2.7183
    1.4900 2.9206
    """

    sizes: tuple[int, ...]
    epsilon: float
    randomizers: tuple[Randomizer, ...]

    @property
    def count(self) -> int:
        """The number d of attributes."""
        return len(self.sizes)

    def amplified(self, power: Fraction) -> Fraction:
        """Return e^epsilon' for e^epsilon: d (e^epsilon - 1) + 1."""
        return self.count * (power - 1) + 1

    # Privacy

    @property
    def true_epsilon(self) -> float:
        """The least epsilon for any two users, rounded up: ln(d (e^epsilon - 1) + 1)."""
        ratio = self.amplified(exp_upper(self.epsilon))
        return float_up(log_ratio(ratio.numerator, ratio.denominator))

    @property
    def is_private(self) -> bool:
        """Whether any two users are as hard to tell apart as promised; exact."""
        return self.amplified(exp_lower(self.epsilon)) <= exp_upper(self.epsilon)

    @property
    def one_changed(self) -> float:
        """The least epsilon for two users who differ in one attribute, rounded up."""
        ratio = max(self._ratio_of_one(place, exp_upper(self.epsilon)) for place in range(self.count))
        return float_up(log_ratio(ratio.numerator, ratio.denominator))

    @property
    def is_private_for_one(self) -> bool:
        """Whether users who differ in one attribute are; up to the digits of e^epsilon, of which 48 agree."""
        power = exp_lower(self.epsilon)
        return max(self._ratio_of_one(place, power) for place in range(self.count)) <= power

    def _ratio_of_one(self, place: int, power: Fraction) -> Fraction:
        """Return the largest ratio when only this attribute differs, all other parts at their least."""
        amplified = self.amplified(power)
        rest = sum(
            (
                least_part(kind, size, amplified)
                for other, (kind, size) in enumerate(zip(self.randomizers, self.sizes, strict=True))
                if other != place
            ),
            Fraction(0),
        )
        high, low = parts(self.randomizers[place], self.sizes[place], amplified)
        return (high + rest) / (low + rest)

    def witness(self) -> dict[str, list[int]]:
        """Return two users and a report: each part names, or has a single 1 at, the first user's value."""
        mine = [0] * self.count
        return {"input": mine, "other": [1] * self.count, "report": mine}

    # Accuracy

    def errors(self) -> list[float]:
        """Return users times the squared error of each attribute, summed over its values, at even answers."""
        return [
            variance(kind, size, self.count, self.epsilon)
            for kind, size in zip(self.randomizers, self.sizes, strict=True)
        ]


def parts(kind: Randomizer, size: int, amplified: Fraction) -> tuple[Fraction, Fraction]:
    """Return r for the part of a report that tells two values apart best: for the one, and for the other.

    k-ary: k p and k q. Bits, the first user's 1 and all others 0: fakes without a value have the chance q of
    each 1, those of a random value the average.
    """
    if kind == "OUE-z":
        return (amplified + 1) / 2, (amplified + 1) / (2 * amplified)
    return size * amplified / (amplified + size - 1), size / (amplified + size - 1)


def least_part(kind: Randomizer, size: int, amplified: Fraction) -> Fraction:
    """Return the least r of a part: another value, a 0 at the user's value, or that and a 1 at all others."""
    if kind == "OUE-r":
        return size / ((size - 1) * amplified + 1)
    return parts(kind, size, amplified)[1]


def variance(kind: Randomizer, size: int, count: int, epsilon: float) -> float:
    """Return users times the summed variance as published, d^2 g (1 - g)/(p - q)^2 a value, at even answers.

    g is the chance that a value is reported: (1/d)(q + (p - q)/k) + (1 - 1/d) times that of a fake.

    Examples
    --------
    >>> round(variance("OUE-z", 2, 10, 2.0), 3)
    32.217
    """
    power = count * math.expm1(epsilon) + 1.0
    if kind == "GRR":
        gain = (power - 1.0) / (power + size - 1.0)
        reported = 1.0 / size
    else:
        q = 1.0 / (power + 1.0)
        gain = 0.5 - q
        reported = q + gain / size / (count if kind == "OUE-z" else 1)
    return size * count**2 * reported * (1.0 - reported) / gain**2


def adaptive(sizes: Sequence[int], epsilon: float, kinds: Sequence[Randomizer]) -> FakeData:
    """Return the one whose randomizers have the smaller variance, for each attribute by itself.

    Examples
    --------
    >>> adaptive([2, 16], 1.0, ("GRR", "OUE-z")).randomizers
    ('GRR', 'OUE-z')
    """

    def best(size: int) -> Randomizer:
        return min(kinds, key=lambda kind: variance(kind, size, len(sizes), epsilon))

    return FakeData(tuple(sizes), epsilon, tuple(map(best, sizes)))


def fake_data(name: str, kinds: tuple[Randomizer, ...]) -> Callable[[SurveyLimit], Outcome]:
    """Return the run of a method: for each attribute the randomizer with the smaller variance."""

    def solved(problem: SurveyLimit) -> Outcome:
        if problem.epsilon == 0.0:
            return mixtures.nothing()
        chosen = adaptive(problem.sizes, problem.epsilon, kinds).randomizers
        variables = {"published": name, "randomizers": list(chosen)}
        return Outcome(status="feasible", variables=variables, solver="formula")

    return solved


def why_not(problem: SurveyLimit) -> str | None:
    """Return why the method does not apply (it is for tables of single questions), or None."""
    return None if problem.effects.singles else "it is for tables of single questions"


METHODS = (
    Method("rs-fd", SurveyLimit, "published",
           "RS+FD: one question with ln(d (e^epsilon - 1) + 1), fake answers to the others",
           fake_data("rs-fd", ("GRR", "OUE-z")), why_not),
    Method("rs-fd-random", SurveyLimit, "published",
           "RS+FD with bits whose fakes are made of a random value",
           fake_data("rs-fd-random", ("OUE-r",)), why_not),
    Method("rs-rfd", SurveyLimit, "published",
           "RS+RFD: the same with realistic fake answers, here drawn from the even population",
           fake_data("rs-rfd", ("GRR", "OUE-r")), why_not),
)  # fmt: skip


@dataclass(frozen=True)
class ByFakeData:
    """One collection with fake data, for one problem."""

    problem: SurveyLimit
    collection: FakeData

    def value(self) -> float:
        """Return the published error in the problem's units."""
        errors = self.collection.errors()
        total = sum(self.problem.table_weights.values())
        result = 0.0
        for table, weight in self.problem.table_weights.items():
            size = self.problem.sizes[table[0]]
            unit = size / (size - 1) if self.problem.measure == "relative" else 1.0
            result += weight / total * unit * errors[table[0]]
        return result

    def certificates(self) -> tuple[Certificate, ...]:
        """Return whether any two users are as hard to tell apart as promised."""
        collection = self.collection
        figures = {
            "epsilon": collection.epsilon,
            "true_epsilon": collection.true_epsilon,
            "one_attribute": collection.one_changed,
        }
        note = "one_attribute is the true epsilon of users who differ in one attribute only"
        return (Certificate("privacy", collection.is_private, True, figures, collection.witness(), note),)


def otherwise(problem: SurveyLimit, variables: Mapping[str, Any]) -> ByFakeData:
    """Return the evaluation of a candidate that is not a mixture of sets."""
    kinds = tuple(variables["randomizers"])
    return ByFakeData(problem, FakeData(problem.sizes, problem.epsilon, kinds))


MOST_PRODUCTS = 256
"""Answers in all up to which the products of subsets are gone through."""


def quantities(problem: SurveyLimit, solution: Solution[Any]) -> dict[str, Any]:
    """Return values of other ways to ask, in the problem's units, and ratios to the solution's value.

    ``total_share`` is, for single questions that are alike, the sum of their effective shares: how many
    questions each user answers in clear, as it were; ``most_share`` the bound of it. ``one_question`` is the
    value of asking one question a user with the best shares, ``even_split`` that of asking all questions with
    an equal part of epsilon each, ``one_product`` that of the best single product of subsets; with
    ``_over_value`` their ratios to the value. ``rs_fd_epsilon`` is the true epsilon of RS+FD,
    ``rs_fd_one_attribute`` that of users who differ in one attribute only.
    """
    if "sets" not in solution.variables:
        return {}
    count, epsilon, effects = len(problem.sizes), problem.epsilon, problem.effects
    values: dict[str, Any] = {"columns": len(solution.variables["sets"])}
    named = {"even_split": _even_split(problem, epsilon / count)}
    if effects.singles:
        bounds = list(bounds_of(effects, epsilon, problem.information(solution.variables)).values())
        values |= {"information_bound": bounds[0], "entropy_bound": bounds[1]}
        if len(effects.members) == 1 and problem.measure == "relative":
            values |= {"total_share": count / solution.value, "most_share": count / max(bounds)}
        fake = adaptive(problem.sizes, epsilon, ("GRR", "OUE-z"))
        values |= {"rs_fd_epsilon": fake.true_epsilon, "rs_fd_one_attribute": fake.one_changed}
        named |= {"one_question": _one_question(problem, epsilon), "rs_fd": ByFakeData(problem, fake).value()}
    elif math.prod(problem.sizes) <= MOST_PRODUCTS:
        named["one_product"] = _one_product(problem)
    return values | named | {f"{name}_over_value": value / solution.value for name, value in named.items()}


def _alone(size: int, epsilon: float) -> float:
    """Return the effective share of one question by subset selection of the best size."""
    most = max(1, size // 2)
    return max(share_in(epsilon, d / size) ** 2 * (size - d) / (d * (size - 1)) for d in range(1, most + 1))


def _one_question(problem: SurveyLimit, epsilon: float) -> float:
    """Return (sum sqrt(W / eta))^2, with one term for each question of each kind."""
    effects, total = problem.effects, 0.0
    for kind, weight in enumerate(effects.weights):
        members = effects.group(kind)
        each = float(weight) / len(members)
        total += len(members) * math.sqrt(each / _alone(effects.sizes[members[0]], epsilon))
    return total**2


def _even_split(problem: SurveyLimit, epsilon: float) -> float:
    """Return the sum of W / eta, every question being asked of every user with this epsilon.

    Of independent reports the share of a part is the product of those of its questions.
    """
    alone = {size: _alone(size, epsilon) for size in set(problem.sizes)}
    effects = problem.effects
    return sum(
        float(weight) / math.prod(alone[problem.sizes[place]] for place in kind[0])
        for kind, weight in zip(effects.members, effects.weights, strict=True)
    )


def _one_product(problem: SurveyLimit) -> float:
    """Return the value of the best single product of subsets of all questions, each asked."""
    choices = product(*(range(1, size) for size in problem.sizes))
    return min(problem.objective({"sets": [{"widths": list(d)}], "shares": [1.0]}) for d in choices)
