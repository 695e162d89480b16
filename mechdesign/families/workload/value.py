"""The error of a channel of patterns with its best linear estimator, in floating point.

A pattern is a set S of types; its report has the probability c E for a type in S and c for any other type.
With q(y) the probability of a report in the population pi and z = q(y | .) / q(y), the moment matrix is
M = sum q(y) z z^T, the best unbiased estimate of the shares is M^-1 z, and

    average error  pi.t = tr(G M^-1) - pi.diag(G),    G the centered Gram matrix of the workload.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.numbers import frozen

Array = NDArray[np.float64]
Sets = NDArray[np.bool_]

SINGULAR = 1e-11
"""Eigenvalues of the moment matrix below this part of the largest count as 0."""

ORDERS = (2, 3, 4)
"""The moments of scores that confidence intervals need."""

BLOCK = 1 << 22
"""Entries of a block of the (reports, queries) table."""


def columns_of(sets: Sets, exponential: float) -> Array:
    """Return the patterns as rows of 1 and e^epsilon, shape (K, n)."""
    found: Array = np.where(sets, exponential, 1.0)
    return found


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
        found: Array = self.channel @ self.population
        return frozen(found)

    @cached_property
    def ratios(self) -> Array:
        """The likelihood ratios z, shape (K, n)."""
        found: Array = self.channel / self.totals[:, None]
        return frozen(found)

    @cached_property
    def moment(self) -> Array:
        """The moment matrix M."""
        found: Array = self.channel.T @ self.ratios
        return frozen((found + found.T) / 2.0)

    @cached_property
    def inverse(self) -> Array:
        """The pseudo-inverse of M."""
        return frozen(pseudo_inverse(self.moment))

    @cached_property
    def solver(self) -> Array:
        """The matrix A with estimated shares = A (shares of the reports), shape (n, K)."""
        found: Array = self.inverse @ self.ratios.T
        # one step of Newton's iteration for the inverse: what rounding leaves as bias is squared
        refined: Array = found - (found @ self.channel - np.eye(len(found))) @ found
        return frozen(refined)

    def shares_from(self, counts: NDArray[np.int64]) -> Array:
        """Return the unbiased estimate of the shares of the types, from the counts of the reports."""
        found: Array = self.solver @ (counts / counts.sum())
        return found

    def bias(self, gram: Array) -> float:
        """Return the largest bias of a single type's estimate in the norm of the queries."""
        off = self.solver @ self.channel - np.eye(self.channel.shape[1])
        levels, directions = np.linalg.eigh(gram)
        # What no query asks for has a level of 0, up to rounding, and its bias may be large.
        asked = levels > len(levels) * np.finfo(float).eps * float(levels.max())
        lengths = np.sqrt(levels[asked])[:, None] * (directions[:, asked].T @ off)
        return float(np.linalg.norm(lengths, axis=0).max())

    def errors(self, rows: Array) -> Array:
        """Return t_u, the expected squared error of one report of a user of type u, shape (n,)."""
        found: Array = self.query_errors(rows).sum(axis=1)
        return found

    def query_errors(self, rows: Array) -> Array:
        """Return the variance of the score of each query for each type, shape (n, p)."""
        found: Array = np.maximum(self.query_moments(rows, (2,))[0] - rows.T**2, 0.0)
        return found

    def query_moments(self, rows: Array, orders: tuple[int, ...] = ORDERS) -> Array:
        """Return the moments about 0 of the score of each query for each type, shape (orders, n, p)."""
        found = np.empty((len(orders), self.channel.shape[1], len(rows)))
        step = max(1, BLOCK // max(1, len(self.channel)))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            scores = (part @ self.solver).T
            for place, order in enumerate(orders):
                found[place, :, start : start + step] = self.channel.T @ scores**order
        return found

    def type_errors(self, gram: Array) -> Array:
        """Return t_u from the Gram matrix alone, shape (n,)."""
        sandwich = self.inverse @ gram @ self.inverse
        lengths = np.einsum("kn,kn->k", self.ratios @ sandwich, self.ratios)
        found: Array = self.channel.T @ lengths - np.diag(gram)
        return found

    def average(self, centered: Array) -> float:
        """Return pi.t, given the centered Gram matrix."""
        return float(np.sum(centered * self.inverse) - self.population @ np.diag(centered))


def pseudo_inverse(matrix: Array) -> Array:
    """Return the inverse on the span of the eigenvectors that are not negligible."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > SINGULAR * values[-1]
    found: Array = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return found
