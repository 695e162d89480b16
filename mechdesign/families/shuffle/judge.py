"""Attacks on shuffled reports that are evaluated exactly but for rounding, and rounded down.

All other users have the same input, of which each report has the law nu; the victim's report has the law
mu_0 or mu_1. Reports are merged into three kinds: a, b and the rest. Then (docs/families/shuffle.md)

    delta(eps) = 1/n  E ( sum over n reports of L )_+ ,   L = (mu_0 - e^eps mu_1) / nu  of the report's kind,

is the hockey-stick divergence of the counts of the three kinds: what this attack achieves, no less.

What is proven and what is attacked: bounds of delta from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, permutations, product

import numpy as np

from mechdesign.audit.mass import UNIT, binomial_window
from mechdesign.exact.randomness import exp_upper
from mechdesign.families.shuffle.kary_divergence import BinaryDivergence, LatticeDivergence, kary_atoms
from mechdesign.families.shuffle.promise import MOST_INPUTS, MOST_LOCAL, bisection, channel_curve, foreseen
from mechdesign.families.shuffle.randomizers import LARGEST, KnownRandomizer
from mechdesign.families.shuffle.sum_divergence import (
    CHEAP,
    GROUPS,
    MANY_GROUPS,
    MOST_USERS,
    Divergence,
    Excess,
    deviation,
    groups,
    kary_law,
)


@dataclass(frozen=True)
class Kinds:
    """Probabilities of the kinds a, b and rest for the three inputs; each true up to 8 units of rounding.

    Attributes
    ----------
    others, first, second : (float, float, float)
        nu, mu_0 and mu_1. A kind that nobody reports has probability 0 in all three.
    description : str
        Who has which input, in a few words.
    """

    others: tuple[float, float, float]
    first: tuple[float, float, float]
    second: tuple[float, float, float]
    description: str

    @property
    def information(self) -> float:
        """The squared difference of the two laws in units of the noise of one report: more is stronger."""
        return _information(self.others, self.first, self.second)


def kary_attacks(local_epsilon: float, size: int) -> list[Kinds]:
    """Return attacks on k-ary response: all others have the first input, the second, or a third one.

    Examples
    --------
    >>> [attack.description for attack in kary_attacks(1.0, 3)]
    ['all others have the second input', 'all others have the first input', 'all others have a third input']
    """
    grown = math.exp(local_epsilon)
    total = math.expm1(local_epsilon) + size
    true, false, rest = grown / total, 1.0 / total, (size - 2) / total
    first, second = (true, false, rest), (false, true, rest)
    attacks = [
        Kinds(second, first, second, "all others have the second input"),
        Kinds(first, first, second, "all others have the first input"),
    ]
    if size > 2:
        third = (false, false, (math.expm1(local_epsilon) + (size - 2)) / total)
        attacks.append(Kinds(third, first, second, "all others have a third input"))
    return attacks


def channel_attacks(rows: Sequence[Sequence[Fraction]], most: int = 6) -> list[Kinds]:
    """Return the most informative attacks on a finite channel.

    For every pair of inputs and every input of the others, the reports with the largest ratios of the two
    laws are the kind a, those with the smallest the kind b, at every place to divide them.
    """
    inputs = range(len(rows))
    attacks = []
    for (first, second), other in product(permutations(inputs, 2), inputs):
        order = sorted(
            (report for report in range(len(rows[0])) if rows[first][report] > 0),
            key=lambda report: rows[second][report] / rows[first][report],
        )
        laws = [
            list(accumulate((float(rows[x][report]) for report in order), initial=0.0))
            for x in (other, first, second)
        ]
        for top in range(1, len(order)):
            for bottom in range(1, len(order) - top + 1):
                parts = ((law[top], law[-1] - law[-1 - bottom], law[-1 - bottom] - law[top]) for law in laws)
                attacks.append((_information(*parts), first, second, other, top, bottom, tuple(order)))
    attacks.sort(key=lambda item: -item[0])
    return [_kinds(rows, *item[1:]) for item in attacks[:most]]


def _information(others: Sequence[float], first: Sequence[float], second: Sequence[float]) -> float:
    total = 0.0
    for other, one, two in zip(others, first, second, strict=True):
        if other > 1e-12:
            total += (one - two) ** 2 / other
    return total


def _kinds(
    rows: Sequence[Sequence[Fraction]],
    first: int,
    second: int,
    other: int,
    top: int,
    bottom: int,
    order: tuple[int, ...],
) -> Kinds:
    pieces = order[:top], order[len(order) - bottom :], order[top : len(order) - bottom]

    def law(x: int) -> tuple[float, float, float]:
        a, b, rest = (float(sum(rows[x][report] for report in piece)) for piece in pieces)
        return a, b, rest

    text = f"input {first} or {second}, all others have input {other}"
    return Kinds(law(other), law(first), law(second), text)


class ShuffleAttack:
    """The delta that an attack achieves, rounded down, as a function of the central epsilon.

    Parameters
    ----------
    users : int
        n, at least 1. With more than 10^9 users no attack is computed: the result is 0.
    kinds : Kinds
    delta : float
        The delta that matters.
    """

    def __init__(self, users: int, kinds: Kinds, delta: float) -> None:
        self.users, self.kinds = users, kinds
        if users > MOST_USERS:
            return
        a, b, rest = kinds.others
        ratios = [one / other for one, other in zip(kinds.first, kinds.others, strict=True) if other > 0.0]
        tail = 1e-6 * delta / max(1.0, *ratios)
        ranges: list[tuple[int, int, float, float]] = [(users, users, 1.0, 0.0)]
        outside = 1.0
        if rest > 0.0:
            outer = binomial_window(users, (a + b) / rest, tail)
            ranges = groups(outer, MANY_GROUPS if deviation(outer) <= CHEAP else GROUPS)
            outside = outer.lower
        low, high, share, part = (np.array(column) for column in zip(*ranges, strict=True))
        # The tails of a group count with its share.
        tails = np.minimum(tail / share, 1e-3) if rest > 0.0 else np.array([tail])
        self.excess = Excess(low.tolist(), a / b, tails.tolist(), upper=False)
        self.trials, self.pairs = low.astype(np.float64), low + part * (high - low)
        self.weights = share * outside * self.excess.factor

    def __call__(self, epsilon: float) -> float:
        """Return a lower bound of the delta that the attack achieves at a central epsilon >= 0."""
        if self.users > MOST_USERS:
            return 0.0
        kinds, grown = self.kinds, math.exp(epsilon)
        gains, sizes = [], []
        for one, two, other in zip(kinds.first, kinds.second, kinds.others, strict=True):
            gains.append((one - grown * two) / other if other > 0.0 else 0.0)
            sizes.append((one + grown * two) / other if other > 0.0 else 0.0)
        step = (gains[0] - gains[1]) - 64.0 * UNIT * (sizes[0] + sizes[1])
        if step <= 0.0:
            return 0.0
        pairs, rest = self.pairs, self.users - self.pairs
        fixed = gains[1] * pairs + gains[2] * rest
        slack = 128.0 * UNIT * ((sizes[0] + sizes[1]) * pairs + sizes[2] * rest + np.abs(fixed))
        # A group of numbers of pairs has the law of the least; the pairs beyond count with their mean.
        chance = kinds.others[0] / (kinds.others[0] + kinds.others[1]) * (1.0 - 32.0 * UNIT)
        thresholds = (slack - fixed) / step - (pairs - self.trials) * chance
        thresholds += 64.0 * UNIT * (np.abs(thresholds) + self.users)
        total = float((self.weights * self.excess.bound(thresholds)).sum())
        return max(0.0, step * total * (1.0 - 4.0 * (len(pairs) + 32) * UNIT) / self.users * (1.0 - 1e-12))


Curve = Callable[[float], float]
"""delta as a function of the central epsilon."""

MOST_BINARY = 10**9
"""The most users whose binary data are gone through."""

LEAST_LOCAL = 1e-12
"""Smaller local epsilons are looked at as this one: what is private with less is private with more."""

MANY_USERS = 20_000
"""With more users attacks that tell much less than another are left out."""

KEPT = 2
"""Number of bounds and attacks that are kept: for many users each takes some ten or a hundred megabytes."""

ITERATIONS = 48
"""Halvings of the interval of central epsilons."""

NEARBY = 0.97
"""The largest local epsilon is mostly some percent below what the normal limit says."""


@dataclass(frozen=True)
class Setting:
    """The honest users, their randomizer and delta.

    Attributes
    ----------
    users : int
        Those who are honest.
    local_epsilon : float
    delta : float
    randomizer : Randomizer
    """

    users: int
    local_epsilon: float
    delta: float
    randomizer: KnownRandomizer

    @property
    def looked_at(self) -> float:
        """The local epsilon that is looked at."""
        return max(self.local_epsilon, LEAST_LOCAL)


@lru_cache(maxsize=KEPT)
def blanket(setting: Setting) -> Curve:
    """Return the proven bound by the blanket: of k-ary response, or of any randomizer."""
    size = setting.randomizer.size if setting.randomizer.kind == "k-ary" else 2
    return Divergence(setting.users, kary_law(setting.looked_at, size), setting.delta)


def why_not_binary(setting: Setting) -> str | None:
    """Return why not all data of binary randomized response are gone through, if so."""
    if setting.randomizer.kind != "k-ary" or setting.randomizer.size != 2:
        return "it is for binary randomized response: k-ary of size 2"
    if setting.users > MOST_BINARY:
        return f"{setting.users} honest users take too long; the limit is {MOST_BINARY}"
    return None


@lru_cache(maxsize=KEPT)
def binary(setting: Setting) -> BinaryDivergence:
    """Return the proven bound over all data of binary randomized response."""
    return BinaryDivergence(setting.users, setting.looked_at, setting.delta)


def why_no_lattice(setting: Setting) -> str | None:
    """Return why the blanket is not convolved, if so."""
    randomizer = setting.randomizer
    if randomizer.kind == "channel" and randomizer.size > MOST_INPUTS:
        return f"{randomizer.size} inputs have too many pairs; the limit is {MOST_INPUTS}"
    if setting.local_epsilon > MOST_LOCAL:
        return f"it is for a local epsilon of at most {MOST_LOCAL:g}"
    return None


@lru_cache(maxsize=KEPT)
def lattice(setting: Setting) -> Curve:
    """Return the proven bound by convolution; for any randomizer, of the worst one; 1 out of its range."""
    if why_no_lattice(setting) is not None:
        return lambda epsilon: 1.0
    users, randomizer = min(setting.users, MOST_USERS), setting.randomizer
    if randomizer.kind == "channel":
        return channel_curve(randomizer.rows, users, setting.delta)
    law = kary_atoms(exp_upper(setting.looked_at), max(randomizer.size, 2))
    return LatticeDivergence(users, law, setting.delta)


def attacked_kinds(setting: Setting) -> list[Kinds]:
    """Return the attacks; for any randomizer, those on two that are allowed."""
    randomizer, local = setting.randomizer, setting.looked_at
    if local > setting.local_epsilon:
        return []
    if randomizer.kind == "channel":
        kinds = channel_attacks(randomizer.rows)
    elif randomizer.kind == "k-ary":
        kinds = kary_attacks(local, randomizer.size)
    else:
        kinds = kary_attacks(local, 2) + kary_attacks(local, 3)[1:]
    # For many users the one that tells more is stronger, and much weaker ones are left out.
    if setting.users > MANY_USERS:
        most = max(item.information for item in kinds)
        kinds = [item for item in kinds if item.information > 0.75 * most]
    return kinds


@lru_cache(maxsize=KEPT)
def attacks(setting: Setting) -> tuple[tuple[Kinds, ShuffleAttack], ...]:
    """Return the attacks, ready to be evaluated."""
    return tuple(
        (item, ShuffleAttack(setting.users, item, setting.delta)) for item in attacked_kinds(setting)
    )


def attacked(setting: Setting, epsilon: float) -> tuple[float, str]:
    """Return the largest delta that an attack achieves at this central epsilon, and which attack."""
    best, text = 0.0, "no attack"
    for kinds, attack in attacks(setting):
        delta = attack(epsilon)
        if delta > best:
            best, text = delta, kinds.description
    return best, text


def least_epsilon(curve: Curve, delta: float, high: float) -> float:
    """Return a central epsilon at which a bound of delta holds, as small as bisection finds it.

    ``high`` has to be one for which delta is known to hold, such as the local epsilon.
    """
    if high == 0.0:
        return 0.0
    most = curve(0.0)
    if most <= delta:
        return 0.0

    def search(enough: Callable[[float], bool]) -> tuple[float, float]:
        return bisection(enough, 0.0, high, 1e-9, ITERATIONS)[::-1]

    near = min(_central(most, delta), 0.9 * high)
    return foreseen(search, curve, delta, (near, 0.95 * near), rising=False)[0]


def _normal(mean: float, epsilon: float) -> float:
    """Return the divergence of two normal laws with the variance 1, about."""
    one = math.erfc((epsilon / mean - mean / 2.0) / math.sqrt(2.0))
    two = math.erfc((epsilon / mean + mean / 2.0) / math.sqrt(2.0))
    return (one - math.exp(epsilon) * two) / 2.0


def _central(most: float, delta: float) -> float:
    """Return about the central epsilon of a delta where that of 0 is ``most``, as if the law were normal."""
    low, high = 1e-12, 16.0
    for _ in range(50):
        mean = math.sqrt(low * high)
        low, high = (mean, high) if _normal(mean, 0.0) <= most else (low, mean)
    mean = low
    return bisection(lambda epsilon: _normal(mean, epsilon) <= delta, 0.0, 64.0, rounds=50)[1]


@lru_cache(maxsize=64)
def attacked_epsilon(setting: Setting) -> tuple[float, str]:
    """Return a central epsilon that is not enough, as large as the attacks achieve, and the attack.

    At it an attack has more than delta, so that no smaller one is proven by anybody; 0 if none has.
    """
    best, text = 0.0, "no attack"
    for kinds, attack in attacks(setting):
        if attack(best) <= setting.delta:
            continue
        low, _ = bisection(
            lambda epsilon, attack=attack: attack(epsilon) <= setting.delta,  # type: ignore[misc]
            best,
            setting.local_epsilon,
            1e-9,
            ITERATIONS,
        )
        if low > best or text == "no attack":
            best, text = low, kinds.description
    return best, text


def refuted_local(setting: Setting, central_epsilon: float) -> tuple[float, str]:
    """Return a local epsilon that is too large for a central one, the least that attacks find, or infinity.

    The local epsilon of ``setting`` is ignored.
    """

    def attack(local: float) -> tuple[float, str]:
        return attacked(replace(setting, local_epsilon=local), central_epsilon)

    def by_kind(local: float, description: str) -> float:
        kinds = attacked_kinds(replace(setting, local_epsilon=local))
        same = [item for item in kinds if item.description == description]
        return max(
            (ShuffleAttack(setting.users, item, setting.delta)(central_epsilon) for item in same), default=0.0
        )

    guess = guessed(setting, central_epsilon)
    low, high = central_epsilon, LARGEST
    refuted, text = math.inf, "no attack"
    for _ in range(ITERATIONS):
        reached, kind = attack(guess)
        if reached > setting.delta:
            high, refuted, text = guess, guess, kind
        else:
            low = guess
        if high - low <= 1e-4 * high:
            break
        nearby = by_kind(min(guess * 1.001, LARGEST), kind) if reached > 0.0 else 0.0
        slope = math.log(nearby / reached) / (0.001 * guess) if nearby > reached else 0.0
        # Newton's step for the logarithm, a little too far, so that the next one falls on the other side.
        target = guess + (math.log(setting.delta / reached) / slope if slope > 0.0 else math.inf)
        target += 3e-5 * target if target > guess else -3e-5 * target
        guess = target if low < target < high else low + (high - low) / 2.0
    return refuted, text


def guessed(setting: Setting, central_epsilon: float) -> float:
    """Return about the largest local epsilon, by the normal limit: it only says where to begin."""
    low, high = 1e-9, 1e3
    for _ in range(60):
        middle = math.sqrt(low * high)
        small = _normal(middle, central_epsilon) <= setting.delta
        low, high = (middle, high) if small else (low, middle)
    half = low * low * setting.users / 4.0
    size = max(setting.randomizer.size, 2)
    if setting.randomizer.kind == "k-ary" and size == 2:
        return 2.0 * math.asinh(math.sqrt(half))
    return math.log1p(half + math.sqrt(half * half + 2.0 * half * size))


def local_bracket(
    curve: Curve, delta: float, low: float, guess: float, precision: float = 1e-7
) -> tuple[float, float]:
    """Return a local epsilon at which a bound of delta holds and one next to it, as :func:`bracket` does.

    ``curve`` is the bound as a function of the local epsilon; at ``low`` it is known to hold.
    """
    near = min(max(guess, low), LARGEST)
    return foreseen(
        lambda enough: bracket(lambda local: local <= low or enough(local), low, LARGEST, guess, precision),
        curve,
        delta,
        (near, max(low, NEARBY * near)),
        rising=True,
    )


def bracket(
    enough: Callable[[float], bool], low: float, high: float, guess: float, precision: float = 1e-7
) -> tuple[float, float]:
    """Return a local epsilon that is enough and one next to it that is not, by doubling steps and halving.

    ``low`` has to be enough. Where everything up to ``high`` is enough, both are ``high``.
    """
    guess, width = min(max(guess, low), high), 0.02
    if enough(guess):
        low = guess
        while low < high:
            upper = min(high, low + width)
            if not enough(upper):
                high = upper
                break
            low, width = upper, 4.0 * width
    else:
        high = guess
        while high > low:
            lower = max(low, high - width)
            if lower == low or enough(lower):
                low = lower
                break
            high, width = lower, 4.0 * width
    while high - low > precision * high:
        middle = low + (high - low) / 2.0
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low, high
