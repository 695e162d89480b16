"""The mechanism of joint distributions: bits of values, flipped once, then drawn for every report (RR-LDP).

An attribute has one bit a value (one-hot), or one bit for two values (:mod:`.one_bit`).

The server counts how many users sent each pattern of bits, mergeable in any order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import require_total
from mechdesign.collect.codec import Codes
from mechdesign.collect.collecting import Operation
from mechdesign.collect.kernel import Steps, rng_alone, whole_hex
from mechdesign.collect.report_scores import ReportScores, relative_likelihoods
from mechdesign.collect.server import Server, require_users
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError, counted
from mechdesign.core.validation import double_epsilon, integer
from mechdesign.core.values import USERS, Forecast
from mechdesign.data.intake import Values
from mechdesign.exact.bits import Packed, as_texts, padding, read_sets, unpacked_members, width
from mechdesign.exact.draws import bernoulli_words
from mechdesign.exact.numbers import plain, rational, text_of
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, Rng, weight
from mechdesign.families.joint.client import PermanentResponse
from mechdesign.families.joint.estimate import JointEstimate
from mechdesign.families.joint.one_bit import TWO, bit_starts, bit_widths, single_bits, single_channel
from mechdesign.families.joint.one_hot import (
    AttributeBits,
    BitNoise,
    attribute_bits,
    grouped,
    joint_spread,
    one_hot,
)
from mechdesign.families.joint.repeated import (
    RepeatedAudit,
    RepeatedBits,
    audit_repeated,
    linked_counts,
    sequence_chances,
)
from mechdesign.families.joint.tables import TabledBits, joint_operations
from mechdesign.primitives.attributes import Attributes

PIECES = 32
"""Blocks of reports that are kept apart before they are counted together."""


class PatternCounts(Server["JointResponse"]):
    """Counts of patterns: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.joint import JointResponse
    >>> mechanism = JointResponse.of([2, 3], 4.0, redraw=0.2, keep=0.75, add=0.25)
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize([[0, 2]] * 30, rng=1)); there.update(["x88", "x88"])
    >>> here.merge(there); here.users
    32
    """

    def __init__(self, mechanism: JointResponse) -> None:
        super().__init__(mechanism)
        self.users = 0
        self._parts: list[tuple[Packed, Codes]] = []

    def _count(self, reports: Any) -> None:
        packed = read_sets(reports, self.mechanism.bits)
        self._add(*grouped(packed, np.ones(len(packed), dtype=np.int64)))

    def _add(self, patterns: Packed, counts: Codes) -> None:
        users = self.users + int(counts.sum())
        require_users(users)
        if len(counts):
            self._parts.append((patterns, counts))
        self.users = users
        if len(self._parts) > PIECES:
            self._parts = [self.patterns()]

    def patterns(self) -> tuple[Packed, Codes]:
        """Return the different patterns as packed bits, and how many users sent each."""
        if not self._parts:
            return np.zeros((0, width(self.mechanism.bits)), dtype=np.uint8), np.zeros(0, dtype=np.int64)
        if len(self._parts) > 1:
            rows, counts = zip(*self._parts, strict=True)
            self._parts = [grouped(np.concatenate(rows), np.concatenate(counts))]
        return self._parts[0]

    def _merge(self, other: Self) -> None:
        self._add(*other.patterns())

    def estimate(self, population: bool = False, **options: Any) -> JointEstimate:
        """Return the estimate from all counted reports; ``options`` are its estimator, penalty, reference."""
        self.require_some()
        return JointEstimate(self.mechanism, *self.patterns(), population, **options)

    def _written(self) -> dict[str, Any]:
        patterns, counts = self.patterns()
        return {
            "patterns": as_texts(patterns).tolist(),
            "counts": counts.tolist(),
        }

    def _read(self, document: Mapping[str, Any]) -> None:
        texts, users = document.get("patterns"), document.get("counts")
        if not isinstance(texts, list) or not isinstance(users, list) or len(texts) != len(users):
            raise DataError("aggregator", "the counts are damaged: not one for each pattern", "count again")
        counts = [plain(count) for count in users]
        whole = [count for count in counts if isinstance(count, int) and 0 < count < 1 << 62]
        if len(whole) < len(counts):
            raise DataError("aggregator", "the counts are damaged: not integers above 0", "count again")
        require_users(sum(whole))
        packed = read_sets(np.array(texts, dtype=object), self.mechanism.bits)
        self._add(*grouped(packed, np.array(whole, dtype=np.int64)))


MOST_BITS = 1 << 16
"""Longer reports are refused."""

PIECE = 1 << 16
"""Users whose bits are drawn at a time."""


class JointResponse(TabledBits):
    """Report a bit per value, or one for two values: kept bits are flipped once, reported bits drawn again.

    A kept bit differs from the true one with chance flip / 2**62. A report has a 1 for a kept 1 with chance
    keep / 2**62, for a kept 0 with add / 2**62. As chances, redraw = 2 flip
    (a bit that is drawn again becomes 1 half of the time): the paper's f; keep and add are its q and p.

    Parameters
    ----------
    attributes : Attributes
    epsilon : float
        The promise for all reports of a user together, audited here.
    flip, keep, add : int or None
        Weights out of 2**62 of the one-hot bits; None where there are none.
    reports_per_user : int
        How many reports of a user the promise is for.
    report_epsilon : float, optional
        A promise for every single report.
    bit : mapping, optional
        ``flip`` and ``keep`` of the one bit of an attribute with two values, which is reported wrongly with
        2**62 - keep. Without it such an attribute has two one-hot bits, as in files of former versions.

    Notes
    -----
    Source: Chu, Long, Liu (2022), algorithm 1; Erlingsson, Pihur, Korolova (2014) for the two steps.

    Examples
    --------
    >>> mechanism = JointResponse.of([2, 3], epsilon=9.0, redraw=0.2, keep=0.75, add=0.5, reports_per_user=10)
    >>> print(mechanism.audit())
    privacy: holds (exact); epsilon = 9, true_epsilon = 8.485404785, reports = 10, one_report = 1.7386...
    >>> mine = mechanism.remember([[1, 2]], rng=1)
    >>> [text.tolist() for text in (mine.report(rng=1), mine.report(rng=2))]
    [[[...]], [[...]]]
    """

    type: ClassVar[str] = "joint-response"
    subject: ClassVar[str] = "one-hot reports take"

    def __init__(
        self,
        attributes: Attributes,
        epsilon: float,
        flip: int | None,
        keep: int | None,
        add: int | None,
        reports_per_user: int = 1,
        report_epsilon: float | None = None,
        bit: Mapping[str, int] | None = None,
    ) -> None:
        self.attributes = Attributes.of(attributes)
        self.bit = None if bit is None else _single_weights(self.attributes, bit)
        if self.bits > MOST_BITS:
            raise ParameterError("attributes", f"{self.bits} bits a report", f"give at most {MOST_BITS}")
        self.epsilon = double_epsilon(epsilon)
        self.report_epsilon = (
            None if report_epsilon is None else double_epsilon(report_epsilon, "report_epsilon")
        )
        self.reports_per_user = integer("reports_per_user", reports_per_user, 1)
        self.weights = self._one_hot_weights(flip, keep, add)
        if not self.audit().holds:
            raise CertificateError("channel", f"not private as stated: {self.audit()}")

    def _one_hot_weights(self, flip: int | None, keep: int | None, add: int | None) -> RepeatedBits:
        """Return the weights of the one-hot bits; where there are none, those of the other bits."""
        if self.bit is not None and not self.one_hot_attributes:
            if (flip, keep, add) != (None, None, None):
                raise ParameterError("flip, keep, add", "no attribute has one-hot bits", "give None")
            return self.bit
        for name, value in (("flip", flip), ("keep", keep), ("add", add)):
            if value is None:
                raise ParameterError(name, "is missing", "give the weight of the one-hot bits")
        return RepeatedBits(
            TOTAL, weight("flip", flip, 0), weight("keep", keep, 1, TOTAL), weight("add", add, 0)
        )

    @classmethod
    def of(
        cls,
        sizes: Sequence[int] | Attributes,
        epsilon: float,
        redraw: Any = None,
        keep: Any = None,
        add: Any = None,
        reports_per_user: int = 1,
        report_epsilon: float | None = None,
        names: Sequence[str] | None = None,
        labels: Sequence[Sequence[str] | None] | None = None,
        bit_redraw: Any = None,
        bit_keep: Any = None,
    ) -> Self:
        """Return the mechanism with probabilities, rounded to the private side by 2**-62.

        Parameters
        ----------
        sizes : sequence of int, or Attributes
        epsilon, reports_per_user, report_epsilon
            The promises.
        redraw : number
            Probability with which a permanent bit is drawn again, half of the time 1; in [0, 1).
            The paper's f.
        keep : number
            Probability that a kept 1 is reported as 1; at most 1. The paper's q.
        add : number
            Probability that a kept 0 is reported as 1; at least 0, below ``keep``. The paper's p.
        bit_redraw, bit_keep : number, optional
            The same for the one bit of an attribute with two values, which is reported wrongly with
            1 - bit_keep; without them such an attribute has two one-hot bits. Where all attributes have two
            values, ``redraw``, ``keep`` and ``add`` are then omitted.

        Examples
        --------
        >>> JointResponse.of([2, 2], 2.2, bit_redraw=0.5, bit_keep=1).bits
        2
        """
        attributes = sizes if isinstance(sizes, Attributes) else Attributes(sizes, names, labels)
        single = None
        if bit_keep is not None or bit_redraw is not None:
            redrawn, right, _ = single_channel(0 if bit_redraw is None else bit_redraw, bit_keep)
            single = {"flip": math.ceil(redrawn * TOTAL / 2), "keep": math.floor(right * TOTAL)}
        weights: tuple[int | None, ...] = (None, None, None)
        if single is None or set(attributes.sizes) != {TWO} or (redraw, keep, add) != weights:
            noise, own, other = channel(redraw, keep, add)
            weights = math.ceil(noise * TOTAL / 2), math.floor(own * TOTAL), math.ceil(other * TOTAL)
        return cls(attributes, epsilon, *weights, reports_per_user, report_epsilon, single)

    @property
    def one_bit(self) -> bool:
        """Whether an attribute with two values has one bit."""
        return self.bit is not None

    @property
    def one_hot_attributes(self) -> int:
        """Number of attributes with one bit per value."""
        return sum(width > 1 for width in bit_widths(self.attributes.sizes, self.one_bit))

    @property
    def bits(self) -> int:
        """The bits of a report: one per value of every attribute, or one for two values."""
        return bit_starts(self.attributes.sizes, self.one_bit)[-1]

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """q* and p*: the probability that a reported bit is 1 where the true one is 1, and where it is 0.

        Of the one-hot bits; where there are none, of the others.
        """
        return self.weights.own, self.weights.other

    def bit_noise(self, linked: int = 1) -> tuple[BitNoise, BitNoise | None]:
        """Return the noise of one-hot bits and of single ones, of several reports linked to their user."""
        one_hot, single = (
            None
            if weights is None
            else BitNoise(float(weights.own), float(weights.other), sequence_chances(weights, linked))
            for weights in (self.weights, self.bit)
        )
        assert one_hot is not None
        return one_hot, single

    @cached_property
    def attribute_bits(self) -> tuple[AttributeBits, ...]:
        """The bits of each attribute in one report."""
        return attribute_bits(self.attributes.sizes, *self.bit_noise())

    # Client

    @cached_property
    def limited(self) -> bool:
        """Whether more reports than were promised would break the guarantee."""
        return self.audit().any_reports > self.epsilon

    @property
    def _keeps_truth(self) -> bool:
        """Whether permanent responses hold true answers, since reports have all the noise (redraw = 0)."""
        return self.weights.flip == 0 or (self.bit is not None and self.bit.flip == 0)

    def _report_source(self, rng: Rng) -> BitSource:
        """Return uniform integers for reports; a seed gives others than for permanent responses."""
        return self.source(rng, "reports")

    def remember(self, answers: Any, rng: Rng = None) -> PermanentResponse:
        """Return the permanent response of users' values, which each client keeps for all its reports."""
        codes = self.attributes.encode(answers)
        return PermanentResponse(self, self._draw_permanent(codes, self.source(rng, "remember")))

    def draw(self, codes: Codes, source: BitSource) -> Packed:
        """Return one report per user as packed bits, shape (n, bytes); the permanent response is forgotten.

        For one report only: a second call draws other permanent bits, and the guarantee is for those of
        :meth:`remember`.
        """
        return self.draw_reports(self._draw_permanent(codes, source), source)

    def written(self, reports: Packed) -> Values:
        return as_texts(reports)

    def _client_steps(self) -> Steps:
        """Return how a client draws its permanent response, and reports from that."""
        names = ("flip", "keep", "add")
        weights = {
            name: whole_hex(getattr(self.weights, name)) if self.one_hot_attributes else None
            for name in names
        }
        single = (
            {} if self.bit is None else {"bit": {name: whole_hex(getattr(self.bit, name)) for name in names}}
        )
        most = self.reports_per_user if self.limited else None
        return {"step": "joint", "sizes": list(self.attributes.sizes), **weights, "reports": most, **single}

    def _draw_permanent(self, codes: Codes, source: BitSource) -> Packed:
        """Return the permanent bits of values (n, d), packed."""
        packed = one_hot(codes, self.attributes.sizes, self.one_bit)
        for rows in self._pieces(packed):
            packed[rows] ^= self._chosen(packed[rows], "flip", source)
        return packed

    def draw_reports(self, permanent: Packed, source: BitSource) -> Packed:
        """Return a report for permanent bits, drawn again."""
        reports = np.empty_like(permanent)
        for rows in self._pieces(permanent):
            ones = self._chosen(permanent[rows], "keep", source)
            added = self._chosen(permanent[rows], "add", source)
            reports[rows] = (permanent[rows] & ones) | (~permanent[rows] & added)
            reports[rows, -1] &= 255 ^ padding(self.bits)
        return reports

    @staticmethod
    def _pieces(packed: Packed) -> list[slice]:
        return [slice(start, start + PIECE) for start in range(0, len(packed), PIECE)]

    def _chosen(self, like: Packed, name: str, source: BitSource) -> Packed:
        """Return independent bits with a probability of their own kind in the places of a report's bits."""
        if self.bit is None:
            return self._words(like, getattr(self.weights, name), source)
        if not self.one_hot_attributes:
            return self._words(like, getattr(self.bit, name), source)
        several = self._words(like, getattr(self.weights, name), source)
        single, alone = self._words(like, getattr(self.bit, name), source), single_bits(self.attributes.sizes)
        chosen: Packed = (single & alone) | (several & ~alone)
        return chosen

    def _words(self, like: Packed, chance: int, source: BitSource) -> Packed:
        """Return independent bits of a probability in the places of a report's bits, 0 in its padding."""
        words = bernoulli_words((like.size + 7) // 8, chance, source)
        bits = words.view(np.uint8)[: like.size].reshape(like.shape).copy()
        bits[:, -1] &= 255 ^ padding(self.bits)
        return bits

    def read(self, reports: Any) -> Packed:
        """Return reports or permanent responses as packed bits, from those or from texts."""
        return read_sets(reports, self.bits)

    # Server

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        """Return the scores of each attribute, whose bits are drawn apart."""
        self.aggregator().update(reports)  # refuses what is no report
        every = unpacked_members(self.read(reports), self.bits).view(np.uint8)
        result = []
        for axis, (name, bits) in enumerate(zip(self.attributes.shown(), self.attribute_bits, strict=True)):
            labels = tuple(map(str, self.attributes.labels[axis].shown()))
            own, other = bits.noise.own, bits.noise.other
            values = np.asarray(bits.debiased(every), dtype=np.float64)
            values = values + (1.0 - values.sum(axis=1, keepdims=True)) / len(labels)  # the sum is 1
            if bits.alone:
                likelihood = relative_likelihoods(bits.factors(every))
            else:
                ratio = (1.0 - own) * other / (own * (1.0 - other))
                likelihood = relative_likelihoods(np.where(bits.of(every), 1.0, ratio))
            result.append(ReportScores(str(name), labels, values, np.ones(len(every)), likelihood))
        return tuple(result)

    def pair_scores(
        self, reports: Any, first: int, second: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the products of both scores: the bits are drawn apart."""
        scores = self.report_scores(reports)
        values = scores[first].values[:, :, None] * scores[second].values[:, None, :]
        return values, np.ones(len(values))

    def aggregator(self) -> PatternCounts:
        return PatternCounts(self)

    @rng_alone
    def estimate(self, reports: Any, population: bool = False, **options: Any) -> JointEstimate:
        """Return the joint distribution from one report of every user.

        ``options`` are ``estimator``, ``penalty`` and ``reference`` of :class:`JointEstimate`.

        Raises
        ------
        DataError
            When there are no reports, or one of another number of bits.
        """
        counter = self.aggregator()
        counter.update(reports)
        return counter.estimate(population, **options)

    @rng_alone
    def estimate_linked(
        self, tables: Sequence[Any], population: bool = False, **options: Any
    ) -> JointEstimate:
        """Return the joint distribution from several reports of every user.

        Parameters
        ----------
        tables : sequence
            One table of reports a request, each with the same users in the same order.
        population : bool

        Raises
        ------
        DataError
            When the tables differ in length or contradict each other.

        Examples
        --------
        >>> mechanism = JointResponse.of([2, 2], 9.0, redraw=0.2, keep=0.75, add=0.25, reports_per_user=3)
        >>> clients = mechanism.remember([[0, 1]] * 500 + [[1, 0]] * 500, rng=1)
        >>> estimate = mechanism.estimate_linked([clients.report(rng=seed) for seed in (1, 2, 3)])
        >>> estimate.users, estimate.linked
        (1000, 3)
        """
        read = [self.read(table) for table in tables]
        alone = None if self.bit is None else single_bits(self.attributes.sizes)
        ones, counts = linked_counts(read, self.bits, self.weights, self.bit, alone)
        if len(read) == 1:
            return self.estimate(read[0], population, **options)
        return JointEstimate(self, ones, counts, population, linked=len(read), **options)

    # Accuracy

    @cached_property
    def spreads(self) -> tuple[float, float]:
        """The variances of a debiased bit, of those of ``shares``: a true 1, and a true 0."""
        own, other = self.shares
        return tuple(float(share * (1 - share) / (own - other) ** 2) for share in (own, other))  # type: ignore[return-value]

    def joint_variance(self, view: Sequence[int] | None = None) -> float:
        """Return users times the variance of the unbiased estimates, summed over all cells of a view."""
        places = range(self.attributes.count) if view is None else view
        return joint_spread([self.attribute_bits[place] for place in places])

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of the unbiased share of one attribute's value, with ``users`` users."""
        count = integer("users", users, 1)
        kinds = {bits.size: bits for bits in self.attribute_bits}
        spreads = [(bits.spreads(), size) for size, bits in kinds.items()]
        largest = max(max(pair) for pair, _ in spreads)
        typical = max((own + (size - 1) * other) / size for (own, other), size in spreads)
        return Forecast.of_shares(
            count,
            math.sqrt(largest / count),
            math.sqrt(typical / count),
            "if all values are equally frequent",
            "the share of a value of one attribute",
        )

    # Tables

    def operations(self) -> tuple[Operation, ...]:
        return joint_operations(self)

    # Certificates and file

    def audit(self) -> RepeatedAudit:
        """Return the exact audit of the weights: one report, all reports, any number of them."""
        one_hot = self.one_hot_attributes
        return audit_repeated(
            self.weights,
            one_hot,
            self.reports_per_user,
            self.epsilon,
            self.report_epsilon,
            self.bit,
            self.attributes.count - one_hot,
        )

    def certificates(self) -> tuple[Certificate, ...]:
        return self.audit().certificate(), Certificate("normalization", True, True, {"total": f"2**{BITS}"})

    def _figures(self) -> str:
        count = "" if self.reports_per_user == 1 else f", {self.reports_per_user} reports"
        weights = {}
        if self.one_hot_attributes:
            weights = {"redraw": 2 * self.weights.flip, "keep": self.weights.keep, "add": self.weights.add}
        if self.bit is not None:
            weights |= {"bit_redraw": 2 * self.bit.flip, "bit_keep": self.bit.keep}
        chances = ", ".join(f"{name}={number / TOTAL:g}" for name, number in weights.items())
        return f"{counted(self.attributes.count, 'attribute')}, {chances}, epsilon={self.epsilon:g}{count}"

    def content(self) -> dict[str, Any]:
        several = self.one_hot_attributes > 0
        return {
            "attributes": self.attributes.as_json(),
            "epsilon": self.epsilon,
            "report_epsilon": self.report_epsilon,
            "reports": self.reports_per_user,
            "total": TOTAL,
            "flip": self.weights.flip if several else None,
            "keep": self.weights.keep if several else None,
            "add": self.weights.add if several else None,
            **({} if self.bit is None else {"bit": {"flip": self.bit.flip, "keep": self.bit.keep}}),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        require_total(content)
        own = ("total", "reports")
        arguments = {name: value for name, value in content.items() if name not in own}
        return cls(reports_per_user=content["reports"], **arguments)


def channel(redraw: Any, keep: Any, add: Any) -> tuple[Fraction, Fraction, Fraction]:
    """Return the three probabilities exactly, or raise ParameterError where they say nothing.

    Examples
    --------
    >>> channel(0.5, 0.75, 0.5)
    (Fraction(1, 2), Fraction(3, 4), Fraction(1, 2))
    """
    numbers = {"redraw": redraw, "keep": keep, "add": add}
    read = {name: rational(name, value) for name, value in numbers.items()}
    for name, value in read.items():
        if not 0 <= value <= 1:
            raise ParameterError(name, f"{text_of(numbers[name])} is outside [0, 1]", "give a probability")
    if read["redraw"] == 1:
        raise ParameterError("redraw", "with 1 the permanent response is pure noise", "give a number below 1")
    if read["add"] >= read["keep"]:
        raise ParameterError(
            "add, keep",
            f"add = {float(read['add']):g} is not below keep = {float(read['keep']):g}",
            "a reported 1 has to be more likely for a true one",
        )
    return read["redraw"], read["keep"], read["add"]


def _single_weights(attributes: Attributes, bit: Any) -> RepeatedBits:
    """Return the weights of the one bit of attributes with two values."""
    if TWO not in attributes.sizes:
        raise ParameterError("bit", "no attribute has two values", "omit it")
    if not isinstance(bit, Mapping) or set(bit) != {"flip", "keep"}:
        raise ParameterError("bit", f"expected flip and keep, got {text_of(bit)}", "give both weights")
    keep = weight("bit: keep", bit["keep"], 1, TOTAL)
    return RepeatedBits(TOTAL, weight("bit: flip", bit["flip"], 0), keep, TOTAL - keep)
