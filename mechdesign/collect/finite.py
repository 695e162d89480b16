"""A finite channel as integers: the weights that are audited are those that are sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Randomizer, require_total
from mechdesign.collect.categories import REMEDY, SINGULAR, FrequencyMechanism
from mechdesign.collect.codec import Codes, Labels
from mechdesign.collect.frequency_limits import implausible
from mechdesign.collect.repair import PrivacyTarget, floats_of_weights, make_private
from mechdesign.core.certificate import Certificate, PrivacyAudit
from mechdesign.core.errors import CertificateError, EstimationError
from mechdesign.core.tables import require_no_mask
from mechdesign.core.text import counted
from mechdesign.core.validation import in_range, one_of, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, require_channel

if TYPE_CHECKING:
    from mechdesign.collect.client import Steps
    from mechdesign.collect.estimate import FrequencyEstimate
    from mechdesign.collect.frequency_limits import FrequencyLimits
    from mechdesign.show.figure import Figure

CHUNK = 1 << 16
"""Answers are randomized in pieces of this size, which fit the processor's cache."""

MAX_TABLE = 1 << 20
"""Entries of the search table; more would leave the cache."""

FILED_NOTIONS = {"set-wise": "ldp", "entry-wise": "entry-wise"}
"""What files call the readings of delta: another word would change the fingerprint of every channel."""


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

    def audit(self) -> PrivacyAudit:
        return self._audit

    @property
    def channel(self) -> NDArray[np.float64]:
        return floats_of_weights(self.weights)

    def certificates(self) -> tuple[Certificate, ...]:
        require_channel(self.weights)
        return self.audit().certificate(), Certificate("normalization", True, True, {"row_sum": f"2**{BITS}"})

    def _figures(self) -> str:
        rows, reports = self.weights.shape
        target = self.target
        parts = [counted(rows, "answer"), counted(reports, "report"), f"epsilon={target.epsilon:g}"]
        parts += [f"delta={target.delta:g}"] if target.delta else []
        parts += ["per unit of distance"] if target.distance is not None else []
        return ", ".join(parts)

    def possible_reports(self) -> NDArray[np.bool_]:
        possible: NDArray[np.bool_] = self.weights.max(axis=0) > 0
        return possible

    def stream(self) -> str:
        """Return a digest of the weights, which is much less work than that of the whole content."""
        from hashlib import sha256  # takes time to import, and only simulations have seeds

        return sha256(self.weights.tobytes()).hexdigest()

    # Client

    def draw(self, codes: Codes, source: BitSource) -> Codes:
        reports = np.empty(len(codes), dtype=np.int64)
        for start in range(0, len(codes), CHUNK):
            part = codes[start : start + CHUNK]
            reports[start : start + CHUNK] = self._search(part, source.integers(len(part)))
        return reports

    @cached_property
    def _cumulative(self) -> NDArray[np.int64]:
        """Cumulative rows; the last entry of each is 2**62."""
        return np.cumsum(self.weights, axis=1, dtype=np.int64)

    @cached_property
    def _start(self) -> tuple[NDArray[np.int32], int]:
        """Where the search may begin, by the leading bits of the drawn integer, and how many bits."""
        rows, reports = self.weights.shape
        bits = min(12, max(1, (4 * reports - 1).bit_length()))
        while rows << bits > MAX_TABLE and bits > 1:
            bits -= 1
        edges = np.arange(1 << bits, dtype=np.int64) << (BITS - bits)
        table = np.empty((rows, 1 << bits), dtype=np.int32)
        for row in range(rows):
            table[row] = np.searchsorted(self._cumulative[row], edges, side="right")
        return table.ravel(), bits

    def _search(self, codes: Codes, draws: NDArray[np.int64]) -> Codes:
        """Return, for each answer and drawn integer, the first report whose cumulative weight exceeds it."""
        table, bits = self._start
        cumulative, width = self._cumulative.ravel(), self.weights.shape[1]
        base = codes * width
        place = base + table[(codes << bits) + (draws >> (BITS - bits))]
        ahead = np.flatnonzero(draws >= cumulative[place])
        steps = 0
        while len(ahead) and steps < 8:
            place[ahead] += 1
            ahead = ahead[draws[ahead] >= cumulative[place[ahead]]]
            steps += 1
        for index in ahead.tolist():  # long runs of tiny weights inside one cell of the table: rare
            row = self._cumulative[codes[index]]
            place[index] = base[index] + np.searchsorted(row, draws[index], side="right")
        result: Codes = place - base
        return result

    def _client_steps(self) -> Steps:
        """Return the cumulative rows and the names of the reports."""
        from mechdesign.collect.client import row_hex  # clients in other languages

        rows = [row_hex(row) for row in self._cumulative.tolist()]
        return {"step": "row", "rows": rows, "labels": self.report_labels.as_json()}

    # Server

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        """The matrix L of shape (n, m) with frequencies = L (counts / users); refuses a singular channel.

        With as many reports as answers it is the inverse; with more, the generalised least squares
        solution for reports distributed as for uniform answers, unbiased for every truth.
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
        values = np.linalg.svd(channel, compute_uv=False)
        if channel.shape[0] > channel.shape[1] or values[-1] <= SINGULAR * values[0]:
            rank = int((values > SINGULAR * values[0]).sum())
            raise EstimationError(
                "channel",
                f"singular (rank {rank} for {channel.shape[0]} answers), so the frequencies "
                "cannot be recovered",
                self._remedy(),
            )
        root = np.sqrt(np.maximum(channel.mean(axis=0), 2.0**-60))
        inverse: NDArray[np.float64] = np.linalg.pinv(channel.T / root[:, None], rcond=SINGULAR / 100) / root
        return inverse

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

    @cached_property
    def _variances(self) -> NDArray[np.float64]:
        """The variance of the score of category i for a user who answers x: row x, column i."""
        inverse, channel = self._inverse, self.channel
        variances: NDArray[np.float64] = channel @ (inverse**2).T - (channel @ inverse.T) ** 2
        return np.maximum(variances, 0.0)

    def figures(self) -> list[Figure]:
        """Return the channel as coloured cells, and the errors over the number of users."""
        from mechdesign.show.panels import channel_figures

        cells = channel_figures(self.channel, self.labels.shown(), self.report_labels.shown())
        return cells + super().figures()

    def forecast(self, users: int = USERS) -> Forecast:
        """Return whether frequencies can be estimated, and the standard error with this many users.

        Given the answers, a category's estimate has the average over users of Var(L_iY | answer), linear in
        their frequencies: the largest is attained when all give the same answer.

        Examples
        --------
        >>> import numpy as np
        >>> channel = FiniteChannel.from_floats(np.eye(2) / 2 + 0.25, PrivacyTarget(1.2))
        >>> print(channel.forecast(100))
        frequencies: can be estimated; with 100 users the standard error of a share is 0.0866 ...
        """
        count = user_count(users)
        try:
            _ = self._inverse
        except EstimationError as error:
            reason = str(error.changed(where=""))
            return Forecast("frequencies", count, possible=False, reason=reason)
        variance = self._variances
        even, largest = float(variance.mean(axis=0).max()), float(variance.max())
        return Forecast.of_shares(
            count,
            math.sqrt(largest / count),
            math.sqrt(even / count),
            "if all answers are equally frequent",
        )

    def indistinguishable(self) -> list[list[int]]:
        """Return the groups of answers that have equal rows, so that no server can tell them apart."""
        _, group = np.unique(self.weights, axis=0, return_inverse=True)
        members: dict[int, list[int]] = {}
        for answer, number in enumerate(group.ravel().tolist()):
            members.setdefault(number, []).append(answer)
        return [answers for answers in members.values() if len(answers) > 1]

    def estimate_from_counts(self, counts: Codes, population: bool = False) -> FrequencyEstimate:
        """Return unbiased frequency estimates with their covariance from the counts of reports."""
        from mechdesign.collect.estimate import FrequencyEstimate, project_to_simplex
        from mechdesign.collect.frequency_limits import few_users, told_by_intervals, uneven

        require_no_mask(counts, "counts")
        inverse, channel = self._inverse, self.channel
        users = int(counts.sum())
        shares = counts / users
        limits = self.limits(inverse @ shares, users, population)
        if population:
            spread = np.diag(shares) - np.outer(shares, shares)
        else:
            truth = project_to_simplex(limits.value)
            spread = np.diag(truth @ channel) - (channel.T * truth) @ channel
        covariance = inverse @ spread @ inverse.T / users
        names = tuple(self.labels.shown())
        errors, notes = told_by_intervals(names, limits.standard_error(), limits)
        notes += few_users(users) + uneven(self._variances, users)
        worst = np.sqrt(self._variances.max(axis=0) / users)
        notes += implausible(names, limits.value, worst, 0.0, 1.0, users)
        return FrequencyEstimate(
            limits.value, errors, users, names, population, covariance, limits, notes, self.naive(shares)
        )

    def naive(self, shares: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the shares of the reports where these are answers; None where they are something else."""
        return shares if self.labels.shown() == self.report_labels.shown() else None

    def limits(self, value: NDArray[np.float64], users: int, population: bool) -> FrequencyLimits:
        """Return the limits of estimated frequencies, for intervals; (..., n) for several estimates."""
        from mechdesign.collect.estimate import project_to_simplex
        from mechdesign.collect.frequency_limits import FrequencyLimits, limit_moments, score_steps

        inverse = self._inverse
        truth = np.apply_along_axis(project_to_simplex, -1, value)
        own, others, worst = limit_moments(inverse, self.channel, truth)
        several = (3, *(1 for _ in value.shape[:-1]), value.shape[-1])
        own, worst = (np.broadcast_to(curve.reshape(several), others.shape) for curve in (own, worst))
        steps = score_steps(inverse[:, self.possible_reports()])
        return FrequencyLimits(value, users, own, others, worst, steps, population)

    # File

    def content(self) -> dict[str, Any]:
        target = self.target
        return {
            "epsilon": target.epsilon,
            "delta": target.delta,
            "notion": next(word for word, notion in FILED_NOTIONS.items() if notion == target.notion),
            "distance": None if target.distance is None else target.distance.tolist(),
            "labels": None if self.labels.names is None else list(self.labels.names),
            "report_labels": None if self.report_labels.names is None else list(self.report_labels.names),
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
