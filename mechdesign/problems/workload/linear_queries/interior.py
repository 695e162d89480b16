"""A primal-dual interior-point method: convex functions of few numbers that are linear in many weights.

    minimise  f(A w)   subject to  w >= 0,  Z w = r

The Hessian in w is F'F with as many rows as f has arguments. Each Newton system is solved by Woodbury's
identity, or directly where there are fewer weights, and refined once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS = 80
BACK = 0.995
"""How far a step goes towards the boundary."""


@dataclass(frozen=True, eq=False)
class ProgramState:
    """The function at some weights: value, slopes (K,), and a maker of the factor F of its Hessian."""

    value: float
    slopes: Array
    factor: Callable[[], Array]
    more: Any = None


class SmoothProgram(Protocol):
    """What is minimised."""

    left: Array
    right: Array

    def state(self, weights: Array) -> ProgramState | None:
        """Return the function at these weights; None outside of its domain."""
        ...


@dataclass(frozen=True, eq=False)
class Minimised:
    """Weights, multipliers of Z w = r, and the complementarity that is left, as a part of the value."""

    weights: Array
    multiplier: Array
    state: ProgramState
    complementarity: float
    steps: int


class _Hessian:
    """The matrix Diag(d) + F'F, ready to solve with."""

    def __init__(self, factor: Array, diagonal: Array) -> None:
        self.factor, self.diagonal = factor, diagonal
        self.is_short = len(self.factor) < len(diagonal)
        scaled = self.factor / np.sqrt(diagonal)
        square = scaled @ scaled.T if self.is_short else scaled.T @ scaled
        self.root = np.linalg.cholesky(square + np.eye(len(square)))

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


def minimised(program: SmoothProgram, count: int, accuracy: float) -> Minimised:
    """Return the optimal weights and multipliers.

    Parameters
    ----------
    program : SmoothProgram
    count : int
        Number of weights; equal ones are the start.
    accuracy : float
        Complementarity, as a part of the value, at which to stop.
    """
    weights = np.full(count, 1.0 / count)
    state = program.state(weights)
    if state is None:
        raise np.linalg.LinAlgError("the patterns do not span the types")
    slack = np.full(count, max(float(np.abs(state.slopes).max()), 1e-12))
    multiplier = np.zeros(len(program.right))
    steps = 0
    for steps in range(1, STEPS + 1):
        gap = float(weights @ slack)
        missed = program.right - program.left @ weights
        uneven = state.slopes - program.left.T @ multiplier - slack
        if gap + float(weights @ np.abs(uneven)) <= accuracy * state.value and np.abs(missed).max() < 1e-10:
            break
        aim = (0.1 if steps > 2 else 0.5) * gap / count
        rest = aim / weights - (state.slopes - program.left.T @ multiplier)
        step_w, step_l = _newton(program, state, slack / weights, rest, missed)
        step_s = (aim - weights * slack - slack * step_w) / weights
        length = min(_longest(weights, step_w), _longest(slack, step_s))
        moved: ProgramState | None = None
        for _ in range(40):
            moved = program.state(weights + length * step_w)
            if moved is not None and moved.value <= 50.0 * state.value:
                break
            length /= 2.0
        if moved is None:
            break
        weights, state = weights + length * step_w, moved
        multiplier = multiplier + length * step_l
        slack = slack + length * step_s
        if length < 1e-9:
            break
    return Minimised(weights, multiplier, state, float(weights @ slack) / state.value, steps)


def _newton(
    program: SmoothProgram, state: ProgramState, diagonal: Array, rest: Array, missed: Array
) -> tuple[Array, Array]:
    """Solve (H + Diag(d)) dw - Z^T dl = rest, Z dw = missed."""
    solved = _Hessian(state.factor(), diagonal).solve(np.column_stack([rest, program.left.T]))
    schur = program.left @ solved[:, 1:]
    step_l = np.asarray(np.linalg.lstsq(schur, missed - program.left @ solved[:, 0], rcond=1e-15)[0])
    return solved[:, 0] + solved[:, 1:] @ step_l, step_l


def _longest(values: Array, step: Array) -> float:
    falling = step < 0.0
    if not falling.any():
        return 1.0
    return min(1.0, BACK * float((-values[falling] / step[falling]).min()))
