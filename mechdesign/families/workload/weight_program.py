"""The weights of given patterns by multiplicative steps; in single precision where there are many.

The statement and its proof are in :mod:`mechdesign.families.workload.reweighting`.

**Precision.** Nothing here proves anything: the error of a solution is that of its integers, and its bound
has a proof of its own. Beyond some hundred types products of matrices are taken in single precision, of z - 1
in place of z: that is small where epsilon is, and M has the large eigenvalue n along 1 apart from it. Rows
are taken in blocks that stay in the cache: scaling them costs as much as multiplying them otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.paired_dual import Halves
from mechdesign.families.workload.patterns import Array

LARGEST_POWER = 8.0
NEWTON = 50

ROUGH = 0.3
"""The part of what is missing that a Newton step may leave before its matrix is made anew."""

BLOCK = 1 << 19
"""Entries of a block of rows."""

FEASIBLE = {"d": 1e-7, "f": 1e-5}
LEVEL = {"d": 1e-10, "f": 1e-6}
"""What the sums of weights may miss, and changes that rounding hides, in double and in single precision."""


@dataclass(frozen=True, eq=False)
class WeightState:
    """Weights with their value, the gains g_y, the inverse of M in blocks, and mu in the even coordinates."""

    weights: Array
    multiplier: Array
    value: float
    gains: Array
    inverses: list[Array]


def weighted_gram(rows: Array, weights: Array) -> Array:
    """Return sum w_y r_y r_y' of rows r; symmetric, which numpy computes in half of the time.

    Examples
    --------
    >>> weighted_gram(np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([4.0, 1.0])).tolist()
    [[4.0, 8.0], [8.0, 25.0]]
    """
    total = np.zeros((rows.shape[1], rows.shape[1]))
    roots = np.sqrt(weights).astype(rows.dtype)[:, None]
    scaled = np.empty((_height(rows), rows.shape[1]), dtype=rows.dtype)
    for block in _blocks(rows):
        own = rows[block]
        part = np.multiply(own, roots[block], out=scaled[: len(own)])
        total += part.T @ part
    return total


def squared_lengths(rows: Array, form: Array) -> Array:
    """Return r_y' F r_y of rows r.

    Examples
    --------
    >>> squared_lengths(np.array([[1.0, 2.0]]), np.eye(2)).tolist()
    [5.0]
    """
    lengths, form = np.empty(len(rows)), form.astype(rows.dtype)
    turned = np.empty((_height(rows), rows.shape[1]), dtype=rows.dtype)
    for block in _blocks(rows):
        own = rows[block]
        lengths[block] = np.einsum("kn,kn->k", np.matmul(own, form, out=turned[: len(own)]), own)
    return lengths


def _height(rows: Array) -> int:
    return int(max(1, min(len(rows), BLOCK // max(1, rows.shape[1]))))


def _blocks(rows: Array) -> Iterator[slice]:
    step = _height(rows)
    return (slice(start, start + step) for start in range(0, len(rows), step))


class WeightProgram:
    """The program of the weights of some patterns.

    Parameters
    ----------
    columns : (K, n) array
        Patterns z with pi.z = 1; with mirror images where ``halves`` says so.
    gram : (n, n) array
    halves : Halves
    shares : (n,) array
        pi.
    precision : str
        "d" or "f", of the products of matrices.

    Examples
    --------
    >>> columns, gram = np.array([[1.5, 0.5], [0.5, 1.5]]), np.array([[0.5, -0.5], [-0.5, 0.5]])
    >>> response = WeightProgram(columns, gram, Halves(2, False), np.full(2, 0.5))
    >>> state = response.improved(np.array([0.8, 0.2]), 10)
    >>> state.weights.round(9).tolist(), round(state.value, 9)
    ([0.5, 0.5], 2.0)
    """

    def __init__(
        self, columns: Array, gram: Array, halves: Halves, shares: Array, precision: str = "d"
    ) -> None:
        self.precision = precision
        self.parts, self.grams = halves.parts((columns - 1.0).astype(precision)), halves.blocks(gram)
        self.ones, self.shares = halves.even(np.ones(halves.size)), halves.even(shares)
        self._curved: NDArray[Any] | None = None

    def state(self, weights: Array, multiplier: Array) -> WeightState | None:
        """Return value and gains; None where M is singular."""
        value, gains, inverses = 0.0, np.zeros(len(weights)), []
        for number, (part, gram) in enumerate(zip(self.parts, self.grams, strict=True)):
            moment = self._moment(weights) if number == 0 else weighted_gram(part, weights)
            try:
                inverse = np.linalg.inv(moment)
            except np.linalg.LinAlgError:
                return None
            inverse = (inverse + inverse.T) / 2.0
            inverses.append(inverse)
            value += float(np.sum(gram * inverse))
            form = inverse @ gram @ inverse
            gains += squared_lengths(part, form)
            if number == 0:  # z = 1 + (z - 1), and the odd part of 1 is 0
                across = form @ self.ones
                gains += 2.0 * self._applied(across) + float(across @ self.ones)
        if not math.isfinite(value) or float(gains.min()) <= 0.0:
            return None
        return WeightState(weights, multiplier, value, gains, inverses)

    def _moment(self, weights: Array) -> Array:
        """Return sum w_y z_y z_y' of the even coordinates."""
        across = np.outer(self._summed(weights), self.ones)
        moment = weighted_gram(self.parts[0], weights) + across + across.T
        total: Array = moment + float(weights.sum()) * np.outer(self.ones, self.ones)
        return total

    def _applied(self, vector: Array) -> Array:
        """Return (z_y - 1).x of each pattern."""
        applied: Array = (self.parts[0] @ vector.astype(self.precision)).astype(np.float64)
        return applied

    def _summed(self, weights: Array) -> Array:
        """Return sum w_y (z_y - 1)."""
        summed: Array = (weights.astype(self.precision) @ self.parts[0]).astype(np.float64)
        return summed

    def improved(self, weights: Array, steps: int, multiplier: Array | None = None) -> WeightState | None:
        """Return better weights after some steps; None where there is no feasible step at all.

        The weights to begin with need not be feasible.
        """
        begun = self.state(weights, self.ones)
        if begun is None:
            return None
        level = float(begun.gains @ weights) * self.shares  # the same price for all
        starts = [level] if multiplier is None else [multiplier, level]
        power = 1.0  # its Newton steps get there from anywhere: a logarithm is their barrier
        state = next((step for step in (self._step(begun, start, power) for start in starts) if step), None)
        for _ in range(steps if state is not None else 0):
            assert state is not None
            step = self._step(state, state.multiplier, power)
            if step is not None and step.value <= state.value:
                state, power = step, min(LARGEST_POWER, 1.4 * power)
            elif power == 0.5:
                break
            else:
                power = max(0.5, power / 2.0)
        return state

    def _step(self, state: WeightState, multiplier: Array, power: float) -> WeightState | None:
        """Return the state after one step with this power."""
        scale = float(state.gains.mean())
        amounts = state.weights * (state.gains / scale) ** power
        prices = self._multiplier(amounts, multiplier / scale, power)
        if prices is None:
            return None
        costs = float(self.ones @ prices) + self._applied(prices)
        return self.state(amounts * costs**-power, prices * scale)

    def _multiplier(self, amounts: Array, start: Array, power: float) -> Array | None:
        """Return mu with sum amounts_y (mu.z_y)^-p z_y = 1, by Newton's steps; None where they fail.

        Their matrix is that of an earlier step, or of earlier amounts, while each step leaves little.
        """
        mu, prices = start, float(self.ones @ start) + self._applied(start)
        if float(prices.min()) <= 0.0:
            return None

        def height(mu: Array, prices: Array) -> float:
            if power == 1.0:
                return float(self.ones @ mu) - float(amounts @ np.log(prices))
            return float(self.ones @ mu) + float(amounts @ prices ** (1.0 - power)) / (power - 1.0)

        most = math.inf
        for _ in range(NEWTON):
            weights = amounts * prices**-power
            missing = self.ones * (1.0 - float(weights.sum())) - self._summed(weights)
            before, most = most, float(np.abs(missing).max())
            if most <= FEASIBLE[self.precision]:
                return mu
            is_new = self._curved is None or most > ROUGH * before
            if is_new:
                try:
                    self._curved = np.linalg.inv(self._moment(weights / prices))
                except np.linalg.LinAlgError:
                    return None
            curved = self._curved
            assert curved is not None
            move = -(curved @ missing) / power
            moved = float(self.ones @ move) + self._applied(move)
            slope, size = float(missing @ move), 1.0
            if not math.isfinite(slope):
                return None
            now = height(mu, prices)
            while size > 1e-4:
                there = prices + size * moved
                if float(there.min()) > 0.0 and (
                    height(mu + size * move, there) <= now + 0.1 * size * slope
                    or abs(slope) <= LEVEL[self.precision] * abs(now)
                ):
                    break
                size /= 2.0
            else:
                if is_new:
                    return None
                continue  # nothing is less than before: the matrix is made anew
            mu, prices = mu + size * move, there
        return None
