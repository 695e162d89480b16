"""A primal-dual interior-point method: convex functions of few numbers that are linear in many weights.

    minimise  f(A w)   subject to  w >= 0,  Z w = r

The Hessian in w is F'F with as many rows as f has arguments. Each Newton system is solved by Woodbury's
identity, or directly where there are fewer weights, and refined once. A step aims at a complementarity that a
first step towards 0 has shown to be within reach, and corrects for that step's second order (Mehrotra 1992).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEPS = 80
BACK = 0.995
"""How far a step goes towards the boundary."""

ENOUGH = 0.3
"""The least complementarity that a step aims at, as a part of the accuracy: less would spoil the slopes."""

SHORT = 0.1
"""A corrected step that stops at this part of its length is compared with one without correction."""


@dataclass(frozen=True, eq=False)
class ProgramState:
    """The function at some weights: value, slopes (K,), and a maker of the factor F of its Hessian."""

    value: float
    slopes: Array
    factor: Callable[[], Array]
    more: Any = None


class SmoothProgram(Protocol):
    """Objective of a smooth convex program."""

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


class Weighing:
    """The program where M is diagonal in a known basis: minimise sum g / m with m = A w, sum w = 1."""

    def __init__(self, spectra: Array, levels: Array) -> None:
        self.spectra, self.levels = spectra.T.copy(), levels
        self.left, self.right = np.ones((1, len(spectra))), np.ones(1)

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature."""
        moments = self.spectra @ weights
        if moments.min() <= 0.0:
            return None
        slopes = -(self.levels / moments**2) @ self.spectra
        return ProgramState(
            float((self.levels / moments).sum()), slopes, partial(self._factor, moments), moments
        )

    def _factor(self, moments: Array) -> Array:
        result: Array = np.sqrt(2.0 * self.levels / moments**3)[:, None] * self.spectra
        return result


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
            result: Array = _cholesky_solve(self.root, sides / root) / root
            return result
        scaled = sides / self.diagonal[:, None]
        inner = _cholesky_solve(self.root, self.factor @ scaled)
        whole: Array = scaled - (self.factor.T @ inner) / self.diagonal[:, None]
        return whole

    def times(self, columns: Array) -> Array:
        """Return the matrix times columns."""
        result: Array = self.diagonal[:, None] * columns + self.factor.T @ (self.factor @ columns)
        return result

    def solve(self, sides: Array) -> Array:
        """Return the solution for several right-hand sides, refined once."""
        found = self._once(sides)
        return found + self._once(sides - self.times(found))


def _cholesky_solve(root: NDArray[Any], sides: NDArray[Any]) -> Array:
    from scipy.linalg import cho_solve

    result: Array = cho_solve((root, True), sides, check_finite=False)
    return result


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
    while steps < STEPS:
        steps += 1
        gap = float(weights @ slack)
        missed = program.right - program.left @ weights
        uneven = state.slopes - program.left.T @ multiplier - slack
        if gap + float(weights @ np.abs(uneven)) <= accuracy * state.value and np.abs(missed).max() < 1e-10:
            break
        newton = _Newton(program, state, weights, slack, multiplier)
        step, length = newton.corrected(missed, ENOUGH * accuracy * state.value)
        moved: ProgramState | None = None
        for _ in range(40):
            moved = program.state(weights + length * step.weights)
            if moved is not None and moved.value <= 50.0 * state.value:
                break
            length /= 2.0
        if moved is None:
            break
        weights, state = weights + length * step.weights, moved
        multiplier = multiplier + length * step.multiplier
        slack = slack + length * step.slack
        if length < 1e-9:
            break
    return Minimised(weights, multiplier, state, float(weights @ slack) / state.value, steps)


@dataclass(frozen=True, eq=False)
class _Step:
    weights: Array
    multiplier: Array
    slack: Array


class _Newton:
    """The Newton system H dw - Z^T dl - ds = ..., Z dw = missed, s dw + w ds = aim - w s at one point."""

    def __init__(
        self, program: SmoothProgram, state: ProgramState, weights: Array, slack: Array, multiplier: Array
    ) -> None:
        self.left, self.weights, self.slack = program.left, weights, slack
        self.hessian = _Hessian(state.factor(), slack / weights)
        self.solved = self.hessian.solve(program.left.T)
        self.schur = program.left @ self.solved
        self.slopes = state.slopes - program.left.T @ multiplier

    def step(self, aims: Array | float, missed: Array) -> _Step:
        """Return the step to w s = aims and Z w = r."""
        rest = aims / self.weights - self.slopes
        solved = self.hessian.solve(rest[:, None])[:, 0]
        step_l = np.asarray(np.linalg.lstsq(self.schur, missed - self.left @ solved, rcond=1e-15)[0])
        step_w = solved + self.solved @ step_l
        step_s = (aims - self.weights * self.slack - self.slack * step_w) / self.weights
        return _Step(step_w, step_l, step_s)

    def reach(self, step: _Step) -> float:
        """Return how much of the step keeps weights and slack positive, 1 at most."""
        return min(_longest(self.weights, step.weights), _longest(self.slack, step.slack))

    def corrected(self, missed: Array, least: float) -> tuple[_Step, float]:
        """Return the step to take and its length; no less complementarity than ``least`` is aimed at."""
        count, now = len(self.weights), float(self.weights @ self.slack)
        first = self.step(0.0, missed)
        length = self.reach(first)
        ahead = (self.weights + length * first.weights) @ (self.slack + length * first.slack)
        aim = max(min(1.0, (float(ahead) / now) ** 3) * now, least) / count
        second = self.step(aim - first.weights * first.slack, missed)
        reached = self.reach(second)
        if reached >= SHORT:
            return second, reached
        plain = self.step(0.1 * now / count, missed)
        longest = self.reach(plain)
        return (plain, longest) if longest > reached else (second, reached)


def _longest(values: Array, step: Array) -> float:
    falling = step < 0.0
    if not falling.any():
        return 1.0
    return min(1.0, BACK * float((-values[falling] / step[falling]).min()))
