"""One-bit mechanisms with continuous inputs, private exactly: Duchi's and the randomized-censoring interval.

A user with u = (x - low)/(high - low) reports 1 with probability c + d u, out of the scale interval [c,
c + d] (eq. (8) of the RCP paper). Here the probability is an integer function of u out of 2**62,

    w(u) = lo + floor(u (hi - lo)),    0 <= lo < hi <= 2**62,

drawn by comparing a uniform 62-bit integer with w(u), of which a batch draws few digits (``BitWeights``).

Privacy. However u is rounded, w(u) is an integer in [lo, hi]. The ratio w/w' of two of them for the
report 1, and (2**62 - w)/(2**62 - w') for the report 0, are largest for the two ends; so is the excess
w - E w' of an (epsilon, delta) constraint, being monotone in both. The exact audit of the two-row channel
of the ends is therefore the exact audit of the mechanism with all its inputs.

Bias. The estimator (bit - c)/d with c = lo/2**62, d = (hi - lo)/2**62 is unbiased for the u that was
computed, up to the roundings of u (3), of the float hi - lo, and of their product, each at most 2**-53 u, and
the floor: together less than 2**-50 + 1/(hi - lo) of the range.

Few random bits. The bit of a value is whether a uniform integer is below the value's weight; a batch draws
heads first (see :mod:`mechdesign.exact.draws`). Numpy finds the head of a weight at once as a double,
which is off by less than 1: each of the few operations adds at most 2**-53 of 2**16. Where the head that
was drawn is the one found, or next to it, the weight is computed as an integer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mechdesign.audit.channel import audit_channel
from mechdesign.audit.losses import LossCurve
from mechdesign.collect.base import Randomizer
from mechdesign.collect.codec import Array, Domain
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.core.certificate import Certificate, PrivacyAudit
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.validation import (
    double_delta,
    double_epsilon,
    in_range,
    integer,
    number,
    privacy_delta,
    privacy_epsilon,
)
from mechdesign.exact.bits import Packed, compiled
from mechdesign.exact.draws import FEW, TAIL, Codes, Heads, heads, tails_below
from mechdesign.exact.randomness import TOTAL, BitSource, exp_lower, exp_written, float_up
from mechdesign.families.mean.means import BinomialLimits, MeanMechanism
from mechdesign.families.mean.tally import CodeTally
from mechdesign.primitives.finite import PrivacyTarget, make_private
from mechdesign.primitives.mean_limits import Curves, ReportSums, ScoreLimits

NANOSECONDS, PIECE = 3, 1 << 14
"""What numpy takes for a bit, about; and how many it makes at a time, in the processor's cache."""

Bits = NDArray[np.uint8]


def below_heads(
    values: NDArray[np.float64],
    start: float,
    width: float,
    heads: NDArray[np.uint16],
    span: float,
    low: int,
    high: int,
    reports: Packed,
    undecided: Codes,
) -> int:
    """Write whether each head is below that of low plus a part of the span, which ends at high.

    The part is that of the value in the range from ``start``: the same operations on the same doubles as
    those of numpy, one user after the other. The rows where both heads are equal are written to
    ``undecided``; returns how many.
    """
    count = 0
    for row in range(len(values)):
        unit = min(max((values[row] - start) / width, 0.0), 1.0)
        part = int(unit * span)
        head = (low + (part if part < high - low else high - low)) >> 46
        draws = int(heads[row])
        reports[row] = draws < head
        if draws == head:
            undecided[count] = row
            count += 1
    return count


@dataclass(frozen=True)
class BitWeights:
    """The weights low + floor(u (high - low)) of values at a part u of their domain; see the module.

    Attributes
    ----------
    domain : Domain
    low, high : int
        The weights out of 2**62 at the domain's ends.
    """

    domain: Domain
    low: int
    high: int

    @cached_property
    def span(self) -> float:
        """The difference of the weights at the ends, as a double."""
        return float(self.high - self.low)

    def at(self, scaled: Array) -> Codes:
        """Return the weights of u (high - low), as they are computed in doubles."""
        weight: Codes = scaled.astype(np.int64)
        if int(self.span) > self.high - self.low:  # else no part of the span is beyond its end
            np.minimum(weight, self.high - self.low, out=weight)
        weight += self.low
        return weight

    def bits(self, values: Array, source: BitSource) -> Bits:
        """Return the bits of values in the domain.

        Examples
        --------
        >>> from mechdesign.exact.randomness import bit_source
        >>> weights = BitWeights(Domain(0.0, 1.0), 1 << 60, 3 << 60)
        >>> round(float(weights.bits(np.full(100_000, 0.5), bit_source(1)).mean()), 2)
        0.5
        """
        if len(values) < FEW or not self.low >> TAIL:  # a head of 0 has none below it
            return self._below(values, source.integers(len(values)))
        digits, ones = heads(len(values), source), np.empty(len(values), dtype=np.uint8)
        loop = compiled(below_heads, NANOSECONDS * len(values))
        if loop is not None:
            start, width, rows = self.domain.low, self.domain.width, np.empty(len(values), dtype=np.int64)
            whole = np.ascontiguousarray(values)
            count = loop(whole, start, width, digits, self.span, self.low, self.high, ones, rows)
            undecided = rows[:count]
        else:
            undecided = self._compare(values, digits, ones)
        if len(undecided):
            weights = self.at(self.domain.scaled(values[undecided], self.span))
            ones[undecided] = tails_below(weights, len(undecided), source)
        return ones

    def _below(self, values: Array, digits: Codes) -> Bits:
        """Return whether each integer is below the weight of its value."""
        ones = np.empty(len(values), dtype=np.uint8)
        for first in range(0, len(values), PIECE):
            piece = slice(first, first + PIECE)
            ones[piece] = digits[piece] < self.at(self.domain.scaled(values[piece], self.span))
        return ones

    def _compare(self, values: Array, digits: Heads, ones: Bits) -> Codes:
        """Write the bits that the heads decide; return the rows of the others."""
        unit, near = 0.5**TAIL, []
        for first in range(0, len(values), PIECE):
            piece = slice(first, first + PIECE)
            place = self.domain.scaled(values[piece], self.span * unit)
            place += self.low * unit - 1.0
            lower = place.astype(np.uint16)  # the head of the weight minus 1, up to rounding by 1
            np.less_equal(digits[piece], lower, out=ones[piece].view(np.bool_))
            near.append(first + np.flatnonzero(digits[piece] - lower <= 2))
        rows = np.concatenate(near)
        exact = self.at(self.domain.scaled(values[rows], self.span)) >> TAIL
        ones[rows] = digits[rows] < exact
        undecided: Codes = rows[digits[rows] == exact]
        return undecided


ROUNDING = Fraction(1, 2**50)
"""Bound of the bias from rounding, as a part of the range; see the module."""

NOTICED = 2**62
"""A bias is called absent when it is below the standard error of this many users: more than there are."""


class CensoringInterval(MeanMechanism):
    """Randomized censoring: one bit, 1 with probability c + d u, held as integers out of 2**62.

    Parameters
    ----------
    lo, hi : int
        2**62 c and 2**62 (c + d); the weights of report 1 for the two ends of the range.
    epsilon, delta : float
        The promise, audited here exactly.
    low, high : float
        The range of the values.
    mixing : float
        How much constant noise a repair mixed in, for the record.

    Raises
    ------
    CertificateError
        When an end of the interval breaks the promise; the text names inputs and report.

    Examples
    --------
    >>> mechanism = CensoringInterval.symmetric(epsilon=1.0)
    >>> reports = mechanism.randomize([0.2] * 5000, rng=2)
    >>> low, high = mechanism.estimate(reports).interval(0.99)
    >>> low < 0.2 < high, mechanism.audit().holds
    (True, True)
    """

    type: ClassVar[str] = "censoring-interval"
    _report_dtype: DTypeLike = np.uint8

    def __init__(
        self,
        lo: int,
        hi: int,
        epsilon: float,
        delta: float = 0.0,
        low: float = 0.0,
        high: float = 1.0,
        mixing: float = 0.0,
    ) -> None:
        self.lo, self.hi = integer("lo", lo, 0, TOTAL), integer("hi", hi, 0, TOTAL)
        self.epsilon, self.delta = double_epsilon(epsilon), double_delta(delta)
        self.domain = Domain(low, high)
        self.mixing = in_range("mixing", mixing, 0.0, 1.0)
        if self.lo >= self.hi:
            raise ParameterError(
                "epsilon",
                f"{self.epsilon:g} leaves no room between the ends of the scale interval at 62 bits, so "
                "that the variance is infinite",
                "give a larger epsilon",
            )
        if not self.audit().holds:
            raise CertificateError("interval", f"not private as stated: {self.audit()}")
        self._require_finite()

    @classmethod
    def symmetric(cls, epsilon: float, low: float = 0.0, high: float = 1.0) -> Self:
        """Return the private optimum for delta = 0: c = 1/(e^eps + 1), c + d = 1 - c, rounded inwards.

        lo = ceil(2**62/(E + 1)) for the rational lower bound E of e^eps; then 2**62 - lo <= E lo.
        """
        lo = least_low(exp_written(epsilon))
        return cls(lo, TOTAL - lo, privacy_epsilon(epsilon), 0.0, low, high)

    @classmethod
    def from_interval(
        cls,
        start: float,
        end: float,
        epsilon: float,
        delta: float = 0.0,
        low: float = 0.0,
        high: float = 1.0,
        repair: bool = True,
    ) -> Self:
        """Return the mechanism of a scale interval [c, c + d] in floating point.

        Parameters
        ----------
        start, end : float
            c and c + d, 0 <= c < c + d <= 1.
        epsilon, delta : float
        low, high : float
        repair : bool
            Whether the least constant noise is mixed in that makes the interval private; recorded
            in ``mixing``. Otherwise an interval that is not private is refused.

        Examples
        --------
        >>> CensoringInterval.from_interval(math.exp(-1), 1.0, epsilon=1.0, repair=False)
        Traceback (most recent call last):
            ...
        mechdesign.core.errors.CertificateError: interval: not private as stated: privacy: FAILS ...
        """
        first, last = number("start", start), number("end", end)
        if not 0.0 <= first < last <= 1.0:
            raise ParameterError(
                "interval", f"[{first:g}, {last:g}] is not inside [0, 1]", "give 0 <= c < c + d <= 1"
            )
        if not repair:
            lo, hi = math.floor(Fraction(first) * TOTAL), math.floor(Fraction(last) * TOTAL)
            return cls(lo, hi, privacy_epsilon(epsilon), privacy_delta(delta), low, high)
        channel = np.array([[1.0 - first, first], [1.0 - last, last]])
        repaired = make_private(channel, PrivacyTarget(privacy_epsilon(epsilon), privacy_delta(delta)))
        lo, hi = repaired.weights[:, 1].tolist()
        return cls(lo, hi, privacy_epsilon(epsilon), privacy_delta(delta), low, high, repaired.mixing)

    # Privacy and bias

    @property
    def _ends(self) -> NDArray[np.int64]:
        """The weights of both bits for the two ends of the range; other values have mixtures of them."""
        return np.array([[TOTAL - self.lo, self.lo], [TOTAL - self.hi, self.hi]], dtype=np.int64)

    def loss_curve(self) -> LossCurve | None:
        return LossCurve.of_rows(self._ends)

    @cached_property
    def _audit(self) -> PrivacyAudit:
        audit = audit_channel(self._ends, self.epsilon, self.delta)
        names = {0: self.domain.low, 1: self.domain.high}
        for witness in (audit.epsilon_witness, audit.delta_witness):
            for key in ("input", "other"):
                if key in witness:
                    witness[key] = names[witness[key]]  # type: ignore[index]
        return audit

    def common_randomizer(self) -> Randomizer | None:
        """Return its true epsilon; a symmetric interval is randomized response of two answers."""
        return Randomizer(self.audit().true_epsilon, 2 if self.lo + self.hi == TOTAL else 0)

    def audit(self) -> PrivacyAudit:
        """Return the exact audit of the two extreme inputs, which decide for all inputs."""
        return self._audit

    @property
    def worst_bias(self) -> Fraction:
        """A bound of the estimator's bias in the units of the values, from rounding alone."""
        return (ROUNDING + Fraction(1, self.hi - self.lo)) * Fraction(self.domain.width)

    def certificates(self) -> tuple[Certificate, ...]:
        return self.audit().certificate(), bias_certificate(self.worst_bias, self.worst_variance())

    # Client

    @cached_property
    def _weights(self) -> BitWeights:
        return BitWeights(self.domain, self.lo, self.hi)

    def draw(self, unit: Array, source: BitSource) -> NDArray[Any]:
        """Return the bits: whether a uniform integer is below w(u)."""
        return np.less(source.integers(len(unit)), self._weights.at(unit * self._weights.span)).view(np.uint8)

    def _draw_values(self, values: Array, source: BitSource) -> NDArray[Any]:
        return self._weights.bits(values, source)

    def _client_steps(self) -> Steps:
        return {"step": "bit", "lo": whole_hex(self.lo), "hi": whole_hex(self.hi)}

    # Server

    @property
    def _start(self) -> Fraction:
        return Fraction(self.lo, TOTAL)

    @property
    def _length(self) -> Fraction:
        return Fraction(self.hi - self.lo, TOTAL)

    @property
    def slope(self) -> Fraction:
        """(high - low)/d: the score is the bit."""
        return Fraction(self.domain.width) / self._length

    @property
    def offset(self) -> Fraction:
        """Low - (high - low) c/d."""
        return Fraction(self.domain.low) - self.slope * self._start

    def tally(self, groups: int = 1) -> CodeTally:
        possible = np.array([self.lo < TOTAL, self.hi > 0])
        return CodeTally(groups, [Fraction(0), Fraction(1)], possible)

    @cached_property
    def curves(self) -> Curves:
        """Both moments are affine in the value: the bit is 1 with a probability that is."""
        slope, start = float(self.slope), float(self._start)
        places = slope * np.array([start, start + float(self._length)])
        return Curves(places, slope * places, slope**2 * places, slope**3 * places, slope)

    def limits(
        self, sums: ReportSums, rounding: float = 0.0, times: float = 1.0
    ) -> ScoreLimits | BinomialLimits:
        """Return exact limits: the number of ones is binomial, or more concentrated.

        The chance w of a one is moved into [c, c + d] for the standard error. Where an end of the interval
        is 0 or 1 and all bits agree, it is taken as 1/(n + 1) away: agreement by chance is not certainty.
        """
        units = self._units * times
        ends = (float(end / Fraction(times)) for end in (self._start, self._start + self._length))
        return BinomialLimits(self._ones(sums, units), sums.count, units, *ends)

    @property
    def _units(self) -> float:
        """The estimate that a chance of 1 stands for, counted from that of a chance of 0: (high - low)/d."""
        return float(Fraction(self.domain.width) / self._length)

    def _ones(self, sums: ReportSums, units: float) -> Any:
        """Return the number of ones."""
        return np.rint(np.asarray(sums.mean) * sums.count / units)

    def _unit_variance(self, unit: Array) -> Array:
        """Return (u + a)(1 - u + b) with a = c/d and b = (1 - c - d)/d."""
        variance: Array = (unit + self.below) * (1.0 - unit + self.above)
        return variance

    @property
    def below(self) -> float:
        """A = c/d."""
        return float(self._start / self._length)

    @property
    def above(self) -> float:
        """B = (1 - c - d)/d."""
        return float((1 - self._start - self._length) / self._length)

    def _worst_unit(self) -> float:
        """Return the u nearest to where the probability is 1/2, (1 + b - a)/2."""
        return min(max((1.0 + self.above - self.below) / 2.0, 0.0), 1.0)

    fields: ClassVar[tuple[str, ...]] = ("lo", "hi", "epsilon", "delta", "low", "high", "mixing", "total")


class Duchi(CensoringInterval):
    """Duchi's mechanism: one of two values, told apart by one bit (thesis sec. 2.3.2).

    On [-1, 1] the report 1 stands for D = (e^eps + 1)/(e^eps - 1) and the report 0 for -D; the
    probability of 1 is 1/2 + x/(2D). It is the symmetric scale interval. The scores are -1 and 1, centred, as
    the sampled-attribute estimator of Harmony needs them.

    Parameters
    ----------
    epsilon : float
    low, high : float
        The range of the values, [-1, 1] by default.
    for_double : bool
        Whether it keeps the double epsilon, as in files of former releases, instead of the decimal.

    Examples
    --------
    >>> mechanism = Duchi(epsilon=1.0)
    >>> round(mechanism.worst_variance(), 3), mechanism.audit().true_epsilon <= 1.0
    (4.683, True)
    """

    type: ClassVar[str] = "duchi"

    def __init__(
        self, epsilon: float, low: float = -1.0, high: float = 1.0, *, for_double: bool = False
    ) -> None:
        lo = least_low((exp_lower if for_double else exp_written)(privacy_epsilon(epsilon)))
        super().__init__(lo, TOTAL - lo, privacy_epsilon(epsilon), 0.0, low, high)

    @classmethod
    def symmetric(cls, epsilon: float, low: float = -1.0, high: float = 1.0) -> Self:
        return cls(epsilon, low, high)

    @property
    def slope(self) -> Fraction:
        """D (high - low)/2: the scores are -1 and 1."""
        return Fraction(self.domain.width) / (2 * self._length)

    @property
    def offset(self) -> Fraction:
        return Fraction(self.domain.low) + Fraction(self.domain.width) / 2

    def tally(self, groups: int = 1) -> CodeTally:
        return CodeTally(groups, [Fraction(-1), Fraction(1)], np.array([True, True]))

    @cached_property
    def curves(self) -> Curves:
        """The square of a report is the same for all values; its cube is that times the report."""
        size, half = float(self.slope), self.domain.half
        places, even = np.array([-half, half]), np.ones(2)
        return Curves(places, size**2 * even, size**2 * places, size**4 * even, size)

    def limits(
        self, sums: ReportSums, rounding: float = 0.0, times: float = 1.0
    ) -> ScoreLimits | BinomialLimits:
        """Return exact limits if every user reports; else there are three scores, -1, 0 and 1."""
        if times == 1.0:
            return super().limits(sums, rounding)
        return ScoreLimits(self.curves.sampled(times), sums, rounding)

    def _ones(self, sums: ReportSums, units: float) -> Any:
        return np.rint((np.asarray(sums.mean) / units + 0.5) * sums.count)

    def content(self) -> dict[str, Any]:
        return super().content()

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the mechanism from epsilon and the range; refuse integers that are not Duchi's."""
        mechanism = cls(content["epsilon"], content["low"], content["high"])
        if content["lo"] != mechanism.lo:
            mechanism = cls(content["epsilon"], content["low"], content["high"], for_double=True)
        if (content["lo"], content["hi"], content["total"]) != (mechanism.lo, mechanism.hi, TOTAL):
            raise CertificateError(
                "interval", "the integers are not those of Duchi's mechanism at this epsilon"
            )
        return mechanism


def least_low(bound: Fraction) -> int:
    """Return the least weight lo, out of 2**62, with 2**62 - lo <= bound lo."""
    return math.ceil(TOTAL / (bound + 1))


def bias_certificate(worst_bias: Fraction, worst_variance: float) -> Certificate:
    """Return the certificate ``unbiased``: the bias is below the standard error of 2**62 users.

    A server that counts reports in 64 bits can then never notice the bias. The figure is a proven
    bound, rounded up.
    """
    holds = worst_bias**2 * NOTICED <= Fraction(worst_variance)
    figures = {"worst_bias": float_up(worst_bias)}
    return Certificate("unbiased", holds, True, figures, {}, "below the standard error of 2**62 users")
