"""Lower bounds for the error of private unbiased counts of events, checked again from stored numbers.

**Reports that single out few slots.**
Let a report be decoded as a vector d of estimates, one per slot, of which all but r are equal. For prices y
of the row sums and w of unbiasedness let c_x(d) = y_x + w_x.d - pi_x |d|^2 for every state x, and

    h(d) = sum_x max(c_x(d), E c_x(d)),      E = e^eps.

A report's probabilities lie between some l and E l, so it lowers the Lagrangian by at most l h(d); and the l
of all reports sum to at most 1. So every private channel with unbiased decodings of this class has

    error >= sum_x (y_x + w_x.x - pi_x |x|^2) - max(0, sup h).

The sup over all real d is found by branch and bound: on a box each max lies below a chord, which leaves a
concave quadratic with a maximum that is known. What is proven does not depend on where y and w come from.

**One event a user, over all reports whatever.**
The types are no event and one event in slot 1 .. m, with the shares p0 and p1/m each. In the bound of
:mod:`mechdesign.families.workload.workload_bound` let B and mu treat all slots alike: with s = v
without its first entry and S the sum of s,

    (B v)_i = b0 v_0 + b1 s_i + b2 S,        mu.v = mu0 v_0 + mu1 S.

Then |B v|^2, mu.v and pi.v of a pattern v in {1, E}^(m+1) depend only on v_0 and on the number of slots with
E: 2 (m + 1) classes of patterns. They are gone through in fractions, with e^epsilon rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError
from mechdesign.core.text import counted
from mechdesign.core.validation import finite_array
from mechdesign.exact.exponential import exp_upper, float_down, float_up
from mechdesign.families.workload.event_states import EventStates

Array = NDArray[np.float64]

ROUNDING = 2.0**-44
"""More than what a sum of a few hundred products loses, as a part of the sum of their sizes."""

MOST_BOXES = 300_000
CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class EventForms:
    """The c_x of all classes for decodings with k named slots: g.d - pi (sizes.d^2) + y each."""

    counts: Array
    linear: Array
    square: Array
    constant: Array
    sizes: Array

    def values(self, points: Array) -> Array:
        """Return c_x for each point and class, shape (B, C)."""
        norms = (points * points) @ self.sizes
        values: Array = points @ self.linear.T - norms[:, None] * self.square + self.constant
        return values

    def heights(self, points: Array, power: float) -> Array:
        """Return h at points, shape (B,)."""
        values = self.values(points)
        heights: Array = np.maximum(values, power * values) @ self.counts
        return heights

    def climbed(self, points: Array, power: float, steps: int = 60) -> Array:
        """Return points no lower than these: each goes to the maximum of its quadratic, again and again."""
        for _ in range(steps):
            weights = np.where(self.values(points) > 0.0, power, 1.0) * self.counts
            curvature = weights @ self.square
            points = (weights @ self.linear) / (2.0 * curvature[:, None] * self.sizes)
        return points


@dataclass(frozen=True, eq=False)
class EventBound:
    """The prices from which a lower bound of the error is checked.

    Parameters
    ----------
    states : EventStates
    prior : (r + 1,) array
        Shares of users by their number of events, all above 0.
    sums : (kinds,) array
        y, over all states of a kind.
    unbiased : (pairs,) array
        w, over all slots of a kind with this many events.
    """

    states: EventStates
    prior: Array
    sums: Array
    unbiased: Array

    @property
    def method(self) -> str:
        """Name of the proof of the inequality."""
        return "branch and bound over all decodings"

    @property
    def total(self) -> float:
        """The bound before sup h is subtracted, rounded down."""
        shares = self.states.shares(self.prior)
        terms = np.concatenate([self.sums, self.unbiased * self.states.events, -shares * self.states.squares])
        return math.fsum(terms.tolist()) - ROUNDING * float(np.abs(terms).sum())

    def forms(self, named: int) -> EventForms:
        """Return the c_x for decodings that name this many slots."""
        states = self.states
        classes, shares = states.classes(named), states.shares(self.prior)
        each = self.unbiased / states.holding
        return EventForms(
            classes.counts,
            np.einsum("p,pck->ck", each, classes.parts),
            (shares / states.counts)[classes.kinds],
            (self.sums / states.counts)[classes.kinds],
            states.sizes(named),
        )

    def check(self, epsilon: float) -> float:
        """Return a proven lower bound of the error of one report, all slots together.

        Raises
        ------
        CertificateError
            When the prices have no fitting shape, or prove nothing.
        """
        sizes = (len(self.states.kinds), len(self.states.pairs), self.states.most + 1)
        if (len(self.sums), len(self.unbiased), len(self.prior)) != sizes or self.prior.min() <= 0.0:
            raise CertificateError("bound", "its numbers do not fit the states")
        if not np.isfinite(np.concatenate([self.sums, self.unbiased])).all():
            raise CertificateError("bound", "a price is not finite")
        if not _is_never_positive(self.forms(self.states.most_named), float_up(exp_upper(epsilon))):
            raise CertificateError("bound", "its prices are exceeded by a decoding")
        return self.total

    def as_json(self) -> dict[str, Any]:
        """Return the stored numbers as plain values."""
        return {
            "slots": self.states.slots,
            "most": self.states.most,
            "prior": self.prior.tolist(),
            "sums": self.sums.tolist(),
            "unbiased": self.unbiased.tolist(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> EventBound:
        """Restore what :meth:`as_json` gave; :meth:`check` judges it."""
        names = ("prior", "sums", "unbiased")
        arrays = [finite_array(f"bound: {name}", document[name], 1) for name in names]
        return cls(EventStates(int(document["slots"]), int(document["most"])), *arrays)


def _radius(forms: EventForms) -> float:
    """Return a number beyond which every c_x is negative, whatever the direction."""
    slopes = np.sqrt((forms.linear**2 / forms.sizes).sum(axis=1))
    reach = 2.0 * slopes / forms.square + np.sqrt(2.0 * np.maximum(forms.constant, 0.0) / forms.square)
    return 1.001 * float(reach.max()) + 1e-9


def _is_never_positive(forms: EventForms, power: float) -> bool:
    """Whether h <= 0 at every real decoding is proven."""
    named = len(forms.sizes) - 1
    reach = _radius(forms) / np.sqrt(np.maximum(forms.sizes, 1.0))
    low, high = -reach[None, :], reach[None, :]
    seen = 0
    while len(low):
        part_low, part_high = low[-CHUNK:], high[-CHUNK:]
        low, high = low[:-CHUNK], high[:-CHUNK]
        seen += len(part_low)
        if seen > MOST_BOXES:
            return False
        tops, kinks = _tops(forms, power, part_low, part_high)
        open_boxes = tops > 0.0
        part_low, part_high, kinks = part_low[open_boxes], part_high[open_boxes], kinks[open_boxes]
        if not len(part_low):
            continue
        middle = (part_low + part_high) / 2.0
        if forms.heights(middle, power).max() > 0.0:
            return False
        side = np.argmax(kinks * (part_high - part_low), axis=1)
        rows = np.arange(len(side))
        left_high, right_low = part_high.copy(), part_low.copy()
        left_high[rows, side] = right_low[rows, side] = middle[rows, side]
        both_low, both_high = np.vstack([part_low, right_low]), np.vstack([left_high, part_high])
        # named slots are interchangeable: their estimates may be taken to decrease
        ordered = (both_high[:, : max(named - 1, 0)] >= both_low[:, 1:named]).all(axis=1)
        low, high = np.vstack([low, both_low[ordered]]), np.vstack([high, both_high[ordered]])
    return True


def _tops(forms: EventForms, power: float, low: Array, high: Array) -> tuple[Array, Array]:
    """Return an upper bound of h on each box, and how much each coordinate bends it."""
    sizes = forms.sizes
    # each coordinate's part of c_x is a concave parabola: its ends and, inside, its vertex
    curve = forms.square[:, None] * sizes
    vertex = forms.linear / (2.0 * curve)
    ends = [forms.linear * side[:, None, :] - curve * side[:, None, :] ** 2 for side in (low, high)]
    inside = np.clip(vertex[None], low[:, None, :], high[:, None, :])
    most = (forms.linear * inside - curve * inside**2).sum(axis=2) + forms.constant
    least = np.minimum(*ends).sum(axis=2) + forms.constant
    far = np.maximum(np.abs(low), np.abs(high))
    size = far @ np.abs(forms.linear).T + (far**2 @ sizes)[:, None] * forms.square + np.abs(forms.constant)
    lost = ROUNDING * size
    most, least = most + lost, least - lost
    width = np.maximum(most - least, 1e-300)
    slope = np.where(least >= 0.0, power, np.where(most <= 0.0, 1.0, (power * most - least) / width))
    crossing = (least < 0.0) & (most > 0.0)
    lift = np.where(crossing, least - slope * least, 0.0)
    weights = slope * forms.counts
    linear, curvature = weights @ forms.linear, (weights @ forms.square)[:, None] * sizes
    best = np.clip(linear / (2.0 * curvature), low, high)
    top = (linear * best - curvature * best**2).sum(axis=1) + weights @ forms.constant + lift @ forms.counts
    top = top + 4.0 * ROUNDING * ((weights * size).sum(axis=1) + np.abs(lift) @ forms.counts)
    bend = np.abs(forms.linear)[None] + 2.0 * far[:, None, :] * curve
    kinks = np.einsum("bc,bck->bk", np.where(crossing, forms.counts * (power - 1.0), 1e-9), bend)
    return top, kinks


@dataclass(frozen=True)
class OneEventBound:
    """The numbers from which a lower bound of the error of counts of one event is checked.

    Parameters
    ----------
    slots : int
    prior : (p0, p1)
        Shares of users without and with an event, both above 0; divided by their sum.
    directions : (b0, b1, b2)
    multiplier : (mu0, mu1)

    Examples
    --------
    >>> bound = OneEventBound(2, (0.5, 0.5), (-0.9, 2.2845, -0.6922), (-0.3555, 1.7701))
    >>> 2.80 < bound.check(1.0) < 2.80973  # the least error is 2.80973
    True
    """

    slots: int
    prior: tuple[float, float]
    directions: tuple[float, float, float]
    multiplier: tuple[float, float]

    @property
    def method(self) -> str:
        """Name of the proof of the inequality for all patterns."""
        return "all patterns"

    def check(self, epsilon: float) -> float:
        """Return a proven lower bound of the error of one report, all slots together.

        Raises
        ------
        CertificateError
            When the numbers are not finite, or prove nothing.
        """
        numbers = (*self.prior, *self.directions, *self.multiplier)
        if self.slots < 1 or not all(map(math.isfinite, numbers)) or min(self.prior) <= 0.0:
            raise CertificateError("bound", f"its numbers do not fit {counted(self.slots, 'slot')}")
        m, total = self.slots, sum(map(Fraction, self.prior))
        none, one = (Fraction(share) / total for share in self.prior)
        b0, b1, b2 = map(Fraction, self.directions)
        ratio = self._largest_ratio(none, one, Fraction(exp_upper(epsilon)))
        product = -b0 * one + m * (b1 * (1 - one / m) + b2 * (1 - one))  # tr(B W~')
        mass = (Fraction(self.multiplier[0]) + m * Fraction(self.multiplier[1])) * ratio
        if product <= 0 or mass <= 0:
            raise CertificateError("bound", "its numbers prove nothing: tr B W~' or 1.mu may be negative")
        own = none * one**2 / m + one * ((1 - one / m) ** 2 + (m - 1) * (one / m) ** 2)
        return float_down(product**2 / mass - own)

    def _largest_ratio(self, none: Fraction, one: Fraction, power: Fraction) -> Fraction:
        """Return the largest |Bv|^2 / ((mu.v)(pi.v)) of all patterns."""
        m = self.slots
        b0, b1, b2 = map(Fraction, self.directions)
        mu0, mu1 = map(Fraction, self.multiplier)
        largest = Fraction(0)
        for first in (Fraction(1), power):
            for inside in range(m + 1):
                size = inside * power + (m - inside)
                shared = b0 * first + b2 * size
                square = inside * (shared + b1 * power) ** 2 + (m - inside) * (shared + b1) ** 2
                cost = mu0 * first + mu1 * size
                if cost <= 0:
                    raise CertificateError("bound", "its numbers prove nothing: mu.v may be negative")
                largest = max(largest, square / (cost * (none * first + one / m * size)))
        return largest

    def as_json(self) -> dict[str, Any]:
        """Return the stored numbers as plain values."""
        names = ("prior", "directions", "multiplier")
        return {"slots": self.slots, **{name: list(getattr(self, name)) for name in names}}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> OneEventBound:
        """Restore what :meth:`as_json` gave; :meth:`check` judges it."""
        none, one = map(float, document["prior"])
        b0, b1, b2 = map(float, document["directions"])
        mu0, mu1 = map(float, document["multiplier"])
        return cls(int(document["slots"]), (none, one), (b0, b1, b2), (mu0, mu1))
