"""What all reports of a user reveal together: totals of epsilon and delta.

For epsilon with delta 0 the total is the sum, which no proof can improve. For a total delta above 0 it is
the least of what is proven: the sum, or the law of the sum of all privacy losses
(:mod:`mechdesign.audit.losses`), of each report by its own channel where that is known. Each collection may
be chosen with a look at what the earlier ones gave; for the law of the sum their number and channels have to
be fixed beforehand, for the sum not even these.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from mechdesign.audit.losses import LARGEST, LossCurve, LossPart, composed_epsilon, cut_of, pure_part
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import Exact, Guarantee, Proof
from mechdesign.core.validation import delta_number, in_range, integer, probability_text, written_number
from mechdesign.core.values import changed, frozen_value, value_field
from mechdesign.exact.randomness import float_up

PROPERTY = "privacy"
WITHIN = "1e-6"
"""The delta of totals, where none is given."""
NOTHING = "no report"
PROMISES = "the sum of what is promised"

MOST_TIMES = 1 << 30
NOT_PLAIN = ("guarantee", "promise", "curve")
"""What is no plain number of a collection."""


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
    curve : LossCurve, optional
        The largest delta of one of them at every epsilon, where its channel is finite and audited; without
        it totals with a delta count its epsilon and delta alone.
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
    curve: LossCurve | None = None

    @classmethod
    def of(cls, name: str, guarantee: Guarantee, **others: Any) -> Collected:
        """Return reports with this exact guarantee each.

        Examples
        --------
        >>> total_of([Collected.of("m.json", Guarantee("0.1"), times=10)]).epsilon
        1.0
        """
        return cls(
            name, float_up(guarantee.epsilon), float_up(guarantee.delta), guarantee=guarantee, **others
        )

    def as_json(self) -> dict[str, Any]:
        """Return the numbers as plain values, without the exact guarantees."""
        return {name: value for name, value in vars(self).items() if name not in NOT_PLAIN}

    @property
    def as_promised(self) -> Collected:
        """The same reports, counted by the pair of epsilon and delta that is promised."""
        if self.promise is None:
            return self
        numbers = {"epsilon": float_up(self.promise.epsilon), "delta": float_up(self.promise.delta)}
        return changed(self, **numbers, guarantee=self.promise, promise=None, curve=None)

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

    def __str__(self) -> str:
        return total_text(self)


def own_part(one: Collected, cut: float) -> LossPart:
    """Return the law of reports themselves: of their own channel, or of their epsilon and delta."""
    if one.curve is None:
        return pure_part(one.epsilon, one.delta, one.times)
    return one.curve.part(one.times)


def total_of(
    collected: Sequence[Collected],
    within: Exact = 0.0,
    part_of: Callable[[Collected, float], LossPart] = own_part,
) -> Total:
    """Return the guarantee that is proven for all reports of a user together.

    Parameters
    ----------
    collected : sequence of Collected
    within : number or str
        The delta that the total may have; a double is taken as the decimal that it is written as.
    part_of : callable
        From a collection, and the mass that may be cut off, to the law of its losses; by default that of the
        reports themselves.

    Examples
    --------
    >>> year = total_of([Collected("daily", 0.1, times=365)], within=1e-6)
    >>> year.epsilon, round(year.composed, 2), year.by
    (36.5, 10.31, 'distribution of the total loss')
    """
    allowed = delta_number(Decimal(repr(within)) if isinstance(within, float) else within)
    if allowed == 1:
        raise ParameterError("delta", "1 is outside [0, 1)", "a delta of 1 promises nothing")
    guarantee, most = guarantee_of(collected), float(allowed)
    exact = sum((_delta(one) for one in collected), Fraction(0))
    epsilon, delta = (
        (math.inf if guarantee is None else float_up(guarantee.epsilon)),
        min(1.0, float_up(exact)),
    )
    composed, by = (epsilon, "the sum") if exact <= allowed else (math.inf, "nothing")
    pairs = promised_pair(collected)
    if pairs is not None and pairs.delta <= allowed and float_up(pairs.epsilon) < composed:
        composed, by = float_up(pairs.epsilon), PROMISES
    if most > 0.0 and delta < most:
        least = _composed(collected, most, part_of)
        if least < composed:
            composed, by = least, "distribution of the total loss"
    return Total(epsilon, delta, most, composed, by, all(one.exact for one in collected), guarantee)


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


def _composed(
    collected: Sequence[Collected], within: float, part_of: Callable[[Collected, float], LossPart]
) -> float:
    """Return the least epsilon that the distribution of the sum of all losses has with this delta."""
    if all(one.epsilon == 0.0 for one in collected):
        return 0.0
    if not all(one.epsilon <= LARGEST for one in collected):
        return math.inf
    cut = cut_of(sum(one.times for one in collected), within)
    return composed_epsilon([part_of(one, cut) for one in collected], within)


def promised_as(proof: Proof) -> Guarantee | None:
    """Return the promised epsilon with the delta that it needs, where one report counts without a delta."""
    if proof.true_epsilon is None or proof.promise.notion != "ldp" or proof.promise.delta == 0:
        return None
    guarantee = proof.as_written
    return guarantee if guarantee.delta > 0 else None


def counted_as(proof: Proof, certificate: Certificate) -> Guarantee:
    """Return what one report counts for in an account.

    A finite true epsilon counts with delta 0. Where there is none, epsilon counts as it was written, with the
    least delta for it; of reports that are private entry by entry, with that over sets of reports.
    """
    promise, true = proof.promise, proof.true_epsilon
    written = written_number(promise.epsilon)
    if true is not None:
        least = true if proof.exact else min(true, written)
        return changed(promise, epsilon=least, delta=Fraction(0), notion="ldp")
    if promise.notion == "entry-wise":
        delta = Fraction(float(certificate.figures["least_delta"]))
        return changed(promise, delta=delta, notion="ldp").at(written)
    return proof.as_written


def total_text(total: Total) -> str:
    """Return a total in words.

    Examples
    --------
    >>> total_text(total_of([Collected("m.json", 0.1, times=365)], 1e-6))
    'epsilon = 36.5, delta = 0 (exact); epsilon = 10.31, delta = 1e-06 (distribution of the total loss)'
    """
    exact = " (exact)" if total.exact and total.delta == 0.0 else " (the sum)"
    text = f"epsilon = {total.epsilon:g}, delta = {probability_text(total.delta)}{exact}"
    if total.within > 0.0 and total.composed < total.epsilon > float(_up(total.composed)):
        text += f"; epsilon = {_up(total.composed)}, delta = {probability_text(total.within)} ({total.by})"
    return text


def _up(epsilon: float) -> str:
    """Return a number with four digits, rounded up: it is a bound."""
    if not math.isfinite(epsilon) or epsilon == 0.0:
        return f"{epsilon:g}"
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    rounded = f"{epsilon:.4g}"
    return rounded if float(rounded) >= epsilon else f"{epsilon + unit / 2.0:.4g}"


class WithTotals:
    """Mixin of a mechanism that collects: the total of several reports."""

    type: ClassVar[str]

    @abstractmethod
    def certificates(self) -> tuple[Certificate, ...]:
        """Audit the mechanism and return one certificate a property."""

    def loss_curve(self) -> LossCurve | None:
        """Return the largest delta of one report at every epsilon, from the weights that are audited.

        None where reports are no finite channel of integers: then totals count its epsilon and delta.
        """
        return None

    def collected(self, name: str, times: int = 1) -> Collected:
        """Return what a user reveals who answers ``times`` times, as an entry of an account."""
        return counted_by(self, name, times, curve=self.loss_curve())

    def total(self, reports: int, delta: Exact = WITHIN) -> Total:
        """Return what that many reports of one user reveal together, each drawn anew.

        The sum of the epsilons is exact. With a delta the total follows from the channel's own distribution
        of privacy losses, rounded up; what a user answers later may depend on all that was reported.

        Parameters
        ----------
        reports : int
            How many a user makes, fixed beforehand.
        delta : number or str
            The delta that the total may have.

        Examples
        --------
        >>> from mechdesign.primitives import KaryResponse
        >>> print(KaryResponse.of(5, epsilon=1.0).total(reports=20, delta=1e-6))
        epsilon = 20, delta = 0 (exact); epsilon = 17.74, delta = 1e-06 (distribution of the total loss)
        """
        return total_of([self.collected(self.type, integer("reports", reports, 1, MOST_TIMES))], delta)


def counted_by(mechanism: Any, name: str, times: int = 1, **others: Any) -> Collected:
    """Return what a user reveals who answers a mechanism ``times`` times, by its certificate of privacy.

    Parameters
    ----------
    mechanism : Mechanism
    name : str
        How errors call it.
    times : int
    others
        Further fields of the entry.

    Raises
    ------
    ParameterError
        For a mechanism without an epsilon, with one per unit of distance, or one that is not private.
    """
    certificates = [item for item in mechanism.certificates() if item.property == PROPERTY]
    if not certificates or "epsilon" not in certificates[0].figures:
        raise ParameterError(name, f"a {mechanism.type} states no epsilon", "name mechanisms that collect")
    (certificate, *_) = certificates
    if certificate.metric:
        raise ParameterError(
            name,
            "its epsilon is per unit of distance",
            "name mechanisms whose epsilon is for any two answers",
        )
    if not certificate.holds or certificate.proof is None:
        raise ParameterError(name, "is not private as stated", "rebuild it")
    one, promise = counted_as(certificate.proof, certificate), promised_as(certificate.proof)
    return Collected.of(name, one, promise=promise, times=times, exact=certificate.exact, **others)
