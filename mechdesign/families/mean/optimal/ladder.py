"""Solved channels at a ladder of epsilons: where column generation starts at other ones.

The file beside this module holds, for each rung, the columns of a solution on the default grid of inputs:
outputs t, patterns w and amounts theta of :mod:`.patterns`, and the worst variance of the mechanism that
they make. Nothing is trusted: a mechanism made from a rung is repaired and audited in exact arithmetic, and a
solution that starts from one proves its own bound. ``python -m benchmarks.mean_ladder`` writes the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.mean.optimal.generation import Generated
from mechdesign.families.mean.optimal.grids import Array, default_inputs

FILE = Path(__file__).with_name("ladder.npz")


@dataclass(frozen=True, eq=False)
class Ladder:
    """Solutions in order of epsilon.

    Attributes
    ----------
    epsilons, variances : (L,) array
        The rungs, and the worst variance of one report on [-1, 1].
    starts : (L + 1,) int array
        Where the columns of each rung begin.
    outputs, amounts : (C,) array
        Of all columns of all rungs.
    patterns : uint8 array
        The bits of all patterns, rung by rung.
    bytes : (L + 1,) int array
        Where the bits of each rung begin.
    """

    epsilons: Array
    variances: Array
    starts: NDArray[np.int64]
    outputs: Array
    amounts: Array
    patterns: NDArray[np.uint8]
    bytes: NDArray[np.int64]

    def below(self, epsilon: float) -> int:
        """Return the number of the largest rung that is at most epsilon; -1 where there is none."""
        return int(np.searchsorted(self.epsilons, epsilon * (1.0 + 2.0**-50), side="right")) - 1

    def rung(self, place: int) -> Generated:
        """Return the solution of a rung."""
        part = slice(self.starts[place], self.starts[place + 1])
        inputs = default_inputs(float(self.epsilons[place]))
        count = int(self.starts[place + 1] - self.starts[place])
        bits = np.unpackbits(
            self.patterns[self.bytes[place] : self.bytes[place + 1]], count=count * inputs
        ).reshape(count, inputs)
        value = float(self.variances[place])
        return Generated(
            self.outputs[part], bits.astype(np.bool_), self.amounts[part], value, 0.0, 0, "ladder"
        )

    def between(self, epsilon: float) -> float:
        """Return about the worst variance at any epsilon of its range, from the rungs next to it.

        Its logarithm is interpolated against that of epsilon: good for plans, not for promises.
        """
        found = np.interp(np.log(epsilon), np.log(self.epsilons), np.log(self.variances))
        return float(np.exp(found))


@cache
def ladder() -> Ladder:
    """Return the ladder of the file.

    Examples
    --------
    >>> found = ladder()
    >>> round(float(found.variances[found.below(1.0)]), 3), found.below(0.01)
    (3.992, -1)
    """
    with np.load(FILE, allow_pickle=False) as kept:
        return Ladder(*(kept[name] for name in Ladder.__dataclass_fields__))
