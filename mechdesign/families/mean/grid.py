"""A finite channel for means: inputs rounded at random to a grid, a report stands for an output value.

Privacy. A user's u falls between two knots of the input grid and is moved to one of them at random,
with probabilities that keep its mean. The report's distribution is a mixture of two rows of a finite
channel whose integer weights are audited exactly, and every inequality p <= E p' between rows holds
between mixtures of rows: the certificate is exact, whatever the rounding of u.

Unbiasedness. A channel from a solver, and all the more a repaired one, has conditional means
m_i = E[t_Y | knot i] that differ a little from the knots it was designed for. Rather than to correct the
output values (which needs as many independent outputs as inputs) the knots are put where the means
are: the output values are mapped by the affine map that sends m_first to 0 and m_last to 1, the m_i are
computed again as exact rationals from the integer weights, and knot i is the double nearest to m_i. The
bias at a knot is then ``|m_i - knot_i|``, known exactly, at most half a unit in the last place except at
the ends, which are put at 0 and 1. Between knots the bias is at most that of the worse knot, plus the
rounding of u (3 roundings) and of the probability (3 more and a floor): below 2**-50 of the range.

Variance. With second moments s_i about the middle and u = (1 - l) knot_i + l knot_(i+1), a report has
variance (1 - l) s_i + l s_(i+1) - (u - 1/2)^2: concave between knots, so the maximum is at a known
place of a segment and the minimum at a knot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mechdesign.audit.losses import LossCurve
from mechdesign.collect.codec import Array, Domain
from mechdesign.collect.kernel import Steps
from mechdesign.core.certificate import Certificate, PrivacyAudit
from mechdesign.core.errors import CertificateError, ParameterError, counted
from mechdesign.core.validation import finite_array, in_range
from mechdesign.exact.numbers import frozen
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, float_up
from mechdesign.families.mean.bits import ROUNDING, bias_certificate
from mechdesign.families.mean.means import BinomialLimits, MeanMechanism
from mechdesign.families.mean.tally import CodeTally
from mechdesign.primitives.finite import FiniteChannel, PrivacyTarget
from mechdesign.primitives.mean_limits import Curves, ReportSums, ScoreLimits

if TYPE_CHECKING:
    from mechdesign.collect.base import Randomizer

MIDDLE = Fraction(1, 2)

PARTS = 16
"""Parts of a segment between two knots on which its moments are held for intervals."""

CELLS = 4096
"""Cells of the table that finds the segment of an input; it stays in the cache."""


class GridMean(MeanMechanism):
    """A mean mechanism that runs a finite channel between grids of inputs and output values.

    Parameters
    ----------
    channel : FiniteChannel
        Rows are the knots in increasing order, columns the reports.
    outputs : (m,) array
        The value each report stands for, with 0 for low and 1 for high; see :meth:`scaled` for other units.
    low, high : float
        The range of the values: the first knot is low, the last one high.
    displacement : float
        How far, as a part of the range, knots are from the grid they were designed for, for the record.

    Raises
    ------
    ParameterError
        When the conditional means do not increase from knot to knot: no rounding makes that unbiased.
    CertificateError
        When the conditional means at the ends are not 0 and 1, so that the estimate would be biased.

    Examples
    --------
    >>> floats = np.array([[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    >>> mechanism = GridMean.from_floats(floats, [-1, 0, 1], [-2, 2], epsilon=1.1)
    >>> mechanism.knots, round(mechanism.worst_variance(), 9)
    (array([0. , 0.5, 1. ]), 4.0)
    >>> [certificate.holds for certificate in mechanism.certificates()]
    [True, True]
    """

    type: ClassVar[str] = "grid-mean"
    _report_dtype: DTypeLike = np.int64

    def __init__(
        self,
        channel: FiniteChannel,
        outputs: Any,
        low: float = -1.0,
        high: float = 1.0,
        displacement: float = 0.0,
    ) -> None:
        _require_promise(channel.target)
        self.channel, self.domain = channel, Domain(low, high)
        self.epsilon, self.delta = channel.target.epsilon, channel.target.delta
        self.displacement = in_range("displacement", displacement, 0.0, math.inf, high_open=True)
        self.outputs = finite_array("outputs", outputs, 1)
        rows, columns = channel.weights.shape
        if rows < 2:
            raise ParameterError("channel", "has one input", "give at least the two ends of the range")
        if len(self.outputs) != columns:
            raise ParameterError(
                "outputs",
                f"{counted(len(self.outputs), 'value')} for {columns} reports",
                "give one value a report",
            )
        self.means = tuple(_mean(row, self.outputs) for row in channel.weights.tolist())
        self.knots = _knots(self.means)
        self._require_finite()
        bias = self.certificates()[1]
        if not bias.holds:
            raise CertificateError(
                "outputs", bias, "build with GridMean.scaled, which maps them to the range"
            )

    @classmethod
    def scaled(
        cls,
        channel: FiniteChannel,
        outputs: Any,
        low: float = -1.0,
        high: float = 1.0,
        displacement: float = 0.0,
    ) -> GridMean:
        """Map output values affinely, so that the first and the last conditional mean are 0 and 1."""
        values = finite_array("outputs", outputs, 1)
        if len(values) != channel.weights.shape[1]:
            raise ParameterError(
                "outputs",
                f"{counted(len(values), 'value')} for {channel.weights.shape[1]} reports",
                "give one per report",
            )
        first, last = (_mean(channel.weights[row].tolist(), values) for row in (0, -1))
        if not first < last:
            raise ParameterError(
                "channel",
                f"the mean report of the first input ({float(first):.6g}) is not below that of the last one "
                f"({float(last):.6g})",
                "order the inputs, or give a larger epsilon",
            )
        mapped = [float((Fraction(value) - first) / (last - first)) for value in values.tolist()]
        return GridMean(channel, mapped, low, high, displacement)

    @classmethod
    def from_floats(
        cls, channel: Any, inputs: Any, outputs: Any, epsilon: float, delta: float = 0.0
    ) -> GridMean:
        """Make a solver's channel private by the least mixing, and unbiased by moving the knots.

        Parameters
        ----------
        channel : (n, m) array
            Approximately row-stochastic and private.
        inputs : (n,) array
            The grid in increasing order; its ends are the range of the values.
        outputs : (m,) array
            The value each report stands for.
        epsilon, delta : float

        Returns
        -------
        GridMean
            Without the reports that are never made. :attr:`displacement` says how far the knots
            are from ``inputs``.
        """
        grid, values = finite_array("inputs", inputs, 1), finite_array("outputs", outputs, 1)
        matrix = finite_array("channel", channel, 2)
        if matrix.shape != (len(grid), len(values)):
            raise ParameterError(
                "channel", f"has shape {matrix.shape}, not (inputs, outputs) = ({len(grid)}, {len(values)})"
            )
        if (np.diff(grid) <= 0).any():
            raise ParameterError(
                "inputs", f"do not increase at index {int(np.argmax(np.diff(grid) <= 0)) + 1}", "sort them"
            )
        finite = FiniteChannel.from_floats(matrix, PrivacyTarget(epsilon, delta))
        possible = finite.possible_reports()
        compact = FiniteChannel(finite.weights[:, possible], finite.target, mixing=finite.mixing)
        domain = Domain(float(grid[0]), float(grid[-1]))
        mechanism = GridMean.scaled(compact, values[possible], domain.low, domain.high)
        displacement = float(np.abs(mechanism.knots - domain.to_unit(grid)).max())
        return mechanism.replaced(displacement=displacement)

    def _figures(self) -> str:
        inputs, reports = self.channel.weights.shape
        return f"{super()._figures()}, {inputs} inputs, {counted(reports, 'report')}"

    # Privacy and bias

    def common_randomizer(self) -> Randomizer | None:
        """Return the facts about its channel, of whose rows values between the knots have mixtures."""
        return self.channel.common_randomizer()

    def loss_curve(self) -> LossCurve | None:
        """Return the curve of its channel: values between the knots have mixtures of its rows."""
        return self.channel.loss_curve()

    def audit(self) -> PrivacyAudit:
        return self.channel.audit()

    @cached_property
    def knot_bias(self) -> tuple[Fraction, int]:
        """The largest ``|m_i - knot_i|``, an exact rational, and the knot that attains it."""
        gaps = [
            abs(mean - Fraction(knot)) for mean, knot in zip(self.means, self.knots.tolist(), strict=True)
        ]
        worst = max(gaps)
        return worst, gaps.index(worst)

    @property
    def worst_bias(self) -> Fraction:
        """A bound of the bias for every value, in the units of the values, rounding included."""
        return (self.knot_bias[0] + ROUNDING) * Fraction(self.domain.width)

    def certificates(self) -> tuple[Certificate, ...]:
        bias = bias_certificate(self.worst_bias, self.worst_variance())
        gap, knot = self.knot_bias
        figures = {**bias.figures, "knot_bias": float_up(gap * Fraction(self.domain.width))}
        witness = {"knot": knot} if gap else {}
        return (
            self.audit().certificate(),
            Certificate(bias.property, bias.holds, bias.exact, figures, witness, bias.note),
        )

    # Client

    @cached_property
    def _table(self) -> tuple[NDArray[np.int64], int]:
        """The segment at the start of each cell of [0, 1], and how many knots a cell holds at most."""
        edges = np.arange(CELLS + 1) / CELLS
        start = np.searchsorted(self.knots, edges, side="right") - 1
        inner = np.histogram(self.knots[1:-1], bins=edges)[0]
        return np.minimum(start, len(self.knots) - 2), int(inner.max(initial=0))

    def draw(self, unit: Array, source: BitSource) -> NDArray[Any]:
        """Return the numbers of the reports: one integer rounds to a knot, one draws from its row."""
        start, most = self._table
        segment = start[(unit * CELLS).astype(np.int64)]
        last = len(self.knots) - 2
        for _ in range(most):
            segment += (unit >= self.knots[segment + 1]) & (segment < last)
        share = unit - self.knots[segment]
        share *= (float(TOTAL) / np.diff(self.knots))[segment]
        np.minimum(share, float(TOTAL), out=share)
        segment += source.integers(len(unit)) < share.astype(np.int64)
        return self.channel.kernel.draw(segment, source.integers(len(unit)))

    def _client_steps(self) -> Steps:
        return {"step": "grid", "knots": self.knots.tolist(), "rows": self.channel._client_steps()["rows"]}

    def values(self, reports: Any) -> Array:
        """Return the values that reports stand for, in the units of the users' values."""
        codes = self.tally().check(reports)
        values: Array = self.domain.low + self.outputs[codes] * self.domain.width
        return values

    # Server

    def tally(self, groups: int = 1) -> CodeTally:
        """Return counts of the reports, with the scores output - 1/2."""
        scores = [Fraction(value) - MIDDLE for value in self.outputs.tolist()]
        return CodeTally(groups, scores, self.channel.possible_reports())

    @property
    def slope(self) -> Fraction:
        return Fraction(self.domain.width)

    @property
    def offset(self) -> Fraction:
        return Fraction(self.domain.low) + self.slope / 2

    @cached_property
    def curves(self) -> Curves:
        """Both moments are affine between two knots, where rounding mixes two rows of the channel."""
        parts = np.arange(PARTS) / PARTS
        inside = (self.knots[:-1, None] + np.diff(self.knots)[:, None] * parts).ravel()
        unit = np.append(inside, 1.0)
        chances = np.ldexp(self.channel.weights.astype(np.float64), -BITS)
        width = self.domain.width
        second, third, fourth = (
            np.interp(unit, self.knots, chances @ (self.outputs - 0.5) ** power) * width**power
            for power in (2, 3, 4)
        )
        gaps = np.diff(np.unique(self.outputs)) * width
        step = float(gaps.min()) if np.ptp(gaps) < gaps.max() / 1000.0 else 0.0
        return Curves((unit - 0.5) * width, second, third, fourth, step)

    def limits(
        self, sums: ReportSums, rounding: float = 0.0, times: float = 1.0
    ) -> ScoreLimits | BinomialLimits:
        """Return exact limits when there are two reports only; else those of the score test."""
        if len(self.outputs) > 2 or times > 1.0:
            return super().limits(sums, rounding, times)
        least, most = np.sort(self.outputs).tolist()
        units = (most - least) * self.domain.width
        share = np.asarray(sums.mean) / units + (0.5 - least) / (most - least)
        column = self.channel.weights[:, int(np.argmax(self.outputs))]
        ends = float(column[0] / TOTAL), float(column[-1] / TOTAL)
        return BinomialLimits(np.rint(share * sums.count), sums.count, units, *ends)

    # Accuracy

    @cached_property
    def _moments(self) -> Array:
        """Second moments of the scores about the middle, one a knot."""
        moments: Array = np.ldexp(self.channel.weights.astype(np.float64), -BITS) @ (self.outputs - 0.5) ** 2
        return frozen(moments)

    def _unit_variance(self, unit: Array) -> Array:
        variance: Array = np.interp(unit, self.knots, self._moments) - (unit - 0.5) ** 2
        return variance

    def _worst_unit(self) -> float:
        """Return the best of the maxima of the segments, (u - 1/2) = slope of the second moment / 2."""
        slopes = np.diff(self._moments) / np.diff(self.knots)
        peaks = np.clip(0.5 + slopes / 2.0, self.knots[:-1], self.knots[1:])
        return float(peaks[int(np.argmax(self._unit_variance(peaks)))])

    def _least_variance(self) -> float:
        """Return the least variance, attained at a knot."""
        return float(self._unit_variance(self.knots).min()) * self.domain.width**2

    # File

    def content(self) -> dict[str, Any]:
        return {
            "low": self.domain.low,
            "high": self.domain.high,
            "outputs": self.outputs.tolist(),
            "displacement": self.displacement,
            "channel": self.channel.content(),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        channel = FiniteChannel.from_content(content["channel"])
        return cls(channel, content["outputs"], content["low"], content["high"], content["displacement"])


def _require_promise(target: PrivacyTarget) -> None:
    """Raise ParameterError unless the channel's promise is the same for all numbers, and set-wise."""
    if target.distance is not None:
        raise ParameterError(
            "channel",
            "its epsilon is per unit of a distance between answers, not for numbers of a range",
            "build it without a distance",
        )
    if target.delta > 0 and target.notion != "ldp":
        raise ParameterError("channel", "its delta holds entry by entry only", "build it with notion ldp")


def _knots(means: tuple[Fraction, ...]) -> Array:
    """Return the doubles nearest to the conditional means, with the ends at 0 and 1."""
    knots = np.array([0.0, *(float(mean) for mean in means[1:-1]), 1.0])
    if (np.diff(knots) <= 0).any():
        place = int(np.argmax(np.diff(knots) <= 0))
        raise ParameterError(
            "channel",
            f"the mean report does not increase from input {place} to input {place + 1}",
            "omit one of the two inputs",
        )
    knots.setflags(write=False)
    return knots


def _mean(weights: list[int], values: Array) -> Fraction:
    """Return the exact mean of the values under integer weights out of 2**62."""
    pairs = [value.as_integer_ratio() for value in values.tolist()]
    common = max(below for _, below in pairs)  # doubles have powers of two below
    total = sum(
        weight * above * (common // below) for weight, (above, below) in zip(weights, pairs, strict=True)
    )
    return Fraction(total, common * TOTAL)
