"""Channels of patterns, and of all translates of some sets: the error with the best linear estimator.

**Patterns.**
A pattern is a set S of types; its report has the probability c E for a type in S and c for any other type.
With q(y) the probability of a report in the population pi and z = q(y | .) / q(y), the moment matrix is
M = sum q(y) z z^T, the best unbiased estimate of the shares is M^-1 z, and

    average error  pi.t = tr(G M^-1) - pi.diag(G),    G the centered Gram matrix of the workload.

**Translates.**
The types are the hours of a cycle or the corners of a cube. A report is a base set and a translation; its
number is base x n + translation. Every type has the same row sum, so the blank report has one weight for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Codes
from mechdesign.collect.kernel import Kernel, Steps, row_hex
from mechdesign.core.errors import CertificateError
from mechdesign.exact.numbers import frozen
from mechdesign.exact.randomness import BITS, TOTAL

Array = NDArray[np.float64]
Sets = NDArray[np.bool_]

SINGULAR = 1e-11
"""Eigenvalues of the moment matrix below this part of the largest count as 0."""

ORDERS = (2, 3, 4)
"""The moments of scores that confidence intervals need."""

BLOCK = 1 << 22
"""Entries of a block of the (reports, queries) table."""


@lru_cache(maxsize=8)
def patterns_from(first: int, last: int, size: int) -> Sets:
    """Return the sets with these numbers: type u is in set s where bit u of s is 1."""
    numbers = np.arange(first, last, dtype=np.int64)
    patterns: Sets = (numbers[:, None] >> np.arange(size)) & 1 == 1
    return frozen(patterns)


CHUNK = 1 << 14
"""Patterns that are gone through together."""


def pattern_terms(
    form: Array, price: Array, shares: Array, power: float
) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield all patterns v of 1 and ``power`` in blocks, with v'Fv, mu.v and pi.v in floating point.

    Examples
    --------
    >>> [(patterns, *rest)] = pattern_terms(np.eye(2), np.ones(2), np.full(2, 0.5), 3.0)
    >>> patterns.tolist(), [part.tolist() for part in rest][0]
    ([[1.0, 1.0], [3.0, 1.0], [1.0, 3.0], [3.0, 3.0]], [2.0, 10.0, 10.0, 18.0])
    """
    size = len(form)
    for first in range(0, 1 << size, CHUNK):
        patterns = columns_of(patterns_from(first, min(first + CHUNK, 1 << size), size), power)
        squares = np.einsum("kn,kn->k", patterns @ form, patterns)
        yield patterns, squares, patterns @ price, patterns @ shares


def columns_of(sets: Sets, exponential: float) -> Array:
    """Return the patterns as rows of 1 and e^epsilon, shape (K, n)."""
    columns: Array = np.where(sets, exponential, 1.0)
    return columns


@dataclass(frozen=True, eq=False)
class ChannelValue:
    """A channel and a population, and the errors of the best linear estimator there.

    Parameters
    ----------
    channel : (K, n) array
        The probability of each report for each type: every column sums to 1.
    population : (n,) array
        The shares pi at which the estimator is the best one; all positive.

    Examples
    --------
    >>> response = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> value = ChannelValue(response, np.array([0.5, 0.5]))
    >>> round(float(value.errors(np.array([[1.0, 0.0]]))[0]), 12)  # q (1 - q) / (1 - 2 q)^2
    0.75
    """

    channel: Array
    population: Array

    @cached_property
    def totals(self) -> Array:
        """The probability q(y) of each report in the population."""
        totals: Array = self.channel @ self.population
        return frozen(totals)

    @cached_property
    def ratios(self) -> Array:
        """The likelihood ratios z, shape (K, n)."""
        ratios: Array = self.channel / self.totals[:, None]
        return frozen(ratios)

    @cached_property
    def moment(self) -> Array:
        """The moment matrix M."""
        moment: Array = self.channel.T @ self.ratios
        return frozen((moment + moment.T) / 2.0)

    @cached_property
    def inverse(self) -> Array:
        """The pseudo-inverse of M."""
        return frozen(pseudo_inverse(self.moment))

    @cached_property
    def solver(self) -> Array:
        """The matrix A with estimated shares = A (shares of the reports), shape (n, K)."""
        solver: Array = self.inverse @ self.ratios.T
        # one step of Newton's iteration for the inverse: what rounding leaves as bias is squared
        refined: Array = solver - (solver @ self.channel - np.eye(len(solver))) @ solver
        return frozen(refined)

    def shares_from(self, counts: NDArray[np.int64]) -> Array:
        """Return the unbiased estimate of the shares of the types, from the counts of the reports."""
        shares: Array = self.solver @ (counts / counts.sum())
        return shares

    def bias(self, gram: Array) -> float:
        """Return the largest bias of a single type's estimate in the norm of the queries."""
        off = self.solver @ self.channel - np.eye(self.channel.shape[1])
        levels, directions = np.linalg.eigh(gram)
        # What no query asks for has a level of 0, up to rounding, and its bias may be large.
        queried = levels > len(levels) * np.finfo(float).eps * float(levels.max())
        lengths = np.sqrt(levels[queried])[:, None] * (directions[:, queried].T @ off)
        return float(np.linalg.norm(lengths, axis=0).max())

    def errors(self, rows: Array) -> Array:
        """Return t_u, the expected squared error of one report of a user of type u, shape (n,)."""
        errors: Array = self.query_errors(rows).sum(axis=1)
        return errors

    def query_errors(self, rows: Array) -> Array:
        """Return the variance of the score of each query for each type, shape (n, p)."""
        errors: Array = np.maximum(self.query_moments(rows, (2,))[0] - rows.T**2, 0.0)
        return errors

    def query_moments(self, rows: Array, orders: tuple[int, ...] = ORDERS) -> Array:
        """Return the moments about 0 of the score of each query for each type, shape (orders, n, p)."""
        moments = np.empty((len(orders), self.channel.shape[1], len(rows)))
        step = max(1, BLOCK // max(1, len(self.channel)))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            scores = (part @ self.solver).T
            for place, order in enumerate(orders):
                moments[place, :, start : start + step] = self.channel.T @ scores**order
        return moments

    def type_errors(self, gram: Array) -> Array:
        """Return t_u from the Gram matrix alone, shape (n,)."""
        sandwich = self.inverse @ gram @ self.inverse
        lengths = np.einsum("kn,kn->k", self.ratios @ sandwich, self.ratios)
        errors: Array = self.channel.T @ lengths - np.diag(gram)
        return errors

    def average(self, centered: Array) -> float:
        """Return pi.t, given the centered Gram matrix."""
        return float(np.sum(centered * self.inverse) - self.population @ np.diag(centered))


def pseudo_inverse(matrix: Array) -> Array:
    """Return the inverse on the span of the eigenvectors that are not negligible."""
    values, vectors = np.linalg.eigh(matrix)
    nonzero = values > SINGULAR * values[-1]
    inverse: Array = (vectors[:, nonzero] / values[nonzero]) @ vectors[:, nonzero].T
    return inverse


def pattern_tables(sets: Sets, low: NDArray[np.int64], high: NDArray[np.int64]) -> Steps:
    """Return sets and weights as clients get them: bits of types, and hexadecimal digits.

    Examples
    --------
    >>> pattern_tables(np.array([[True, False, True]]), np.array([1]), np.array([3]))["sets"]
    ['a0']
    """
    rows = [row.tobytes().hex() for row in np.packbits(sets, axis=1)]
    return {
        "types": sets.shape[1],
        "sets": rows,
        "low": row_hex(low.tolist()),
        "high": row_hex(high.tolist()),
    }


@dataclass(frozen=True)
class Translations:
    """A group of translations of n types: "cycle" or "cube"."""

    size: int
    kind: str

    @cached_property
    def moved(self) -> NDArray[np.int64]:
        """The type that translation g takes type u from, entry (g, u)."""
        place = np.arange(self.size)
        if self.kind == "cube":
            return frozen(place[:, None] ^ place[None, :])
        return frozen((place[None, :] - place[:, None]) % self.size)

    def spectrum(self, rows: Array) -> Array:
        """Return the squared absolute values of the transform of each row, over n; (k, n)."""
        if self.kind == "cycle":
            spectrum: Array = np.abs(np.fft.fft(rows, axis=1)) ** 2 / self.size
            return spectrum
        whole: Array = self._walsh(rows) ** 2 / self.size
        return whole

    def transformed(self, rows: Array) -> NDArray[Any]:
        """Return the transform of each row."""
        return np.fft.fft(rows, axis=1) if self.kind == "cycle" else self._walsh(rows)

    def back(self, rows: NDArray[Any]) -> Array:
        """Return the rows that have these transforms."""
        transformed = (
            np.real(np.fft.ifft(rows, axis=1)) if self.kind == "cycle" else self._walsh(rows) / self.size
        )
        return np.asarray(transformed)

    def eigenvalues(self, row: Array) -> Array:
        """Return the eigenvalues of the invariant symmetric matrix with this first row."""
        if self.kind == "cycle":
            eigenvalues: Array = np.real(np.fft.fft(row))
            return eigenvalues
        whole: Array = self._walsh(row[None, :])[0]
        return whole

    def first_row(self, eigenvalues: Array) -> Array:
        """Return the first row of the invariant matrix with these eigenvalues."""
        if self.kind == "cycle":
            row: Array = np.real(np.fft.ifft(eigenvalues))
            return row
        whole: Array = self._walsh(eigenvalues[None, :])[0] / self.size
        return whole

    def matrix(self, row: Array) -> Array:
        """Return the invariant matrix with this first row."""
        matrix: Array = row[self.moved]
        return matrix

    def _walsh(self, rows: Array) -> Array:
        transformed, width = rows.astype(np.float64).copy(), 1
        while width < self.size:
            parts = transformed.reshape(len(rows), -1, 2, width)
            transformed = np.stack([parts[:, :, 0] + parts[:, :, 1], parts[:, :, 0] - parts[:, :, 1]], axis=2)
            transformed = transformed.reshape(len(rows), self.size)
            width *= 2
        return transformed

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """A class per translation: those that every solution may treat the same way, 0 for none at all."""
        place = np.arange(self.size)
        if self.kind == "cycle":
            return frozen(np.minimum(place, self.size - place))
        return frozen(np.array([int(number).bit_count() for number in place]))


@dataclass(frozen=True, eq=False)
class OrbitValue:
    """The errors of base sets with all their translates, for equal shares; see :class:`ChannelValue`.

    Parameters
    ----------
    group : Translations
    columns : (B, n) array
        The probability of the untranslated report for each type.
    """

    group: Translations
    columns: Array

    @cached_property
    def ratios(self) -> Array:
        """The likelihood ratios z of the base sets."""
        ratios: Array = self.columns / self.columns.mean(axis=1, keepdims=True)
        return frozen(ratios)

    @cached_property
    def eigenvalues(self) -> Array:
        """The eigenvalues of M, one per character."""
        size = self.group.size
        eigenvalues: Array = self.columns.sum(axis=1) @ self.group.spectrum(self.ratios)
        eigenvalues[0] = size
        return frozen(eigenvalues)

    @property
    def inverse(self) -> Array:
        """The inverse of M."""
        inverse: Array = self.group.matrix(self.group.first_row(1.0 / self.eigenvalues))
        return inverse

    def shares_from(self, counts: Codes) -> Array:
        """Return the unbiased estimate of the shares of the types, from counts with the blank report last."""
        size = self.group.size
        by_base = self.group.transformed(counts[:-1].reshape(-1, size).astype(np.float64))
        total = (by_base * self.group.transformed(self.ratios)).sum(axis=0)
        total[0] += size * float(counts[-1])
        shares: Array = self.group.back((total / self.eigenvalues)[None, :])[0] / float(counts.sum())
        return shares

    def bias(self, gram: Array) -> float:
        """Return the bias of a single type's estimate in the norm of the queries."""
        size = self.group.size
        seen = self.group.spectrum(self.ratios) * self.columns.sum(axis=1, keepdims=True)
        mean = (seen.sum(axis=0) / self.eigenvalues)[1:]
        levels = np.maximum(self.group.eigenvalues(gram[0])[1:], 0.0)
        return float(np.sqrt((levels * (mean - 1.0) ** 2).sum() / size))

    def query_errors(self, rows: Array) -> Array:
        """Return the variance of the score of each query for each type, shape (n, p)."""
        errors: Array = np.maximum(self.query_moments(rows, (2,))[0] - rows.T**2, 0.0)
        return errors

    def query_moments(self, rows: Array, orders: tuple[int, ...] = ORDERS) -> Array:
        """Return the moments about 0 of the score of each query for each type, shape (orders, n, p)."""
        size = self.group.size
        if len(rows) == size and (rows == np.eye(size)).all():  # the same for every type, translated
            own = self.query_moments(rows[:1], orders)[:, :, 0]
            return own[:, self.group.moved.T]
        scores = self.group.transformed(rows) / self.eigenvalues
        moments = np.zeros((len(orders), size, len(rows)))
        mirrored = np.conj(self.group.transformed(self.ratios))
        reports = self.group.transformed(self.columns)
        for ratio, report in zip(mirrored, reports, strict=True):
            answers = self.group.back(scores * ratio)
            for place, order in enumerate(orders):
                powers = self.group.transformed(answers**order)
                moments[place] += self.group.back(powers * report).T
        return moments

    def type_errors(self, gram: Array) -> Array:
        """Return t_u, the same for all types, from the Gram matrix alone."""
        levels = np.maximum(self.group.eigenvalues(gram[0])[1:], 0.0)
        error = float((levels / self.eigenvalues[1:]).sum() - levels.sum() / self.group.size)
        return np.full(self.group.size, error)

    def average(self, centered: Array) -> float:
        """Return the error of one report, which is the same for all types."""
        return float(self.type_errors(centered)[0])


@dataclass(frozen=True, eq=False)
class OrbitWeights(Kernel):
    """Base sets, and the integer weights of each of their translates; see :class:`PatternWeights`."""

    sets: Sets
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    group: Translations

    @cached_property
    def _blocks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ends of the 2 B blocks (a set with the own type, without it), and their members' weights."""
        inside = self.sets.sum(axis=1).tolist()
        ends, total = [], 0
        for count, low, high in zip(inside, self.low.tolist(), self.high.tolist(), strict=True):
            for part in (count * high, (self.group.size - count) * low):
                total += part
                ends.append(total)
        if total > TOTAL or min(self.low.tolist()) < 0:
            raise CertificateError("channel", "the weights are negative or sum to more than 2**62")
        members = np.stack([self.high, self.low], axis=1).ravel()
        return frozen(np.array(ends, dtype=np.int64)), frozen(members)

    @cached_property
    def blank(self) -> NDArray[np.int64]:
        """The weight of the blank report, the same for all types."""
        return frozen(np.full(self.group.size, TOTAL - int(self._blocks[0][-1]), dtype=np.int64))

    @property
    def reports(self) -> int:
        """Number of reports, the blank one included as the last one."""
        return len(self.sets) * self.group.size + 1

    def row(self, code: int) -> NDArray[np.int64]:
        """Return the weights of all reports for a type, blank last."""
        inside = self.sets[:, self.group.moved[:, code]]
        weights = np.where(inside, self.high[:, None], self.low[:, None])
        return np.append(weights.ravel(), self.blank[code])

    def draw(self, codes: Codes, uniform: Codes) -> Codes:
        """Return the report for each type and drawn integer: block, member of the set, translation."""
        ends, weights = self._blocks
        block = np.searchsorted(ends, uniform, side="right")
        real = block < len(ends)
        block = np.minimum(block, len(ends) - 1)
        start = np.append(0, ends[:-1])[block]
        member = np.where(real, (uniform - start) // weights[block], 0)
        order = np.argsort(~self.sets, axis=1, kind="stable")  # members first, then the others
        inside = self.sets.sum(axis=1)
        base = block // 2
        place = order[
            base, np.minimum(member + np.where(block % 2 == 1, inside[base], 0), self.group.size - 1)
        ]
        moved = codes ^ place if self.group.kind == "cube" else (codes - place) % self.group.size
        return np.where(real, base * self.group.size + moved, self.reports - 1)

    @property
    def most_blank(self) -> float:
        """The largest probability of the blank report."""
        return float(self.blank.max()) / 2.0**BITS

    def client_steps(self) -> Steps:
        """Return how a report is drawn, as plain values for clients; the blank report is what is left."""
        tables = pattern_tables(self.sets, self.low, self.high)
        return {
            "step": "orbits",
            "group": self.group.kind,
            **tables,
            "ends": row_hex(self._blocks[0].tolist()),
        }

    def value(self, population: Array) -> OrbitValue:
        """Return the errors of the very numbers that are sampled from."""
        weights = np.where(self.sets, self.high[:, None], self.low[:, None])
        return OrbitValue(self.group, np.ldexp(weights.astype(np.float64), -BITS))


def all_sets(size: int) -> Sets:
    """Return every set of types but the empty one and the whole one, whose reports say nothing.

    Examples
    --------
    >>> all_sets(2).astype(int).tolist()
    [[1, 0], [0, 1]]
    """
    return patterns_from(1, (1 << size) - 1, size)
