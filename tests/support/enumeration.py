"""The largest divergence of shuffled reports of few users: all data of the others, every pair of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mechdesign.families.shuffle.enumeration import (
    Row,
    exact_hockey_stick,
    laws_of_all_data,
)


@dataclass(frozen=True)
class ExactDivergence:
    """The largest divergence, and the data that attain it.

    Attributes
    ----------
    delta : Fraction
    others : tuple of int
        The inputs of the other users.
    pair : (int, int)
        The inputs of the user who is looked at.
    """

    delta: Fraction
    others: tuple[int, ...]
    pair: tuple[int, int]


def worst_divergence(
    rows: Sequence[Row], users: int, grown: Fraction, symmetric: bool = False
) -> ExactDivergence:
    """Return the largest divergence over all data of the others and all pairs of inputs.

    Parameters
    ----------
    rows : sequence of rows of Fraction
    users : int
        n, at least 1; one of them is looked at.
    grown : Fraction
        e^epsilon.
    symmetric : bool
        Whether all inputs are alike, as those of k-ary response: the pair is then 0 and 1, and the rest of
        the inputs are used in falling order of their number.

    Examples
    --------
    >>> from mechdesign.families.shuffle.enumeration import kary_rows
    >>> found = worst_divergence(kary_rows(Fraction(3), 2), 3, Fraction(2))
    >>> str(found.delta), found.others, found.pair
    ('9/64', (0, 0), (0, 1))
    """
    best: ExactDivergence | None = None
    for others, pair, first, second in laws_of_all_data(rows, users, symmetric):
        delta = exact_hockey_stick(first, second, grown)
        if best is None or delta > best.delta:
            best = ExactDivergence(delta, others, pair)
    assert best is not None  # there are at least two inputs
    return best
