"""The master program: the best weights of given patterns, by a primal-dual interior-point method.

    minimise  tr(G M(w)^-1)   subject to  w >= 0,  sum w_y z_y = 1,      M(w) = sum w_y z_y z_y^T

The objective depends on w through the D entries of M only, so every Newton system of K unknowns is reduced to
one of D by Woodbury's identity. Where reversing the types leaves G as it is, patterns stand for themselves
and their mirror image, M is block-diagonal over even and odd vectors, and D is halved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS = 80
BACK = 0.995
"""How far a step goes towards the boundary."""

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


@dataclass(frozen=True, eq=False)
class _State:
    """What the derivatives at some weights are made of, block by block."""

    inverses: list[Array]
    outers: list[Array]
    turned: list[tuple[Array, Array]]
    value: float


class _Hessian:
    """The matrix Diag(d) + H with H the Hessian of tr(G M^-1) in the weights, ready to solve with.

    With M^-1 = T T^T and M^-1 G M^-1 = T Diag(l) T^T the Hessian of two columns a, b (coordinates T^T z) is
    sum over i <= j of (l_i + l_j) c_ij^2 a_i a_j b_i b_j, c_ij^2 = 2 off the diagonal: a product F^T F.
    """

    def __init__(self, turned: list[tuple[Array, Array]], diagonal: Array) -> None:
        factors = []
        for part, levels in turned:
            first, last = np.triu_indices(len(levels))
            scale = np.sqrt(np.maximum(levels[first] + levels[last], 0.0))
            scale *= np.where(first == last, 1.0, np.sqrt(2.0))
            factors.append((part[:, first] * part[:, last] * scale).T)
        self.factor = np.vstack(factors)
        self.diagonal = diagonal
        self.is_short = len(self.factor) < len(diagonal)
        if self.is_short:
            scaled = self.factor / np.sqrt(diagonal)
            self.root = np.linalg.cholesky(scaled @ scaled.T + np.eye(len(scaled)))
        else:
            half = self.factor / np.sqrt(diagonal)
            self.root = np.linalg.cholesky(half.T @ half + np.eye(len(diagonal)))

    def _once(self, sides: Array) -> Array:
        if not self.is_short:
            root = np.sqrt(self.diagonal)[:, None]
            found: Array = _cholesky_solve(self.root, sides / root) / root
            return found
        scaled = sides / self.diagonal[:, None]
        inner = _cholesky_solve(self.root, self.factor @ scaled)
        whole: Array = scaled - (self.factor.T @ inner) / self.diagonal[:, None]
        return whole

    def times(self, columns: Array) -> Array:
        """Return the matrix times columns."""
        found: Array = self.diagonal[:, None] * columns + self.factor.T @ (self.factor @ columns)
        return found

    def solve(self, sides: Array) -> Array:
        """Return the solution for several right-hand sides, refined once."""
        found = self._once(sides)
        return found + self._once(sides - self.times(found))


def _cholesky_solve(root: NDArray[Any], sides: NDArray[Any]) -> Array:
    from scipy.linalg import cho_solve

    found: Array = cho_solve((root, True), sides, check_finite=False)
    return found


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

    def _state(self, weights: Array) -> _State | None:
        inverses, outers, turned, value = [], [], [], 0.0
        for part, gram in zip(self.parts, self.grams, strict=True):
            moment = (part * weights[:, None]).T @ part
            try:
                factor = np.linalg.cholesky(moment)
            except np.linalg.LinAlgError:
                return None
            root = np.linalg.solve(factor, np.eye(len(factor)))  # M^-1 = root^T root
            levels, turn = np.linalg.eigh(root @ gram @ root.T)
            inverse = root.T @ root
            inverses.append(inverse)
            outers.append(inverse @ gram @ inverse)
            turned.append((root.T @ turn, levels))
            value += float(np.sum(gram * inverse))
        return _State(inverses, outers, turned, value)

    def _slopes(self, outers: list[Array]) -> Array:
        found = np.zeros(len(self.parts[0]))
        for part, outer in zip(self.parts, outers, strict=True):
            found -= np.einsum("kn,kn->k", part @ outer, part)
        return found

    def _newton(self, state: _State, diagonal: Array, rest: Array, missed: Array) -> tuple[Array, Array]:
        """Solve (H + Diag(d)) dw - Z^T dl = r, Z dw = s."""
        turned = [
            (part @ turn, levels) for part, (turn, levels) in zip(self.parts, state.turned, strict=True)
        ]
        hessian = _Hessian(turned, diagonal)
        solved = hessian.solve(np.column_stack([rest, self.left.T]))
        schur = self.left @ solved[:, 1:]
        step_l = np.asarray(np.linalg.lstsq(schur, missed - self.left @ solved[:, 0], rcond=1e-15)[0])
        return solved[:, 0] + solved[:, 1:] @ step_l, step_l

    def solve(self, accuracy: float = CLOSE, start: Array | None = None) -> Weighted:
        """Return the optimal weights and multipliers."""
        count = len(self.parts[0])
        weights = np.full(count, 1.0 / count) if start is None else start.copy()
        state = self._state(weights)
        if state is None:
            raise np.linalg.LinAlgError("the patterns do not span the types")
        slopes = self._slopes(state.outers)
        slack = np.full(count, max(float(np.abs(slopes).max()), 1e-12))
        multiplier = np.zeros(len(self.right))
        best = 0
        for best in range(1, STEPS + 1):
            gap = float(weights @ slack)
            missed = self.right - self.left @ weights
            uneven = slopes - self.left.T @ multiplier - slack
            if (
                gap + float(weights @ np.abs(uneven)) <= accuracy * state.value
                and np.abs(missed).max() < 1e-10
            ):
                break
            center = 0.1 if best > 2 else 0.5
            aim = center * gap / count
            rest = aim / weights - (slopes - self.left.T @ multiplier)
            step_w, step_l = self._newton(state, slack / weights, rest, missed)
            step_s = (aim - weights * slack - slack * step_w) / weights
            length = min(_longest(weights, step_w), _longest(slack, step_s))
            moved = None
            for _ in range(40):
                trial = weights + length * step_w
                moved = self._state(trial)
                if moved is not None and moved.value <= 50.0 * state.value:
                    break
                length /= 2.0
            if moved is None:
                break
            weights, state = trial, moved
            slopes = self._slopes(state.outers)
            multiplier = multiplier + length * step_l
            slack = slack + length * step_s
            if length < 1e-9:
                break
        whole = self.basis.moment(state.inverses)
        even = self.basis.blocks[0]
        return Weighted(
            weights, -(even @ multiplier), whole, state.value, float(weights @ slack) / state.value, best
        )


def _longest(values: Array, step: Array) -> float:
    falling = step < 0.0
    if not falling.any():
        return 1.0
    return min(1.0, BACK * float((-values[falling] / step[falling]).min()))
