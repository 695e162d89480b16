"""Protocols for sums next to their papers: with their constants, by other means, and on drawn data.

Errors are also computed for numbers that are normal around 1/2, and for protocols by the formulas of their
papers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.solution import Solution
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.shuffle import Protocol, RSumDSG, RSumKR, RSumRM, RSumRR
from mechdesign.families.shuffle.counts import ShuffleSum
from mechdesign.families.shuffle.papers.choosing import (
    figures_of,
    fitting,
    measured,
    multiple,
    normal_numbers,
    require_users,
)

Array = NDArray[np.float64]

POINTS = 20_000
"""Midpoints of [0, 1] at which a law of numbers is looked at."""


def normal_law() -> tuple[Array, Array]:
    """Return numbers in [0, 1] and their chances: normal around 1/2 with deviation 1/6, cut off at both ends.

    Examples
    --------
    >>> numbers, chances = normal_law()
    >>> round(float(chances @ numbers), 12), round(float(chances @ (numbers - 0.5) ** 2), 4)
    (0.5, 0.0271)
    """
    numbers = (np.arange(POINTS) + 0.5) / POINTS
    chances = np.exp(-0.5 * ((numbers - 0.5) * 6.0) ** 2)
    return numbers, chances / chances.sum()


def rounded(numbers: Array, steps: int) -> tuple[Array, Array]:
    """Return mean and variance of numbers that are randomly rounded to whole steps.

    Examples
    --------
    >>> rounded(np.array([0.25]), 2)
    (array([0.5]), array([0.25]))
    """
    mean = numbers * steps
    part = mean - np.floor(mean)
    return mean, part * (1.0 - part)


def response_variance(mean: Array, variance: Array, size: int, other: float) -> Array:
    """Return the variance of unbiased k-ary responses, each other one of 0 .. size - 1 with a probability.

    Parameters
    ----------
    mean, variance : (n,) array
        Of the true symbol.
    size : int
    other : float

    Examples
    --------
    >>> response_variance(np.zeros(1), np.zeros(1), 2, 0.25).round(12)  # (3/4) (1/4) / (1/2)^2
    array([0.75])
    """
    gain = 1.0 - size * other
    center = gain * mean + other * size * (size - 1) / 2.0
    square = gain * (variance + mean**2) + other * (size - 1) * size * (2 * size - 1) / 6.0
    result: Array = (square - center**2) / gain**2
    return result


def digits_variance(numbers: Array, levels: Sequence[int], others: Sequence[float]) -> Array:
    """Return the variance of a number sent as digits, each by a k-ary response; the last one is rounded.

    Examples
    --------
    >>> digits_variance(np.array([0.25]), [2, 1], [0.0, 0.0]).tolist()  # rounded between 0 and 1/2
    [0.0625]
    """
    rest, scale, total = numbers, 1.0, np.zeros(len(numbers))
    for size, other in zip(levels[:-1], others[:-1], strict=True):
        digit = np.minimum(np.floor(rest * size), size - 1.0)
        rest, scale = rest * size - digit, scale * size
        total += response_variance(digit, np.zeros(len(numbers)), size, other) / scale**2
    mean, variance = rounded(rest, levels[-1])
    return total + response_variance(mean, variance, levels[-1] + 1, others[-1]) / (scale * levels[-1]) ** 2


def normal_rmse(protocol: Protocol) -> float | None:
    """Return the error of a protocol's sum when users' numbers are normal, or None where it is not known."""
    numbers, chances = normal_law()
    users = protocol.promise.users
    if isinstance(protocol, RSumKR):
        steps, other = protocol.precision, protocol.noise.other / TOTAL
        variance = response_variance(*rounded(numbers, steps), steps + 1, other) / steps**2
        return math.sqrt(users * float(chances @ variance))
    if isinstance(protocol, RSumRM):
        noise = protocol.noise
        variance = digits_variance(numbers, noise.levels, [other / TOTAL for other in noise.others])
        return math.sqrt(users * float(chances @ variance))
    if isinstance(protocol, (RSumRR, RSumDSG)):  # noise that is the same for all numbers, and rounding
        steps = protocol.precision
        rounding = float(chances @ rounded(numbers, steps)[1])
        return math.sqrt(protocol.rmse**2 + users * (rounding - 0.25) / steps**2)
    return None


def recursive_rmse(users: int, epsilon: float, delta: float, messages: int = 3) -> float:
    """Return the error on normal numbers of the recursive protocol by its paper's defaults, or infinity.

    Each of m messages has epsilon / m and delta / m, precisions min(ceil(a^(3^j)), floor((n - 1) e / max(14
    ln(2 m/delta) / e, 27))) with e = epsilon / m and a = ((3^m - 1) n epsilon^2 / m^3)^(3^(-m - 1)).

    Examples
    --------
    >>> round(recursive_rmse(1_000_000, 0.9, 1e-6), 1)
    41.3
    """
    part, share = epsilon / messages, math.log(2.0 * messages / delta)
    base = ((3.0**messages - 1.0) * users * epsilon**2 / messages**3) ** (3.0 ** (-messages - 1))
    needed = max(14.0 * share / part**2, 27.0 / part) / (users - 1.0)
    levels = [min(math.ceil(base ** (3**place)), int(1.0 / needed)) for place in range(1, messages + 1)]
    sizes = [*levels[:-1], levels[-1] + 1]
    if min(levels) < 1 or max(size * needed for size in sizes) >= 1.0:
        return math.inf
    numbers, chances = normal_law()
    return math.sqrt(users * float(chances @ digits_variance(numbers, levels, [needed] * messages)))


def unary_rmse(users: int, epsilon: float, delta: float, bits: int = 10) -> float:
    """Return the error on normal numbers of unary bits that share epsilon and delta, or infinity.

    Each bit is flipped as in the counting protocol with epsilon / r and delta / r.

    Examples
    --------
    >>> round(unary_rmse(1_000_000, 0.9, 1e-6), 1)
    101.7
    """
    part, log = epsilon / bits, math.log(4.0 * bits / delta)
    share = 64.0 * log / (users * part**2)
    if part < math.sqrt(192.0 * log / users):
        share = 1.0 - part * math.sqrt(users / (432.0 * log))
    if not 0.0 < share < 1.0:
        return math.inf
    numbers, chances = normal_law()
    flips = (share / 2.0) * (1.0 - share / 2.0) / (bits * (1.0 - share) ** 2)
    return math.sqrt(users * (flips + float(chances @ rounded(numbers, bits)[1]) / bits**2))


def sum_quantities(problem: ShuffleSum, solution: Solution[Any]) -> dict[str, Any]:
    """Return messages, bits and local epsilon, and the errors of two models next to this one.

    ``local_rmse`` is the two-point mechanism of Duchi et al. without a shuffler, at its worst;
    ``laplace_rmse`` one Laplace number by a trusted server; ``over_...`` the value as a multiple of it, of
    another protocol's as well. ``normal_rmse`` is the error when users' numbers are normal,
    ``normal_over_...`` it as a multiple of that of another one, ``printed_rm`` three messages of the
    recursive protocol by its paper's defaults, ``printed_rr`` ten unary bits that share epsilon.
    """
    figures = figures_of(
        problem,
        solution,
        {
            "local_rmse": math.sqrt(problem.users) / (2.0 * math.tanh(problem.epsilon / 2.0)),
            "laplace_rmse": math.sqrt(2.0) / problem.epsilon,
        },
    )
    built = problem.built(solution.variables)
    own = normal_rmse(built)
    others = {
        "local": figures["local_rmse"],
        "printed_rm": recursive_rmse(problem.users, problem.epsilon, problem.delta),
        "printed_rr": unary_rmse(problem.users, problem.epsilon, problem.delta),
    }
    if own is not None:
        figures["normal_rmse"] = own
        for name, protocol in fitting(problem, built).items():
            error = normal_rmse(protocol)
            if error is not None:
                others[name] = error
        figures |= {f"normal_over_{name}": multiple(own, error) for name, error in others.items()}
    return figures


def sum_simulation(
    problem: ShuffleSum, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the protocol on users whose numbers are normal around 1/2, drawn again each time.

    Returns
    -------
    dict
        ``rmse``, and ``predicted_rmse`` where it is known for such numbers.
    """
    require_users(users, problem.users)
    protocol, data = problem.built(solution.variables), []
    for _ in range(repetitions):
        values = normal_numbers(users, rng)
        data.append((values, math.fsum(values.tolist())))
    errors, predicted = {"rmse": measured(protocol, data, rng)}, normal_rmse(protocol)
    return errors if predicted is None else {**errors, "predicted_rmse": predicted}
