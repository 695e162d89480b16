r"""An upper bound of the divergence of shuffled reports for a finite channel, by positive sums on a lattice.

With omega the least entry of each column of the channel, and L = (R_x - e^eps R_x') / omega of a report,

    delta(eps) <= 1/n  E ( sum over n of Z )_+ ,   Z = L(y) with probability omega(y), else 0

(Balle, Bell, Gascon, Nissim 2019, lemma 5.3). The law of Z is moved to a lattice, which keeps its mean and
only spreads it; sums of 2, 4, 8, ... follow by convolution, on ever coarser lattices. All terms are positive,
so that rounding errors are relative and counted; what is cut off below is moved up, what is cut off above is
paid for in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.exact.binomials import UNIT
from mechdesign.exact.exponential import exp_lower, float_up

Doubles = NDArray[np.float64]
Row = Sequence[Fraction]

UNDERFLOW = 1e-280
"""More than all probabilities that are too small for doubles."""

POINTS = 2048
"""The most points of a lattice before it is made coarser."""


@dataclass(frozen=True)
class Atoms:
    """The distribution of one report for a pair of inputs: mass omega, and both laws in units of it."""

    mass: tuple[Fraction, ...]
    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]


def atoms_of(rows: Sequence[Row], first: int, second: int) -> Atoms:
    """Return the atoms of a pair of inputs; reports with the same two ratios are one.

    Every column of the channel has to be positive, or zero for all inputs.

    Examples
    --------
    >>> third = Fraction(1, 3)
    >>> found = atoms_of([(2 * third, third), (third, 2 * third)], 0, 1)
    >>> [str(mass) for mass in found.mass], [str(ratio) for ratio in found.first]
    (['1/3', '1/3'], ['2', '1'])
    """
    merged: dict[tuple[Fraction, Fraction], Fraction] = {}
    for column in zip(*rows, strict=True):
        least = min(column)
        if least > 0:
            key = (column[first] / least, column[second] / least)
            merged[key] = merged.get(key, Fraction(0)) + least
    ratios = sorted(merged)
    ratios.reverse()
    return Atoms(
        tuple(merged[key] for key in ratios),
        tuple(one for one, _ in ratios),
        tuple(two for _, two in ratios),
    )


def kary_atoms(grown: Fraction, size: int) -> Atoms:
    """Return the atoms of k-ary response with a rational e^eps0; of size 2 those of the worst pair of all.

    Examples
    --------
    >>> [str(mass) for mass in kary_atoms(Fraction(3), 4).mass]
    ['1/6', '1/3', '1/6']
    """
    each, one = 1 / (grown + size - 1), Fraction(1)
    if size == 2:
        return Atoms((each, each), (grown, one), (one, grown))
    return Atoms((each, (size - 2) * each, each), (grown, one, one), (one, one, grown))


@dataclass(frozen=True)
class _Sum:
    """A law on ``step * (first, first + 1, ...)`` with a relative ``error``; ``lost`` was cut off above.

    No value is above ``top``, not even one that was cut off.
    """

    step: float
    first: int
    chance: Doubles
    lost: float
    error: float
    top: float

    def coarser(self) -> _Sum:
        """Return the law on a lattice of twice the step: what is between its points goes to both halves."""
        odd_start = self.first % 2
        padded = np.zeros(2 * ((len(self.chance) + odd_start + 1) // 2))
        padded[odd_start : odd_start + len(self.chance)] = self.chance
        moved = np.append(padded[0::2] + 0.5 * padded[1::2], 0.0)
        moved[1:] += 0.5 * padded[1::2]
        first = (self.first - odd_start) // 2
        error, top = self.error + 4.0 * UNIT, self.top + 2.0 * self.step
        return _Sum(2.0 * self.step, first, moved, self.lost, error, top)

    def trimmed(self, cut: float) -> _Sum:
        """Return the distribution without tails of this mass: the lower one moved up, the upper one lost."""
        low = int(np.searchsorted(np.cumsum(self.chance), cut, side="right"))
        high = len(self.chance) - int(np.searchsorted(np.cumsum(self.chance[::-1]), cut, side="right"))
        low = min(low, len(self.chance) - 1)
        high = max(high, low + 1)
        chance = self.chance[low:high].copy()
        chance[0] += float(self.chance[:low].sum())
        lost = self.lost + 1.01 * float(self.chance[high:].sum())
        error = self.error + 2.0 * (low + 2) * UNIT
        return _Sum(self.step, self.first + low, chance, lost, error, self.top)

    def plus(self, other: _Sum, cut: float) -> _Sum:
        """Return the distribution of the sum of two independent variables on the same lattice."""
        shorter = min(len(self.chance), len(other.chance))
        found = _Sum(
            self.step,
            self.first + other.first,
            np.convolve(self.chance, other.chance),
            self.lost + other.lost,
            self.error + other.error + 2.0 * (shorter + 8) * UNIT,
            self.top + other.top,
        ).trimmed(cut)
        return found.coarser() if len(found.chance) > POINTS else found


class LatticeDivergence:
    """The upper bound of delta for one pair of inputs of a finite channel, as a function of epsilon.

    Parameters
    ----------
    users : int
    atoms : Atoms
    delta : float
        The delta that matters: about a part 10^-6 of it is cut off.
    """

    def __init__(self, users: int, atoms: Atoms, delta: float) -> None:
        self.users, self.atoms, self.delta = users, atoms, delta

    def __call__(self, epsilon: float) -> float:
        """Return the bound of delta at a central epsilon >= 0."""
        single = self._single(epsilon)
        found = self._power(single, 1e-8 * self.delta / (single.top * self.users))
        values = found.first + np.arange(len(found.chance), dtype=np.float64)
        excess = float((np.maximum(values, 0.0) * found.chance).sum()) * found.step / self.users
        bound = excess * (1.0 + 2.0 * found.error + 4.0 * (len(values) + 8) * UNIT)
        return min(1.0, bound + 1.01 * found.top / self.users * (found.lost + UNDERFLOW))

    def _power(self, single: _Sum, tail: float) -> _Sum:
        """Return the law of the sum of ``users`` variables, by squaring; ``tail`` a user may be cut off."""
        found: _Sum | None = None
        power, count = self.users, 1
        while True:
            cut = tail * count
            if power & 1:
                found = single if found is None else _added(found, single, cut)
            power >>= 1
            if power == 0:
                assert found is not None  # the highest digit of a positive number is 1
                return found
            single, count = single.plus(single, cut), 2 * count

    def _single(self, epsilon: float) -> _Sum:
        """Return the distribution of Z on a lattice, its values rounded up."""
        grown = exp_lower(epsilon)
        atoms = self.atoms
        values = [float_up(one - grown * two) for one, two in zip(atoms.first, atoms.second, strict=True)]
        masses = [float(mass) for mass in atoms.mass]
        nothing = float(1 - sum(atoms.mass))
        values, masses = [*values, 0.0], [*masses, nothing]
        mean = sum(mass * value for mass, value in zip(masses, values, strict=True))
        spread = sum(mass * (value - mean) ** 2 for mass, value in zip(masses, values, strict=True))
        extent = max(values) - min(values)
        step = max(0.02 * math.sqrt(spread), extent / POINTS, 1e-300)
        if self.users < 200:
            step = max(extent / POINTS, 1e-300)
        first = math.floor(min(values) / step)
        chance = np.zeros(math.floor(max(values) / step) - first + 3)
        for value, mass in zip(values, masses, strict=True):
            place = math.floor(value / step)
            part = min(1.0, value / step - place + 1e-12 * (1.0 + abs(place))) if value != 0.0 else 0.0
            chance[place - first] += mass * (1.0 - part)
            chance[place - first + 1] += mass * part
        top = (first + len(chance)) * step
        return _Sum(step, first, chance, 0.0, 8.0 * (len(values) + 4) * UNIT, top)


def _added(one: _Sum, other: _Sum, cut: float) -> _Sum:
    """Return the distribution of the sum of two variables, on the coarser of their lattices."""
    while one.step < other.step:
        one = one.coarser()
    while other.step < one.step:
        other = other.coarser()
    return one.plus(other, cut)
