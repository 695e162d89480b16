"""Types along a line: virtual values, ironing, and the optimal rule for them, in fractions.

With shares f_1, ..., f_k of the values v_1 <= ... <= v_k, adjacent downward incentives and participation of
the lowest type give  sum f_a T_a <= sum f_a phi_a W_a  for any quantities W, where

    phi_a = v_a - (v_{a+1} - v_a) (1 - F_a) / f_a,   F_a = f_1 + ... + f_a,

with equality where these bind. Incentives make W non-decreasing, so that phi may be replaced by its ironed
form, the non-decreasing regression with weights f: it makes the right-hand side no smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


def virtual_values(values: Sequence[Fraction], shares: Sequence[Fraction]) -> list[Fraction]:
    """Return the virtual value of each type; values are in increasing order.

    Examples
    --------
    >>> virtual_values([Fraction(1), Fraction(2), Fraction(3)], [Fraction(1, 3)] * 3)
    [Fraction(-1, 1), Fraction(1, 1), Fraction(3, 1)]
    """
    result, below = [], Fraction(0)
    for place, (value, share) in enumerate(zip(values, shares, strict=True)):
        below += share
        step = values[place + 1] - value if place + 1 < len(values) else Fraction(0)
        result.append(value - step * (1 - below) / share)
    return result


def ironed_values(values: Sequence[Fraction], weights: Sequence[Fraction]) -> list[Fraction]:
    """Return the non-decreasing regression with these weights, by pooling neighbors that violate the order.

    Examples
    --------
    >>> ironed_values([Fraction(1), Fraction(4), Fraction(2)], [Fraction(1)] * 3)
    [Fraction(1, 1), Fraction(3, 1), Fraction(3, 1)]
    """
    blocks: list[tuple[Fraction, Fraction, int]] = []
    for value, weight in zip(values, weights, strict=True):
        blocks.append((value * weight, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            total, mass, size = blocks.pop()
            before = blocks.pop()
            blocks.append((before[0] + total, before[1] + mass, before[2] + size))
    return [total / mass for total, mass, size in blocks for _ in range(size)]


@dataclass(frozen=True)
class IronedLine:
    """Types of an agent in the order of their values, with virtual and ironed virtual values.

    Attributes
    ----------
    order : tuple of int
    virtual, ironed : tuple of Fraction
        By type, as they are numbered in the problem.
    """

    order: tuple[int, ...]
    virtual: tuple[Fraction, ...]
    ironed: tuple[Fraction, ...]

    @property
    def is_regular(self) -> bool:
        """Whether ironing changes nothing."""
        return self.virtual == self.ironed


def ironed_line(values: Sequence[Fraction], shares: Sequence[Fraction]) -> IronedLine:
    """Return virtual and ironed values of types in any order.

    Examples
    --------
    >>> ironed_line([Fraction(2), Fraction(1)], [Fraction(1, 2)] * 2).virtual
    (Fraction(2, 1), Fraction(0, 1))
    """
    order = sorted(range(len(values)), key=lambda place: values[place])
    weights = [shares[place] for place in order]
    virtual = virtual_values([values[place] for place in order], weights)
    ironed = ironed_values(virtual, weights)
    places = {place: number for number, place in enumerate(order)}
    return IronedLine(
        tuple(order),
        tuple(virtual[places[place]] for place in range(len(values))),
        tuple(ironed[places[place]] for place in range(len(values))),
    )
