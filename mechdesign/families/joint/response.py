"""The mechanism of joint distributions: one-hot bits, flipped once, then drawn for every report (RR-LDP).

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

from mechdesign.collect.attributes import AttributeMechanism, Attributes
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
from mechdesign.families.joint.one_hot import grouped, joint_spread, one_hot, single_spreads
from mechdesign.families.joint.repeated import RepeatedAudit, RepeatedBits, audit_repeated, linked_counts
from mechdesign.families.joint.tables import joint_operations

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


class JointResponse(AttributeMechanism[JointEstimate]):
    """Report one bit per value of every attribute: kept bits are flipped once, reported bits drawn again.

    A kept bit differs from the true one with chance flip / 2**62. A report has a 1 for a kept 1 with chance
    keep / 2**62, for a kept 0 with add / 2**62. As chances, redraw = 2 flip
    (a bit that is drawn again becomes 1 half of the time): the paper's f; keep and add are its q and p.

    Parameters
    ----------
    attributes : Attributes
    epsilon : float
        The promise for all reports of a user together, audited here.
    flip, keep, add : int
        Weights out of 2**62.
    reports_per_user : int
        How many reports of a user the promise is for.
    report_epsilon : float, optional
        A promise for every single report.

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
        flip: int,
        keep: int,
        add: int,
        reports_per_user: int = 1,
        report_epsilon: float | None = None,
    ) -> None:
        self.attributes = Attributes.of(attributes)
        if self.bits > MOST_BITS:
            raise ParameterError("attributes", f"{self.bits} bits a report", f"give at most {MOST_BITS}")
        self.epsilon = double_epsilon(epsilon)
        self.report_epsilon = (
            None if report_epsilon is None else double_epsilon(report_epsilon, "report_epsilon")
        )
        self.reports_per_user = integer("reports_per_user", reports_per_user, 1)
        self.weights = RepeatedBits(
            TOTAL, weight("flip", flip, 0), weight("keep", keep, 1, TOTAL), weight("add", add, 0)
        )
        if not self.audit().holds:
            raise CertificateError("channel", f"not private as stated: {self.audit()}")

    @classmethod
    def of(
        cls,
        sizes: Sequence[int] | Attributes,
        epsilon: float,
        redraw: Any,
        keep: Any,
        add: Any,
        reports_per_user: int = 1,
        report_epsilon: float | None = None,
        names: Sequence[str] | None = None,
        labels: Sequence[Sequence[str] | None] | None = None,
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
        """
        attributes = sizes if isinstance(sizes, Attributes) else Attributes(sizes, names, labels)
        noise, own, other = channel(redraw, keep, add)
        flip = math.ceil(noise * TOTAL / 2)
        return cls(
            attributes,
            epsilon,
            flip,
            math.floor(own * TOTAL),
            math.ceil(other * TOTAL),
            reports_per_user,
            report_epsilon,
        )

    @property
    def bits(self) -> int:
        """The bits of a report: one per value of every attribute."""
        return sum(self.attributes.sizes)

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """q* and p*: the probability that a reported bit is 1 where the true one is 1, and where it is 0."""
        return self.weights.own, self.weights.other

    # Client

    @cached_property
    def limited(self) -> bool:
        """Whether more reports than were promised would break the guarantee."""
        return self.audit().any_reports > self.epsilon

    @property
    def _keeps_truth(self) -> bool:
        """Whether permanent responses are the true answers, since reports have all the noise (redraw = 0)."""
        return self.weights.flip == 0

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
        weights = {name: whole_hex(getattr(self.weights, name)) for name in ("flip", "keep", "add")}
        most = self.reports_per_user if self.limited else None
        return {"step": "joint", "sizes": list(self.attributes.sizes), **weights, "reports": most}

    def _draw_permanent(self, codes: Codes, source: BitSource) -> Packed:
        """Return the permanent bits of values (n, d), packed."""
        packed = one_hot(codes, self.attributes.sizes)
        for rows in self._pieces(packed):
            packed[rows] ^= self._words(packed[rows], self.weights.flip, source)
        return packed

    def draw_reports(self, permanent: Packed, source: BitSource) -> Packed:
        """Return a report for permanent bits, drawn again."""
        reports = np.empty_like(permanent)
        for rows in self._pieces(permanent):
            ones = self._words(permanent[rows], self.weights.keep, source)
            added = self._words(permanent[rows], self.weights.add, source)
            reports[rows] = (permanent[rows] & ones) | (~permanent[rows] & added)
            reports[rows, -1] &= 255 ^ padding(self.bits)
        return reports

    @staticmethod
    def _pieces(packed: Packed) -> list[slice]:
        return [slice(start, start + PIECE) for start in range(0, len(packed), PIECE)]

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
        every = unpacked_members(self.read(reports), self.bits)
        own, other = map(float, self.shares)
        ratio, start, result = (1.0 - own) * other / (own * (1.0 - other)), 0, []
        for axis, name in enumerate(self.attributes.shown()):
            labels = tuple(map(str, self.attributes.labels[axis].shown()))
            bits = every[:, start : start + len(labels)]
            start += len(labels)
            values = np.asarray((bits - other) / (own - other), dtype=np.float64)
            values = values + (1.0 - values.sum(axis=1, keepdims=True)) / len(labels)  # the sum is 1
            likelihood = relative_likelihoods(np.where(bits, 1.0, ratio))
            result.append(ReportScores(str(name), labels, values, np.ones(len(bits)), likelihood))
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
        ones, counts = linked_counts(read, self.bits, self.weights)
        if len(read) == 1:
            return self.estimate(read[0], population, **options)
        return JointEstimate(self, ones, counts, population, linked=len(read), **options)

    # Accuracy

    @cached_property
    def spreads(self) -> tuple[float, float]:
        """The variances of a debiased bit where the true one is 1, and where it is 0."""
        own, other = self.shares
        return tuple(float(share * (1 - share) / (own - other) ** 2) for share in (own, other))  # type: ignore[return-value]

    def joint_variance(self, view: Sequence[int] | None = None) -> float:
        """Return users times the variance of the unbiased estimates, summed over all cells of a view."""
        places = range(self.attributes.count) if view is None else view
        return joint_spread(*self.spreads, self.attributes.shape(tuple(places)))

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of the unbiased share of one attribute's value, with ``users`` users."""
        count = integer("users", users, 1)
        spreads = [(single_spreads(*self.spreads, size), size) for size in set(self.attributes.sizes)]
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
        return audit_repeated(
            self.weights, self.attributes.count, self.reports_per_user, self.epsilon, self.report_epsilon
        )

    def certificates(self) -> tuple[Certificate, ...]:
        return self.audit().certificate(), Certificate("normalization", True, True, {"total": f"2**{BITS}"})

    def _figures(self) -> str:
        count = "" if self.reports_per_user == 1 else f", {self.reports_per_user} reports"
        weights = {"redraw": 2 * self.weights.flip, "keep": self.weights.keep, "add": self.weights.add}
        chances = ", ".join(f"{name}={number / TOTAL:g}" for name, number in weights.items())
        return f"{counted(self.attributes.count, 'attribute')}, {chances}, epsilon={self.epsilon:g}{count}"

    def content(self) -> dict[str, Any]:
        return {
            "attributes": self.attributes.as_json(),
            "epsilon": self.epsilon,
            "report_epsilon": self.report_epsilon,
            "reports": self.reports_per_user,
            "total": TOTAL,
            "flip": self.weights.flip,
            "keep": self.weights.keep,
            "add": self.weights.add,
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
