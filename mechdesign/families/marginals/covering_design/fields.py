"""Finite fields of small prime power order as tables, for the geometries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

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
    found = prime_power(size)
    assert found is not None, f"there is no field of {size} elements"
    prime, exponent = found
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
