"""What tables consist of: for each set S of questions the part that only S has, with its weight.

The functions of all answers are the orthogonal sum of spaces V_S, S a set of questions, of the dimension
prod over S of (k_j - 1). A table A of K_A cells is made of the parts S in A. Where the reports of n users say
as much of V_S as answers in clear from the share eta_S of them, its squared error is, at even answers, at
least the sum over S of dim_S / (K_A eta_S), divided by n. Questions that are alike have the same share in a
best mixture, since users can be asked in every order; they are one *kind* of part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

Part = tuple[int, ...]


@dataclass(frozen=True)
class Effects:
    """The parts of all requested tables, by kinds.

    Attributes
    ----------
    sizes : tuple of int
        The number of answers of each question.
    members : tuple of tuple of tuple of int
        The parts of each kind, each as increasing numbers of questions.
    dimensions : tuple of int
        The dimension of one part of each kind.
    weights : tuple of Fraction
        W: the sum over the parts of a kind, and over the wanted tables that contain them, of weight times
        dimension / cells; the error of n users is the sum of W / eta over the kinds, divided by n.
    """

    sizes: tuple[int, ...]
    members: tuple[tuple[Part, ...], ...]
    dimensions: tuple[int, ...]
    weights: tuple[Fraction, ...]

    @property
    def singles(self) -> bool:
        """Whether tables of single questions are wanted only."""
        return all(len(part) == 1 for kind in self.members for part in kind)

    def group(self, kind: int) -> tuple[int, ...]:
        """Return the questions of a kind of single questions."""
        return tuple(place for part in self.members[kind] for place in part)


def effects_of(sizes: Sequence[int], wanted: Mapping[Part, Fraction]) -> Effects:
    """Return the parts of tables with weights.

    Examples
    --------
    >>> found = effects_of([2, 2, 3], {(0,): Fraction(1), (1,): Fraction(1), (2,): Fraction(3)})
    >>> found.members, [str(weight) for weight in found.weights]
    ((((0,), (1,)), ((2,),)), ['1', '2'])
    """
    each: dict[Part, Fraction] = {}
    for table, weight in wanted.items():
        cells = math.prod(sizes[place] for place in table)
        for count in range(1, len(table) + 1):
            for part in combinations(table, count):
                each[part] = each.get(part, Fraction(0)) + weight * _dimension(sizes, part) / cells
    kinds: dict[object, list[Part]] = {}
    alone = all(len(part) == 1 for part in each)
    for part, weight in sorted(each.items(), key=lambda item: (len(item[0]), item[0])):
        kinds.setdefault((sizes[part[0]], weight) if alone else part, []).append(part)
    members = tuple(tuple(parts) for parts in kinds.values())
    return Effects(
        tuple(sizes),
        members,
        tuple(_dimension(sizes, parts[0]) for parts in members),
        tuple(sum((each[part] for part in parts), Fraction(0)) for parts in members),
    )


def _dimension(sizes: Sequence[int], part: Part) -> int:
    return math.prod(sizes[place] - 1 for place in part)
