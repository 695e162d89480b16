"""A finite channel as integers, and how a channel of floats becomes one: what is audited is what is drawn.

A solver's channel may break its inequalities by a tolerance, or worse, hold a spurious zero that
faces a positive entry. The repair mixes in the least amount lam of a constant channel q (every input
reports with the same probabilities q, perfectly private):

    P' = (1 - lam) P + lam 1 q'

and rounds to integers out of 2**62. A privacy row p_xy <= E p_x'y becomes
(1 - lam)(p_xy - E p_x'y) <= lam q_y (E - 1), so the least lam is a maximum of ratios. Two targets q
are tried, uniform noise over the reported symbols and the average row, and the one that moves the
channel less is taken. The exact audit decides; where rounding spoiled an inequality, lam is raised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.channel import FORMER_NOTIONS, NOTIONS, audit_channel, channel_holds, ordered_pairs
from mechdesign.audit.losses import LossCurve
from mechdesign.audit.metric import batches, distances, needed_pairs, require_pairs
from mechdesign.collect.base import Randomizer, require_total
from mechdesign.collect.codec import Labels
from mechdesign.collect.collector import REMEDY, FrequencyMechanism
from mechdesign.collect.kernel import Rows
from mechdesign.collect.scores import MatrixScores
from mechdesign.core.certificate import PrivacyAudit
from mechdesign.core.errors import CertificateError, EstimationError, ParameterError, counted
from mechdesign.core.validation import double_delta, double_epsilon, finite_array, in_range, one_of
from mechdesign.core.values import frozen_value, value_field
from mechdesign.exact.randomness import TOTAL, require_channel

Array = NDArray[np.float64]

FILED_NOTIONS = {"set-wise": "ldp", "entry-wise": "entry-wise"}
"""What files call the readings of delta: another word would change the fingerprint of every channel."""


NEGLIGIBLE = 2.0**-46
"""A report whose largest probability is below this is solver noise and is never made."""


def _distance(name: str, value: object) -> Array:
    from mechdesign.audit.metric import require_distance  # distances are rare

    distance = distances(value)
    return require_distance(distance, len(distance))


@frozen_value()
class PrivacyTarget:
    """Guarantee that a channel must satisfy: (epsilon, delta), a distance, the notion of delta.

    Parameters
    ----------
    epsilon, delta : float
        Finite, epsilon >= 0 and 0 <= delta < 1.
    distance : (n, n) array, optional
        Finite distances >= 0 of any real dtype; a copy is kept that nobody can write to.
    notion : {"ldp", "entry-wise"}

    Raises
    ------
    ParameterError
        When one of them is none of this, or no double exactly.
    """

    epsilon: float = value_field(lambda name, value: double_epsilon(value))
    delta: float = value_field(lambda name, value: double_delta(value), default=0.0)
    distance: Array | None = value_field(_distance, default=None, optional=True)
    notion: str = value_field(partial(one_of, known=NOTIONS, renamed=FORMER_NOTIONS), default="ldp")

    @classmethod
    def of(cls, target: PrivacyTarget) -> PrivacyTarget:
        """Return a plain target of these values, each read once and checked."""
        return PrivacyTarget(target.epsilon, target.delta, target.distance, target.notion)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The pairs of answers whose inequalities imply all others; only with a distance."""
        assert self.distance is not None
        return require_pairs(needed_pairs(self.distance), len(self.distance))

    def holds(self, weights: NDArray[np.int64]) -> bool:
        """Return the verdict of the audit without its figures, which is much less work."""
        if self.distance is None:
            return channel_holds(weights, self.epsilon, self.delta, self.notion)
        from mechdesign.audit.metric import MetricChannel, require_distance

        require_distance(self.distance, len(weights))
        if not ordered_pairs(len(weights)):
            return False
        return MetricChannel(weights, self.distance, self.pairs).holds(self.epsilon)

    def holds_as_written(self, weights: NDArray[np.int64]) -> bool:
        """Whether weights keep epsilon as it was written: what is built keeps the decimal."""
        if self.distance is not None:
            return self.holds(weights)
        return channel_holds(weights, self.epsilon, self.delta, self.notion, written=True)

    def audit(self, weights: NDArray[np.int64]) -> PrivacyAudit:
        """Audit integer weights exactly against this target."""
        return audit_channel(weights, self.epsilon, self.delta, self.distance, self.notion)


@frozen_value()
class Repaired:
    """Integer weights that pass the exact audit, and how much constant noise it took."""

    weights: NDArray[np.int64]
    mixing: float
    audit: PrivacyAudit


def make_private(channel: Array, target: PrivacyTarget) -> Repaired:
    """Return the integer channel nearest to this one, by least mixing, that is private exactly.

    Parameters
    ----------
    channel : (n, m) array
        Approximately row-stochastic: entries >= -1e-6 and rows summing to 1 within 1e-6.
    target : PrivacyTarget

    Returns
    -------
    Repaired

    Raises
    ------
    ParameterError
        When the matrix is not a channel even approximately, or has a single answer.
    CertificateError
        When no mixing below 1 makes it private (cannot happen for a channel; a safeguard).

    Examples
    --------
    >>> import numpy as np
    >>> damaged = np.array([[0.7, 0.3], [0.0, 1.0]])  # the zero makes the true epsilon infinite
    >>> repaired = make_private(damaged, PrivacyTarget(epsilon=1.0))
    >>> repaired.audit.holds, round(repaired.mixing, 3)
    (True, 0.538)
    """
    if type(target) is not PrivacyTarget:
        target = PrivacyTarget.of(target)
    clean = merged_rows(cleaned(channel), target)
    if not ordered_pairs(len(clean)):
        raise ParameterError("channel", "has a single answer, so there is nothing to protect", "give two")
    best: tuple[float, float, Array] | None = None
    for constant in constant_rows(clean):
        mixing = least_mixing(clean, constant, target)
        moved = mixing * float(np.abs(clean - constant).sum(axis=1).max())
        if best is None or moved <= best[0]:  # on a tie the average row, which moves rows less
            best = (moved, mixing, constant)
    assert best is not None
    _, mixing, constant = best
    extra, growth = 0.0, 2.0
    while True:
        amount = min(1.0, mixing + extra)
        weights = to_integers((1.0 - amount) * clean + amount * constant)
        if target.holds_as_written(weights):
            return Repaired(weights, amount, target.audit(weights))
        if amount >= 1.0:
            raise CertificateError("channel", "no amount of mixing makes it private", "report this as a bug")
        extra = growth * extra if extra else 2.0**-50
        growth *= 1.25  # a tiny epsilon needs much more than the rounding itself: get there in few steps


def cleaned(channel: Array) -> Array:
    """Return the channel without negligible reports and negative entries, rows summing to 1."""
    channel = finite_array("channel", channel, 2, rounded=True)
    sums = channel.sum(axis=1)
    if channel.min() < -1e-6 or np.abs(sums - 1.0).max() > 1e-6:
        worst = int(np.argmax(np.abs(sums - 1.0)))
        raise ParameterError(
            "channel: not a channel",
            f"least entry {channel.min():.3g}, row {worst} sums to {sums[worst]:.10g}",
        )
    clean = np.maximum(channel, 0.0)
    clean[:, clean.max(axis=0) < NEGLIGIBLE] = 0.0
    normalised: Array = clean / clean.sum(axis=1, keepdims=True)
    return normalised


SAME = 2.0**-40
"""Answers whose epsilon times distance is below this get one common row, their average."""


def merged_rows(channel: Array, target: PrivacyTarget) -> Array:
    """Return the channel with one row, the average, for all answers that privacy does not let differ.

    Rows at distance 0 must be equal. A solver leaves them equal up to its tolerance, and no mixing short
    of the constant channel would mend that; the same goes for distances far below the tolerance.
    """
    if target.distance is None:
        return channel
    close = target.epsilon * target.distance <= SAME
    if np.count_nonzero(close) == len(close):
        return channel
    from scipy.sparse.csgraph import connected_components

    count, groups = connected_components(close, directed=False)
    averages = np.stack([channel[groups == group].mean(axis=0) for group in range(count)])
    together: Array = averages[groups]
    return together


def constant_rows(channel: Array) -> tuple[Array, Array]:
    """Return the two rows q that noise may come from: uniform over the reported symbols, the average row."""
    reported = channel.max(axis=0) > 0
    return reported / reported.sum(), channel.mean(axis=0)


def least_mixing(channel: Array, constant: Array, target: PrivacyTarget) -> float:
    """Return the least mixing weight, in floating point, that satisfies every privacy constraint."""
    if target.distance is not None:
        return _least_mixing_metric(channel, constant, target)
    exponential = math.exp(min(target.epsilon, 700.0))
    if target.delta == 0.0:
        excess = channel.max(axis=0) - exponential * channel.min(axis=0)
        return _largest_ratio(excess, constant * (exponential - 1.0))
    return _least_mixing_delta(channel, constant, exponential, target)


def _largest_ratio(excess: Array, help_: Array) -> float:
    """Return max of excess / (excess + help) over the violated entries, 0 when none is."""
    violated = excess > 0
    if not violated.any():
        return 0.0
    return float((excess[violated] / (excess[violated] + help_[violated])).max())


def _least_mixing_metric(channel: Array, constant: Array, target: PrivacyTarget) -> float:
    """Take the maximum over the needed pairs: with their inequalities the others hold as well."""
    assert target.distance is not None
    worst = 0.0
    for part in batches(len(target.pairs), channel.shape[1]):
        first, second = target.pairs[part].T
        exponents = np.minimum(target.epsilon * target.distance[first, second], 700.0)
        factors = np.exp(exponents)[:, None]
        excess = channel[first] - factors * channel[second]
        worst = max(worst, _largest_ratio(excess, constant * (factors - 1.0)))
    return worst


def _least_mixing_delta(channel: Array, constant: Array, exponential: float, target: PrivacyTarget) -> float:
    """Bisect: the worst delta is convex in the mixing weight and 0 at weight 1."""

    def excess(weight: float) -> float:
        mixed = (1.0 - weight) * channel + weight * constant
        if target.notion == "entry-wise":
            return float((mixed.max(axis=0) - exponential * mixed.min(axis=0)).max()) - target.delta
        pairs = (np.maximum(mixed - exponential * row, 0.0).sum(axis=1).max() for row in mixed)
        return float(max(pairs)) - target.delta

    if excess(0.0) <= 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while high - low > 2.0**-50 * max(high, 2.0**-10):
        middle = (low + high) / 2.0
        low, high = (low, middle) if excess(middle) <= 0.0 else (middle, high)
    return high


def to_integers(channel: Array) -> NDArray[np.int64]:
    """Return integer weights out of 2**62 with exact row sums; zeros stay zeros.

    What rounding down leaves over (below one part in 10**12) goes to the largest entry of each row.
    """
    weights = np.floor(channel * float(TOTAL)).astype(np.int64)
    largest = weights.argmax(axis=1)
    for row, place in enumerate(largest.tolist()):
        weights[row, place] += TOTAL - sum(weights[row].tolist())
    return weights


class FiniteChannel(FrequencyMechanism):
    """A local randomizer on a finite alphabet, with exact integer sampling and its estimator.

    Parameters
    ----------
    weights : (n, m) int64 array
        Row x holds the weights of the m reports of answer x; every row sums to 2**62.
    target : PrivacyTarget
        The privacy it promises; audited here.
    labels, report_labels : sequence of str, optional
        Names of the answers and of the reports.
    mixing : float
        How much constant noise the repair mixed in, for the record.

    Raises
    ------
    CertificateError
        When the weights are not a channel or do not keep the guarantee.

    Examples
    --------
    >>> import numpy as np
    >>> channel = FiniteChannel.from_floats(np.array([[0.75, 0.25], [0.25, 0.75]]), PrivacyTarget(1.2))
    >>> round(channel.audit().true_epsilon, 6)
    1.098612
    >>> channel.randomize([0, 1, 1], rng=3)
    array([0, 1, 0])
    """

    type: ClassVar[str] = "finite-channel"

    def __init__(
        self,
        weights: NDArray[np.int64],
        target: PrivacyTarget,
        labels: Sequence[str] | None = None,
        report_labels: Sequence[str] | None = None,
        mixing: float = 0.0,
    ) -> None:
        self.weights = require_channel(weights)
        self.target = PrivacyTarget.of(target)
        self.mixing = in_range("mixing", mixing, 0.0, 1.0)
        answers, reports = self.weights.shape
        self.labels, self.report_labels = Labels(answers, labels), Labels(reports, report_labels)
        audit = self.audit()
        if not audit.holds:
            raise CertificateError("channel", f"not private as stated: {audit}")

    @classmethod
    def from_floats(
        cls,
        channel: NDArray[np.float64],
        target: PrivacyTarget,
        labels: Sequence[str] | None = None,
        report_labels: Sequence[str] | None = None,
    ) -> Self:
        """Make a channel of any solver private by the least mixing, and build the mechanism."""
        repaired = make_private(channel, target)
        return cls(repaired.weights, target, labels, report_labels, repaired.mixing)

    @cached_property
    def _audit(self) -> PrivacyAudit:
        return self.target.audit(self.weights)

    def common_randomizer(self) -> Randomizer | None:
        """Return its true epsilon and its exact rows."""
        rows = [tuple(Fraction(weight, TOTAL) for weight in row) for row in self.weights.tolist()]
        return Randomizer(self.audit().true_epsilon, rows=tuple(rows))

    def loss_curve(self) -> LossCurve | None:
        return LossCurve.of_rows(self.weights)

    def audit(self) -> PrivacyAudit:
        return self._audit

    def _figures(self) -> str:
        rows, reports = self.weights.shape
        target = self.target
        parts = [counted(rows, "answer"), counted(reports, "report"), f"epsilon={target.epsilon:g}"]
        parts += [f"delta={target.delta:g}"] if target.delta else []
        parts += ["per unit of distance"] if target.distance is not None else []
        return ", ".join(parts)

    def stream(self) -> str:
        """Return a digest of the weights, which is much less work than that of the whole content."""
        from hashlib import sha256  # takes time to import, and only simulations have seeds

        return sha256(self.weights.tobytes()).hexdigest()

    @cached_property
    def kernel(self) -> Rows:
        return Rows(self.weights)

    # Server

    @cached_property
    def scores(self) -> MatrixScores:
        """The scores, a matrix L of shape (n, m) with frequencies = L (counts / users).

        A singular channel is refused with an EstimationError.
        """
        channel = self.channel
        groups = self.indistinguishable()
        if groups:
            text = self.labels.shown()
            names = ", ".join(f"'{text[member]}'" for member in groups[0][:4])
            more = ", ..." if len(groups[0]) > 4 else ""
            raise EstimationError(
                "channel",
                f"answers {names}{more} lead to the same reports, so their frequencies cannot be separated",
                self._remedy(),
            )
        try:
            return MatrixScores.unbiased(channel)
        except EstimationError as error:
            raise error.changed(remedy=self._remedy()) from None

    def _remedy(self) -> str:
        """Return a remedy that makes the frequencies estimable: it depends on why they are not."""
        target = self.target
        if target.epsilon == 0.0 and target.delta == 0.0:
            return "with epsilon = 0 and delta = 0 reports contain no information; build with epsilon > 0"
        if self.report_labels.size < self.labels.size:
            return f"give at least as many reports as answers ({self.labels.size})"
        if target.distance is not None:
            return (
                "the best channel for this loss rounds towards the middle: to estimate frequencies build "
                "with the utility 'truth' and an even prior; a much larger epsilon can also work, and "
                "build states whether it does"
            )
        return REMEDY

    def indistinguishable(self) -> list[list[int]]:
        """Return the groups of answers that have equal rows, so that no server can tell them apart."""
        _, group = np.unique(self.weights, axis=0, return_inverse=True)
        members: dict[int, list[int]] = {}
        for answer, number in enumerate(group.ravel().tolist()):
            members.setdefault(number, []).append(answer)
        return [answers for answers in members.values() if len(answers) > 1]

    # File

    def content(self) -> dict[str, Any]:
        target = self.target
        return {
            "epsilon": target.epsilon,
            "delta": target.delta,
            "notion": next(word for word, notion in FILED_NOTIONS.items() if notion == target.notion),
            "distance": None if target.distance is None else target.distance.tolist(),
            "labels": self.labels.as_json(),
            "report_labels": self.report_labels.as_json(),
            "mixing": self.mixing,
            "total": TOTAL,
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        require_total(content)
        weights, labels, report_labels = (content[name] for name in ("weights", "labels", "report_labels"))
        notion = FILED_NOTIONS[one_of("notion", content["notion"], tuple(FILED_NOTIONS))]
        target = PrivacyTarget(content["epsilon"], content["delta"], content["distance"], notion)
        return cls(weights, target, labels, report_labels, content["mixing"])
