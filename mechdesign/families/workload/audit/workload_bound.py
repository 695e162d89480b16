"""Lower bounds for the error of every private unbiased channel, checked again from stored numbers.

Let |B v|^2 <= (mu.v)(pi.v) for all v in {1, E}^n. Then every epsilon-private channel with an unbiased linear
estimate of the workload W has the average error

    pi.t >= (tr B W~')^2 / (1.mu) - pi.diag(G),      W~ = W less its average over pi,   G = W~' W~

(docs: workload, "The bound"). W may be replaced by any F with F'F <= W'W up to a multiple of
11': fewer queries have a smaller error. Everything is enclosed: the queries, pi, and e^epsilon rounded up; so
what comes out is proven whatever produced B and mu, and however it was rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError
from mechdesign.core.text import counted
from mechdesign.core.validation import finite_array
from mechdesign.exact.enclosure import UNIT, Enclosure, is_positive, least_eigenvalue
from mechdesign.exact.exponential import exp_upper, float_up
from mechdesign.families.workload.audit.few_queries import MOST_ROWS, largest_excess

Array = NDArray[np.float64]

MOST_ENUMERATED = 20
"""Types up to which all patterns are gone through."""

CHUNK = 1 << 14

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
        return cls(
            **{
                name: finite_array(f"bound: {name}", document[name], dimension)
                for name, dimension in dimensions.items()
                if name in document
            }
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


def is_dominated(rows: Array, gram: Array, gram_error: Array) -> bool:
    """Whether F'F <= G + c 11' is proven for some c >= 0: queries F have no larger errors than those of G.

    Examples
    --------
    >>> is_dominated(0.999 * np.eye(2), np.eye(2), np.zeros((2, 2)))
    True
    """
    factor = Enclosure.of(rows)
    level = float(np.trace(gram)) / len(gram)
    raised = Enclosure.of(gram, gram_error) + Enclosure.of(np.full(gram.shape, level))
    return is_positive(raised - factor.transposed @ factor)


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
    found, radius = np.empty((size + 1, size + 1)), np.empty((size + 1, size + 1))
    for target, parts in ((found, "middle"), (radius, "radius")):
        target[0, 0] = getattr(corner, parts)
        target[0, 1:] = target[1:, 0] = getattr(side, parts)
        target[1:, 1:] = getattr(block, parts)
    return Enclosure(found, radius)


def patterns_from(first: int, last: int, size: int) -> NDArray[np.bool_]:
    """Return the sets with these numbers: type u is in set s where bit u of s is 1."""
    numbers = np.arange(first, last, dtype=np.int64)
    found: NDArray[np.bool_] = (numbers[:, None] >> np.arange(size)) & 1 == 1
    return found


def _largest_ratio(form: Enclosure, multiplier: Enclosure, shares: Enclosure, power: float) -> float:
    """Return an upper bound of |Bv|^2 / ((mu.v)(pi.v)) over all patterns v in {1, E}^n."""
    size = len(form.middle)
    largest = 0.0
    ones = Enclosure.of(np.ones((size, 1)))
    for first in range(0, 1 << size, CHUNK):
        sets = patterns_from(first, min(first + CHUNK, 1 << size), size)
        pattern = Enclosure.of(np.where(sets, power, 1.0))
        top = (((pattern @ form) * pattern) @ ones)[:, 0]
        bottom = (pattern @ multiplier[:, None])[:, 0] * (pattern @ shares[:, None])[:, 0]
        if float(bottom.low().min()) <= 0.0:
            raise CertificateError("bound", "mu.v may be negative for a pattern v")
        largest = max(largest, float((top / bottom).high().max()))
    return largest
