"""The k-ary response: randomized response on the likely answers and a rule for the rest; no n x n array.

The rows of a k-ary response differ only in a few reports: the answer itself, its delegate and the delegate of
the other answer. So every pair of answers, of however many, is represented by a pair in a small channel with
at most three kept answers and two others, in which the kept reports that are alike for all answers are lumped
together (equal entries: ratio 1, no hockey-stick excess for epsilon >= 0).

The estimator of a k-ary response is pure only where all answers are kept. A kept answer j other than the
shared delegate reports itself with own + high and all others report it with low; an answer that is not kept
reports itself with own. So both kinds are shifted and scaled shares of reports, and the delegate's frequency
is what is left of 1; all of it takes O(n).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.channel import audit_channel, ordered_pairs
from mechdesign.audit.losses import LossCurve
from mechdesign.collect.base import Randomizer, require_total
from mechdesign.collect.codec import Codes, Labels
from mechdesign.collect.collector import FrequencyMechanism, reported_alike
from mechdesign.collect.intervals import FrequencyLimits, RepeatedLimits
from mechdesign.collect.kernel import Kernel
from mechdesign.collect.report_scores import MOST_ENTRIES, ReportScores, counted_scores
from mechdesign.collect.scores import SINGULAR, Scores, score_steps
from mechdesign.core.certificate import PrivacyAudit
from mechdesign.core.errors import CertificateError, EstimationError, ParameterError, counted
from mechdesign.core.validation import (
    as_written,
    double_delta,
    double_epsilon,
    privacy_delta,
    privacy_epsilon,
)
from mechdesign.core.values import changed, frozen_value, value_field
from mechdesign.exact.numbers import frozen, plain_int, wholes
from mechdesign.exact.randomness import TOTAL, Weights, exp_written
from mechdesign.primitives.kary_channel import MAX_DENSE, KaryChannel
from mechdesign.primitives.oracle import Moments, Oracle, Shares, bernoulli, supported_scores

if TYPE_CHECKING:
    from mechdesign.collect.kernel import Steps

Array = NDArray[np.float64]

MAX_SIZE = 10_000_000
"""More answers are refused: a file of a few bytes must not ask for gigabytes."""


def _weight(name: str, value: object) -> int:
    return plain_int(f"channel: {name}", value)


@frozen_value()
class KaryWeights:
    """Integer weights of a k-ary response: own + high + (kept - 1) low = 2**62.

    They are Python integers whatever they are made of: numpy's overflow, Python's do not.

    An answer i reports itself with ``own``, its delegate with a further ``high``, and every other
    kept answer with a further ``low``. A kept answer is its own delegate; the others share one.
    """

    size: int = value_field(_weight)
    kept: int = value_field(_weight)
    own: int = value_field(_weight)
    high: int = value_field(_weight)
    low: int = value_field(_weight)

    @classmethod
    def of(cls, weights: KaryWeights) -> KaryWeights:
        """Return plain weights of these values, each read once and checked; see :meth:`require`."""
        own = KaryWeights(weights.size, weights.kept, weights.own, weights.high, weights.low)
        own.require()
        return own

    def require(self) -> None:
        """Raise CertificateError unless these are the weights of a channel that can be sampled."""
        if not 1 <= self.kept <= self.size:
            raise CertificateError("channel", f"{self.kept} kept answers of {self.size}")
        if min(self.own, self.high, self.low) < 0 or self.high < self.low:
            raise CertificateError("channel", "a weight is negative, or the delegate's below the others'")
        total = self.own + self.high + (self.kept - 1) * self.low
        if total != TOTAL:
            raise CertificateError("channel", f"the rows sum to {total}, not 2**62 = {TOTAL}")


def representative(weights: KaryWeights) -> tuple[Weights, list[int], list[int]]:
    """Return a small channel whose pairs of rows represent all pairs.

    Returns
    -------
    weights : (r, c) array
    kept_columns : list of int
        Columns of representative kept answers, the shared delegate first.
    other_columns : list of int
        Columns of representative answers that are not kept.
    """
    weights = KaryWeights.of(weights)
    own = min(weights.kept, 3)
    others = min(weights.size - weights.kept, 2)
    lumped = weights.kept - own
    rows = own + others
    matrix = np.zeros((rows, rows + (1 if lumped else 0)), dtype=np.int64)
    matrix[:, :own] = weights.low
    if lumped:
        matrix[:, -1] = lumped * weights.low
    for row in range(rows):
        matrix[row, row if row < own else 0] += weights.high - weights.low
        matrix[row, row] += weights.own
    return matrix, list(range(own)), list(range(own, rows))


Index = NDArray[np.int64]


@frozen_value()
class KaryScores(Scores):
    """Scores of the reports of a k-ary response, without an n x n matrix.

    Parameters
    ----------
    own, high, low : int
        The integer weights of the channel.
    likely : (k,) int array
        The answers that are reported by those who gave another one, the shared delegate first.
    outside : int array
        The other answers.
    """

    own: int
    high: int
    low: int
    likely: Index
    outside: Index

    @property
    def gain(self) -> float:
        """Difference of the probabilities of the own report and of another one; of integers."""
        return (self.own + self.high - self.low) / TOTAL if len(self.likely) > 1 else 1.0

    def estimate(
        self, counts: NDArray[np.int64], population: bool
    ) -> tuple[Array, Array, RepeatedLimits, None]:
        """Return the unbiased estimates, their standard errors and limits, for n answers.

        Answers of one kind with equal counts share their limits.
        """
        users = int(counts.sum())
        (inner, outside), index, delegate = self._kinds(counts), np.empty(len(counts), dtype=np.int64), 0
        values, moments, steps, shares = [], [], [], []
        for members, numbers, place, start, factor, chance in (inner, outside):
            value = (numbers / users - start) / factor
            scores = np.array([-start / factor, (1.0 - start) / factor])
            mine, theirs = (power_means(scores, [1.0 - hit, hit]) for hit in (chance, start))
            index[members] = delegate + place
            delegate += len(numbers)
            values.append(value)
            moments.append(np.repeat(np.stack([mine, theirs, theirs])[:, :, None], len(numbers), axis=2))
            steps.append(np.full(len(numbers), np.ptp(scores)))
            shares.append(math.fsum(value[place]))
        index[self.likely[0]] = delegate
        both, last = self._delegate(*shares)
        value = np.concatenate([*values, [1.0 - math.fsum(shares)]])
        own, others, worst = np.concatenate([*moments, both[:, :, None]], axis=2)
        step = np.concatenate([*steps, [last]])
        limits = FrequencyLimits(value, users, own, others, worst, step, population)
        return value[index], limits.standard_error()[index], RepeatedLimits(limits, index), None

    def _kinds(self, counts: Index) -> list[tuple[Index, Index, Index, float, float, float]]:
        """Return for the kept answers but the delegate, and for those that are not kept, what estimates need.

        These are: which they are, their different counts and where each is among them, the chance that
        another answer is reported so, the gain over it, and the chance of a true report.
        """
        low, own = self.low / TOTAL, self.own / TOTAL
        kinds = []
        for members, start, factor, chance in (
            (self.likely[1:], low, self.gain, own + self.high / TOTAL),
            (self.outside, 0.0, own or 1.0, own),
        ):
            numbers, place = np.unique(counts[members], return_inverse=True)
            kinds.append((members, numbers, place.ravel(), start, factor, chance))
        return kinds

    def typical_variance(self) -> float:
        (inner, outside), by_answer = self._by_report(), self._by_answer()
        part = 1.0 / (len(self.likely) + len(self.outside))
        parts = [part * mine + (1.0 - part) * theirs for mine, theirs in (inner, outside)]
        weights = (1.0, len(self.likely) - 1.0, float(len(self.outside)))
        parts.append(part * sum(weight * one for weight, one in zip(weights, by_answer, strict=True)))
        return max(parts)

    def largest_variance(self) -> float:
        inner, outside = self._by_report()
        return max(*inner, *outside, *self._by_answer())

    def _by_report(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the variance of the score of a kept answer, and of another, for who gave it and who did not.

        The delegate's is not among them; 0 where there is no such answer.
        """
        own, high, low = self.own / TOTAL, self.high / TOTAL, self.low / TOTAL
        inner = outside = (0.0, 0.0)
        if len(self.likely) > 1:
            true, false = own + high, low
            inner = true * (1.0 - true) / self.gain**2, false * (1.0 - false) / self.gain**2
        if len(self.outside):
            outside = (1.0 - own) / own, 0.0
        return inner, outside

    def _by_answer(self) -> tuple[float, float, float]:
        """Return the variance of the delegate's score for who answers it, another kept answer, another."""
        own, high, low, k = self.own / TOTAL, self.high / TOTAL, self.low / TOTAL, len(self.likely)
        kept_score, outside_score = 1.0 / self.gain, 1.0 / own if own and len(self.outside) else 0.0
        chance_kept = (k - 1) * low  # of a report among the kept ones other than the delegate

        def variance(kept_chance: float, outside_chance: float) -> float:
            mean = kept_chance * kept_score + outside_chance * outside_score
            return kept_chance * kept_score**2 + outside_chance * outside_score**2 - mean**2

        return (
            variance(chance_kept, 0.0),
            variance(own + high + (k - 2) * low, 0.0) if k > 1 else 0.0,
            variance(chance_kept, own) if len(self.outside) else 0.0,
        )

    def _delegate(self, inner: float, outside: float) -> tuple[Array, float]:
        """Return moments (3, 3) and the step of the delegate's score: own, of the others, and of the worst.

        Parameters
        ----------
        kept, outside : float
            The estimated shares of the other kept answers and of those that are not kept.
        """
        own, low, k = self.own / TOTAL, self.low / TOTAL, len(self.likely)
        top = 1.0 + (k - 1) * low / self.gain
        scores = np.array([top, top - 1.0 / self.gain, top - (1.0 / own if len(self.outside) else 0.0)])
        rest = (k - 1) * low  # the chance of a report among the kept ones other than the delegate
        mine = power_means(scores, [1.0 - rest, rest, 0.0])
        theirs = power_means(scores, [low, 1.0 - low, 0.0])
        dropped = power_means(scores, [1.0 - own - rest, rest, own])
        likely, unlikely = max(inner, 0.0), max(outside, 0.0)
        if likely + unlikely == 0.0:
            likely, unlikely = float(k - 1), float(len(self.outside))
        total = likely + unlikely
        mixed = (likely * theirs + unlikely * dropped) / total if total else np.zeros(3)
        worst = dropped if len(self.outside) else theirs if k > 1 else np.zeros(3)
        columns = scores if len(self.outside) else scores[:2]
        return np.stack([mine, mixed, worst]), float(score_steps(columns[None])[0])


def split_weights(rest: int, likely: int, exponential: Fraction) -> tuple[int, int]:
    """Return (low, high) with high + (kept - 1) low = rest and high <= E low."""
    low = math.ceil(rest / (exponential + likely - 1))
    return low, rest - (likely - 1) * low


class KaryRows(Kernel):
    """The rows of a k-ary response, without an n x n table.

    Parameters
    ----------
    weights : KaryWeights
    likely : (k,) int array
        The answers that are reported by those who gave another one, the shared delegate first.

    Examples
    --------
    >>> quarter = 1 << 60
    >>> KaryRows(KaryWeights(3, 3, 0, 2 * quarter, quarter), np.arange(3)).row(1) // quarter
    array([1, 2, 1])
    """

    block = 1 << 14

    def __init__(self, weights: KaryWeights, likely: NDArray[np.int64]) -> None:
        self.weights, self.likely = weights, likely

    @property
    def reports(self) -> int:
        return self.weights.size

    @cached_property
    def is_likely(self) -> NDArray[np.bool_]:
        """Whether each answer can be reported by those who gave another one."""
        mask = np.zeros(self.weights.size, dtype=bool)
        mask[self.likely] = True
        return frozen(mask)

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        return frozen(np.ones(self.weights.size, dtype=bool)) if self.weights.own else self.is_likely

    def row(self, code: int) -> Codes:
        row = np.zeros(self.weights.size, dtype=np.int64)
        row[self.likely] = self.weights.low
        row[code if self.is_likely[code] else self.likely[0]] = self.weights.high
        row[code] += self.weights.own
        return row

    @cached_property
    def in_order(self) -> bool:
        """Whether all answers are likely and numbered as they are."""
        return np.array_equal(self.likely, np.arange(self.weights.size))

    def draw(self, codes: Codes, uniform: Codes) -> Codes:
        return (
            self._among_all(codes, uniform)
            if self.in_order and self.weights.low
            else self._among_likely(codes, uniform)
        )

    def _among_all(self, codes: Codes, uniform: Codes) -> Codes:
        """Return reports where every answer is likely: the answer itself below the end of its weights."""
        weights = self.weights
        beyond = uniform - (weights.own + weights.high - weights.low)
        others = (beyond.view(np.uint64) // np.uint64(weights.low)).view(np.int64)
        same = beyond >> 63  # all bits where the answer is the report, none elsewhere: without branches
        reports = codes ^ others
        reports &= same
        reports ^= others
        return reports

    def _among_likely(self, codes: Codes, uniform: Codes) -> Codes:
        """Return reports where some answers are not likely, or none has a weight of its own."""
        weights, likely = self.weights, self.likely
        end = weights.own + weights.high - weights.low
        delegates = np.where(self.is_likely[codes], codes, likely[0])
        others = likely[np.maximum(uniform - end, 0) // weights.low] if weights.low else delegates
        reports: Codes = np.where(uniform < weights.own, codes, np.where(uniform < end, delegates, others))
        return reports

    def client_steps(self) -> Steps:
        """Return where the weights end, and the answers that are reported where these are not all."""
        from mechdesign.collect.kernel import whole_hex  # clients in other languages

        weights = self.weights
        return {
            "step": "kary",
            "size": weights.size,
            "own": whole_hex(weights.own),
            "delegate": whole_hex(weights.own + weights.high - weights.low),
            "low": whole_hex(weights.low),
            "kept": None if self.in_order else self.likely.tolist(),
        }


class KaryResponse(FrequencyMechanism, Oracle):
    """A k-ary response with exact integer weights: samples, audits and estimates in O(n).

    Parameters
    ----------
    weights : KaryWeights
    kept : (k,) int array
        The answers that are reported, the shared delegate first.
    epsilon, delta : float
        The promise, audited here.
    labels : sequence of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = KaryResponse.from_channel(KaryChannel(1_000_000, np.arange(10), epsilon=2.0))
    >>> mechanism.audit().holds, mechanism.audit().true_epsilon <= 2.0
    (True, True)
    """

    type: ClassVar[str] = "kary-response"
    _fixed_support: ClassVar[bool] = True

    def __init__(
        self,
        weights: KaryWeights,
        kept: NDArray[np.int64],
        epsilon: float,
        delta: float = 0.0,
        labels: Sequence[str] | None = None,
    ) -> None:
        weights = KaryWeights.of(weights)
        kept = wholes("kept", kept, 1)
        if weights.size > MAX_SIZE:
            raise ParameterError(
                "channel", f"{weights.size} answers are too many", f"give at most {MAX_SIZE}"
            )
        if len(kept) != weights.kept or len(set(kept.tolist())) != len(kept):
            raise CertificateError(
                "channel", "the kept answers are not distinct or not as many as the weights say"
            )
        if kept.min() < 0 or kept.max() >= weights.size:
            raise CertificateError("channel", f"a kept answer is outside 0 .. {weights.size - 1}")
        self.weights, self.kept = weights, kept
        self.epsilon, self.delta = double_epsilon(epsilon), double_delta(delta)
        self.labels = self.report_labels = Labels(weights.size, labels)
        if not self.audit().holds:
            raise CertificateError("channel", f"not private as stated: {self.audit()}")

    @classmethod
    def from_channel(cls, channel: KaryChannel, labels: Sequence[str] | None = None) -> Self:
        """Round a k-ary channel to integers so that privacy holds exactly.

        low = ceil((2**62 - own) / (E + k - 1)) for the rational lower bound E of e^epsilon, and high
        takes the rest: then high <= E low, because own + high + (k - 1) low = 2**62.
        """
        delta, exponential = privacy_delta(channel.delta), exp_written(channel.epsilon)
        own = math.floor(as_written(delta) * TOTAL)
        likely = wholes("kept", channel.kept, 1)
        low, high = split_weights(TOTAL - own, len(likely), exponential)
        if high < low:  # epsilon below the resolution of the weights: the constant response is as good
            likely = likely[:1]
            low, high = split_weights(TOTAL - own, 1, exponential)
        weights = KaryWeights(channel.size, len(likely), own, high, low)
        return cls(weights, likely, privacy_epsilon(channel.epsilon), delta, labels)

    @classmethod
    def of(cls, categories: int, epsilon: float, labels: Sequence[str] | None = None) -> Self:
        """Return randomized response on all categories, rounded so that privacy holds exactly."""
        return cls.from_channel(KaryChannel(categories, np.arange(categories), epsilon), labels)

    @cached_property
    def _audit(self) -> PrivacyAudit:
        matrix, kept_columns, other_columns = representative(self.weights)
        audit = audit_channel(matrix, self.epsilon, self.delta, pairs=ordered_pairs(self.weights.size))
        names = {column: int(self.kept[column]) for column in kept_columns}
        outside = self._outside[: len(other_columns)].tolist()
        names |= dict(zip(other_columns, outside, strict=True))
        translated = {
            field: {
                key: [names.get(item, item) for item in value]
                if isinstance(value, list)
                else names.get(value, value)
                for key, value in getattr(audit, field).items()
            }
            for field in ("witness", "delta_witness")
        }
        return changed(audit, **translated)

    def common_randomizer(self) -> Randomizer | None:
        """Return its true epsilon, and its number of reports where it is plain randomized response."""
        return Randomizer(self.audit().true_epsilon, self.weights.kept if self.weights.own == 0 else 0)

    def loss_curve(self) -> LossCurve | None:
        return LossCurve.of_rows(representative(self.weights)[0])

    def audit(self) -> PrivacyAudit:
        return self._audit

    @cached_property
    def kernel(self) -> KaryRows:
        return KaryRows(self.weights, self.kept)

    @property
    def channel(self) -> Array:
        """The probabilities in floating point, shape (n, n); refused where that would be too large."""
        own, high, low = (
            weight / TOTAL for weight in (self.weights.own, self.weights.high, self.weights.low)
        )
        if self.weights.size > MAX_DENSE:
            raise ParameterError("channel", f"{self.weights.size} x {self.weights.size} entries are too many")
        matrix = np.zeros((self.weights.size, self.weights.size))
        matrix[:, self.kept] = low
        rows = np.arange(self.weights.size)
        matrix[rows, np.where(self.is_kept, rows, self.kept[0])] = high
        matrix[rows, rows] += own
        return matrix

    # A frequency oracle, where all answers are kept: a report supports the category that it names

    @property
    def keeps_all(self) -> bool:
        """Whether every answer can be reported by those who gave another one."""
        return self.weights.kept == self.weights.size

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        is_large = self.keeps_all and len(reports) * self.labels.size > MOST_ENTRIES
        return ((supported_scores if is_large else counted_scores)(self, reports),)

    def supported_by(self, read: NDArray[Any], place: int | None = None) -> NDArray[np.bool_]:
        return np.asarray(read[:, None] == (np.arange(self.labels.size) if place is None else place))

    def weight_ratio(self) -> float:
        return float(self.support_shares()[1] / self.support_shares()[0])

    def support_shares(self) -> Shares:
        """Return the probabilities that the own and another category are reported.

        Raises
        ------
        EstimationError
            Where only some answers are kept, so that these chances depend on the answer.
        """
        if not self.keeps_all:
            some = f"{self.weights.kept} of {self.weights.size} answers are kept"
            what = f"{some}, so no two probabilities hold for all"
            remedy = "ask for the forecast, or build with the problem 'frequency-oracle'"
            raise EstimationError("channel", what, remedy)
        return Fraction(self.weights.own + self.weights.high, TOTAL), Fraction(self.weights.low, TOTAL)

    def supported(self, cells: int) -> tuple[Moments, Moments]:
        own, other = self.support_shares()
        return bernoulli(own + (cells - 1) * other), bernoulli(cells * other)

    @property
    def report_bits(self) -> int:
        return (int(self.possible_reports().sum()) - 1).bit_length()

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Whether each answer can be reported by those who gave another one."""
        return self.kernel.is_likely

    @cached_property
    def _outside(self) -> NDArray[np.int64]:
        return frozen(np.flatnonzero(~self.is_kept))

    @property
    def diagonal(self) -> Array:
        """The probabilities p_ii of reporting the truth, shape (n,), of the integers that are sampled."""
        values = np.full(self.weights.size, self.weights.own / TOTAL)
        values[self.kept] = (self.weights.own + self.weights.high) / TOTAL
        return values

    def _figures(self) -> str:
        remark = "" if self.weights.kept == self.weights.size else f" ({self.weights.kept} kept)"
        delta = f", delta={self.delta:g}" if self.delta else ""
        return f"{counted(self.weights.size, 'answer')}{remark}, epsilon={self.epsilon:g}{delta}"

    @cached_property
    def scores(self) -> KaryScores:
        weights = self.weights
        scores = KaryScores(weights.own, weights.high, weights.low, self.kept, self._outside)
        if (len(self._outside) and weights.own == 0) or scores.gain <= SINGULAR:
            raise self._singular()
        return scores

    def _singular(self) -> EstimationError:
        outside = self._outside if self.weights.own == 0 else self._outside[:0]
        alike = np.append(self.kept[0], outside) if len(outside) else self.kept
        blank = self.epsilon == 0.0 and self.delta == 0.0
        text = self.labels.shown()
        return reported_alike([text[answer] for answer in alike.tolist()], blank)

    def content(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "labels": self.labels.as_json(),
            "total": TOTAL,
            "size": self.weights.size,
            "own": self.weights.own,
            "high": self.weights.high,
            "low": self.weights.low,
            "kept": self.kept.tolist(),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        require_total(content)
        likely = wholes("kept", content["kept"], 1)
        own, high, low = (content[name] for name in ("own", "high", "low"))
        weights = KaryWeights(content["size"], len(likely), own, high, low)
        return cls(weights, likely, content["epsilon"], content["delta"], content["labels"])


def power_means(scores: Array, chances: Sequence[float]) -> Array:
    """Return the second, third and fourth moments of scores with these probabilities, shape (3,).

    Examples
    --------
    >>> power_means(np.array([-1.0, 2.0]), [0.5, 0.5])
    array([2.5, 3.5, 8.5])
    """
    moments: Array = np.stack([scores**power for power in (2, 3, 4)]) @ np.asarray(chances)
    return moments
