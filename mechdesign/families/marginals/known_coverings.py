"""Coverings that are known: designs of finite geometries, triple systems, and results of an earlier search.

**Results of a search.** Each is a group and one block of each of its orbits.

``known_coverings.txt`` has a line for each: points, order, block size, number of blocks, the group's name,
and the blocks, a digit to base 32 a point. They come from a search over orbits. Nothing of them is believed:
whatever is built from them is audited as every other covering.

A name says which group of permutations it is; points beyond those it moves stay where they are:

- ``1``: only the identity.
- ``2x11``: two cycles of 11 points each, turned together.
- ``2x11*4``: besides, the number in each cycle is multiplied by 4 (mod 11).
- ``2x11*4>``: that multiplication moves on to the next cycle as well; ``2x11>`` moves on alone.
- ``AG16`` and ``AG16*3``: the translations of GF(16); besides, the multiplication by its element 3.
- ``PSL23``: the fractional linear maps of square determinant on GF(23) and infinity; ``PGL23``: all.
- ``=120/102``: generators by the images of the points, a digit to base 32 each; here all of three points.
- ``2x7*2+3x1>``: parts side by side on points of their own. The last generators of all parts move together,
  so do those before them; here the multiplication by 2 turns the last three points.

**Designs in closed form.** Flats of finite geometries, spherical geometries, triple systems. All are
coverings of their own points, and with some points deleted, of fewer. They are stated as membership matrices,
a row a block. The geometries calculate in finite fields of small prime power order, held as tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.extensions import packaged_text

Wholes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Field:
    """GF(q): elements are 0 .. q-1, 0 and 1 are the neutral ones.

    Attributes
    ----------
    size : int
    plus, times : (q, q) array
        The tables of addition and multiplication.
    minus, inverse : (q,) array
        The negative, and the inverse (0 for 0, which has none).
    """

    size: int
    plus: Wholes
    times: Wholes
    minus: Wholes
    inverse: Wholes


def prime_power(size: int) -> tuple[int, int] | None:
    """Return (p, n) with size = p^n and p prime, or None.

    Examples
    --------
    >>> prime_power(9), prime_power(12)
    ((3, 2), None)
    """
    if size < 2:
        return None
    prime = next((p for p in range(2, int(size**0.5) + 1) if size % p == 0), size)
    exponent, rest = 0, size
    while rest % prime == 0:
        rest //= prime
        exponent += 1
    return (prime, exponent) if rest == 1 else None


@cache
def field(size: int) -> Field:
    """Return GF(size); the digits of an element to the base p are the coefficients of a polynomial.

    Examples
    --------
    >>> four = field(4)
    >>> four.times[2, 3], four.plus[2, 3], four.inverse[2]
    (np.int64(1), np.int64(1), np.int64(3))
    """
    power = prime_power(size)
    assert power is not None, f"there is no field of {size} elements"
    prime, exponent = power
    digits = np.array([_digits(element, prime, exponent) for element in range(size)])
    weights = prime ** np.arange(exponent)
    plus = (digits[:, None, :] + digits[None, :, :]) % prime @ weights
    for tail in product(range(prime), repeat=exponent):
        times = _multiplication(digits, np.array(tail), prime)
        if (np.sort(times[1:, 1:], axis=1) == np.arange(1, size)).all():  # no divisors of zero: a field
            break
    return Field(size, plus, times, plus.argmin(axis=1), (times == 1).argmax(axis=1) * (np.arange(size) > 0))


def _digits(number: int, base: int, count: int) -> list[int]:
    return [number // base**place % base for place in range(count)]


def _multiplication(digits: Wholes, tail: Wholes, prime: int) -> Wholes:
    """Return the table modulo the polynomial x^n - tail, which need not be irreducible."""
    size, exponent = digits.shape
    weights = prime ** np.arange(exponent)
    power, result = digits, np.zeros((size, size, exponent), dtype=np.int64)
    for place in range(exponent):  # power holds all elements times x^place
        result += power[:, None, :] * digits[None, :, place, None]
        carried = np.concatenate([np.zeros((size, 1), dtype=np.int64), power[:, :-1]], axis=1)
        power = (carried + power[:, -1:] * tail) % prime
    table: Wholes = result % prime @ weights
    return table


Bits = NDArray[np.bool_]

MOST_BLOCKS = 20_000
"""Larger designs are left out."""


@dataclass(frozen=True)
class CoveringBlocks:
    """A design by its parameters; ``members()`` makes it.

    Attributes
    ----------
    name : str
        For instance ``2-flats of AG(4, 2)``.
    points, order, block, count : int
        ``count`` blocks of ``block`` points cover every ``order`` of the points.
    make : callable
        ``make()`` is the (count, points) membership matrix.
    """

    name: str
    points: int
    order: int
    block: int
    count: int
    make: Callable[[], Bits]


@cache
def designs(order: int, points: int) -> tuple[CoveringBlocks, ...]:
    """Return the known designs for this order from which a covering of ``points`` points may be made.

    Only those with at most 2 points + 24 points of their own, so that not most of them are deleted.
    """
    most = 2 * points + 24
    known = [*_flats(order, most)]
    if order == 2:
        known += [_triples(size) for size in range(7, most + 1) if size % 6 in (1, 3)]
    if order == 3:
        known += _spheres(most)
    return tuple(design for design in known if design.block > order and design.count <= MOST_BLOCKS)


# Flats: any k points in general position span a (k-1)-flat, and fewer lie in one


def _flats(order: int, most: int) -> Iterator[CoveringBlocks]:
    """Yield the flats of affine and projective spaces that cover every ``order`` points."""
    for size in range(2, most + 1):
        if prime_power(size) is None:
            continue
        span = order - 1
        dimension = span + 1
        while size**dimension <= most:
            count = size ** (dimension - span) * gaussian(dimension, span, size)
            name = f"{span}-flats of AG({dimension}, {size})"
            make = _Affine(dimension, span, size)
            yield CoveringBlocks(name, size**dimension, order, size**span, count, make)
            dimension += 1
        dimension = span + 1
        while (size ** (dimension + 1) - 1) // (size - 1) <= most:
            count = gaussian(dimension + 1, span + 1, size)
            name = f"{span}-flats of PG({dimension}, {size})"
            sizes = [(size ** (part + 1) - 1) // (size - 1) for part in (dimension, span)]
            yield CoveringBlocks(name, sizes[0], order, sizes[1], count, _Projective(dimension, span, size))
            dimension += 1


def gaussian(dimension: int, part: int, size: int) -> int:
    """Return the number of subspaces of dimension ``part`` in a space over GF(size).

    Examples
    --------
    >>> gaussian(3, 1, 2), gaussian(4, 2, 2)
    (7, 35)
    """
    count = 1
    for i in range(part):  # each product is divisible: it is the number for i + 1
        count = count * (size ** (dimension - i) - 1) // (size ** (i + 1) - 1)
    return count


@dataclass(frozen=True)
class _Affine:
    dimension: int
    span: int
    size: int

    def __call__(self) -> Bits:
        """Return the cosets of all subspaces of this span."""
        numbers = field(self.size)
        weights = self.size ** np.arange(self.dimension)
        every = np.arange(self.size**self.dimension)[:, None] // weights % self.size
        rows = []
        for basis in _bases(self.dimension, self.span, self.size):
            vectors = _span(basis, self.size)
            cosets = numbers.plus[every[:, None, :], vectors[None, :, :]] @ weights
            rows.append(np.unique(np.sort(cosets, axis=1), axis=0))
        return _membership(np.concatenate(rows), len(every))


@dataclass(frozen=True)
class _Projective:
    dimension: int
    span: int
    size: int

    def __call__(self) -> Bits:
        """Return all subspaces of rank span + 1 as sets of points, which are subspaces of rank 1."""
        weights = self.size ** np.arange(self.dimension + 1)
        points = [int(basis[0] @ weights) for basis in _bases(self.dimension + 1, 1, self.size)]
        number = np.full(self.size ** (self.dimension + 1), -1)
        number[points] = np.arange(len(points))
        rows = []
        for basis in _bases(self.dimension + 1, self.span + 1, self.size):
            numbers = number[_span(basis, self.size) @ weights]
            rows.append(numbers[numbers >= 0])
        return _membership(np.array(rows), len(points))


def _bases(dimension: int, rank: int, size: int) -> Iterator[Wholes]:
    """Yield one basis of each subspace of this rank: the matrices in reduced row echelon form."""
    for pivots in combinations(range(dimension), rank):
        free = [(row, place) for row in range(rank) for place in range(pivots[row] + 1, dimension)]
        free = [(row, place) for row, place in free if place not in pivots]
        for values in product(range(size), repeat=len(free)):
            basis = np.zeros((rank, dimension), dtype=np.int64)
            basis[range(rank), pivots] = 1
            for (row, place), value in zip(free, values, strict=True):
                basis[row, place] = value
            yield basis


def _span(basis: Wholes, size: int) -> Wholes:
    """Return all linear combinations of the rows, one per row."""
    numbers = field(size)
    vectors = np.zeros((1, basis.shape[1]), dtype=np.int64)
    for row in basis:
        multiples = numbers.times[np.arange(size)[:, None], row[None, :]]
        vectors = numbers.plus[vectors[:, None, :], multiples[None, :, :]].reshape(-1, basis.shape[1])
    return vectors


def _membership(rows: Wholes, points: int) -> Bits:
    members = np.zeros((len(rows), points), dtype=np.bool_)
    np.put_along_axis(members, rows, True, axis=1)
    return members


# Spherical geometries: the images of PG(1, q) in PG(1, q^n), a Steiner system 3-(q^n + 1, q + 1, 1)


def _spheres(most: int) -> Iterator[CoveringBlocks]:
    for size in range(3, most):
        prime, exponent = prime_power(size) or (size, 1)
        for part in range(2, exponent + 1):
            if exponent % part == 0:
                base = prime ** (exponent // part)
                count = (size + 1) * size * (size - 1) // ((base + 1) * base * (base - 1))
                name = f"circles of PG(1, {size}) over GF({base})"
                yield CoveringBlocks(name, size + 1, 3, base + 1, count, _Circles(base, size))


@dataclass(frozen=True)
class _Circles:
    base: int
    size: int

    def __call__(self) -> Bits:
        """Return the circle through every three points; the point at infinity has the number ``size``."""
        numbers = field(self.size)
        elements = np.arange(self.size)
        power = elements
        for _ in range(self.base - 1):
            power = numbers.times[power, elements]
        line = np.append(elements[power == elements], self.size)  # the subfield, and infinity
        done = np.zeros((self.size + 1,) * 3, dtype=np.bool_)
        rows = []
        for triple in combinations(range(self.size + 1), 3):
            if not done[triple]:
                circle = np.sort(self._image(line, *triple))
                rows.append(circle)
                done[np.ix_(circle, circle, circle)] = True
        return _membership(np.array(rows), self.size + 1)

    def _image(self, line: Wholes, zero: int, one: int, infinity: int) -> Wholes:
        """Return the image of the line under the fractional map that sends 0, 1, infinity to these."""
        numbers, most = field(self.size), self.size

        def minus(a: int, b: int) -> int:
            return int(numbers.plus[a, numbers.minus[b]])

        if infinity == most:  # x -> (one - zero) x + zero
            a, b, c, d = minus(one, zero), zero, 0, 1
        else:  # x -> (infinity x + zero w) / (x + w), w = (one - infinity) / (zero - one)
            w = int(numbers.times[minus(one, infinity), numbers.inverse[minus(zero, one)]])
            a, b, c, d = infinity, int(numbers.times[zero, w]), 1, w
        image = []
        for x in line.tolist():
            above = a if x == most else int(numbers.plus[numbers.times[a, x], b])
            below = c if x == most else int(numbers.plus[numbers.times[c, x], d])
            image.append(most if below == 0 else int(numbers.times[above, numbers.inverse[below]]))
        return np.array(image)


# Steiner triple systems: Bose (1939) for 6 n + 3 points, Skolem (1958) for 6 n + 1


def _triples(size: int) -> CoveringBlocks:
    return CoveringBlocks(f"triples on {size} points", size, 2, 3, size * (size - 1) // 6, _Triples(size))


@dataclass(frozen=True)
class _Triples:
    size: int

    def __call__(self) -> Bits:
        """Return a triple system on Z_m x Z_3, with one more point where the size is 6 n + 1."""
        third, extra = divmod(self.size, 3)
        half = third // 2
        if extra:  # a half-idempotent quasigroup on Z_2n
            value = [*range(0, third, 2), *range(1, third, 2)]
            place = np.argsort(value)
        else:  # an idempotent one on Z_(2n+1): half the sum
            place = np.array([(half + 1) * total % third for total in range(third)])
        rows = [
            [x + third * layer, y + third * layer, int(place[(x + y) % third]) + third * ((layer + 1) % 3)]
            for x, y in combinations(range(third), 2)
            for layer in range(3)
        ]
        for x in range(half if extra else third):
            rows.append([x, x + third, x + 2 * third])
        if extra:
            for x in range(half):
                for layer in range(3):
                    rows.append([self.size - 1, x + half + third * layer, x + third * ((layer + 1) % 3)])
        return _membership(np.array(rows), self.size)


Permutation = list[int]


def generators(name: str, points: int) -> list[Permutation]:
    """Return permutations that generate the group of this name.

    Examples
    --------
    >>> generators("1x5*4", 6)
    [[1, 2, 3, 4, 0, 5], [0, 4, 3, 2, 1, 5]]
    >>> generators("1x3+2x1>", 5)
    [[0, 1, 2, 3, 4], [1, 2, 0, 4, 3]]
    """
    joined: list[Permutation] = []
    for part in name.split("+"):
        joined = _side_by_side(joined, _generators(part))
    return [moved + list(range(len(moved), points)) for moved in joined]


def _side_by_side(first: list[Permutation], second: list[Permutation]) -> list[Permutation]:
    """Return generators on the points of both; the part with fewer generators rests under the first ones."""
    sizes = [len(moves[0]) if moves else 0 for moves in (first, second)]
    count = max(len(first), len(second))
    padded = [
        [list(range(size))] * (count - len(moves)) + moves
        for size, moves in zip(sizes, (first, second), strict=True)
    ]
    return [one + [sizes[0] + point for point in two] for one, two in zip(*padded, strict=True)]


def _generators(part: str) -> list[Permutation]:
    if part == "1":
        return []
    if part.startswith("="):
        return [[int(digit, 32) for digit in word] for word in part[1:].split("/")]
    if part.startswith(("PSL", "PGL")):
        return _fractional(int(part[3:]), 1 if part.startswith("PGL") else 2)
    if part.startswith("AG"):
        size, _, factor = part[2:].partition("*")
        return _affine(int(size), int(factor or 1))
    parts = re.fullmatch(r"(\d+)x(\d+)(?:\*(\d+))?(>)?", part)
    assert parts is not None, f"no group is called {part}"
    return _cycles(int(parts[1]), int(parts[2]), int(parts[3] or 1), int(parts[4] is not None))


def _cycles(count: int, length: int, factor: int, onward: int) -> list[Permutation]:
    places = [(cycle, number) for cycle in range(count) for number in range(length)]
    moves = [[cycle * length + (number + 1) % length for cycle, number in places]]
    if factor > 1 or onward:
        moves.append(
            [(cycle + onward) % count * length + number * factor % length for cycle, number in places]
        )
    return moves


def _affine(size: int, factor: int) -> list[Permutation]:
    numbers, parts = field(size), prime_power(size)
    assert parts is not None
    moves = [numbers.plus[parts[0] ** place].tolist() for place in range(parts[1])]
    if factor > 1:
        moves.append(numbers.times[factor].tolist())
    return moves


def _fractional(size: int, step: int) -> list[Permutation]:
    """Return x + b, g^step x and -1/x on GF(q) and infinity, which is q; g generates GF(q)."""
    numbers = field(size)
    shifts = [[*move, size] for move in _affine(size, 1)]
    root = next(g for g in range(1, size) if len(_powers(g, size)) == size - 1)
    factor = _powers(root, size)[step % (size - 1)]
    inverted = [int(numbers.minus[numbers.inverse[x]]) for x in range(1, size)]
    return [*shifts, [*numbers.times[factor].tolist(), size], [size, *inverted, 0]]


def _powers(element: int, size: int) -> list[int]:
    """Return the distinct powers of a nonzero element of GF(size), 1 first."""
    times, powers = field(size).times, [1]
    while (power := int(times[powers[-1], element])) != 1:
        powers.append(power)
    return powers


def images(blocks: Iterable[tuple[int, ...]], moves: list[Permutation]) -> list[tuple[int, ...]]:
    """Return all blocks that the moves make of the given ones, each once.

    Examples
    --------
    >>> images([(0, 1, 3)], generators("1x7", 7))[:3]
    [(0, 1, 3), (1, 2, 4), (2, 3, 5)]
    """
    reached: dict[tuple[int, ...], None] = {}
    waiting = [tuple(sorted(block)) for block in blocks]
    while waiting:
        block = waiting.pop()
        if block not in reached:
            reached[block] = None
            waiting += [tuple(sorted([move[point] for point in block])) for move in moves]
    return list(reached)


FILE = "known_coverings.txt"

Parameters = tuple[int, int, int]


@dataclass(frozen=True)
class KnownCovering:
    """A covering by a group and one block of each orbit.

    Attributes
    ----------
    points, order, block : int
    count : int
        How many blocks all orbits have together.
    group : str
    text : str
        The blocks, separated by blanks.
    """

    points: int
    order: int
    block: int
    count: int
    group: str
    text: str

    def blocks(self) -> list[tuple[int, ...]]:
        """Return all blocks, points in rising order."""
        bases = [tuple(int(digit, 32) for digit in word) for word in self.text.split()]
        return images(bases, generators(self.group, self.points))


@cache
def known_coverings() -> dict[Parameters, KnownCovering]:
    """Return the coverings by points, order and block size.

    Examples
    --------
    >>> known_coverings()[23, 4, 7].count
    253
    """
    lines = packaged_text("mechdesign.families.marginals", FILE).splitlines()
    coverings = {}
    for line in lines:
        points, order, block, count, group, text = line.split(" ", 5)
        one = KnownCovering(int(points), int(order), int(block), int(count), group, text)
        coverings[one.points, one.order, one.block] = one
    return coverings
