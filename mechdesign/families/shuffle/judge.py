"""What is proven and what is attacked: bounds of delta from both sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from mechdesign.exact.exponential import exp_upper
from mechdesign.families.shuffle.amplification_bounds import foreseen
from mechdesign.families.shuffle.attacks import Kinds, ShuffleAttack, channel_attacks, kary_attacks
from mechdesign.families.shuffle.kary_divergence import (
    BinaryDivergence,
    LatticeDivergence,
    atoms_of,
    kary_atoms,
)
from mechdesign.families.shuffle.randomizers import KnownRandomizer
from mechdesign.families.shuffle.sum_divergence import MOST_USERS, Divergence, clones_law, kary_law
from mechdesign.families.shuffle.theorems import LARGEST, TheoremSetting

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

MOST_LOCAL = 20.0
"""Channels with a larger local epsilon have few reports in common, and are bounded by that epsilon alone."""

MOST_INPUTS = 12
"""Channels with more inputs are bounded by their local epsilon alone."""


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


def case_of(setting: Setting) -> TheoremSetting:
    """Return the setting of the closed forms."""
    randomizer = setting.randomizer
    return TheoremSetting(setting.users, setting.delta, randomizer.size if randomizer.kind == "k-ary" else 0)


@lru_cache(maxsize=KEPT)
def blanket(setting: Setting) -> Curve:
    """Return the proven bound by the blanket: of k-ary response, or of any randomizer."""
    size = setting.randomizer.size if setting.randomizer.kind == "k-ary" else 2
    return Divergence(setting.users, kary_law(setting.looked_at, size), setting.delta)


@lru_cache(maxsize=KEPT)
def clones(setting: Setting) -> Curve:
    """Return the proven bound by clones, for any randomizer."""
    return Divergence(setting.users, clones_law(setting.looked_at), setting.delta)


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
        rows, inputs = randomizer.rows, range(randomizer.size)
        laws = {atoms_of(rows, one, two) for one in inputs for two in inputs if one != two}
    else:
        laws = {kary_atoms(exp_upper(setting.looked_at), max(randomizer.size, 2))}
    curves = [LatticeDivergence(users, law, setting.delta) for law in laws]
    return lambda epsilon: max(curve(epsilon) for curve in curves)


@lru_cache(maxsize=KEPT)
def attacks(setting: Setting) -> tuple[tuple[Kinds, ShuffleAttack], ...]:
    """Return the attacks, ready to be evaluated; for any randomizer, those on two that are allowed."""
    randomizer, local = setting.randomizer, setting.looked_at
    if local > setting.local_epsilon:
        return ()
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
    return tuple((item, ShuffleAttack(setting.users, item, setting.delta)) for item in kinds)


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
        low, above = 0.0, high
        for _ in range(ITERATIONS):
            middle = low + (above - low) / 2.0
            if above - low <= 1e-9 * above or not low < middle < above:
                break
            low, above = (low, middle) if enough(middle) else (middle, above)
        return above, low

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
    mean, (low, high) = low, (0.0, 64.0)
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (low, middle) if _normal(mean, middle) <= delta else (middle, high)
    return high


@lru_cache(maxsize=64)
def attacked_epsilon(setting: Setting) -> tuple[float, str]:
    """Return a central epsilon that is not enough, as large as the attacks achieve, and the attack.

    At it an attack has more than delta, so that no smaller one is proven by anybody; 0 if none has.
    """
    best, text = 0.0, "no attack"
    for kinds, attack in attacks(setting):
        low, high = best, setting.local_epsilon
        if attack(low) <= setting.delta:
            continue
        for _ in range(ITERATIONS):
            middle = low + (high - low) / 2.0
            if high - low <= 1e-9 * high or not low < middle < high:
                break
            if attack(middle) > setting.delta:
                low = middle
            else:
                high = middle
        if low > best or text == "no attack":
            best, text = low, kinds.description
    return best, text


def refuted_local(setting: Setting, central_epsilon: float) -> tuple[float, str]:
    """Return a local epsilon that is too large for a central one, the least that attacks find, or infinity.

    The local epsilon of ``setting`` is ignored.
    """

    def attack(local: float) -> tuple[float, str]:
        return attacked(replace(setting, local_epsilon=local), central_epsilon)

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
        nearby = attack(min(guess * 1.001, LARGEST))[0] if reached > 0.0 else 0.0
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
