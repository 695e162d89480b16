"""A finite channel as integers: the weights that are audited are those that are sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Randomizer, require_total
from mechdesign.collect.codec import Labels
from mechdesign.collect.collector import REMEDY, FrequencyMechanism
from mechdesign.collect.frequency_limits import MatrixScores
from mechdesign.collect.kernel import PrivacyTarget, Rows, floats_of_weights, make_private
from mechdesign.core.certificate import PrivacyAudit
from mechdesign.core.errors import CertificateError, EstimationError
from mechdesign.core.text import counted
from mechdesign.core.validation import in_range, one_of
from mechdesign.exact.randomness import TOTAL, require_channel

if TYPE_CHECKING:
    pass

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
        """The weights, and the search for a report."""
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
