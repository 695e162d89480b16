"""Lower bounds for the error of every private unbiased channel, checked again from stored numbers.

**The bound.**
Let |B v|^2 <= (mu.v)(pi.v) for all v in {1, E}^n. Then every epsilon-private channel with an unbiased linear
estimate of the workload W has the average error

    pi.t >= (tr B W~')^2 / (1.mu) - pi.diag(G),      W~ = W less its average over pi,   G = W~' W~

(docs: workload, "The bound"). W may be replaced by any F with F'F <= W'W up to a multiple of 11': fewer
queries have a smaller error. Everything is enclosed: the queries, pi, and e^epsilon rounded up; so the bound
is proven whatever produced B and mu, and however it was rounded.

**Exact pricing for one or two queries, on the line or plane of estimates.**
For B with one or two rows |Bv|^2/(pi.v) is the maximum of 2 s.Bv - |s|^2 pi.v over estimates s. So

    max over v in {1, E}^n of  |Bv|^2/(pi.v) - mu.v   =   max over s of  sum_u c_u(s) + (E - 1) max(0, c_u(s))

with c_u(s) = 2 s.b_u - |s|^2 pi_u - mu_u: a type is in the best pattern exactly when c_u(s) > 0, which is an
interval or a disc of s. On a box of estimates, and for any set V of types, the right-hand side is at most

    max over the box of sum_u v_u c_u(s)  +  (E - 1) sum_u m_u,

m_u = max(0, -c_u) on the box for u in V and max(0, c_u) for others; all is separable by coordinates. Boxes
cover the whole line or plane, and are halved where that is too much: so what is returned is proven, whatever
the boxes are. On the line they begin with all ends of intervals.

**Enclosures** are doubles with radii (Rump's midpoint-radius arithmetic) around the exact numbers. In any
order a product of inner length k has an error of at most 2 k u |A||B| for k u < 1/4, u = 2^-53 (Higham 2002,
section 3.5); the radii themselves are computed with a factor that covers their own rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from mechdesign.core.errors import CertificateError, counted
from mechdesign.core.validation import finite_array
from mechdesign.exact.randomness import exp_upper, float_up
from mechdesign.families.workload.patterns import Array, pattern_terms

UNIT = 2.0**-53
LEAST = 1e-290
"""Added to every radius: underflow never exceeds it in the sizes that occur."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """A matrix, vector or number with the radius of each entry.

    Examples
    --------
    >>> third = Enclosure.of(1.0) * Enclosure.of(1.0 / 3.0, 1e-17)
    >>> bool(third.low() < 1 / 3 < third.high())
    True
    """

    middle: Array
    radius: Array

    @classmethod
    def of(cls, values: Any, radius: Any = 0.0) -> Enclosure:
        """Return the enclosure of doubles that are exact, or within a radius."""
        middle = np.asarray(values, dtype=np.float64)
        return cls(middle, np.broadcast_to(np.asarray(radius, dtype=np.float64), middle.shape))

    @property
    def size(self) -> Array:
        """Upper bounds of the absolute values."""
        size: Array = np.abs(self.middle) + self.radius
        return size * (1.0 + 2.0 * UNIT)

    def __matmul__(self, other: Enclosure) -> Enclosure:
        length = self.middle.shape[-1]
        slack = 1.0 + (2.0 * length + 16.0) * UNIT
        middle = self.middle @ other.middle
        rounding = 2.0 * (length + 2.0) * UNIT
        sizes = np.abs(self.middle) @ (other.radius + rounding * np.abs(other.middle))
        sizes = sizes + self.radius @ other.size
        return Enclosure(middle, (sizes * slack + LEAST) * (1.0 + 4.0 * UNIT))

    def __mul__(self, other: Enclosure) -> Enclosure:
        middle = self.middle * other.middle
        radius = np.abs(self.middle) * other.radius + self.radius * other.size + 2.0 * UNIT * np.abs(middle)
        return Enclosure(middle, (radius + LEAST) * (1.0 + 16.0 * UNIT))

    def __add__(self, other: Enclosure) -> Enclosure:
        middle = self.middle + other.middle
        radius = self.radius + other.radius + 2.0 * UNIT * np.abs(middle)
        return Enclosure(middle, (radius + LEAST) * (1.0 + 16.0 * UNIT))

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.middle, self.radius)

    def __sub__(self, other: Enclosure) -> Enclosure:
        return self + (-other)

    def __truediv__(self, other: Enclosure) -> Enclosure:
        """Divide by numbers that are not 0: |a/b - m| <= (r_a + |m| r_b) / (|b| - r_b)."""
        middle = self.middle / other.middle
        below = np.abs(other.middle) * (1.0 - 4.0 * UNIT) - other.radius
        if (below <= 0.0).any():
            raise ZeroDivisionError("the divisor may be 0")
        radius = (self.radius + np.abs(middle) * other.radius + 4.0 * UNIT * np.abs(self.middle)) / below
        return Enclosure(middle, (radius + 4.0 * UNIT * np.abs(middle) + LEAST) * (1.0 + 16.0 * UNIT))

    @property
    def transposed(self) -> Enclosure:
        """The transposed matrix."""
        return Enclosure(self.middle.T, self.radius.T)

    def __getitem__(self, key: Any) -> Enclosure:
        return Enclosure(self.middle[key], self.radius[key])

    def sum(self) -> Enclosure:
        """Return the sum of all entries."""
        flat = Enclosure(self.middle.reshape(1, -1), self.radius.reshape(1, -1))
        return (flat @ Enclosure.of(np.ones((flat.middle.size, 1))))[0, 0]

    def low(self) -> Array:
        """Return lower bounds, as doubles."""
        return np.asarray(np.nextafter(self.middle - self.radius, -np.inf))

    def high(self) -> Array:
        """Return upper bounds, as doubles."""
        return np.asarray(np.nextafter(self.middle + self.radius, np.inf))


def least_eigenvalue(matrix: Enclosure) -> float:
    """Return a proven lower bound of the least eigenvalue of a symmetric matrix, at most 0.

    If Cholesky's method in doubles completes for A + s I, then A + s I has no eigenvalue below
    -4 (n + 4) u tr(A + s I) (Rump 2006, with a factor to spare); the radii change eigenvalues by at most
    their largest row sum (Weyl, Gershgorin). The shift s is doubled until it completes.

    Examples
    --------
    >>> -1e-12 < least_eigenvalue(Enclosure.of(np.eye(3))) <= 0.0
    True
    """
    size, (middle, spread) = len(matrix.middle), _evened(matrix)
    total = float(np.abs(np.diag(middle)).sum())
    shift = 4.0 * size * UNIT * total + LEAST
    while True:
        shifted = middle + shift * np.eye(size)
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            shift *= 2.0
            if not np.isfinite(shift):
                return -np.inf
            continue
        trace = float(np.abs(np.diag(shifted)).sum())
        rounding = 4.0 * (size + 4.0) * UNIT * trace
        return -(shift * (1.0 + 4.0 * UNIT) + spread + rounding)


def _evened(matrix: Enclosure) -> tuple[Array, float]:
    middle = (matrix.middle + matrix.middle.T) / 2.0
    return middle, float((np.abs(matrix.middle - middle) + matrix.radius).sum(axis=1).max()) * (1.0 + 1e-10)


def is_positive(matrix: Enclosure) -> bool:
    """Whether a symmetric matrix is proven to be positive semidefinite, by Cholesky's method less a shift.

    Examples
    --------
    >>> is_positive(Enclosure.of(np.eye(3))), is_positive(Enclosure.of(np.eye(3) - 0.5))
    (True, False)
    """
    size, (middle, spread) = len(matrix.middle), _evened(matrix)
    trace = float(np.abs(np.diag(middle)).sum())
    shift = (spread + 4.0 * (size + 8.0) * UNIT * (trace + size * spread)) * (1.0 + 1e-10) + LEAST
    try:
        np.linalg.cholesky(middle - shift * np.eye(size))
    except np.linalg.LinAlgError:
        return False
    return True


MOST_ROWS = 2
"""Queries for which the estimates can be gone through."""

MOST_BOXES = 400_000
"""Boxes that are looked at; what is left then is part of the bound."""

BLOCK = 1 << 21
"""Entries of a block of the (boxes, types) table."""


@dataclass(frozen=True, eq=False)
class _Terms:
    """Sums v.b, v.pi (from below and above) and v.mu of types, or the types themselves; (r, k), (k,) arrays.

    All errors of the inputs are in ``low``, ``high`` and ``slack``, which is added to what is computed.
    """

    slopes: Array
    low: Array
    high: Array
    offset: Array
    slack: Array

    def over(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return upper bounds of c on boxes and of -c there; low and high have shape (m, r, 1)."""
        slopes = self.slopes[None]
        peak = np.clip(slopes / self.low, low, high)
        top = _parabola(peak, slopes, self.low).sum(axis=1) - self.offset
        ends = np.minimum(_parabola(low, slopes, self.high), _parabola(high, slopes, self.high))
        bottom = ends.sum(axis=1) - self.offset
        at_top = self._rounding(peak) + self.slack
        with np.errstate(invalid="ignore"):
            at_bottom = self._rounding(np.maximum(np.abs(low), np.abs(high))) + self.slack
            below = np.where(np.isfinite(bottom), at_bottom - bottom, np.inf)
        return top + at_top, below

    def _rounding(self, places: Array) -> Array:
        with np.errstate(invalid="ignore"):
            sizes = 2.0 * np.abs(places * self.slopes[None]) + places**2 * self.high
        return np.asarray(32.0 * UNIT * (sizes.sum(axis=1) + np.abs(self.offset)))


def _parabola(places: Array, slopes: Array, curvature: Array) -> Array:
    with np.errstate(invalid="ignore"):
        heights: Array = np.where(np.isfinite(places), 2.0 * places * slopes - places**2 * curvature, -np.inf)
    return heights


def largest_excess(
    directions: Array, multiplier: Array, shares: Enclosure, power: float, tolerance: float
) -> float:
    """Return a proven upper bound of |Bv|^2/(pi.v) - mu.v over all patterns v in {1, E}^n.

    Parameters
    ----------
    directions : (1, n) or (2, n) array
        B, read as exact numbers.
    multiplier : (n,) array
        mu, read as exact numbers.
    shares : Enclosure of (n,)
        pi, all positive.
    power : float
        E.
    tolerance : float
        Boxes with at most this more than some pattern has, or than 0, are not halved further.

    Examples
    --------
    >>> pi = Enclosure.of(np.array([0.5, 0.5]))  # v = (1, E) and (E, 1) meet it, (1, 1) does not
    >>> b, mu = np.array([[1.0, -1.0]]), np.array([1.0, 1.0]) * 2.0 * (np.e - 1.0) ** 2 / (np.e + 1.0) ** 2
    >>> abs(largest_excess(b, mu, pi, np.e, 0.0)) < 1e-12
    True
    """
    below, exact = np.nextafter(shares.low(), 0.0), np.zeros(len(multiplier))
    types = _Terms(directions, below, shares.high(), multiplier, exact)
    low, high = _first_boxes(directions, multiplier, shares.middle)
    excess, reached, seen = -np.inf, 0.0, 0
    step = max(1, BLOCK // len(multiplier))
    while len(low):
        parts = [
            _excess(types, low[start : start + step], high[start : start + step], power)
            for start in range(0, len(low), step)
        ]
        tops = np.concatenate([top for top, _ in parts])
        reached = max(reached, *(float(own.max()) for _, own in parts))
        seen += len(low)
        far = np.isfinite(low).all(axis=1) & np.isfinite(high).all(axis=1) & (tops > reached + tolerance)
        if seen + int(far.sum()) * 2 ** low.shape[1] > MOST_BOXES:
            far[:] = False
        excess = max(excess, float(tops[~far].max(initial=-np.inf)))
        low, high = _halved(low[far], high[far])
    return excess


def _excess(types: _Terms, low: Array, high: Array, power: float) -> tuple[Array, Array]:
    """Return upper bounds on boxes, for the set V that is positive in the middle, and its own excess."""
    lows, highs = low[:, :, None], high[:, :, None]
    above, below = types.over(lows, highs)
    with np.errstate(invalid="ignore"):
        middle = np.where(np.isfinite(low), np.where(np.isfinite(high), (low + high) / 2.0, low), high)
    middle = np.where(np.isfinite(middle), middle, 0.0)[:, :, None]
    value = _parabola(middle, types.slopes[None], types.high).sum(axis=1) - types.offset
    chosen = (value > 0.0) & np.isfinite(below)
    missed = np.maximum(np.where(chosen, below, above), 0.0).sum(axis=1)
    pattern = np.where(chosen, power, 1.0)
    count = pattern.shape[1]
    rounding = 2.0 * (count + 4.0) * UNIT
    sums = np.stack([pattern @ row for row in types.slopes], axis=0)  # (r, m)
    spread = np.stack([pattern @ np.abs(row) for row in types.slopes], axis=0) * rounding
    mass, mass_spread = pattern @ types.offset, (pattern @ np.abs(types.offset)) * rounding
    light, heavy = (pattern @ types.low) * (1.0 - rounding), (pattern @ types.high) * (1.0 + rounding)
    whole = _Terms(sums, light, heavy, mass, mass_spread)
    best = _peak(whole, spread, low.T, high.T)
    excess: Array = best + (power - 1.0) * missed * (1.0 + 2.0 * rounding)
    own: Array = (sums**2).sum(axis=0) / whole.high - mass
    return excess + 4.0 * UNIT * (np.abs(excess) + np.abs(mass)), own


def _peak(whole: _Terms, spread: Array, low: Array, high: Array) -> Array:
    """Return upper bounds of 2 s.Bv - |s|^2 pi.v - mu.v on one box per pattern; arrays (r, m)."""
    peak = np.clip(whole.slopes / whole.low, low, high)
    reach = np.abs(peak) + spread / whole.low
    value = 2.0 * peak * whole.slopes - peak**2 * whole.low
    error = 2.0 * reach * spread + 32.0 * UNIT * (2.0 * reach * np.abs(whole.slopes) + reach**2 * whole.high)
    highest: Array = (value + error).sum(axis=0) - whole.offset + whole.slack
    return highest + 32.0 * UNIT * np.abs(whole.offset)


def _first_boxes(directions: Array, multiplier: Array, shares: Array) -> tuple[Array, Array]:
    """Return boxes that cover all estimates, shape (m, r) each; infinite ones where no type is positive."""
    middle = directions / shares
    reach = np.sqrt(np.maximum((middle**2).sum(axis=0) - multiplier / shares, 0.0))
    if len(directions) == 1:
        ends = np.unique(np.concatenate([middle[0] - reach, middle[0] + reach]))
        ends = np.concatenate([[-np.inf], ends, [np.inf]])[:, None]
        return ends[:-1], ends[1:]
    wide = reach + 1e-6 * (np.abs(middle) + reach) + 1e-300
    first, last = (middle - wide).min(axis=1), (middle + wide).max(axis=1)
    inf = np.inf
    low = [[-inf, -inf], [last[0], -inf], [first[0], -inf], [first[0], last[1]], [first[0], first[1]]]
    high = [[first[0], inf], [inf, inf], [last[0], first[1]], [last[0], inf], [last[0], last[1]]]
    return np.array(low), np.array(high)


def _halved(low: Array, high: Array) -> tuple[Array, Array]:
    """Return the boxes halved in every coordinate."""
    for place in range(low.shape[1]):
        middle = (low[:, place] + high[:, place]) / 2.0
        below, above = high.copy(), low.copy()
        below[:, place], above[:, place] = middle, middle
        low, high = np.vstack([low, above]), np.vstack([below, high])
    return low, high


MOST_ENUMERATED = 20
"""Types up to which all patterns are gone through."""

NEAR = (1e-10, 1e-8)
"""What one and two queries may miss, as a part of 1.mu, before estimates are told apart more finely."""


@dataclass(frozen=True, eq=False)
class WorkloadBound:
    """The numbers from which a lower bound of the error is checked.

    Parameters
    ----------
    population : (n,) array
        The shares pi that weigh the types.
    directions : (r, n) array
        B.
    multiplier : (n,) array
        mu.
    corners : (n,) array, optional
        delta: the multipliers of (v_u - 1)(v_u - E) = 0. Without them all patterns are gone through.
    pairs : (n, n) array, optional
        alpha >= 0, symmetric with a zero diagonal: the multipliers of (v_u - 1)(v_w - 1) >= 0.

    Examples
    --------
    >>> rows, pi = np.array([[1.0, 0.0]]), np.array([0.5, 0.5])  # the share of one of two types
    >>> bound = WorkloadBound(pi, np.array([[1.0, -1.0]]), np.array([1.0, 1.0]))
    >>> round(bound.check(rows, np.zeros((1, 2)), 1.0), 9)  # E / (E - 1)^2: randomized response
    0.920673595
    """

    population: Array
    directions: Array
    multiplier: Array
    corners: Array | None = None
    pairs: Array | None = None

    @property
    def method(self) -> str:
        """Name of the proof of the inequality for all patterns."""
        if self.corners is not None:
            return "a positive semidefinite form"
        return "all estimates" if self.is_by_estimates else "all patterns"

    @property
    def is_by_estimates(self) -> bool:
        """Whether the estimates of one or two queries are gone through, not the patterns."""
        return self.corners is None and self.directions.shape[1] > MOST_ENUMERATED

    def check(self, rows: Array, error: Array, epsilon: float) -> float:
        """Return a proven lower bound of the average error pi.t of one report.

        Parameters
        ----------
        rows, error : (r, n) array
            The queries, each times the root of its weight, or others with no larger error, and a bound of
            their rounding errors.
        epsilon : float

        Raises
        ------
        CertificateError
            When the numbers have no fitting shape or prove nothing.
        """
        self._require_shapes(rows.shape)
        size = rows.shape[1]
        power = float_up(exp_upper(epsilon))
        shares = Enclosure.of(self.population, 4.0 * (size + 2.0) * UNIT * self.population)
        centered = _centered(Enclosure.of(rows, error), shares)
        directions, multiplier = Enclosure.of(self.directions), Enclosure.of(self.multiplier)
        product = (directions * centered).sum()  # tr(B W~')
        form = directions.transposed @ directions
        mass = multiplier.sum()
        if self.corners is None and not self.is_by_estimates:
            mass = mass * Enclosure.of(_largest_ratio(form, multiplier, shares, power))
        elif self.corners is None:
            near = NEAR[len(rows) - 1] * abs(float(mass.middle))
            excess = largest_excess(self.directions, self.multiplier, shares, power, near)
            mass = mass + Enclosure.of(max(0.0, excess))  # mu + excess pi fits, and pi sums to 1
        else:
            mass = mass + Enclosure.of(self._lift(form, multiplier, shares, power))
        if product.low() <= 0.0 or mass.low() <= 0.0:
            raise CertificateError("bound", "its numbers prove nothing: tr B W~' or 1.mu may be negative")
        squares = Enclosure.of(np.ones((1, len(rows)))) @ (centered * centered)
        own = (shares * squares[0]).sum()
        return float((product * product / mass - own).low())

    def _require_shapes(self, shape: tuple[int, ...]) -> None:
        size = shape[1]
        vectors = [self.population, self.multiplier, *([] if self.corners is None else [self.corners])]
        matrices = [self.directions, *([] if self.pairs is None else [self.pairs])]
        shapes = [vector.shape == (size,) for vector in vectors]
        shapes += [self.directions.shape == shape, matrices[-1].shape in (shape, (size, size))]
        if not all(shapes) or not all(np.isfinite(part).all() for part in [*vectors, *matrices]):
            raise CertificateError("bound", f"its numbers do not fit {counted(size, 'type')}")
        if self.population.min() < 0.0:
            raise CertificateError("bound", "a share of the population is negative")
        if self.is_by_estimates and shape[0] > MOST_ROWS:
            raise CertificateError("bound", f"{size} types have too many patterns to go through")
        pairs = self.pairs
        if pairs is not None and (pairs.min() < 0.0 or (pairs != pairs.T).any() or np.diag(pairs).any()):
            raise CertificateError("bound", "alpha is not symmetric and >= 0 with a zero diagonal")

    def _lift(self, form: Enclosure, multiplier: Enclosure, shares: Enclosure, power: float) -> float:
        """Return the least proven lambda with |Bv|^2 <= (mu.v + lambda pi.v)(pi.v) for all patterns.

        On patterns (mu.v)(pi.v) - |Bv|^2 is at least c0 + l.v + v'(K - B'B)v, since delta multiplies 0 and
        alpha what is not negative. In coordinates v = (E + 1)/2 + s (E - 1)/2, |s_u| = 1, this is a form of
        n + 1 unknowns whose least eigenvalue counts n + 1 times; and pi.v >= 1.
        """
        assert self.corners is not None
        size = len(self.population)
        delta = Enclosure.of(self.corners)
        pairs = Enclosure.of(np.zeros((size, size)) if self.pairs is None else self.pairs)
        one = Enclosure.of(np.ones((size, 1)))
        outer = multiplier[:, None] @ shares[None, :]
        half = Enclosure.of(0.5)
        inner = half * (outer + outer.transposed) - half * pairs - form
        inner = inner + Enclosure(np.diag(delta.middle), np.diag(delta.radius))
        plus = Enclosure.of(power) + Enclosure.of(1.0)
        linear = (pairs @ one)[:, 0] - plus * delta
        constant = Enclosure.of(power) * delta.sum() - half * pairs.sum()
        least = least_eigenvalue(_in_spins(constant, linear, inner, power))
        return float(np.nextafter(-least * (size + 1.0), np.inf))

    def as_json(self) -> dict[str, Any]:
        """Return the stored numbers as plain values; doubles keep every digit."""
        optional = {"corners": self.corners, "pairs": self.pairs}
        return {
            "population": self.population.tolist(),
            "directions": self.directions.tolist(),
            "multiplier": self.multiplier.tolist(),
            **{name: part.tolist() for name, part in optional.items() if part is not None},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> WorkloadBound:
        """Restore what :meth:`as_json` gave; :meth:`check` judges it."""
        dimensions = {"population": 1, "directions": 2, "multiplier": 1, "corners": 1, "pairs": 2}
        present = [name for name in dimensions if name in document]
        return cls(
            **{name: finite_array(f"bound: {name}", document[name], dimensions[name]) for name in present}
        )


@dataclass(frozen=True, eq=False)
class TraceBound:
    """A lower bound from the mean variance of likelihood ratios, for equal shares of n types.

    A report's ratios z with a mean of 1 between types have a mean square of at most 1 + e, where

        e = max over k of r (1 - r)(E - 1)^2 / (1 + (E - 1) r)^2,   r = k/n, k = 1 .. n - 1,

    so the trace of M outside of the direction 1 is at most n e. By the inequality of Cauchy and Schwarz
    pi.t >= (tr U W~')^2 / (|U|^2 n e) - |W~|^2/n for every U, with the spectral norm |U|.

    Parameters
    ----------
    directions : (r, n) array
        U, of norm 1: the polar factor of W~ makes the bound largest.

    Examples
    --------
    >>> bound = TraceBound(np.array([[1.0, -1.0]]) / np.sqrt(2.0))  # randomized response, as above
    >>> round(bound.check(np.array([[1.0, 0.0]]), np.zeros((1, 2)), 1.0), 6)
    0.920674
    """

    directions: Array
    method: ClassVar[str] = "the trace of the moments"

    @property
    def population(self) -> Array:
        """Equal shares."""
        size = self.directions.shape[1]
        return np.full(size, 1.0 / size)

    def check(self, rows: Array, error: Array, epsilon: float) -> float:
        """Return a proven lower bound of the average error of one report; see :meth:`WorkloadBound.check`."""
        if self.directions.shape != rows.shape or not np.isfinite(self.directions).all():
            raise CertificateError("bound", f"its numbers do not fit {counted(rows.shape[1], 'type')}")
        size = rows.shape[1]
        shares = Enclosure.of(self.population, 4.0 * UNIT * self.population)
        centered = _centered(Enclosure.of(rows, error), shares)
        directions = Enclosure.of(self.directions)
        product = (directions * centered).sum()
        square = directions.transposed @ directions
        below = least_eigenvalue(Enclosure.of(np.eye(size)) - square)  # at most 0
        norm = Enclosure.of(float(np.nextafter(1.0 - below, np.inf)))
        if product.low() <= 0.0:
            raise CertificateError("bound", "its numbers prove nothing: tr U W~' may be negative")
        spread = Enclosure.of(float_up(_largest_spread(size, exp_upper(epsilon))))
        own = (centered * centered).sum() / Enclosure.of(float(size))
        return float((product * product / (norm * Enclosure.of(float(size)) * spread) - own).low())


def _largest_spread(size: int, power: Fraction) -> Fraction:
    """Return e exactly; r (1 - r)/(1 + (E - 1) r)^2 rises up to r = 1/(E + 1) and falls after that."""
    peak = int(size / (power + 1))
    shares = [Fraction(k, size) for k in (peak, peak + 1) if 1 <= k <= size - 1]
    return max(share * (1 - share) * (power - 1) ** 2 / (1 + (power - 1) * share) ** 2 for share in shares)


def _centered(rows: Enclosure, shares: Enclosure) -> Enclosure:
    """Return the queries less their averages over the population."""
    ones = Enclosure.of(np.ones((1, rows.middle.shape[1])))
    return rows - (rows @ shares[:, None]) @ ones


def _in_spins(constant: Enclosure, linear: Enclosure, inner: Enclosure, power: float) -> Enclosure:
    """Return the form c + l.v + v'Kv as a matrix of (1, s), v = (E + 1)/2 + s (E - 1)/2."""
    size = len(inner.middle)
    half = Enclosure.of(0.5)
    middle = half * (Enclosure.of(power) + Enclosure.of(1.0))
    width = half * (Enclosure.of(power) - Enclosure.of(1.0))
    sums = (inner @ Enclosure.of(np.ones((size, 1))))[:, 0]
    corner = constant + middle * linear.sum() + middle * middle * sums.sum()
    side = width * (half * linear + middle * sums)
    block = width * width * inner
    return Enclosure(
        np.block([[corner.middle, side.middle[None]], [side.middle[:, None], block.middle]]),
        np.block([[corner.radius, side.radius[None]], [side.radius[:, None], block.radius]]),
    )


def _largest_ratio(form: Enclosure, multiplier: Enclosure, shares: Enclosure, power: float) -> float:
    """Return an upper bound of |Bv|^2 / ((mu.v)(pi.v)) over all patterns v in {1, E}^n.

    Patterns are enclosed that one bound of all rounding, E^2 (4 n + 16) u |F| for v'Fv, leaves in question.
    """
    rounding, largest = 4.0 * (len(form.middle) + 4.0) * UNIT, 0.0
    lost = [1.01 * float((rounding * np.abs(x.middle) + x.radius).sum()) for x in (form, multiplier)]
    for patterns, top, price, share in pattern_terms(form.middle, multiplier.middle, shares.low(), power):
        bottom = (price - power * lost[1]) * share
        with np.errstate(divide="ignore", invalid="ignore"):
            above = (top + power * power * lost[0]) / bottom * (1.0 + 2.0 * rounding)
        above[~(bottom > 0.0)] = np.inf
        for chosen in (np.array([above.argmax()]), np.arange(len(above))):
            close = patterns[chosen[~(above[chosen] < largest)]]  # also where doubles overflow
            if len(close):
                largest = max(largest, float(_ratios(close, form, multiplier, shares).max()))
    return largest


def _ratios(patterns: Array, form: Enclosure, multiplier: Enclosure, shares: Enclosure) -> Array:
    """Return upper bounds of |Bv|^2 / ((mu.v)(pi.v)) for each pattern."""
    pattern, ones = Enclosure.of(patterns), Enclosure.of(np.ones((len(form.middle), 1)))
    top = (((pattern @ form) * pattern) @ ones)[:, 0]
    bottom = (pattern @ multiplier[:, None])[:, 0] * (pattern @ shares[:, None])[:, 0]
    if float(bottom.low().min()) <= 0.0:
        raise CertificateError("bound", "mu.v may be negative for a pattern v")
    if not np.isfinite(ratios := (top / bottom).high()).all():
        raise CertificateError("bound", "its numbers are beyond those of doubles")
    return ratios
