"""Exact optima in rational arithmetic, written from the definitions; nothing here knows the package."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import lcm

Row = list[Fraction]


def nary_optimum(prior: Sequence[Fraction], exponential: Fraction, delta: Fraction = Fraction(0)) -> Fraction:
    """Return delta + (1 - delta) max_k E S_k / (E + k - 1), S_k the sum of the k largest."""
    falling = sorted(prior, reverse=True)
    best = max(
        exponential * sum(falling[:count]) / (exponential + count - 1) for count in range(1, len(prior) + 1)
    )
    return delta + (1 - delta) * best


def simplex_maximum(costs: Row, rows: list[Row], limits: Row) -> Fraction:
    """Return max costs . x subject to rows x <= limits (all >= 0), x >= 0, by the simplex method, exactly.

    Bland's rule, so it ends; the origin is feasible, so it starts. All entries are whole numbers over one
    denominator, the last pivot, which divides what a step makes of them (Bareiss); a row's own denominator
    goes into the unit of its slack.
    """
    count = len(costs)
    assert all(limit >= 0 for limit in limits)
    tableau = [
        [*entries, *(int(number == place) for place in range(len(rows))), limit]
        for number, (row, last) in enumerate(zip(rows, limits, strict=True))
        for *entries, limit in [whole(*row, last)[0]]
    ]
    scaled, unit = whole(*costs)
    bottom = [-cost for cost in scaled] + [0] * (len(rows) + 1)
    basis, denominator = [count + number for number in range(len(rows))], 1
    while (entering := next((place for place, cost in enumerate(bottom[:-1]) if cost < 0), None)) is not None:
        ratios = [
            (Fraction(line[-1], line[entering]), basis[number], number)
            for number, line in enumerate(tableau)
            if line[entering] > 0
        ]
        assert ratios, "unbounded"
        leaving = min(ratios)[2]
        chosen = tableau[leaving]
        pivot = chosen[entering]
        for line in [*(line for number, line in enumerate(tableau) if number != leaving), bottom]:
            factor = line[entering]
            line[:] = [(pivot * a - factor * b) // denominator for a, b in zip(line, chosen, strict=True)]
        basis[leaving], denominator = entering, pivot
    return Fraction(bottom[-1], denominator * unit)


def whole(*numbers: Fraction) -> tuple[list[int], int]:
    """Return numbers as whole ones over their common denominator, and this."""
    unit = lcm(*(number.denominator for number in numbers))
    return [number.numerator * (unit // number.denominator) for number in numbers], unit


def channel_optimum(
    gains: Sequence[Sequence[Fraction]],
    factors: Sequence[Sequence[Fraction]],
    delta: Fraction = Fraction(0),
    notion: str = "ldp",
) -> Fraction:
    """Return the largest sum of gains_ij p_ij over private channels, exactly, from the definition.

    ``factors[i][k]`` is what p_k is multiplied with in the row of the pair (i, k). The last column is
    1 minus the others; the channel that always makes the last report is the origin, which is private.
    """
    inputs, reports = len(gains), len(gains[0])
    free = reports - 1
    zero = [Fraction(0)] * (inputs * free)

    def mass(row: int, chosen: Sequence[int]) -> tuple[Row, Fraction]:
        """Return Pr[report in chosen | row] as coefficients and a constant."""
        coefficients, constant = list(zero), Fraction(0)
        for report in chosen:
            if report < free:
                coefficients[row * free + report] += 1
            else:
                constant += 1
                for other in range(free):
                    coefficients[row * free + other] -= 1
        return coefficients, constant

    rows, limits = [], []
    for row in range(inputs):
        rows.append(mass(row, range(free))[0])
        limits.append(Fraction(1))
    sizes = range(1, reports + 1) if delta > 0 and notion == "ldp" else (1,)
    for first, second in permutations(range(inputs), 2):
        for size in sizes:
            for chosen in combinations(range(reports), size):
                (more, here), (less, there) = mass(first, chosen), mass(second, chosen)
                factor = factors[first][second]
                rows.append([a - factor * b for a, b in zip(more, less, strict=True)])
                limits.append(delta - here + factor * there)
    costs, constant = list(zero), Fraction(0)
    for row in range(inputs):
        constant += gains[row][free]
        for report in range(free):
            costs[row * free + report] = gains[row][report] - gains[row][free]
    return constant + simplex_maximum(costs, rows, limits)


def truth_gains(prior: Sequence[Fraction]) -> list[Row]:
    """Return pi_i [i = j], the objective of the probability of a true report."""
    return [
        [share if report == answer else Fraction(0) for report in range(len(prior))]
        for answer, share in enumerate(prior)
    ]


def plain_factors(size: int, exponential: Fraction) -> list[Row]:
    """Return the same factor for every pair."""
    return [[exponential] * size for _ in range(size)]


def subsets(count: int) -> list[tuple[int, ...]]:
    """Return every subset of 0 .. count - 1, the empty one first."""
    return [chosen for size in range(count + 1) for chosen in combinations(range(count), size)]


def brute_set_wise(weights: Sequence[Sequence[int]], exponential: Fraction, total: int) -> Fraction:
    """Return the largest W_x(S) - E W_x'(S) over all pairs and all subsets S, over the total."""
    sets = subsets(len(weights[0]))
    worst = (
        max(
            sum(first[report] for report in chosen) - exponential * sum(second[report] for report in chosen)
            for first, second in permutations(weights, 2)
            for chosen in sets
        )
        if len(weights) > 1
        else Fraction(0)
    )
    return Fraction(worst) / total


def brute_entry_wise(weights: Sequence[Sequence[int]], exponential: Fraction, total: int) -> Fraction:
    """Return the largest w_xy - E w_x'y over all pairs and reports, at least 0, over the total."""
    worst = max(
        (
            more - exponential * less
            for first, second in permutations(weights, 2)
            for more, less in zip(first, second, strict=True)
        ),
        default=Fraction(0),
    )
    return max(Fraction(0), Fraction(worst)) / total


def largest_ratio(weights: Sequence[Sequence[int]]) -> Fraction | None:
    """Return max w_xy / w_x'y over all pairs and reports, at least 1; None when it is infinite."""
    best = Fraction(1)
    for first, second in permutations(weights, 2):
        for more, less in zip(first, second, strict=True):
            if more > 0 and less == 0:
                return None
            if less > 0:
                best = max(best, Fraction(more, less))
    return best


def exponential_bounds(exponent: Fraction) -> tuple[Fraction, Fraction | None]:
    """Return rational numbers below and above e^exponent, 60 digits apart; above 60 only a lower one, 2^80.

    The series of e^y for y = x / 2^k <= 1 ends in a term t, and what is left out is below 2 t; then k
    squarings, each rounded outwards to a multiple of 2^-300.
    """
    assert exponent >= 0
    if exponent > 60:
        return Fraction(2) ** 80, None
    halvings = max(0, (exponent.numerator // exponent.denominator).bit_length())
    small, term, low = exponent / 2**halvings, Fraction(1), Fraction(1)
    for power in range(1, 70):
        term = _outward(term * small / power, up=True)
        low += _outward(term, up=False) - Fraction(70, 2**300)
    high = low + 2 * term + Fraction(70 * 71, 2**300)
    low = max(Fraction(1), low)
    for _ in range(halvings):
        low, high = _outward(low * low, up=False), _outward(high * high, up=True)
    return low, high


def _outward(number: Fraction, up: bool) -> Fraction:
    scaled = number * 2**300
    return Fraction(-(-scaled.numerator // scaled.denominator) if up else int(scaled), 2**300)


def is_private(
    weights: Sequence[Sequence[int]],
    epsilon: Fraction,
    distance: Sequence[Sequence[Fraction]] | None = None,
) -> bool | None:
    """Return whether w_xy <= e^(epsilon d(x, x')) w_x'y for all pairs and reports; None if too close.

    Plain privacy is distance 1. Every pair is looked at, in fractions, by the definition.
    """
    verdict: bool | None = True
    for first, second in permutations(range(len(weights)), 2):
        step = Fraction(1) if distance is None else distance[first][second]
        low, high = exponential_bounds(epsilon * step)
        for more, less in zip(weights[first], weights[second], strict=True):
            if (high is not None and more > high * less) or less == 0 < more:
                return False
            if more > low * less:
                verdict = None
    return verdict
