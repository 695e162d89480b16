"""What a mechanism does with tables: operations with the columns they take and give, and their options.

A mechanism lists its operations; whatever reads and writes files runs them and knows no class of mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mechdesign.core.errors import ParameterError, UnknownNameError, suggestion
from mechdesign.core.tables import Source

OptionKind = Literal["flag", "whole number", "number", "text", "texts", "path"]


@dataclass(frozen=True)
class Column:
    """A column that an operation takes or gives.

    Attributes
    ----------
    name : str
    content : str
        What stands in it, for people.
    any_name : bool
        Whether the user's column may have any name; ``name`` then is only what it is called here.
    """

    name: str
    content: str
    any_name: bool = False

    def __str__(self) -> str:
        return f"{f'<{self.name}>' if self.any_name else self.name} ({self.content})"


@dataclass(frozen=True)
class Option:
    """An option of an operation; from a shell ``--name``.

    A ``path`` names a file that the operation keeps for itself: no output may take its place.
    """

    name: str
    kind: OptionKind
    summary: str


COLUMN = Option("column", "texts", "column of the file, one per attribute (repeatable)")
CLIP = Option("clip", "flag", "move numbers outside the range to its nearest end")
SEED = Option("seed", "whole number", "for simulations only: repeatable, and not private")
POPULATION = Option("population", "flag", "estimate the population the users were drawn from")
UNMARKED = Option("unmarked", "flag", "take reports whose column carries no digest of a mechanism")
ANYWAY = Option("anyway", "flag", "collect although nothing can be estimated from the reports")
STANDARD = (COLUMN, CLIP, SEED, POPULATION, UNMARKED, ANYWAY)
"""Options of the operations ``randomize`` and ``estimate``."""


@dataclass
class Settings:
    """The options a user gave, and counts of what happened to the rows, for the last line of output.

    Examples
    --------
    >>> settings = Settings({"clip": True})
    >>> settings["clip"], settings["seed"]
    (True, None)
    >>> settings.count("value(s) clipped", 3); settings.said()
    ['3 values clipped']
    >>> settings.count("value(s) clipped", -2); settings.said()
    ['1 value clipped']
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.options.get(name)

    def count(self, what: str, number: int) -> None:
        """Add to a count; 0 adds nothing. The noun is written ``value(s)``."""
        if number:
            self.counts[what] = self.counts.get(what, 0) + int(number)

    def said(self) -> list[str]:
        """Return the counts as texts, their nouns in the plural unless the count is 1."""
        return [
            f"{number} {what.replace('(s)', '' if number == 1 else 's', 1)}"
            for what, number in self.counts.items()
        ]


Run = Callable[[Sequence[Source], Settings], Any]


@dataclass(frozen=True)
class Operation:
    """One thing a mechanism does with tables.

    Attributes
    ----------
    name, summary : str
    takes : tuple of Column
        Empty when it reads no table, only files that its options name.
    gives : tuple of Column
        Empty when the result is not a table, but an object that prints and has ``as_json``.
    run : callable
        ``run(sources, settings)`` returns an iterator of blocks, or the result.
    options : tuple of Option
    several : bool
        Whether it takes several tables, such as the reports of many days.
    private : bool
        Whether what it gives stays with the client: the file can be read by its owner only.
    in_order : bool
        Whether it gives one row for each row of its table, in the same order. A shuffler does not: then no
        index of a data frame may stay beside its rows.
    """

    name: str
    summary: str
    takes: tuple[Column, ...]
    gives: tuple[Column, ...]
    run: Run
    options: tuple[Option, ...] = ()
    several: bool = False
    private: bool = False
    in_order: bool = False

    def settings(self, given: Mapping[str, Any]) -> Settings:
        """Return the settings for the given options; refuse an option that is not one of this operation's.

        Options that were not given (None, False or empty) are left out; the number 0 was given.
        """
        used = {name: value for name, value in given.items() if value is not None and value is not False}
        used = {name: value for name, value in used.items() if value not in ([], ())}  # 0 is a value
        known = [option.name for option in self.options]
        shown = [f"--{option.replace('_', '-')}" for option in known]
        for name in used:
            if name not in known:
                raise ParameterError(
                    f"--{name.replace('_', '-')}: is not an option of '{self.name}' of this mechanism; "
                    + (f"its options are {', '.join(shown)}" if known else "it has none")
                )
        return Settings(used)


def operation_of(operations: Iterable[Operation], name: str, owner: str) -> Operation:
    """Return the operation of this name.

    Raises
    ------
    UnknownNameError
        With the closest names.
    """
    known = {operation.name: operation for operation in operations}
    if not known:
        raise UnknownNameError(owner, "has no operations on tables", "load it in Python instead")
    if name not in known:
        raise UnknownNameError(owner, f"no operation '{name}'", suggestion(name, known))
    return known[name]
