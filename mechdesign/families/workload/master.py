"""The master program: the best weights of given patterns, by a primal-dual interior-point method.

    minimise  tr(G M(w)^-1)   subject to  w >= 0,  sum w_y z_y = 1,      M(w) = sum w_y z_y z_y^T

The objective depends on w through the D entries of M only, so every Newton system of K unknowns is reduced to
one of D by Woodbury's identity. Where reversing the types leaves G as it is, patterns stand for themselves
and their mirror image, M is block-diagonal over even and odd vectors, and D is halved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from mechdesign.families.workload.value import Array
from mechdesign.solvers.interior import ProgramState, minimised

CLOSE = 1e-11
"""Complementarity, as a part of the objective, at which the method stops."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Blocks of orthonormal columns in which the moment matrix is block-diagonal."""

    blocks: tuple[Array, ...]

    @classmethod
    def of(cls, centered: Array, population: Array) -> Basis:
        """Return even and odd vectors where reversal is a symmetry, else a single block."""
        size = len(population)
        tolerance = 1e-12 * float(np.abs(centered).max())
        mirrored = np.abs(centered - centered[::-1, ::-1]).max() <= tolerance
        if not mirrored or np.abs(population - population[::-1]).max() > 1e-15:
            return cls((np.eye(size),))
        half = size // 2
        even, odd = np.zeros((size, size - half)), np.zeros((size, half))
        for place in range(half):
            even[[place, -1 - place], place] = np.sqrt(0.5)
            odd[[place, -1 - place], place] = (np.sqrt(0.5), -np.sqrt(0.5))
        if size % 2:
            even[half, half] = 1.0
        return cls((even, odd))

    @property
    def is_mirrored(self) -> bool:
        """Whether a pattern stands for its mirror image as well."""
        return len(self.blocks) == 2

    def moment(self, parts: list[Array]) -> Array:
        """Return the matrix with these blocks."""
        whole = sum(
            (block @ part @ block.T for block, part in zip(self.blocks, parts, strict=True)),
            np.zeros((len(self.blocks[0]),) * 2),
        )
        return np.asarray(whole)


@dataclass(frozen=True, eq=False)
class Weighted:
    """The weights w of the columns, with the multipliers mu of sum w z = 1 and the inverse of M."""

    weights: Array
    multiplier: Array
    inverse: Array
    value: float
    complementarity: float
    steps: int


class Master:
    """The program for fixed columns.

    Parameters
    ----------
    columns : (K, n) array
        Patterns z with pi.z = 1.
    centered : (n, n) array
        The centered Gram matrix.
    population : (n,) array
    basis : Basis
    """

    def __init__(self, columns: Array, centered: Array, population: Array, basis: Basis) -> None:
        self.basis, self.population = basis, population
        self.parts = [columns @ block for block in basis.blocks]
        self.grams = [block.T @ centered @ block for block in basis.blocks]
        even = basis.blocks[0]
        self.left = self.parts[0].T  # the constraint, in coordinates of the even block
        self.right = even.T @ np.ones(len(population))

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature at these weights; None where M is singular."""
        value, slopes = 0.0, np.zeros(len(weights))
        inverses: list[Array] = []
        turned: list[tuple[Array, Array]] = []
        for part, gram in zip(self.parts, self.grams, strict=True):
            moment = (part * weights[:, None]).T @ part
            try:
                factor = np.linalg.cholesky(moment)
            except np.linalg.LinAlgError:
                return None
            root = np.linalg.solve(factor, np.eye(len(factor)))  # M^-1 = root^T root
            levels, turn = np.linalg.eigh(root @ gram @ root.T)
            inverse = np.asarray(root.T @ root)
            inverses.append(inverse)
            turned.append((np.asarray(part @ root.T @ turn), levels))
            value += float(np.sum(gram * inverse))
            slopes -= np.einsum("kn,kn->k", part @ (inverse @ gram @ inverse), part)
        return ProgramState(value, slopes, partial(_factor, turned), inverses)

    def solve(self, accuracy: float = CLOSE) -> Weighted:
        """Return the optimal weights and multipliers."""
        found = minimised(self, len(self.parts[0]), accuracy)
        whole = self.basis.moment(found.state.more)
        even = self.basis.blocks[0]
        return Weighted(
            found.weights,
            -(even @ found.multiplier),
            whole,
            found.state.value,
            found.complementarity,
            found.steps,
        )


def _factor(turned: list[tuple[Array, Array]]) -> Array:
    """Return F with F'F the Hessian of tr(G M^-1) in the weights.

    With M^-1 = T T' and M^-1 G M^-1 = T Diag(l) T' the entry of two columns with the coordinates a = T'z and
    b is sum over i <= j of (l_i + l_j) c_ij^2 a_i a_j b_i b_j, c_ij^2 = 2 off the diagonal.
    """
    factors = []
    for part, levels in turned:
        first, last = np.triu_indices(len(levels))
        scale = np.sqrt(np.maximum(levels[first] + levels[last], 0.0))
        scale *= np.where(first == last, 1.0, np.sqrt(2.0))
        factors.append((part[:, first] * part[:, last] * scale).T)
    return np.vstack(factors)
