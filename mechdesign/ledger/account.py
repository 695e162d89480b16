"""What several mechanisms reveal about a user who answers all of them: totals of epsilon and delta.

For epsilon with delta 0 the total is the sum, which no proof can improve. For a total delta above 0 it is
the least of what is proven: the sum, or the law of the sum of all privacy losses (see
:mod:`mechdesign.ledger.losses`). Each collection may be chosen with a look at what the earlier ones gave; for
the law of the sum their number and epsilons have to be fixed beforehand, for the sum not even these. Where
they are not, see :mod:`mechdesign.ledger.renyi_filter`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from mechdesign.collect.reporting import Randomizer
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import Exact, Guarantee
from mechdesign.core.validation import in_range, integer
from mechdesign.core.values import changed, frozen_value, value_field
from mechdesign.exact.decimals import delta_number
from mechdesign.exact.exponential import float_up
from mechdesign.families.shuffle.promise import profile
from mechdesign.ledger.losses import PART, PLACES, Losses, losses_of, no_loss, pure_losses

NOTHING = "no report"
PROMISES = "the sum of what is promised"

LARGEST = 700.0
"""A report with a larger epsilon reveals everything, as far as totals with a delta go."""
SEARCH = 40
FINE = 1024.0
"""Points of a lattice in a standard deviation of the total."""
MOST_TIMES = 1 << 30


@frozen_value()
class Collected:
    """Reports that a user makes with one mechanism.

    Attributes
    ----------
    name : str
        What they are called.
    epsilon, delta : float
        Of one of them, proven.
    times : int
        How many there are.
    exact : bool
        Whether the proof is without tolerance.
    users : int
        Honest users whose reports a shuffler mixes each time; 0 without one.
    size : int
        k, where reports are those of a k-ary response with this epsilon; else 0. Only after a shuffler.
    guarantee : Guarantee, optional
        Of one of them, exactly, where epsilon and delta are its numbers rounded up; by default the numbers
        are taken as the doubles that they are.
    promise : Guarantee, optional
        Where epsilon has delta 0 and another epsilon with a delta was promised: that pair, proven.
    """

    name: str
    epsilon: float = value_field(partial(in_range, low=0.0, high=math.inf))
    delta: float = value_field(partial(in_range, low=0.0, high=1.0), default=0.0)
    times: int = value_field(partial(integer, low=1, high=MOST_TIMES), default=1)
    exact: bool = True
    users: int = 0
    size: int = 0
    guarantee: Guarantee | None = None
    promise: Guarantee | None = None

    @classmethod
    def of(cls, name: str, guarantee: Guarantee, **others: Any) -> Collected:
        """Return reports with this exact guarantee each.

        Examples
        --------
        >>> total([Collected.of("m.json", Guarantee("0.1"), times=10)]).epsilon
        1.0
        """
        return cls(
            name, float_up(guarantee.epsilon), float_up(guarantee.delta), guarantee=guarantee, **others
        )

    def as_json(self) -> dict[str, Any]:
        """Return the numbers as plain values, without the exact guarantees."""
        return {name: value for name, value in vars(self).items() if name not in ("guarantee", "promise")}

    @property
    def as_promised(self) -> Collected:
        """The same reports, counted by the pair of epsilon and delta that is promised."""
        if self.promise is None:
            return self
        numbers = {"epsilon": float_up(self.promise.epsilon), "delta": float_up(self.promise.delta)}
        return changed(self, **numbers, guarantee=self.promise, promise=None)

    @property
    def together(self) -> Guarantee | None:
        """The exact guarantee of all of them; None where epsilon is infinite."""
        if self.guarantee is not None:
            return self.guarantee.times(self.times)
        if math.isinf(self.epsilon):
            return None
        return Guarantee(self.epsilon, self.delta).times(self.times)


@dataclass(frozen=True)
class Total:
    """Guarantee that is proven for all reports of a user together.

    Attributes
    ----------
    epsilon, delta : float
        The sums.
    within : float
        The delta that was asked for; 0 for none.
    composed : float
        The least proven epsilon with that delta; infinite where there is none.
    by : str
        What it was proven by.
    exact : bool
        Whether the sums are without tolerance: whether each mechanism is audited so.
    guarantee : Guarantee or None
        The sums, exactly; None where epsilon is infinite.
    """

    epsilon: float
    delta: float
    within: float
    composed: float
    by: str
    exact: bool
    guarantee: Guarantee | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {name: value for name, value in vars(self).items() if name != "guarantee"}


def total(collected: Sequence[Collected], within: Exact = 0.0, shuffled: bool = False) -> Total:
    """Return the guarantee that is proven for all reports of a user together.

    Parameters
    ----------
    collected : sequence of Collected
    within : number or str
        The delta that the total may have; a double is taken as the decimal that it is written as.
    shuffled : bool
        Whether it is about what is known after the shufflers, rather than about the reports themselves.

    Examples
    --------
    >>> year = total([Collected("daily", 0.1, times=365)], within=1e-6)
    >>> year.epsilon, round(year.composed, 2), year.by
    (36.5, 10.31, 'distribution of the total loss')
    """
    allowed = delta_number(Decimal(repr(within)) if isinstance(within, float) else within)
    if allowed == 1:
        raise ParameterError("delta", "1 is outside [0, 1)", "a delta of 1 promises nothing")
    found, most = guarantee_of(collected), float(allowed)
    exact = sum((_delta(one) for one in collected), Fraction(0))
    epsilon, delta = (math.inf if found is None else float_up(found.epsilon)), min(1.0, float_up(exact))
    composed, by = (epsilon, "the sum") if exact <= allowed else (math.inf, "nothing")
    pairs = promised_pair(collected)
    if pairs is not None and pairs.delta <= allowed and float_up(pairs.epsilon) < composed:
        composed, by = float_up(pairs.epsilon), PROMISES
    if most > 0.0 and delta < most:
        least = _composed(collected, most, shuffled)
        if least < composed:
            composed, by = least, "distribution of the total loss"
    return Total(epsilon, delta, most, composed, by, all(one.exact for one in collected), found)


def promised_pair(collected: Sequence[Collected]) -> Guarantee | None:
    """Return the exact sum of the promised pairs of epsilon and delta; None where there are none.

    Examples
    --------
    >>> one = Collected.of("m.json", Guarantee("0.7"), promise=Guarantee("0.1", "1e-7"), times=10)
    >>> print(promised_pair([one]))
    epsilon = 1, delta = 0.000001, all reports of a user
    """
    if all(one.promise is None for one in collected):
        return None
    return guarantee_of([one.as_promised for one in collected])


def guarantee_of(collected: Sequence[Collected]) -> Guarantee | None:
    """Return the exact sum of all guarantees; None where one has an infinite epsilon.

    What protects a user's own reports protects as much after a shuffler: where some guarantees are about what
    is seen there, so is the sum.
    """
    parts = [one.together for one in collected]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if not known:
        return Guarantee(0, covers=NOTHING)
    if any(part.notion == "central" for part in known):
        known = [changed(part, notion="central") for part in known]
    return Guarantee.total(known, covers="all reports of a user")


def _delta(one: Collected) -> Fraction:
    return (Fraction(one.delta) if one.guarantee is None else one.guarantee.delta) * one.times


def _composed(collected: Sequence[Collected], within: float, shuffled: bool) -> float:
    """Return the least epsilon that the distribution of the sum of all losses has with this delta."""
    count = sum(one.times for one in collected)
    cut = within * PART / (4.0 * count)
    mixed = [one for one in collected if shuffled and one.users]
    bounds = {one: profile(one.users, Randomizer(one.epsilon, one.size), cut) for one in set(mixed)}
    reach = {one: _reach(bounds[one], one.epsilon, cut) for one in bounds}
    spread = sum(one.times * (reach[one] / 7.0 if one in reach else one.epsilon) ** 2 for one in collected)
    if spread == 0.0 or not all(one.epsilon <= LARGEST for one in collected):
        return 0.0 if spread == 0.0 else math.inf
    exponent = math.floor(math.log2(math.sqrt(spread) / FINE))
    law = no_loss(exponent)
    for one in collected:
        if one.epsilon > 0.0:
            part = _law(one, bounds.get(one), reach.get(one, 0.0), exponent, cut)
            law = law.plus(part, cut)
        law = Losses(law.exponent, law.first, law.mass, law.infinite + one.times * one.delta, law.error)
    return law.epsilon(within * (1.0 - 1e-12))


def _law(
    one: Collected, bound: Callable[[float], float] | None, reach: float, exponent: int, cut: float
) -> Losses:
    if bound is None:
        return pure_losses(one.epsilon, one.times, exponent, cut)
    own = math.floor(math.log2(reach / PLACES))
    return losses_of(bound, reach, own).on(min(own, exponent)).times(one.times, cut)


def _reach(bound: Callable[[float], float], local: float, cut: float) -> float:
    """Return an epsilon with next to no delta: from the local one on, there is none."""
    low, high = 0.0, local * (1.0 + 1e-9)
    for _ in range(SEARCH):
        middle = low + (high - low) / 2.0
        low, high = (low, middle) if bound(middle) <= cut else (middle, high)
        if high - low < 0.02 * high:
            break
    return high
