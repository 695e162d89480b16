"""The channel of McKenna et al. (2020) for linear queries, optimized as well as we can; for comparison only.

McKenna, Maity, Mazumdar and Miklau minimize, over channels Q with m rows (reports) and n columns (types), the
average error with the best reconstruction,

    L(Q) = tr((Q' D^-1 Q)^-1 W'W)/n - |W|^2/n,  D = diag(Q 1),  z_y <= Q_yu <= e^epsilon z_y,  Q' 1 = 1,

by projected gradient steps from a random channel with m = 4n, and keep the best of several runs. The problem
is not convex, and plain gradient steps are slow. Here the same problem is given to a quasi-Newton method: the
constraints of privacy become bounds of Q = z (1 + (e^epsilon - 1) x), 0 <= x <= 1, and an augmented
Lagrangian keeps the column sums.

Source: R. McKenna, R. K. Maity, A. Mazumdar, G. Miklau. A workload-adaptive mechanism for linear queries
under local differential privacy. PVLDB 13 (11), 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard
from scipy.optimize import minimize

Array: TypeAlias = NDArray[np.float64]

ROUNDS, STEPS = 12, 300
"""Updates of the multipliers, and quasi-Newton steps for each."""

PENALTY = 3.0
"""Weight of the squared errors of the column sums, as a part of the first error."""

SETTLED = 2e-4
"""A search ends when two updates together lower the error by less than this part of it."""

INTERIOR = 0.02
"""How far a start is moved away from its bounds, where gradients say little."""

MIXED = 0.2
"""Part of a random channel in a start from a known mechanism, which may have fewer rows."""


@dataclass(frozen=True, eq=False)
class Found:
    """A channel, its error averaged over the types, and where the search started."""

    error: float
    channel: Array
    start: str


def error_of(channel: Array, gram: Array) -> float:
    """Return the average error of a channel with its best reconstruction, for a Gram matrix W'W.

    Examples
    --------
    >>> round(error_of(np.array([[0.75, 0.25], [0.25, 0.75]]), np.diag([1.0, 0.0])), 12)
    0.75
    """
    return _uncentered(channel, gram)[0] - float(np.trace(gram)) / len(gram)


def _uncentered(channel: Array, gram: Array) -> tuple[float, Array]:
    """Return the first term of the error, and its gradient."""
    ratios = channel / channel.sum(axis=1)[:, None]
    inverse = np.linalg.inv(channel.T @ ratios)
    sandwich = inverse @ gram @ inverse / len(gram)
    slopes = ratios @ sandwich
    lengths = np.einsum("yu,yu->y", slopes, ratios)
    return float((inverse * gram).sum()) / len(gram), lengths[:, None] - 2.0 * slopes


def projected(channel: Array, least: Array, power: float) -> Array:
    """Return the nearest channel whose row y is between z_y and z_y e^epsilon and whose columns sum to 1.

    Parameters
    ----------
    channel : (m, n) array
    least : (m,) array
        z, with sum z <= 1 <= e^epsilon sum z.
    power : float
        e^epsilon.
    """
    low, high = least[:, None], power * least[:, None]
    below, above = (low - channel).min(axis=0), (high - channel).max(axis=0)
    for _ in range(80):
        middle = (below + above) / 2.0
        short = np.clip(channel + middle, low, high).sum(axis=0) < 1.0
        below, above = np.where(short, middle, below), np.where(short, above, middle)
    found: Array = np.clip(channel + (below + above) / 2.0, low, high)
    return found


def optimized(start: Array, gram: Array, epsilon: float, rounds: int = ROUNDS) -> Array:
    """Return the best channel on the way from a start, with its number of rows.

    Every round minimizes L + lambda.(Q'1 - 1) + PENALTY |Q'1 - 1|^2/2 and updates the multipliers lambda. Its
    result is projected to the constraints before it is judged.
    """
    rows, types = start.shape
    power = math.exp(epsilon)
    least = np.sqrt(start.min(axis=1) * start.max(axis=1) / power)
    inner = np.clip((start / least[:, None] - 1.0) / (power - 1.0), INTERIOR, 1.0 - INTERIOR)
    point = np.concatenate([np.log(least * rows), inner.ravel()])
    scale = _uncentered(start, gram)[0]
    prices = np.full(types, 1.0 / types)
    bounds = [(-14.0, 6.0)] * rows + [(0.0, 1.0)] * (rows * types)

    def parts(point: Array) -> tuple[Array, Array]:
        amounts = np.exp(point[:rows]) / rows
        return amounts, amounts[:, None] * (1.0 + (power - 1.0) * point[rows:].reshape(rows, types))

    def lagrangian(point: Array) -> tuple[float, Array]:
        amounts, channel = parts(point)
        error, slopes = _uncentered(channel, gram)
        excess = channel.sum(axis=0) - 1.0
        slopes = slopes / scale + prices + PENALTY * excess
        value = error / scale + float(prices @ excess) + PENALTY / 2.0 * float(excess @ excess)
        of_amounts = (slopes * channel).sum(axis=1)
        of_inner = slopes * (power - 1.0) * amounts[:, None]
        return value, np.concatenate([of_amounts, of_inner.ravel()])

    best, errors = start, [error_of(start, gram)]
    descend: Any = minimize  # its stubs know no list of pairs as bounds
    options = {"maxiter": STEPS, "maxfun": 2 * STEPS, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-12}
    for _ in range(rounds):
        point = descend(lagrangian, point, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        amounts, channel = parts(point)
        excess = channel.sum(axis=0) - 1.0
        prices = prices + PENALTY * excess
        mean = float(channel.sum()) / types
        valid = projected(channel / mean, amounts / mean, power)
        error = error_of(valid, gram)
        best = valid if error < min(errors) else best
        errors.append(error)
        if len(errors) > 4 and min(errors[:-2]) - min(errors) < SETTLED * min(errors):
            break
    return best


def random_start(rows: int, types: int, epsilon: float, rng: np.random.Generator) -> Array:
    """Return the random start of the paper: uniform numbers, projected."""
    power = math.exp(epsilon)
    return projected(rng.random((rows, types)), np.full(rows, (1.0 + 1.0 / power) / 2.0 / rows), power)


def known_starts(types: int, epsilon: float) -> dict[str, Array]:
    """Return known mechanisms as channels, for a number of types that is a power of 2.

    Randomized response, Hadamard response, binary and four-way hierarchies of Hadamard responses.
    """
    power = math.exp(epsilon)
    response = (np.ones((types, types)) + (power - 1.0) * np.eye(types)) / (power + types - 1.0)
    found = {"randomized response": response, "Hadamard": hadamard_response(types, epsilon)}
    for branches in (2, 4):
        levels, nodes = [], types
        while nodes > 1:
            levels.append(np.repeat(hadamard_response(nodes, epsilon), types // nodes, axis=1))
            nodes //= branches
        found[f"hierarchy of {branches}"] = np.vstack(levels) / len(levels)
    return found


def hadamard_response(types: int, epsilon: float) -> Array:
    """Return the channel that reports whether a random Hadamard coefficient is positive or negative.

    Examples
    --------
    >>> hadamard_response(2, np.log(3.0)).round(12).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    power = math.exp(epsilon)
    signs = hadamard(types)[1:] > 0
    found: Array = np.where(np.vstack([signs, ~signs]), power, 1.0) / (1.0 + power) / (types - 1)
    return found


def filled(start: Array, rows: int, epsilon: float, rng: np.random.Generator) -> Array:
    """Return a start with at least ``rows`` rows: copies of its rows, mixed with a random channel."""
    copies = -(-rows // len(start))
    many = np.tile(start, (copies, 1)) / copies
    return (1.0 - MIXED) * many + MIXED * random_start(len(many), start.shape[1], epsilon, rng)


def best_channel(
    gram: Array, epsilon: float, factor: int = 4, restarts: int = 3, known: int = 0, seed: int = 0
) -> Found:
    """Return the best channel of several random starts and, where asked for, of known mechanisms.

    Parameters
    ----------
    gram : (n, n) array
        W'W.
    epsilon : float
    factor : int
        Rows per type; 4 in the paper.
    restarts : int
        Number of random starts.
    known : int
        Number of known mechanisms that are also starts, see :func:`known_starts`; n is then a power of 2.
    seed : int
    """
    rng, types = np.random.default_rng(seed), len(gram)
    starts = {
        f"random {number}": random_start(factor * types, types, epsilon, rng) for number in range(restarts)
    }
    if known:
        for name, channel in list(known_starts(types, epsilon).items())[:known]:
            starts[name] = filled(channel, factor * types, epsilon, rng)
    found = []
    for name, start in starts.items():
        channel = optimized(start, gram, epsilon)
        found.append(Found(error_of(channel, gram), channel, name))
    return min(found, key=lambda one: one.error)
