"""Reports of real systems about one of D categories: exact epsilon, and users times a variance.

Every system hashes with public randomness. Hashing is taken as ideal: independent and uniform, fresh for each
user, so no two categories share a hash for ever. This is the reading that favors the system.

**A noisy Bloom filter**, the least variance with which a frequency can be estimated. A report of category v
has its h bits set to 1 with probability q* each and the others with p*. Another category sets h bits drawn
uniformly: the number j that it shares with v is hypergeometric. What a report shows about v is the pair (s,
t): ones among the bits of v, ones among the others. With the laws P of v and P' of any other category, the
unbiased estimate of least variance, as the frequency tends to 0, is (P/P' - 1) / chi^2, and

    users x variance = 1 / chi^2,   chi^2 = sum P^2/P' - 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import MethodError, ParameterError, suggestion
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import exact_number, in_range, integer
from mechdesign.exact.numbers import plain, text_of
from mechdesign.foreign.rappor import Rappor

Law = NDArray[np.float64]


def filter_variance(bits: int, hashes: int, set_bit: float, other_bit: float) -> float:
    """Return users times the least variance; infinite where a report says nothing.

    Examples
    --------
    >>> round(filter_variance(2, 1, 0.75, 0.25), 12)  # equal hashes in half of all cases
    2.5
    """
    rest = bits - hashes
    own = np.outer(_ones(hashes, 0, set_bit, other_bit), _ones(0, rest, set_bit, other_bit))
    others = np.zeros_like(own)
    total = math.comb(bits, hashes)
    for shared in range(max(0, 2 * hashes - bits), hashes + 1):
        weight = math.comb(hashes, shared) * math.comb(rest, hashes - shared) / total
        first = _ones(shared, hashes - shared, set_bit, other_bit)
        second = _ones(hashes - shared, rest - hashes + shared, set_bit, other_bit)
        others += weight * np.outer(first, second)
    possible = others > 0.0
    excess = float((((own - others) ** 2)[possible] / others[possible]).sum())
    return 1.0 / excess if excess > 0.0 else math.inf


def _ones(likely: int, unlikely: int, share: float, other: float) -> Law:
    """Return the distribution of the number of ones among independent bits of two kinds."""
    law: Law = np.convolve(_binomial(likely, share), _binomial(unlikely, other))
    return law


def _binomial(trials: int, share: float) -> Law:
    counts = np.arange(trials + 1)
    ways = np.array([math.comb(trials, int(count)) for count in counts], dtype=object)
    masses = [float(way) * share**k * (1.0 - share) ** (trials - k) for k, way in enumerate(ways)]
    return np.array(masses)


LEAST, LARGEST = 1e-6, 50.0
"""Epsilon of a system."""

MOST_BITS = 4096
MOST_WIDTH = 1 << 30

REAL = "for real numbers, as published; what a client's generator does with them is not known"


class System(ABC):
    """Reports of a real system, with its public parameters."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The exact epsilon of one report, as a double that is not below it."""

    @abstractmethod
    def variance(self, categories: int) -> float:
        """Return users times the variance of a frequency, as the frequency tends to 0."""

    @abstractmethod
    def privacy(self) -> Certificate:
        """Return the certificate of one report, with the two answers and the report that attain it."""

    def forecast(self, users: int | None = None) -> NoReturn:
        """Refuse: a description makes no forecast; the value and the standard error say it."""
        raise MethodError("as-deployed", "describes a system that runs elsewhere", "see its standard error")

    def plain(self) -> dict[str, Any]:
        """Return the system as the table that states it."""
        return {"name": self.name, **{key: _written(value) for key, value in vars(self).items()}}


def _written(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else float(value)


@dataclass(frozen=True)
class RapporSystem(System):
    """RAPPOR: a Bloom filter with permanent and instantaneous noise.

    The estimate is the best unbiased one from what a report shows: the reported bits of a category, and how
    many other bits are reported.
    """

    name: ClassVar[str] = "rappor"

    bits: int
    hashes: int
    cohorts: int
    p: float
    q: float
    f: float

    def configuration(self) -> Rappor:
        """Return the configuration that the audit judges; decimals are the numbers that they state."""
        p, q, f = (_exact(value) for value in (self.p, self.q, self.f))
        return Rappor(bits=self.bits, hashes=self.hashes, cohorts=self.cohorts, p=p, q=q, f=f)

    @property
    def epsilon(self) -> float:
        """The exact epsilon of one report."""
        return self.configuration().audit(1).epsilon

    def variance(self, categories: int) -> float:
        """Return users times the variance, of the best unbiased estimate."""
        exact_set, exact_other = self.configuration().shares()
        if exact_set == exact_other:
            return math.inf
        set_bit, other_bit = float(exact_set), float(exact_other)
        return filter_variance(self.bits, self.hashes, set_bit, other_bit)

    def privacy(self) -> Certificate:
        """Return the exact certificate: all of it is rational."""
        return self.configuration().audit(1).certificate(self.epsilon)


@dataclass(frozen=True)
class HashedRow(System):
    """A sketch: one hash function of many, which names a place in a row of ``width``."""

    given_epsilon: float
    hashes: int
    width: int

    @property
    def epsilon(self) -> float:
        """The stated epsilon."""
        return self.given_epsilon


@dataclass(frozen=True)
class CountMeanSketch(HashedRow):
    """Apple's count mean sketch: one hash function of many, a row of ``width`` bits, each flipped.

    A bit is flipped with 1/(e^(epsilon/2) + 1), as two rows differ in two bits. The estimate is the
    published one.
    """

    name: ClassVar[str] = "count-mean-sketch"

    def variance(self, categories: int) -> float:
        """Return users times the variance; a bit is that of another category with 1/width."""
        flip = 1.0 / (math.exp(self.given_epsilon / 2.0) + 1.0)
        return _one_bit(1.0 - flip, flip + (1.0 - 2.0 * flip) / self.width)

    def privacy(self) -> Certificate:
        """Return the certificate of two rows with different bits set."""
        return _real(
            self.epsilon, "hashed to bit 0", "hashed to bit 1", "bit 0 set, bit 1 not, the others any"
        )


@dataclass(frozen=True)
class HadamardSketch(HashedRow):
    """Apple's Hadamard count mean sketch: one coefficient of the row's transform, flipped or not.

    The sign is flipped with 1/(e^epsilon + 1). The estimate is the published one.
    """

    name: ClassVar[str] = "hadamard-count-mean-sketch"

    def variance(self, categories: int) -> float:
        """Return users times the variance; for another category the sign is even but for equal hashes."""
        keep = 1.0 / (1.0 + math.exp(-self.given_epsilon))
        return _one_bit(keep, 0.5 + (keep - 0.5) / self.width)

    def privacy(self) -> Certificate:
        """Return the certificate of two categories whose coefficient has different signs."""
        return _real(self.epsilon, "sign + of the coefficient", "sign - of the coefficient", "+")


@dataclass(frozen=True)
class BitFlip(System):
    """Microsoft's d-bit flip: d of the D buckets are drawn once, and whether the value is in each is flipped.

    A bit is flipped with 1/(e^(epsilon/2) + 1). The estimate is the published one.
    """

    name: ClassVar[str] = "d-bit-flip"

    given_epsilon: float
    bits: int

    @property
    def epsilon(self) -> float:
        """The exact epsilon: two values in the drawn buckets differ in two bits, in one where d = 1."""
        return self.given_epsilon if self.bits > 1 else self.given_epsilon / 2.0

    def variance(self, categories: int) -> float:
        """Return users times the variance: a bucket is among the drawn ones with d/D."""
        if self.bits > categories:
            raise ParameterError("system: bits", f"{self.bits} of {categories}", "draw at most all buckets")
        flip = 1.0 / (math.exp(self.given_epsilon / 2.0) + 1.0)
        return _one_bit(1.0 - flip, flip) * categories / self.bits

    def privacy(self) -> Certificate:
        """Return the certificate of two values that are both drawn, or one of them where d = 1."""
        other = "another drawn bucket" if self.bits > 1 else "a bucket that is not drawn"
        report = "bit of the first set, of the other not" if self.bits > 1 else "bit set"
        return _real(self.epsilon, "a drawn bucket", other, report)


@dataclass(frozen=True)
class KaryRandomizer(System):
    """The same report with 1 - p, one of all D states with p: Chrome's event-level attribution reports."""

    name: ClassVar[str] = "k-ary"

    p: float
    states: int

    @property
    def epsilon(self) -> float:
        """The exact epsilon of the stated p: ln((1 - p + p/k) / (p/k)), rounded up."""
        return math.log1p(self.states * (1.0 - self.p) / self.p) * (1.0 + 2.0**-50)

    def variance(self, categories: int) -> float:
        """Return users times the variance of one state that nobody has."""
        if categories != self.states:
            raise ParameterError("categories", f"{categories} for {self.states} states", "give the states")
        low = self.p / self.states
        return low * (1.0 - low) / (1.0 - self.p) ** 2

    def privacy(self) -> Certificate:
        """Return the certificate of two states and the report of the first."""
        return _real(self.epsilon, "state 0", "state 1", "state 0")


def _one_bit(own: float, other: float) -> float:
    """Return users times the variance of the unbiased estimate from one bit with these probabilities."""
    return other * (1.0 - other) / (own - other) ** 2


def _real(epsilon: float, answer: str, other: str, report: str) -> Certificate:
    figures = {"epsilon": epsilon, "true_epsilon": epsilon}
    witness = {"answer": answer, "other": other, "report": report}
    proof = Proof(Guarantee(epsilon), epsilon, pairs=2, exact=False)
    return Certificate.of_privacy(proof, figures, witness, REAL)


def _exact(value: float) -> Any:
    """Return the decimal that a double is written as, exactly."""
    return exact_number("value", repr(float(value)))


# Tables


def system_of(field: str, table: Any) -> System:
    """Return the system that a table states.

    Raises
    ------
    ParameterError
        For an unknown name or key, or a parameter out of its range.
    """
    if isinstance(table, System):
        return table
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise ParameterError(
            field, f"expected a table, got {text_of(table)}", 'write { name = "rappor", ... }'
        )
    name = table["name"]
    if name not in TABLES:
        raise ParameterError(field, f"no system '{name}'", suggestion(name, TABLES))
    kind, checks = TABLES[name]
    for key in table:
        if key != "name" and key not in checks:
            raise ParameterError(f"{field}: {key}", "is not a parameter of it", suggestion(str(key), checks))
    missing = [key for key in checks if key not in table]
    if missing:
        raise ParameterError(f"{field}: {missing[0]}", "is missing", f"give {', '.join(checks)}")
    values = [check(f"{field}: {key}", table[key]) for key, check in checks.items()]
    system: System = kind(*values)
    if isinstance(system, RapporSystem):
        system.configuration()
    return system


def _count(most: int) -> Any:
    return lambda field, value: integer(field, value, 1, most)


def _epsilon(field: str, value: Any) -> float:
    return in_range(field, plain(value), LEAST, LARGEST)


def _share(field: str, value: Any) -> float:
    return in_range(field, plain(value), 0.0, 1.0)


def _positive(field: str, value: Any) -> float:
    return in_range(field, plain(value), 0.0, 1.0, low_open=True, high_open=True)


_SKETCH = {"given_epsilon": _epsilon, "hashes": _count(MOST_WIDTH), "width": _count(MOST_WIDTH)}
TABLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "rappor": (
        RapporSystem,
        {
            **{"bits": _count(MOST_BITS), "hashes": _count(64), "cohorts": _count(MOST_WIDTH)},
            **{"p": _share, "q": _share, "f": _share},
        },
    ),
    "count-mean-sketch": (CountMeanSketch, _SKETCH),
    "hadamard-count-mean-sketch": (HadamardSketch, _SKETCH),
    "d-bit-flip": (BitFlip, {"given_epsilon": _epsilon, "bits": _count(MOST_WIDTH)}),
    "k-ary": (KaryRandomizer, {"p": _positive, "states": _count(MOST_WIDTH)}),
}
