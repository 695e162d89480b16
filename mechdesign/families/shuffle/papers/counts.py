"""Protocols for counts, sums and histograms next to their papers: their constants, other means, drawn data.

Errors of sums are also computed for numbers that are normal around 1/2, and for protocols by the formulas of
their papers. Those of hashing are computed by the formulas of its paper as well, with ideal hash functions:
the protocols that run here draw from a family of exactly pairwise equal collisions, which has at most as many
buckets as its prime; the paper's formula takes more buckets than categories when users are many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MethodError
from mechdesign.core.solution import Quantities, Solution
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.shuffle import Protocol, RSumDSG, RSumKR, RSumRM, RSumRR
from mechdesign.families.shuffle.choosing import Choosing
from mechdesign.families.shuffle.counts import ShuffleCounting, ShuffleHistogram, ShuffleSum
from mechdesign.families.shuffle.papers import choosing
from mechdesign.families.shuffle.papers.choosing import (
    compared,
    figures_of,
    fitting,
    measured,
    multiple,
    normal_categories,
    normal_numbers,
    ones_and_zeros,
    over_others,
    published_methods,
    require_users,
)
from mechdesign.families.shuffle.tasks import CountProtocol, HistogramProtocol


def count_quantities(problem: ShuffleCounting, solution: Solution[Any]) -> Quantities:
    """Return messages, bits and local epsilon, and the errors of two models next to this one.

    ``local_rmse`` is randomized response without a shuffler, ``laplace_rmse`` one Laplace number by a trusted
    server, ``geometric_rmse`` the discrete one; ``over_...`` the value as a multiple of it, of another
    protocol's as well.
    """
    grown, ratio = math.exp(problem.epsilon), math.exp(-problem.epsilon)
    rivals = {
        "local_rmse": math.sqrt(problem.users * grown) / (grown - 1.0),
        "laplace_rmse": math.sqrt(2.0) / problem.epsilon,
        "geometric_rmse": math.sqrt(2.0 * ratio) / (1.0 - ratio),
    }
    return compared(problem, solution, figures_of(problem, solution, rivals))


def count_simulation(
    problem: ShuffleCounting, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the protocol on users of whom a share holds 1, half of them where the problem names none.

    Returns
    -------
    dict
        ``rmse`` and ``predicted_rmse`` on these data.
    """
    require_users(users, problem.users)
    protocol, share = problem.built(solution.variables), 0.5 if problem.ones is None else problem.ones
    values = ones_and_zeros(users, share)
    predicted = protocol.rmse_at(share) if isinstance(protocol, CountProtocol) else protocol.rmse
    data = [(values, int(values.sum()))] * repetitions
    return {"rmse": measured(protocol, data, rng), "predicted_rmse": predicted}


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


def sum_quantities(problem: ShuffleSum, solution: Solution[Any]) -> Quantities:
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
        figures |= {f"normal_over_{name}": multiple(own, error) for name, error in others.items()}
    return Quantities(figures, partial(sum_over_others, problem, solution.variables, solution.value))


def sum_over_others(problem: ShuffleSum, variables: Mapping[str, Any], value: float) -> dict[str, float]:
    """Return both errors as multiples of those of each protocol to compare the solution's with."""
    numbers, built = over_others(problem, variables, value), problem.built(variables)
    own = normal_rmse(built)
    for name, protocol in fitting(problem, built).items() if own is not None else ():
        error = normal_rmse(protocol)
        if own is not None and error is not None:
            numbers[f"normal_over_{name}"] = multiple(own, error)
    return numbers


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


SHARE = 0.01
"""Fake messages a user that the survey's experiments let the shufflers of MURS add."""


def normal_counts(users: int, categories: int) -> NDArray[np.float64]:
    """Return the expected number of users in each category when these are a rounded normal number.

    Its mean is the middle of the categories, its standard deviation a sixth of their number; what is beyond
    them is drawn again.

    Examples
    --------
    >>> normal_counts(1000, 4).round(1).tolist()
    [65.6, 434.4, 434.4, 65.6]
    """
    ends = np.linspace(-3.0, 3.0, categories + 1)
    below = np.array([0.5 * math.erfc(-end / math.sqrt(2.0)) for end in ends.tolist()])
    mass = np.diff(below)
    counts: NDArray[np.float64] = users * mass / mass.sum()
    return counts


def hashing_rmse(users: int, epsilon: float, delta: float) -> float:
    """Return the error of an empty category by local hashing as printed (SLH), or infinity outside its range.

    With M = epsilon^2 (n - 1) / (14 ln(2/delta)) and d' = (M + 2) / 3 buckets the variance is
    n M^2 / ((M - d')^2 (d' - 1)).

    Examples
    --------
    >>> round(hashing_rmse(100_000, 0.9, 1e-6), 1)
    41.3
    """
    mass = min(epsilon**2 * (users - 1) / (14.0 * math.log(2.0 / delta)), epsilon * (users - 1) / 27.0)
    buckets = round((mass + 2.0) / 3.0)
    if epsilon > 1.0 or not 2 <= buckets < mass:
        return math.inf
    return math.sqrt(users * mass**2 / ((mass - buckets) ** 2 * (buckets - 1.0)))


def fakes_rmse(users: int, epsilon: float, delta: float) -> float:
    """Return the same with fakes of the shufflers (MURS), one for a hundred users, or infinity.

    With d' buckets and F fakes the local epsilon solves 14 ln(2/delta) / epsilon^2 = (n - 1) / (e + d' - 1) +
    F / d', the variance is (n + F) (1/d') (1 - 1/d') / (p - 1/d')^2 with p = e / (e + d' - 1).

    Examples
    --------
    >>> round(fakes_rmse(100_000, 0.9, 1e-6), 1)
    40.9
    """
    needed, fakes = 14.0 * math.log(2.0 / delta) / epsilon**2, SHARE * users
    if epsilon > 1.0:
        return math.inf
    buckets = np.arange(2.0, max(4.0, users / needed))
    rest = needed - fakes / buckets
    with np.errstate(divide="ignore"):
        own = np.where(rest > 0.0, 1.0 - rest * (buckets - 1.0) / (users - 1.0), 1.0)
    fit = 1.0 / buckets
    gain = np.where(own > fit, own - fit, np.nan)
    variance = (users + fakes) * fit * (1.0 - fit) / gain**2
    return math.inf if np.isnan(variance).all() else math.sqrt(float(np.nanmin(variance)))


def histogram_quantities(problem: ShuffleHistogram, solution: Solution[Any]) -> Quantities:
    """Return messages, bits and local epsilon, and the errors of two models next to this one.

    ``local_rmse`` is k-ary randomized response without a shuffler, ``laplace_rmse`` Laplace noise of scale
    2 / epsilon by a trusted server, ``printed_slh_rmse`` and ``printed_murs_rmse`` hashing by the paper's
    formulas; ``over_...`` the value as a multiple of it, of another protocol's as well. ``normal_rmse`` is
    the error over all categories when users hold normally distributed ones.
    """
    grown = math.exp(problem.epsilon)
    figures = figures_of(
        problem,
        solution,
        {
            "local_rmse": math.sqrt(problem.users * (grown + problem.categories - 2.0)) / (grown - 1.0),
            "laplace_rmse": 2.0 * math.sqrt(2.0) / problem.epsilon,
            "printed_slh_rmse": hashing_rmse(problem.users, problem.epsilon, problem.delta),
            "printed_murs_rmse": fakes_rmse(problem.users, problem.epsilon, problem.delta),
        },
    )
    protocol = problem.built(solution.variables)
    if isinstance(protocol, HistogramProtocol):
        counts = normal_counts(problem.users, problem.categories)
        figures["normal_rmse"] = math.sqrt(float(protocol.squares_at(counts).mean()))
        figures["normal_over_local"] = figures["normal_rmse"] / figures["local_rmse"]
    return compared(problem, solution, figures)


def histogram_simulation(
    problem: ShuffleHistogram, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the protocol on users whose categories are normal around the middle, drawn again each time.

    Returns
    -------
    dict
        ``rmse`` over all categories, and ``predicted_rmse`` for the expected counts.
    """
    require_users(users, problem.users)
    protocol, data = problem.built(solution.variables), []
    for _ in range(repetitions):
        values = normal_categories(users, problem.categories, rng)
        data.append((values, np.bincount(values, minlength=problem.categories)))
    errors = {"rmse": measured(protocol, data, rng)}
    if isinstance(protocol, HistogramProtocol):
        squares = protocol.squares_at(normal_counts(users, problem.categories))
        errors["predicted_rmse"] = math.sqrt(float(squares.mean()))
    return errors


METHODS = tuple(
    method
    for problem in (ShuffleCounting, ShuffleSum, ShuffleHistogram)
    for method in published_methods(problem)
)

OF_PROBLEM: Mapping[str, tuple[Callable[..., Quantities], Callable[..., dict[str, float]]]] = {
    "shuffle-counting": (count_quantities, count_simulation),
    "shuffle-sum": (sum_quantities, sum_simulation),
    "shuffle-histogram": (histogram_quantities, histogram_simulation),
}
"""The quantities and the simulation of a problem, by its name."""


def quantities(problem: Choosing, solution: Solution[Any]) -> Quantities:
    """Return messages, bits and local epsilon, and the errors of other models next to this one."""
    own = OF_PROBLEM.get(problem.name)
    return choosing.quantities(problem, solution) if own is None else own[0](problem, solution)


def simulation(
    problem: Choosing, solution: Solution[Any], users: int, repetitions: int, rng: np.random.Generator
) -> dict[str, float]:
    """Run the protocol on drawn data: the error, and the error that is predicted for such data."""
    if problem.name not in OF_PROBLEM:
        raise MethodError(
            problem.name, "no simulation is defined for this problem", "drop the table 'simulation'"
        )
    return OF_PROBLEM[problem.name][1](problem, solution, users, repetitions, rng)
