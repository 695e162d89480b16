"""Sparse systems of linear equations in whole numbers, solved exactly: Dixon's lifting and reconstruction.

The matrix is factored once modulo a prime. Each step of the lifting gives as many further digits, to the
base of the prime, of the solution as a p-adic number, and the remainder is computed in whole numbers. The
fractions are read off by Wang's rational reconstruction, and what is returned was put into the equations:
nothing rests on how many steps were taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, lcm

Entries = dict[int, int]
"""The entries of a row or a column by their places; none is 0."""

PRIMES = ((1 << 61) - 1, (1 << 61) - 31, (1 << 62) - 57)
"""A matrix that is singular modulo all of them is taken for singular."""

MOST_STEPS = 4096
"""Steps of the lifting, of more than 18 digits each, before it is given up."""

Equation = tuple[Mapping[int, Fraction], Fraction]
"""The coefficients of an equation by unknown, and its right side."""


@dataclass(frozen=True)
class CommonFractions:
    """Fractions with one denominator: ``numerators[k] / denominator``.

    Examples
    --------
    >>> CommonFractions([1, -4], 6).fractions()
    [Fraction(1, 6), Fraction(-2, 3)]
    """

    numerators: list[int]
    denominator: int

    def fractions(self) -> list[Fraction]:
        """Return them one by one, reduced."""
        return [Fraction(number, self.denominator) for number in self.numerators]


class FactoredSystem:
    """A square sparse matrix of whole numbers, factored modulo a prime.

    Parameters
    ----------
    rows : sequence of dict
        The entries of each row by column.

    Raises
    ------
    ZeroDivisionError
        When it is singular.

    Examples
    --------
    >>> system = FactoredSystem([{0: 2, 1: 1}, {1: 3}])
    >>> system.solved([1, 1]).fractions()
    [Fraction(1, 3), Fraction(1, 3)]
    >>> system.solved([1, 1], transposed=True).fractions()
    [Fraction(1, 2), Fraction(1, 6)]
    """

    def __init__(self, rows: Sequence[Entries]) -> None:
        self.rows = rows
        for prime in PRIMES:
            pivots = _factored(rows, prime, len(rows))
            if len(pivots) == len(rows):
                self._prime, self._pivots = prime, pivots
                return
        raise ZeroDivisionError("the matrix is singular")

    def solved(self, right: Sequence[int], transposed: bool = False) -> CommonFractions:
        """Return the solution of ``matrix x = right``, or of the transposed matrix."""
        prime, remainder, attempt = self._prime, list(right), 1
        digits, power, pending = [0] * len(right), 1, list[list[int]]()
        for step in range(1, MOST_STEPS + 1):
            part = self._transposed(remainder) if transposed else self._upright(remainder)
            pending.append(part)
            product = self._product(part, transposed)
            remainder = [(old - new) // prime for old, new in zip(remainder, product, strict=True)]
            if step >= attempt or not any(remainder):
                attempt = max(step + 1, step * 3 // 2)
                more, factor = _folded(pending, prime)
                digits = [old + power * new for old, new in zip(digits, more, strict=True)]
                power, pending = power * factor, []
                result = _reconstructed(digits, power)
                if result is not None and self._fits(result, right, transposed):
                    return result
        raise ArithmeticError("the solution has too many digits")

    def _fits(self, result: CommonFractions, right: Sequence[int], transposed: bool) -> bool:
        """Whether fractions satisfy the equations exactly."""
        product = self._product(result.numerators, transposed)
        return product == [result.denominator * number for number in right]

    def _product(self, numbers: Sequence[int], transposed: bool) -> list[int]:
        if not transposed:
            return [sum(value * numbers[place] for place, value in row.items()) for row in self.rows]
        result = [0] * len(self.rows)
        for number, row in zip(numbers, self.rows, strict=True):
            if number:
                for place, value in row.items():
                    result[place] += value * number
        return result

    def _upright(self, right: Sequence[int]) -> list[int]:
        prime = self._prime
        left = [number % prime for number in right]
        for pivot in self._pivots:
            known = left[pivot.row]
            if known:
                for row, factor in pivot.factors:
                    left[row] = (left[row] - factor * known) % prime
        result = [0] * len(left)
        for pivot in reversed(self._pivots):
            total = left[pivot.row] - sum(value * result[place] for place, value in pivot.rest)
            result[pivot.column] = total * pivot.inverse % prime
        return result

    def _transposed(self, right: Sequence[int]) -> list[int]:
        prime = self._prime
        left = [number % prime for number in right]
        result = [0] * len(left)
        for pivot in self._pivots:
            known = left[pivot.column] * pivot.inverse % prime
            result[pivot.row] = known
            if known:
                for place, value in pivot.rest:
                    left[place] = (left[place] - value * known) % prime
        for pivot in reversed(self._pivots):
            total = result[pivot.row] - sum(factor * result[row] for row, factor in pivot.factors)
            result[pivot.row] = total % prime
        return result


@dataclass(frozen=True)
class _Pivot:
    """A step of the elimination: which multiples of its row were taken from which rows below."""

    row: int
    column: int
    inverse: int
    rest: list[tuple[int, int]]
    factors: list[tuple[int, int]]


def _factored(rows: Sequence[Entries], prime: int, width: int) -> list[_Pivot]:
    """Return the elimination modulo a prime, the sparsest pivots first, until no pivot is left."""
    left = [{place: value % prime for place, value in row.items() if value % prime} for row in rows]
    columns: list[set[int]] = [set() for _ in range(width)]
    for number, row in enumerate(left):
        for place in row:
            columns[place].add(number)
    buckets = _Buckets(left, columns)
    pivots = []
    while (pivot := buckets.sparsest()) is not None:
        pivots.append(_eliminated(left, columns, buckets, *pivot, prime))
    return pivots


class _Buckets:
    """Rows and columns that are left, by their numbers of entries."""

    def __init__(self, rows: list[Entries], columns: list[set[int]]) -> None:
        self.rows, self.columns = rows, columns
        self.open_rows, self.open_columns = set(range(len(rows))), set(range(len(columns)))
        self.short_rows = [place for place in self.open_rows if len(rows[place]) <= 1]
        self.short_columns = [place for place in self.open_columns if len(columns[place]) <= 1]

    def sparsest(self) -> tuple[int, int] | None:
        """Return row and column of the next pivot: singletons, else the shortest row and column in it."""
        while self.short_columns:
            column = self.short_columns.pop()
            if column in self.open_columns and self.columns[column]:
                return min(self.columns[column]), column
        while self.short_rows:
            row = self.short_rows.pop()
            if row in self.open_rows and self.rows[row]:
                return row, next(iter(self.rows[row]))
        self.open_rows = {row for row in self.open_rows if self.rows[row]}
        if not self.open_rows:
            return None
        row = min(self.open_rows, key=lambda place: len(self.rows[place]))
        return row, min(self.rows[row], key=lambda place: len(self.columns[place]))

    def shortened_row(self, row: int) -> None:
        """Take note of a row with fewer entries."""
        if len(self.rows[row]) <= 1:
            self.short_rows.append(row)

    def shortened_column(self, column: int) -> None:
        """Take note of a column with fewer entries."""
        if len(self.columns[column]) <= 1:
            self.short_columns.append(column)


def _eliminated(
    rows: list[Entries], columns: list[set[int]], buckets: _Buckets, row: int, column: int, prime: int
) -> _Pivot:
    """Take multiples of a row from those below, so that its column is left with the pivot alone."""
    own = rows[row]
    inverse = pow(own.pop(column), -1, prime)
    rest = list(own.items())
    buckets.open_rows.discard(row)
    buckets.open_columns.discard(column)
    for place, _ in rest:
        columns[place].discard(row)
        buckets.shortened_column(place)
    factors = []
    for other in columns[column]:
        if other == row:
            continue
        target = rows[other]
        factor = target.pop(column) * inverse % prime
        factors.append((other, factor))
        for place, value in rest:
            new = (target.get(place, 0) - factor * value) % prime
            if new:
                target[place] = new
                columns[place].add(other)
            elif place in target:
                del target[place]
                columns[place].discard(other)
                buckets.shortened_column(place)
        buckets.shortened_row(other)
    return _Pivot(row, column, inverse, rest, factors)


def _folded(parts: list[list[int]], base: int) -> tuple[list[int], int]:
    """Return the numbers with these digits, the lowest first, and the power of the base above them.

    Neighbours are joined again and again: long numbers are multiplied only a few times.
    """
    power = base ** len(parts)
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [[low + base * high for low, high in zip(*pair, strict=True)] for pair in pairs]
        parts, base = joined + parts[len(joined) * 2 :], base * base
    return parts[0], power


def equations_solved(equations: Sequence[Equation]) -> dict[int, Fraction] | None:
    """Return one exact solution of sparse linear equations; None where there is none.

    There may be more unknowns than equations, and equations that follow from others. Unknowns that are not
    needed are left out: they are 0.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> solution = equations_solved([({7: half, 9: half}, Fraction(1)), ({9: half}, Fraction(3))])
    >>> solution[7], solution[9]
    (Fraction(-4, 1), Fraction(6, 1))
    >>> equations_solved([({7: half}, half), ({7: Fraction(1)}, half)]) is None
    True
    """
    places = {
        unknown: place for place, unknown in enumerate(dict.fromkeys(u for row, _ in equations for u in row))
    }
    rows, right = [], []
    for row, value in equations:
        common = lcm(1, *(entry.denominator for entry in row.values()))
        rows.append({places[u]: int(entry * common) for u, entry in row.items() if entry})
        right.append(value * common)
    scale = lcm(1, *(value.denominator for value in right))
    whole = [int(value * scale) for value in right]
    for prime in PRIMES:  # a pivot that is 0 modulo one of them is not modulo another one
        point = _at_pivots(rows, whole, len(places), prime)
        if point is not None:
            denominator = point.denominator * scale
            pairs = zip(places, point.numerators, strict=True)
            return {unknown: Fraction(number, denominator) for unknown, number in pairs if number}
    return None


def _at_pivots(rows: list[Entries], right: list[int], width: int, prime: int) -> CommonFractions | None:
    """Return the solution that is 0 but in the columns of the pivots, if it satisfies all rows."""
    pivots = _factored(rows, prime, width)
    order = {pivot.column: number for number, pivot in enumerate(pivots)}
    chosen = [
        {order[place]: value for place, value in rows[pivot.row].items() if place in order}
        for pivot in pivots
    ]
    try:
        point = FactoredSystem(chosen).solved([right[pivot.row] for pivot in pivots])
    except ArithmeticError:
        return None
    numbers = [0] * width
    for column, number in order.items():
        numbers[column] = point.numerators[number]
    for row, value in zip(rows, right, strict=True):  # those without a pivot have to follow from the others
        if sum(entry * numbers[place] for place, entry in row.items()) != value * point.denominator:
            return None
    return CommonFractions(numbers, point.denominator)


def _reconstructed(digits: Sequence[int], modulus: int) -> CommonFractions | None:
    """Return fractions with small parts that are these numbers modulo ``modulus``; None where there is none.

    The common denominator grows entry by entry; most entries have one that is known already.
    """
    limit = isqrt(modulus // 2)
    common, parts = 1, []
    for digit in digits:
        number = digit * common % modulus
        if number > modulus - number:
            number -= modulus
        denominator = 1
        if abs(number) > limit:
            quotient = _fraction(number % modulus, modulus, limit)
            if quotient is None:
                return None
            number, denominator = quotient
        common *= denominator
        if common > limit:
            return None
        parts.append((number, common))
    return CommonFractions([number * (common // own) for number, own in parts], common)


def _fraction(number: int, modulus: int, limit: int) -> tuple[int, int] | None:
    """Return numerator and denominator, both at most ``limit``, of a number modulo ``modulus``."""
    before, now = modulus, number
    outer, inner = 0, 1
    while now > limit:
        whole = before // now
        before, now = now, before - whole * now
        outer, inner = inner, outer - whole * inner
    if inner == 0 or abs(inner) > limit:
        return None
    return (now, inner) if inner > 0 else (-now, -inner)
