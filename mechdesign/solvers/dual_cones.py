"""Dual cones in fractions: how multipliers are moved inside, and proofs that they are there.

A multiplier y is in the dual cone K* where y's >= 0 for all s in K. With s as cvxpy orders it:

- *second order*: the head is at least the length of the tail; compared by squares.
- *exponential*: u < 0 and w >= -u e^(v/u - 1), or u = 0 and v, w >= 0; with rational bounds of e^x.
- *power*, prod s_i^a_i >= abs(z) with sum a_i = 1: prod (u_i / a_i)^a_i >= abs(w); by bounds of logarithms.
- *semidefinite*: for any L whatever, M = LL' + R is at least -|R| (the largest row sum), so adding that
  multiple of the identity to M makes it semidefinite; L comes from eigenvectors in floating point, and R is
  exact. In its vector the entries outside of the diagonal are multiplied by sqrt 2; what a rational
  approximation of it leaves is a part of R.

What is moved is rounded to binary fractions, on the safe side, so that sums of it stay short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mechdesign.core.values import decimal_context
from mechdesign.exact.randomness import DIGITS, exp_lower, exp_upper

RAISE, SHRINK, LAST, LIFT, DROP = "raise", "shrink", "last", "lift", "drop"
"""How multipliers come inside of their cones: the head grows, or the tail or its last entry shrinks.

With ``LIFT`` the heads grow by a part of the largest of all multipliers; with ``DROP`` those that are smaller
than that part are 0 before the last entries of the others shrink.
"""

MOST_EXPONENT = 500
"""Exponents beyond this are not looked at; the bounds of e^x hold up to 1000."""

ROOT = Fraction(math.isqrt(2 << 240), 1 << 120)
"""The square root of 2, rounded down to 120 binary places."""

ROOT_ERROR = Fraction(1, 1 << 120)

BITS = 120
"""Binary digits of what is moved into a cone."""


class Cone(NamedTuple):
    """One cone of a product: its kind, its rows, and the exponents of a power cone."""

    kind: str
    rows: range
    exponents: tuple[Fraction, ...] = ()


def binary_above(number: Fraction) -> Fraction:
    """Return a binary fraction that is at least this one, by at most 2^-119 of it.

    Examples
    --------
    >>> third = binary_above(Fraction(1, 3))
    >>> third > Fraction(1, 3), float(third)
    (True, 0.3333333333333333)
    """
    shift = max(0, BITS - number.numerator.bit_length() + number.denominator.bit_length())
    return Fraction(-((-number.numerator << shift) // number.denominator), 1 << shift)


def put_inside(cone: Cone, y: list[Fraction], margin: float, direction: str) -> None:
    """Move the multipliers of one cone into its dual cone, provably where they are raised.

    Parameters
    ----------
    cone : Cone
    y : list of Fraction
        The multipliers of all rows; those of the cone are changed.
    margin : float
        How far inside they are to be, relative to their size.
    direction : str
        One of the ways above; here ``LIFT`` raises and ``DROP`` shrinks the last entry.
    """
    direction = {LIFT: RAISE, DROP: LAST}.get(direction, direction)
    if cone.kind == "nonnegative":
        y[cone.rows.start] = max(y[cone.rows.start], Fraction(0))
    elif cone.kind == "second-order":
        _put_second_order(cone.rows, y, margin, direction)
    elif cone.kind == "exponential":
        _put_exponential(cone.rows, y, margin, direction)
    elif cone.kind == "power":
        _put_power(cone, y, margin, direction)
    elif cone.kind == "semidefinite":
        _put_semidefinite(cone.rows, y, margin, direction)


def lifted_rows(cone: Cone) -> list[int]:
    """Return the rows of one cone in which any increase leads further inside."""
    if cone.kind in ("nonnegative", "second-order"):
        return [cone.rows.start]
    if cone.kind == "exponential":
        return [cone.rows[-1]]
    if cone.kind == "power":
        return list(cone.rows[:-1])
    if cone.kind == "semidefinite":
        size = (math.isqrt(8 * len(cone.rows) + 1) - 1) // 2
        return [cone.rows[(place + 1) * (place + 2) // 2 - 1] for place in range(size)]
    return []


def is_inside(cone: Cone, y: Sequence[Fraction]) -> bool:
    """Whether the multipliers of one cone are in its dual cone, provably.

    Examples
    --------
    >>> second_order = Cone("second-order", range(3))
    >>> is_inside(second_order, [Fraction(5), Fraction(3), Fraction(4)])
    True
    """
    if cone.kind == "nonnegative":
        return y[cone.rows.start] >= 0
    if cone.kind == "second-order":
        head, tail = y[cone.rows.start], [y[row] for row in cone.rows[1:]]
        return head >= 0 and head * head >= sum((part * part for part in tail), Fraction(0))
    if cone.kind == "exponential":
        u, v, w = (y[row] for row in cone.rows)
        if u == 0:
            return v >= 0 and w >= 0
        return u < 0 and v / u - 1 <= MOST_EXPONENT and w >= _least_tail(u, v)
    if cone.kind == "power":
        heads, last = [y[row] for row in cone.rows[:-1]], y[cone.rows[-1]]
        return min(heads) >= 0 and (not last or _product_below(heads, cone.exponents) >= abs(last))
    if cone.kind == "semidefinite":
        return _is_semidefinite(*_matrix(cone.rows, y))
    return True


def distance_inside(cone: Cone, y: Sequence[Fraction]) -> float:
    """Return about how far inside of its dual cone a multiplier is."""
    if cone.kind == "nonnegative":
        return float(y[cone.rows.start])
    if cone.kind == "second-order":
        square = sum((y[row] * y[row] for row in cone.rows[1:]), Fraction(0))
        return float(y[cone.rows.start]) - math.sqrt(float(square))
    if cone.kind == "exponential":
        u, v, w = (y[row] for row in cone.rows)
        return float(w - _least_tail(u, v)) if u < 0 and v / u - 1 <= MOST_EXPONENT else 0.0
    if cone.kind == "power":
        heads, last = [y[row] for row in cone.rows[:-1]], y[cone.rows[-1]]
        return float(min(*heads, _product_below(heads, cone.exponents) - abs(last)))
    matrix, _ = _matrix(cone.rows, y)
    return float(np.linalg.eigvalsh(np.array([[float(entry) for entry in row] for row in matrix]))[0])


def _put_second_order(rows: range, y: list[Fraction], margin: float, direction: str) -> None:
    root = _root_above(sum((y[row] * y[row] for row in rows[1:]), Fraction(0)))
    if direction != RAISE and y[rows.start] > 0 and root:
        factor = min(Fraction(1), y[rows.start] / root) * Fraction(1.0 - margin)
        for row in rows[1:] if direction == SHRINK else rows[-1:]:
            y[row] = binary_above(y[row] * factor)
    else:
        y[rows.start] = max(y[rows.start], root) + Fraction(margin) * root


def _root_above(square: Fraction) -> Fraction:
    """Return a rational number whose square is at least this one, by at most 2^-90 of it."""
    if not square:
        return Fraction(0)
    shift = max(0, 200 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    whole = -((-square.numerator << shift) // square.denominator)
    root = math.isqrt(whole)
    return Fraction(root + (root * root < whole), 1 << (shift // 2))


def _put_exponential(rows: range, y: list[Fraction], margin: float, direction: str) -> None:
    """Move (u, v, w) to u <= 0 and w >= -u e^(v/u - 1), or to u = 0 and v, w >= 0."""
    u, v, w = (y[row] for row in rows)
    if u >= 0 or v / u - 1 > MOST_EXPONENT:
        y[rows[0]], y[rows[1]], y[rows[2]] = Fraction(0), max(v, Fraction(0)), max(w, Fraction(0))
        return
    least = _least_tail(u, v)
    if direction != RAISE and w > 0:  # v grows, so that the exponential falls below w
        y[rows[1]] = max(v, u * (1 + Fraction(math.log(float(w / -u)) - margin)))
    else:
        y[rows[2]] = binary_above(max(w, least) + Fraction(margin) * least)


def _least_tail(u: Fraction, v: Fraction) -> Fraction:
    """Return a rational number that is at least -u e^(v/u - 1), for u < 0."""
    exponent = Fraction(math.ceil((v / u - 1) * (1 << BITS)), 1 << BITS)
    size = binary_above(-u)
    return size * exp_upper(exponent) if exponent >= 0 else size / exp_lower(-exponent)


def _put_power(cone: Cone, y: list[Fraction], margin: float, direction: str) -> None:
    """Move (u, w) to prod (u_i / a_i)^a_i >= abs(w): all u grow by a factor, or w shrinks by it."""
    last = y[cone.rows[-1]]
    for row in cone.rows[:-1]:
        y[row] = max(y[row], abs(last) / (1 << 60))
    if not last:
        return
    factor = abs(last) / _product_below([y[row] for row in cone.rows[:-1]], cone.exponents)
    if direction == RAISE:
        grown = max(factor, Fraction(1)) * Fraction(1.0 + margin)
        for row in cone.rows[:-1]:
            y[row] = binary_above(y[row] * grown)
    else:
        size = binary_above(abs(last) / max(factor, Fraction(1)) * Fraction(1.0 - margin))
        y[cone.rows[-1]] = size if last > 0 else -size


def _product_below(heads: Sequence[Fraction], exponents: Sequence[Fraction]) -> Fraction:
    """Return a rational number that is at most prod (u_i / a_i)^a_i; 0 where it is far below all doubles."""
    if min(heads) <= 0:
        return Fraction(0)
    total = Fraction(0)
    for head, exponent in zip(heads, exponents, strict=True):
        if exponent:
            total += exponent * _logarithm_below(head / exponent)
    exponent = Fraction(math.floor(total * (1 << BITS)), 1 << BITS)
    if exponent < -MOST_EXPONENT:
        return Fraction(0)
    return exp_lower(exponent) if exponent >= 0 else 1 / exp_upper(-exponent)


def _logarithm_below(number: Fraction) -> Fraction:
    context = decimal_context(DIGITS, ROUND_FLOOR)
    below = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Fraction(context.next_minus(context.ln(below)))


def _matrix(rows: range, y: Sequence[Fraction]) -> tuple[list[list[Fraction]], Fraction]:
    """Return the symmetric matrix of a vector, and how far the entries outside of the diagonal may be off.

    The vector holds the upper triangle column by column, its entries outside of the diagonal times sqrt 2.
    """
    size = (math.isqrt(8 * len(rows) + 1) - 1) // 2
    matrix = [[Fraction(0)] * size for _ in range(size)]
    entries = iter(rows)
    for column in range(size):
        for row in range(column + 1):
            entry = y[next(entries)]
            matrix[row][column] = matrix[column][row] = entry if row == column else entry / ROOT
    largest = max((abs(matrix[i][j]) for i in range(size) for j in range(i)), default=Fraction(0))
    return matrix, largest * ROOT_ERROR


def _deficit(matrix: list[list[Fraction]], error: Fraction) -> Fraction:
    """Return a number whose multiple of the identity makes a symmetric matrix semidefinite, provably."""
    size = len(matrix)
    floats = np.array([[float(entry) for entry in row] for row in matrix])
    values, vectors = np.linalg.eigh(floats)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    scale = 1 << 80
    whole = [[round(Fraction(entry) * scale) for entry in row] for row in factor.tolist()]
    worst = Fraction(0)
    for i in range(size):
        total = error * size
        for j in range(size):
            product = sum(a * b for a, b in zip(whole[i], whole[j], strict=True))
            total += binary_above(abs(matrix[i][j] - Fraction(product, scale * scale)))
        worst = max(worst, total)
    return binary_above(worst)


def _put_semidefinite(rows: range, y: list[Fraction], margin: float, direction: str) -> None:
    matrix, error = _matrix(rows, y)
    size = len(matrix)
    spread = max(abs(matrix[i][i]) for i in range(size))
    shift = _deficit(matrix, error)
    if direction == RAISE:
        shift += Fraction(margin) * spread
    else:  # towards the multiple of the identity with the same trace
        factor = 1 - Fraction(margin)
        mean = sum((matrix[place][place] for place in range(size)), Fraction(0)) / size
        for row in rows:
            y[row] *= factor
        shift = shift * factor + Fraction(margin) * mean
    for place in range(size):
        y[rows[(place + 1) * (place + 2) // 2 - 1]] += binary_above(shift)


def _is_semidefinite(matrix: list[list[Fraction]], error: Fraction) -> bool:
    """Whether a matrix is semidefinite whatever its errors: M - t I is nearly LL' for some t > 0."""
    size = len(matrix)
    floats = np.array([[float(entry) for entry in row] for row in matrix])
    least = float(np.linalg.eigvalsh(floats)[0])
    if least <= 0.0:
        return not any(any(row) for row in matrix) and not error
    shift = Fraction(least / 2.0)
    moved = [
        [entry - (shift if i == j else 0) for j, entry in enumerate(row)] for i, row in enumerate(matrix)
    ]
    return _deficit(moved, error) <= shift and size > 0
