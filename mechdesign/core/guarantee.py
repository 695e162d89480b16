"""The guarantee: how private reports are, in which sense, and what it covers; and what an audit proves of it.

All numbers are exact. A decimal or a quotient in a text is the number that is written, a double is the
number that it is. Sums and comparisons do not round, so ten guarantees of 0.1 are one of 1.

One rule decides whether a guarantee holds (:attr:`Proof.holds`): the least epsilon is within the promised
one, or the least delta for the promised epsilon is within the promised delta. Nothing holds over an empty set
of pairs of answers, and figures that contradict each other are refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from mechdesign.core.errors import CertificateError, ParameterError, counted
from mechdesign.core.validation import (
    delta_number,
    epsilon_number,
    exact_number,
    float_up,
    one_of,
    probability_text,
    written_number,
)
from mechdesign.core.values import changed, decimal_context, frozen_value, quotient_text
from mechdesign.exact.numbers import plain_int, text_of

NOTIONS = ("ldp", "entry-wise", "central")
"""Over sets of a user's own reports; entry by entry; and for what is seen after a shuffler."""

FIELDS = ("epsilon", "delta", "notion", "distance", "covers")

ONE_REPORT = "one report"

VACUOUS = "there are no two answers to compare, so nothing is proven"
"""Why a guarantee over no pair of answers does not hold."""

HOLLOW = "a delta of 1 promises nothing"

DIGITS = 20
"""Significant digits in which a number that is not short is printed, rounded up."""


def _covers(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(name, "is empty", "say which reports it covers")
    return value


Exact: TypeAlias = int | float | Fraction | Decimal | str
"""A number as it may be given: it is kept as the exact number that it is."""


@frozen_value()
class _Promise:
    """The fields of a guarantee."""

    epsilon: Fraction
    delta: Fraction
    notion: str
    distance: str
    covers: str


class Guarantee(_Promise):
    """How private reports are.

    Parameters
    ----------
    epsilon : int, float, Fraction, Decimal or str
        At least 0; kept as the exact number that it is. A text is a decimal or a quotient, ``"1/11"``.
    delta : the same
        From 0 to 1.
    notion : {"ldp", "entry-wise", "central"}
        The sense of delta, and of whom it protects against: ``ldp`` is about sets of a user's reports,
        ``entry-wise`` about each report alone, ``central`` about what is seen after the shuffler.
    distance : str
        The unit, where epsilon is per unit of distance between answers; empty for none.
    covers : str
        Which reports it is about, for instance ``"one report"`` or ``"all reports of a survey"``.

    Examples
    --------
    >>> one = Guarantee("0.1")
    >>> one.times(10).epsilon == 1, Guarantee(0.1).times(10).epsilon == 1
    (True, False)
    >>> print(one.plus(Guarantee("1/3", delta="1e-6")))
    epsilon = 13/30, delta = 0.000001, 2 reports
    """

    def __init__(
        self,
        epsilon: Exact,
        delta: Exact = 0,
        notion: str = "ldp",
        distance: str = "",
        covers: str = ONE_REPORT,
    ) -> None:
        super().__init__(
            epsilon_number(epsilon),
            delta_number(delta),
            one_of("notion", notion, NOTIONS),
            str(distance),
            _covers("covers", covers),
        )

    def times(self, count: int, covers: str = "") -> Guarantee:
        """Return the guarantee of that many reports together, each chosen with a look at earlier ones.

        Parameters
        ----------
        count : int
            At least 1.
        covers : str
            What they are called; by default their number.
        """
        number = plain_int("count", count)
        if number < 1:
            raise ParameterError("count", f"{number} is below 1", "give the number of reports")
        name = covers or (self.covers if number == 1 else f"{number} times {self.covers}")
        return changed(
            self, epsilon=self.epsilon * number, delta=min(Fraction(1), self.delta * number), covers=name
        )

    def plus(self, *others: Guarantee, covers: str = "") -> Guarantee:
        """Return the guarantee of reports together: epsilons and deltas add (basic composition).

        Raises
        ------
        ParameterError
            Where the notions or the units of distance differ: their sum means nothing.
        """
        return Guarantee.total((self, *others), covers)

    @classmethod
    def total(cls, parts: Iterable[Guarantee], covers: str = "") -> Guarantee:
        """Return the sum of one guarantee or more.

        Examples
        --------
        >>> print(Guarantee.total([Guarantee("0.5"), Guarantee("0.25")], covers="a survey"))
        epsilon = 0.75, a survey
        """
        members = list(parts)
        if not members:
            raise ParameterError("guarantees", "there are none", "give at least one")
        for name in ("notion", "distance"):
            senses = sorted({getattr(part, name) or "none" for part in members})
            if len(senses) > 1:
                raise ParameterError(
                    "guarantees",
                    f"have different kinds of {name}: {', '.join(senses)}",
                    "add those of one kind",
                )
        name = covers or (members[0].covers if len(members) == 1 else f"{len(members)} reports")
        delta = min(Fraction(1), sum((part.delta for part in members), Fraction(0)))
        epsilon = sum((part.epsilon for part in members), Fraction(0))
        return changed(members[0], epsilon=epsilon, delta=delta, covers=name)

    def within(self, other: Guarantee) -> bool:
        """Whether it is at least as strong as another one of its kind; what they cover is not compared."""
        return (
            self.epsilon <= other.epsilon
            and self.delta <= other.delta
            and (self.notion, self.distance) == (other.notion, other.distance)
        )

    def at(self, epsilon: Any) -> Guarantee:
        """Return what it implies for another epsilon: for a smaller one, delta is larger.

        For every set S of reports, P(S) - F Q(S) <= P(S) - E Q(S) + (E - F), with E = e^epsilon and F that of
        the smaller one; and E - F <= (epsilon - smaller) E.

        Examples
        --------
        >>> found = Guarantee(0.1, delta="1e-6").at("0.1")
        >>> print(found.epsilon, 0 < found.delta - Fraction(1, 10**6) < Fraction(1, 10**16))
        1/10 True
        """
        less = epsilon_number(epsilon)
        if less >= self.epsilon:
            return changed(self, epsilon=less)
        grown = (self.epsilon - less) * 3 ** math.ceil(self.epsilon)
        return changed(self, epsilon=less, delta=min(Fraction(1), self.delta + grown))

    @property
    def in_short(self) -> str:
        """Its numbers in words, to six digits; delta where it is not 0.

        Examples
        --------
        >>> Guarantee(1, delta=0.5).in_short
        'epsilon = 1, delta = 0.5'
        """
        delta = f", delta = {probability_text(self.delta)}" if self.delta else ""
        return f"epsilon = {float(self.epsilon):g}{delta}"

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Guarantee:
        """Return the guarantee that :meth:`as_json` wrote.

        Examples
        --------
        >>> Guarantee.from_json(Guarantee(0.1, "1/3").as_json()) == Guarantee(0.1, "1/3")
        True
        """
        return cls(**{name: str(plain[name]) for name in FIELDS if name in plain})

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; numbers are texts, exactly."""
        plain: dict[str, Any] = {"epsilon": precise_text(self.epsilon), "delta": precise_text(self.delta)}
        plain |= {"notion": self.notion, "covers": self.covers}
        return {**plain, "distance": self.distance} if self.distance else plain

    def __str__(self) -> str:
        parts = [f"epsilon = {exact_text(self.epsilon)}" + (f" per {self.distance}" if self.distance else "")]
        if self.delta:
            parts.append(f"delta = {exact_text(self.delta)}")
        if self.notion != "ldp":
            parts.append(self.notion)
        return ", ".join((*parts, self.covers))


def _true(name: str, value: Any) -> Fraction | None:
    infinite = value is None or (isinstance(value, (float, Decimal)) and value == math.inf)
    exact = None if infinite else exact_number(name, value)
    if exact is not None and exact < 0:
        raise ParameterError(name, f"{text_of(value)} is negative", "give a number >= 0")
    return exact


def _pairs(name: str, value: Any) -> int:
    number = plain_int(name, value)
    if number < 0:
        raise ParameterError(name, f"{number} is negative", "give the number of pairs")
    return number


@frozen_value()
class _Known:
    """The fields of a proof."""

    promise: Guarantee
    true_epsilon: Fraction | None
    least_delta: Fraction | None
    pairs: int | None
    exact: bool
    rounding: Fraction
    written_delta: Fraction | None


class Proof(_Known):
    """What an audit found out about a guarantee; one rule decides whether it holds.

    Parameters
    ----------
    promise : Guarantee
    true_epsilon : number, or None
        The least epsilon with delta 0, or an upper bound of it; None, or infinity, where there is none.
    least_delta : number, optional
        The least delta for the promised epsilon, in the promised notion, or an upper bound of it. Without
        it only the true epsilon can prove the promise.
    pairs : int, optional
        How many ordered pairs of answers were compared; None where they are infinitely many, as for numbers
        and places. Where pairs are alike by symmetry, one stands for all.
    exact : bool
        Whether it is without tolerance.
    rounding : number
        By how much rounding may have made the true epsilon too large; 0 where it is exact.
    written_delta : number, optional
        The least delta for the promised epsilon as it was written, which may be below the double.

    Raises
    ------
    CertificateError
        For figures that contradict each other.

    Examples
    --------
    >>> Proof(Guarantee("0.1"), true_epsilon="0.09", pairs=2).holds
    True
    >>> Proof(Guarantee("0.1"), true_epsilon=14.5, pairs=2).holds
    False
    >>> Proof(Guarantee("0.1", delta="1e-6"), true_epsilon=14.5, least_delta="1e-7", pairs=2).holds
    True
    >>> Proof(Guarantee("0.1"), true_epsilon=0, pairs=0).holds
    False
    """

    def __init__(
        self,
        promise: Guarantee,
        true_epsilon: Exact | None,
        least_delta: Exact | None = None,
        pairs: int | None = None,
        exact: bool = True,
        rounding: Exact = 0,
        written_delta: Exact | None = None,
    ) -> None:
        super().__init__(
            promise,
            _true("true_epsilon", true_epsilon),
            None if least_delta is None else delta_number(least_delta, "least_delta"),
            None if pairs is None else _pairs("pairs", pairs),
            exact,
            epsilon_number(rounding, "rounding"),
            None if written_delta is None else delta_number(written_delta, "written_delta"),
        )
        self._require_agreement()

    def _require_agreement(self) -> None:
        if self.exact and self.rounding:
            raise CertificateError("privacy", "is exact, and has a rounding", "state one of them")
        if self.least_delta is None or not self.exact:
            return
        if self.is_pure and self.least_delta > 0:
            raise CertificateError(
                "privacy",
                "its true epsilon is within the promise, and its least delta is above 0",
                "report this as a bug",
            )

    @property
    def is_pure(self) -> bool:
        """Whether the promised epsilon is kept with delta 0."""
        return self.true_epsilon is not None and self.true_epsilon - self.rounding <= self.promise.epsilon

    @property
    def is_vacuous(self) -> bool:
        """Whether there is no pair of answers that it could be about."""
        return self.pairs == 0

    @property
    def is_hollow(self) -> bool:
        """Whether it rests on a delta of 1, which every mechanism has."""
        return self.promise.delta == 1 and not self.is_pure

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        if self.is_vacuous or self.is_hollow:
            return False
        by_delta = self.least_delta is not None and self.least_delta <= self.promise.delta
        return self.is_pure or by_delta

    @property
    def proven(self) -> Guarantee:
        """The strongest guarantee of the promise's kind that is known; refused where it does not hold.

        With delta 0 it is the true epsilon, else the promised epsilon with the least delta.

        Examples
        --------
        >>> print(Proof(Guarantee(1, delta=0.25), true_epsilon=2, least_delta="1/8", pairs=2).proven)
        epsilon = 1, delta = 0.125, one report
        """
        if not self.holds:
            raise CertificateError("privacy", f"does not hold: {self.reason}", "rebuild it")
        if self.is_pure and self.true_epsilon is not None:
            return changed(
                self.promise, epsilon=min(self.true_epsilon, self.promise.epsilon), delta=Fraction(0)
            )
        return changed(self.promise, delta=self.least_delta or Fraction(0))

    @property
    def as_written(self) -> Guarantee:
        """What is proven for the promised epsilon as it was written; refused where it does not hold."""
        known, less = self.proven, written_number(self.promise.epsilon)
        if known.epsilon <= less:
            return known
        if self.written_delta is not None:
            return changed(self.promise, epsilon=less, delta=self.written_delta)
        return known.at(less) if known.delta else known

    @property
    def reason(self) -> str:
        """Why it does not hold; empty where it does."""
        if self.holds:
            return ""
        if self.is_vacuous:
            return VACUOUS
        if self.is_hollow:
            return HOLLOW
        true = "infinite" if self.true_epsilon is None else exact_text(self.true_epsilon)
        text = f"the true epsilon is {true}, and {self.promise} is promised"
        return (
            text if self.least_delta is None else f"{text}; it needs delta = {exact_text(self.least_delta)}"
        )

    def true_up(self) -> float:
        """Return the true epsilon as a double, rounded up; infinite where there is none."""
        return math.inf if self.true_epsilon is None else float_up(self.true_epsilon)

    def as_json(self) -> dict[str, Any]:
        """Return promise, pairs and what is known, as plain values."""
        return {**self.promise.as_json(), "pairs": self.pairs}

    def __str__(self) -> str:
        how = "" if self.pairs is None else f" ({counted(self.pairs, 'pair')} of answers)"
        return f"{self.promise}{how}: {'holds' if self.holds else self.reason}"


def precise_text(value: Fraction) -> str:
    """Return a number as a text that is exactly it: a decimal where it is a short one, else a quotient.

    Examples
    --------
    >>> precise_text(Fraction(1, 10)), precise_text(Fraction(2, 3)), precise_text(Fraction(0.1))
    ('0.1', '2/3', '3602879701896397/36028797018963968')
    """
    text = exact_text(value)
    if Fraction(text) == value:
        return text
    return "/".join(f"{Decimal(part):f}" for part in value.as_integer_ratio())  # of any length


def exact_text(value: Fraction) -> str:
    """Return a number as a decimal where it is a short one, else as a quotient, else rounded up to 20 digits.

    Examples
    --------
    >>> exact_text(Fraction(1, 10)), exact_text(Fraction(1, 11)), exact_text(Fraction(0.1))
    ('0.1', '1/11', '0.10000000000000000556')
    """
    quotient = quotient_text(value, DIGITS)
    if quotient is not None and not _is_decimal(value.denominator):
        return quotient
    context = decimal_context(DIGITS, ROUND_CEILING)
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    return f"{rounded:f}" if -DIGITS < rounded.adjusted() < DIGITS else f"{rounded:e}"


def _is_decimal(denominator: int) -> bool:
    """Whether decimals of finite length have this denominator: its primes are 2 and 5."""
    rest = denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1
