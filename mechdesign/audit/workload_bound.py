"""Lower bounds for the error of every private unbiased channel, checked again from stored numbers.

Let |B v|^2 <= (mu.v)(pi.v) for all v in {1, E}^n. Then every epsilon-private channel with an unbiased linear
estimate of the workload W has the average error

    pi.t >= (tr B W~')^2 / (1.mu) - pi.diag(G),      W~ = W less its average over pi,   G = W~' W~

(docs: workload, "The bound"). A certificate holds B = W~ X by its matrix X, so that tr B W~' = tr X G and
B'B = X' G X need the Gram matrix alone. Everything is enclosed: G, pi and e^epsilon rounded up; so what comes
out is proven whatever produced X and mu, and however it was rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.enclosure import UNIT, Enclosure, least_eigenvalue
from mechdesign.audit.exponential import exp_upper, float_up
from mechdesign.core.errors import CertificateError
from mechdesign.core.validation import finite_array

Array = NDArray[np.float64]

MOST_ENUMERATED = 20
"""Types up to which all patterns are gone through."""

CHUNK = 1 << 14


@dataclass(frozen=True, eq=False)
class WorkloadBound:
    """The numbers from which a lower bound of the error is checked.

    Parameters
    ----------
    population : (n,) array
        The shares pi that weigh the types.
    matrix : (n, n) array
        X, with B = W~ X.
    multiplier : (n,) array
        mu.
    corners : (n,) array, optional
        delta: the multipliers of (v_u - 1)(v_u - E) = 0. Without them all patterns are gone through.
    pairs : (n, n) array, optional
        alpha >= 0, symmetric with a zero diagonal: the multipliers of (v_u - 1)(v_w - 1) >= 0.

    Examples
    --------
    >>> gram, pi = np.array([[0.25, -0.25], [-0.25, 0.25]]), np.array([0.5, 0.5])  # a share of two types
    >>> bound = WorkloadBound(pi, np.eye(2) / np.tanh(0.5) ** 2, np.full(2, 0.25 / np.tanh(0.5) ** 2))
    >>> round(bound.check(gram, np.zeros((2, 2)), 1.0), 9)  # E / (E - 1)^2: randomized response
    0.92067...
    """

    population: Array
    matrix: Array
    multiplier: Array
    corners: Array | None = None
    pairs: Array | None = None

    @property
    def method(self) -> str:
        """How the inequality is proven for all patterns."""
        return "all patterns" if self.corners is None else "a positive semidefinite form"

    def check(self, gram: Array, gram_error: Array, epsilon: float) -> float:
        """Return a proven lower bound of the average error pi.t of one report.

        Parameters
        ----------
        gram, gram_error : (n, n) array
            The Gram matrix of the queries, not centered, and a bound of its rounding errors.
        epsilon : float

        Raises
        ------
        CertificateError
            When the numbers have no fitting shape or prove nothing.
        """
        self._require_shapes(len(gram))
        size = len(gram)
        power = float_up(exp_upper(epsilon))
        shares = Enclosure.of(self.population, 4.0 * (size + 2.0) * UNIT * self.population)
        centered = _centered(Enclosure.of(gram, gram_error), shares)
        matrix, multiplier = Enclosure.of(self.matrix), Enclosure.of(self.multiplier)
        product = (matrix * centered.transposed).sum()  # tr(X G)
        form = matrix.transposed @ (centered @ matrix)
        mass = multiplier.sum()
        if self.corners is None:
            mass = mass * Enclosure.of(_largest_ratio(form, multiplier, shares, power))
        else:
            mass = mass + Enclosure.of(self._lift(form, multiplier, shares, power))
        if product.low() <= 0.0 or mass.low() <= 0.0:
            raise CertificateError("bound", "its numbers prove nothing: tr B W~' or 1.mu may be negative")
        own = (shares * _diagonal(centered)).sum()
        return float((product * product / mass - own).low())

    def _require_shapes(self, size: int) -> None:
        vectors = [self.population, self.multiplier, *([] if self.corners is None else [self.corners])]
        matrices = [self.matrix, *([] if self.pairs is None else [self.pairs])]
        shapes = [vector.shape == (size,) for vector in vectors]
        shapes += [matrix.shape == (size, size) for matrix in matrices]
        if not all(shapes) or not all(np.isfinite(part).all() for part in [*vectors, *matrices]):
            raise CertificateError("bound", f"its numbers do not fit {size} types")
        if self.population.min() < 0.0:
            raise CertificateError("bound", "a share of the population is negative")
        if self.corners is None and size > MOST_ENUMERATED:
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
            "matrix": self.matrix.tolist(),
            "multiplier": self.multiplier.tolist(),
            **{name: part.tolist() for name, part in optional.items() if part is not None},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> WorkloadBound:
        """Restore what :meth:`as_json` gave; :meth:`check` judges it."""
        dimensions = {"population": 1, "matrix": 2, "multiplier": 1, "corners": 1, "pairs": 2}
        return cls(
            **{
                name: finite_array(f"bound: {name}", document[name], dimension)
                for name, dimension in dimensions.items()
                if name in document
            }
        )


def _diagonal(matrix: Enclosure) -> Enclosure:
    return Enclosure(np.diag(matrix.middle), np.diag(matrix.radius))


def _centered(gram: Enclosure, shares: Enclosure) -> Enclosure:
    """Return the Gram matrix of the queries less their averages over the population."""
    average = gram @ shares[:, None]
    ones = Enclosure.of(np.ones((1, len(gram.middle))))
    level = (shares[None, :] @ average)[0, 0]
    wide = average @ ones
    return (
        gram
        - wide
        - wide.transposed
        + Enclosure(np.full(gram.middle.shape, level.middle), np.full(gram.middle.shape, level.radius))
    )


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
