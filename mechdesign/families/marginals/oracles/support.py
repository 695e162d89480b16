"""Frequency oracles whose server counts support: integer weights, audited by classes of reports.

With each oracle (:class:`SupportOracle`) go its unbiased estimator with errors and limits
(:class:`SupportEstimator`) and its server, counters of support that are mergeable in any order
(:class:`SupportCounts`).

The exact audit: where each permutation of the inputs, followed by one of the reports, leaves the mechanism as
it is and any two inputs can be moved to any other two, the reports of one pair decide. They fall into few
classes (:class:`ReportClass`) in which all reports have the same two weights; so only the classes are
compared, as integers of any size.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit, class_audit
from mechdesign.audit.losses import LossCurve
from mechdesign.collect.base import require_total
from mechdesign.collect.codec import Codes, Labels
from mechdesign.collect.collecting import Operation
from mechdesign.collect.collector import frequency_operations
from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.collect.intervals import FrequencyLimits, RepeatedLimits
from mechdesign.collect.scores import few_users, implausible
from mechdesign.collect.server import MechanismT, Server, require_users, whole_rows
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError, counted
from mechdesign.core.validation import double_epsilon, integer, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.exact.bits import Packed
from mechdesign.exact.numbers import plain, plain_int, require_no_mask, text_of
from mechdesign.exact.randomness import BITS, exp_lower
from mechdesign.primitives.attributes import Attributes
from mechdesign.primitives.oracle import Oracle


def own_bits(bits: Packed, size: int, codes: Codes, draws: Codes, limit: int, inside: int) -> None:
    """Set the bit of each row's own category where its number is below a limit, else clear it.

    ``bits`` holds ``size`` bytes a row; ``inside`` is the mask of the last byte's bits of categories.
    """
    for row in range(len(codes)):
        place = row * size + (codes[row] >> 3)
        mask = 128 >> (codes[row] & 7)
        if draws[row] < limit:
            bits[place] = np.uint8(bits[place] | mask)
        else:
            bits[place] = np.uint8(bits[place] & (255 - mask))
        last = row * size + size - 1
        bits[last] = np.uint8(bits[last] & inside)


def corrected(bits: Packed, size: int, rows: Codes, lacking: Codes, without: Codes, candidates: Codes) -> int:
    """Add the candidates of each row that lacks members; remove those of each row that has too many.

    Row ``rows[i]`` has as many candidates, one after the other, as it lacks members or has too many of them.
    What each lacks afterwards is written over ``rows`` and ``lacking``; returns for how many rows.
    """
    at, left = 0, 0
    for number in range(len(rows)):
        row, lack = rows[number], lacking[number]
        start, own, adds = row * size, without[row], lack > 0
        for _ in range(abs(lack)):
            category = candidates[at]
            at += 1
            place, mask = start + (category >> 3), 128 >> (category & 7)
            if adds and category != own and not bits[place] & mask:
                bits[place] = np.uint8(bits[place] | mask)
                lack -= 1
            elif not adds and bits[place] & mask:
                bits[place] = np.uint8(bits[place] & (255 - mask))
                lack += 1
        if lack:
            rows[left], lacking[left] = row, lack
            left += 1
    return left


def of_parity(rows: NDArray[Any], even: NDArray[np.bool_], draws: NDArray[Any], reports: Codes) -> None:
    """Write the drawn numbers; where the parity with the row is wrong, the row's lowest digit is flipped."""
    for place in range(len(rows)):
        row, number = int(rows[place]), int(draws[place])
        parity = number & row
        parity ^= parity >> 32
        parity ^= parity >> 16
        parity ^= parity >> 8
        parity ^= parity >> 4
        parity = 0x6996 >> (parity & 15) & 1
        reports[place] = number ^ (row & -row) if parity == even[place] else number


class CellCounts(Server[MechanismT]):
    """One counter per cell that reports can name, and the number of users; a subclass estimates."""

    def __init__(self, mechanism: MechanismT, counters: int) -> None:
        super().__init__(mechanism)
        self.users = 0
        self.counts: Codes = np.zeros(counters, dtype=np.int64)

    @abstractmethod
    def _added(self, reports: Any) -> tuple[Codes, int]:
        """Return the increments of the counters and the number of reports; refuse impossible reports."""

    @abstractmethod
    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError if this many reports cannot produce the counters."""

    def _count(self, reports: Any) -> None:
        self._add(*self._added(reports))

    def _add(self, counts: Codes, users: int) -> None:
        require_users(self.users + users)
        self.counts = self.counts + counts
        self.users += users

    def _merge(self, other: Self) -> None:
        self._add(other.counts, other.users)

    def _written(self) -> dict[str, Any]:
        return {"users": self.users, "counts": self.counts.tolist()}

    def _read(self, document: Mapping[str, Any]) -> None:
        users = plain(document.get("users"))
        if not isinstance(users, int) or users < 0:
            users_text = text_of(document.get("users"))
            raise DataError("aggregator", f"{users_text} is not a number of users", "count the reports again")
        require_users(users)
        (counts,) = whole_rows([document.get("counts")], len(self.counts), 1)
        self._require_counts(counts, users)
        self.users, self.counts = users, np.array(counts, dtype=np.int64)


def asked_attributes(texts: Sequence[str] | None, attributes: Attributes) -> list[tuple[int, ...]]:
    """Return the attributes that each text lists; every single attribute without a text."""
    if not texts:
        return [(place,) for place in range(attributes.count)]
    known = attributes.shown()  # a name may hold commas when it stands alone
    lists = [[text] if text in known else [part.strip() for part in text.split(",")] for text in texts]
    return [attributes.positions(names) for names in lists]


def pairs_of_classes(inputs: int) -> int:
    """Return how many ordered pairs the classes of one pair compare: both orders; none for a single input."""
    return 2 if inputs > 1 else 0


@dataclass(frozen=True)
class ReportClass:
    """Reports that are alike for a pair of inputs.

    Attributes
    ----------
    name : str
        What these reports have in common.
    count : int
        How many there are, in a unit that all classes share.
    weight, other : int
        The weight of one such report for the first and for the second input, in a unit that all share.
    """

    name: str
    count: int
    weight: int
    other: int


def audit_classes(classes: Sequence[ReportClass], epsilon: float, pairs: int = 2) -> ClassAudit:
    """Audit the classes of reports of a pair of inputs that stands for all pairs, exactly.

    Parameters
    ----------
    classes : sequence of ReportClass
        Together all reports.
    epsilon : float
        The promise; taken as the exact number that it is.
    pairs : int
        How many ordered pairs are compared: the pair and its reverse, or none where there is one input only.

    Raises
    ------
    CertificateError
        When a number is negative or no whole number, or the two inputs' weights differ in their sum.

    Examples
    --------
    >>> audit = audit_classes([ReportClass("yes", 1, 3, 1), ReportClass("no", 1, 1, 3)], 1.0)
    >>> audit.holds, round(audit.true_epsilon, 6)
    (False, 1.098612)
    """
    promised = double_epsilon(epsilon)
    read = [_checked(item) for item in classes]
    sums = [sum(item.count * side for item, side in zip(read, sides, strict=True)) for sides in _sides(read)]
    if not read or sums[0] != sums[1] or sums[0] == 0:
        raise CertificateError(
            "channel", f"the weights of the two inputs sum to {sums}, which should be equal"
        )
    bound, holds = exp_lower(promised), True
    worst, name = Fraction(1), ""
    for item in read:
        high, low = max(item.weight, item.other), min(item.weight, item.other)
        if item.count == 0 or high == 0:
            continue
        holds = holds and high <= bound * low
        if low == 0:
            return class_audit(promised, None, False, _witness(item.name), pairs)
        if Fraction(high, low) > worst:
            worst, name = Fraction(high, low), item.name
    return class_audit(promised, worst, holds, _witness(name), pairs)


def _sides(classes: Sequence[ReportClass]) -> tuple[list[int], list[int]]:
    return [item.weight for item in classes], [item.other for item in classes]


def _witness(name: str) -> dict[str, Any]:
    return {"input": 0, "other": 1, "report": name} if name else {}


def _checked(item: ReportClass) -> ReportClass:
    """Return the class with plain integers."""
    count, weight, other = (
        plain_int(f"channel: {field}", getattr(item, field)) for field in ("count", "weight", "other")
    )
    if min(count, weight, other) < 0:
        raise CertificateError("channel", f"reports {item.name!r} have a negative weight or number")
    return ReportClass(item.name, count, weight, other)


@dataclass(frozen=True)
class SupportEstimator:
    """Estimates frequencies from how many reports support each category.

    A report scores (1 - q)/(p - q) for a category that it supports and -q/(p - q) for any other.

    Parameters
    ----------
    own, other : Fraction
        The chances p and q that a report supports the own and another category.

    Examples
    --------
    >>> estimator = SupportEstimator(Fraction(3, 4), Fraction(1, 4))
    >>> estimator.estimate(np.array([50, 30]), 80, ("a", "b")).value
    array([0.75, 0.25])
    """

    own: Fraction
    other: Fraction

    def estimate(
        self, supports: Codes, users: int, names: tuple[str, ...], population: bool = False
    ) -> FrequencyEstimate:
        """Return the estimates with standard errors and limits; equal counts share theirs."""
        counts, index = np.unique(supports, return_inverse=True)
        gain = float(self.own - self.other)
        value = (counts / users - float(self.other)) / gain
        mine, theirs = (np.repeat(moments[:, None], len(counts), axis=1) for moments in self._moments)
        step = np.full(len(counts), 1.0 / gain)
        limits = FrequencyLimits(value, users, mine, theirs, theirs, step, population)
        each, errors = value[index.ravel()], limits.standard_error()[index.ravel()]
        notes = few_users(users) + implausible(names, each, errors, 0.0, 1.0)
        shared = RepeatedLimits(limits, index.ravel())
        return FrequencyEstimate(each, errors, users, names, population, None, shared, notes)

    @cached_property
    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The second to fourth moments of the score for an own and for another category."""
        gain = self.own - self.other
        high, low = (1 - self.other) / gain, -self.other / gain
        mine, theirs = (
            np.array([float(chance * high**power + (1 - chance) * low**power) for power in (2, 3, 4)])
            for chance in (self.own, self.other)
        )
        return mine, theirs


class SupportCounts(CellCounts["SupportOracle"]):
    """Counters of support: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.marginals.oracles import SubsetSelection
    >>> oracle = SubsetSelection.of(4, 1.0, size=2)
    >>> here, there = oracle.aggregator(), oracle.aggregator()
    >>> here.update(oracle.randomize([0, 1, 1], rng=1)); there.update(oracle.randomize([3], rng=2))
    >>> here.merge(there)
    >>> here.users, int(here.counts.sum())
    (4, 8)
    """

    def __init__(self, mechanism: SupportOracle) -> None:
        super().__init__(mechanism, mechanism.counters)

    def _added(self, reports: Any) -> tuple[Codes, int]:
        read = self.mechanism.read(reports)
        return self.mechanism.count(read), len(read)

    def estimate(self, population: bool = False) -> FrequencyEstimate:
        """Return the estimate from all counted reports."""
        self.require_some()
        return self._asked(self.mechanism.estimate_from_counts(self.counts, self.users, population))

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        if max(counts) > users:
            raise DataError(
                "aggregator", "the counts are damaged: more support than reports", "count the reports again"
            )
        self.mechanism._require_counts(counts, users)


class SupportOracle(Oracle):
    """Base class of the frequency oracles whose server counts support.

    A subclass says which reports it draws and which categories a report supports; the weights it draws by are
    integers out of 2**62, and what is audited are these.

    Parameters
    ----------
    categories : int
        At least 2.
    epsilon : float
        The promise, audited here.
    labels : sequence of str, optional
        Names of the categories.
    """

    fields: ClassVar[tuple[str, ...]] = ("categories", "epsilon", "labels", "total")
    most_categories: ClassVar[int] = 1 << 16
    """More are refused: reports, or the work of the server, grow with them."""

    def __init__(self, categories: int, epsilon: float, labels: Sequence[str] | None = None) -> None:
        size = integer("categories", categories, 2, self.most_categories)
        self.epsilon = double_epsilon(epsilon)
        self.labels = Labels(size, labels)

    @property
    def categories(self) -> int:
        """Number of categories."""
        return self.labels.size

    def _require_private(self) -> None:
        """Raise unless the audit of the weights holds and reports say anything at all."""
        if not self.audit().holds:
            raise CertificateError("channel", f"not private as stated: {self.audit()}")
        own, other = self.support_shares()
        if own <= other:
            raise ParameterError(
                "epsilon",
                "is so small that reports contain no information about the answers",
                "give a larger one",
            )

    # What a subclass is

    @abstractmethod
    def weights(self) -> dict[str, int]:
        """Return the numbers that it draws by, under their names in the file."""

    @abstractmethod
    def _report_classes(self) -> tuple[ReportClass, ...]:
        """Return the reports by their weights for a pair of answers; the pair stands for every pair."""

    @property
    def counters(self) -> int:
        return self.labels.size

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        """Raise DataError for counters that the reports of ``users`` users cannot give; see SupportCounts."""

    def explained(self) -> tuple[str, ...]:
        own, other = (round(1000 * share) for share in self.support_shares())
        return (
            f"One of {self.labels.size} possible answers is replaced by a report, drawn at random; the "
            "answer itself is not kept.",
            *super().explained(),
            "A report fits several answers, or none, and need not fit the true one. Of 1000 users with an "
            f"answer about {own} send a report that fits it; of 1000 with another answer about {other} do.",
        )

    # Server

    def aggregator(self) -> SupportCounts:
        return SupportCounts(self)

    def estimate_from_counts(self, counts: Codes, users: int, population: bool = False) -> FrequencyEstimate:
        """Return the estimate from the server's counters."""
        require_no_mask(counts, "counts")
        names = tuple(self.labels.shown())
        return self._estimator.estimate(self.supports(counts, users), users, names, population)

    @cached_property
    def _estimator(self) -> SupportEstimator:
        return SupportEstimator(*self.support_shares())

    # Accuracy

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of a frequency with this many users."""
        count = user_count(users)
        return Forecast.of_shares(
            count,
            math.sqrt(max(self.variance(0.0), self.variance(1.0)) / count),
            math.sqrt(self.variance(1.0 / self.labels.size) / count),
            "if all answers are equally frequent",
        )

    # Tables

    def operations(self) -> tuple[Operation, ...]:
        return frequency_operations(super().operations())

    # Certificates and file

    def audit(self) -> ClassAudit:
        return audit_classes(self._report_classes(), self.epsilon, pairs_of_classes(self.labels.size))

    def loss_curve(self) -> LossCurve:
        return LossCurve.of_pairs(
            [[(each.count, each.weight, each.other) for each in self._report_classes()]]
        )

    def certificates(self) -> tuple[Certificate, ...]:
        return self.audit().certificate(), Certificate("normalization", True, True, {"row_sum": f"2**{BITS}"})

    def _figures(self) -> str:
        parameters = ", ".join(f"{key}={value}" for key, value in self.parameters().items())
        middle = f", {parameters}" if parameters else ""
        return f"{counted(self.labels.size, 'category')}{middle}, epsilon={self.epsilon:g}"

    def parameters(self) -> dict[str, int]:
        """Return the parameters besides categories and epsilon."""
        return {}

    def content(self) -> dict[str, Any]:
        return {**super().content(), **self.parameters(), **self.weights()}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        require_total(content)
        arguments = {name: value for name, value in content.items() if name != "total"}
        return cls(**arguments)


def is_odd(numbers: Codes) -> NDArray[np.bool_]:
    """Return whether a number >= 0 has an odd number of binary digits 1.

    Examples
    --------
    >>> is_odd(np.array([0, 1, 3, 7]))
    array([False,  True, False,  True])
    """
    odd: NDArray[np.bool_] = (np.bitwise_count(numbers) & 1).view(np.bool_)
    return odd


def hadamard_transform(counts: Codes) -> Codes:
    """Return sum_y (-1)^(common digits of x and y) counts_y for every x, in K log K exact steps.

    Examples
    --------
    >>> hadamard_transform(np.array([3, 1, 0, 0]))
    array([4, 2, 4, 2])
    """
    sums, half = counts.copy(), 1
    while half < len(sums):
        pairs = sums.reshape(-1, 2, half)
        sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        half *= 2
    return sums
