"""Which sets of answers a report can name: products of subsets, scattered cells, or enough matches.

An answer is one value of each of several attributes. A shape sorts the attributes into *factors*, each with a
number of values k and a width w, the number of them that a report names. A report is one subset of each
factor; it *holds* an answer when at least a required number of factors match it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mechdesign.collect.attributes import Attributes
from mechdesign.core.errors import ModelFileError, ParameterError
from mechdesign.core.text import counted
from mechdesign.core.validation import integer
from mechdesign.core.values import frozen_value, kept
from mechdesign.exact.numbers import shown

Factor = tuple[int, int]
"""Number of values, and of those that a report names."""

MOST_CELLS = 1 << 16
"""Cells of the table that a CellSet takes subsets of, at most."""


@frozen_value()
class SetShape:
    """Base class of the shapes of reported sets."""

    kind: ClassVar[str]

    @abstractmethod
    def groups(self, attributes: Attributes) -> tuple[tuple[int, ...], ...]:
        """Return the attributes of each factor."""

    @abstractmethod
    def factors(self, attributes: Attributes) -> tuple[Factor, ...]:
        """Return the number of values and the width of each factor; refuse those that do not fit."""

    @abstractmethod
    def least(self, attributes: Attributes) -> int:
        """Return the least number of factors that match an answer in a set that holds it."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Return kind and numbers as plain values."""


def _fixed(name: str, widths: Any) -> tuple[Any, ...]:
    if isinstance(widths, str) or not isinstance(widths, Sequence):
        raise ParameterError(name, f"expected a list of integers, got {shown(widths)}")
    return tuple(widths)


@frozen_value()
class ProductSet(SetShape):
    """A subset of the values of each attribute: the set holds the answers with every value in its subset.

    Parameters
    ----------
    widths : sequence of int
        For each attribute the number w of values in its subset, from 1 to one less than it has.

    Examples
    --------
    >>> ProductSet([1, 4]).factors(Attributes([2, 16]))
    ((2, 1), (16, 4))
    """

    kind: ClassVar[str] = "product"
    widths: Sequence[int] = kept(_fixed)

    def groups(self, attributes: Attributes) -> tuple[tuple[int, ...], ...]:
        """Return every attribute by itself."""
        return tuple((place,) for place in range(attributes.count))

    def factors(self, attributes: Attributes) -> tuple[Factor, ...]:
        """Return one factor an attribute."""
        return _singles(attributes, self.widths)

    def least(self, attributes: Attributes) -> int:
        """Return the number of attributes: all have to match."""
        return attributes.count

    def as_json(self) -> dict[str, Any]:
        """Return kind and widths."""
        return {"kind": self.kind, "widths": [int(width) for width in self.widths]}


@frozen_value()
class MatchSet(SetShape):
    """A subset of the values of each attribute: the set holds the answers with enough matches.

    Parameters
    ----------
    widths : sequence of int
        As of a :class:`ProductSet`.
    matches : int
        How many attributes have to match, from 1 to all of them.

    Examples
    --------
    >>> MatchSet([1, 1, 1], matches=2).least(Attributes([2, 2, 2]))
    2
    """

    kind: ClassVar[str] = "matches"
    widths: Sequence[int] = kept(_fixed)
    matches: int

    def groups(self, attributes: Attributes) -> tuple[tuple[int, ...], ...]:
        """Return every attribute by itself."""
        return tuple((place,) for place in range(attributes.count))

    def factors(self, attributes: Attributes) -> tuple[Factor, ...]:
        """Return one factor an attribute."""
        return _singles(attributes, self.widths)

    def least(self, attributes: Attributes) -> int:
        """Return the least number of attributes that must match."""
        return integer("matches", self.matches, 1, attributes.count)

    def as_json(self) -> dict[str, Any]:
        """Return kind, widths and matches."""
        widths = [int(width) for width in self.widths]
        return {"kind": self.kind, "widths": widths, "matches": int(self.matches)}


@frozen_value()
class CellSet(SetShape):
    """Any ``width`` cells of the table of all attributes, wherever they lie: subset selection of cells.

    Parameters
    ----------
    width : int
        The number of cells in the set, from 1 to one less than the table has.

    Examples
    --------
    >>> CellSet(3).factors(Attributes([4, 4]))
    ((16, 3),)
    """

    kind: ClassVar[str] = "cells"
    width: int

    def groups(self, attributes: Attributes) -> tuple[tuple[int, ...], ...]:
        """Return all attributes together."""
        return (tuple(range(attributes.count)),)

    def factors(self, attributes: Attributes) -> tuple[Factor, ...]:
        """Return the table as the only factor."""
        cells = attributes.cells(range(attributes.count))
        if cells > MOST_CELLS:
            raise ParameterError("sets", f"a table of {cells} cells", f"give at most {MOST_CELLS}")
        return ((cells, integer("width", self.width, 1, cells - 1)),)

    def least(self, attributes: Attributes) -> int:
        """Return 1: the cell has to be in the set."""
        return 1

    def as_json(self) -> dict[str, Any]:
        """Return kind and width."""
        return {"kind": self.kind, "width": int(self.width)}


def _singles(attributes: Attributes, widths: Sequence[int]) -> tuple[Factor, ...]:
    if len(widths) != attributes.count:
        raise ParameterError(
            "widths", f"{counted(len(widths), 'number')} for {attributes.count} attributes", "give one each"
        )
    return tuple(
        (size, integer(f"widths: attribute '{name}'", width, 1, size - 1))
        for name, size, width in zip(attributes.shown(), attributes.sizes, widths, strict=True)
    )


def shape_of(document: Mapping[str, Any]) -> SetShape:
    """Return the shape that :meth:`SetShape.as_json` wrote.

    Examples
    --------
    >>> shape_of({"kind": "cells", "width": 2})
    CellSet(width=2)
    """
    kinds: tuple[type[SetShape], ...] = (ProductSet, MatchSet, CellSet)
    given = {key: value for key, value in document.items() if key != "kind"}
    for kind in kinds:
        if kind.kind == document["kind"]:
            return kind(**given)
    raise ModelFileError("sets", f"no kind '{shown(document['kind'])}'", "rebuild it")
