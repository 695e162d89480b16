"""The columns and rows of an export, as a tool describes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from mechdesign.data.identifiers import plain_name

IDENTIFYING = "identifies people"
TIMES = "dates and times"
TECHNICAL = "technical data of the tool"
FREE_TEXT = "free text"
EMPTY = "no answer in any row"


@dataclass
class NoAnswerCodes:
    """Codes for no answer: texts, and ranges of numbers.

    Examples
    --------
    >>> codes = NoAnswerCodes({"-99"}, [(7.0, 9.0)])
    >>> [codes.has(text) for text in ("-99", "8", "8.0", "10", "no")]
    [True, True, True, False, False]
    """

    codes: set[str] = field(default_factory=set)
    ranges: list[tuple[float, float]] = field(default_factory=list)

    def has(self, text: str) -> bool:
        """Whether a cell is a code for no answer."""
        if text in self.codes:
            return True
        if not self.ranges:
            return False
        try:
            number = float(text)
        except ValueError:
            return False
        return any(low <= number <= high for low, high in self.ranges)


@dataclass
class ExportColumn:
    """A column of an export.

    Attributes
    ----------
    name : str
        A short name.
    cells : list of str
        Its cell of each row; empty for no answer.
    text : str
        The question, word for word.
    kind : str
        ``choice``, ``ordered``, ``number``, ``tick`` or ``text``, where the tool says so; empty otherwise.
    labels : dict
        The answers by their codes, in their order, where the tool says so.
    group, option : str
        Of a tick: the name of its question, and what is ticked.
    group_text : str
        Of a tick: the question.
    missing : NoAnswerCodes
    low, high : float, optional
        The range of a number, where the tool says so.
    dropped : str
        Why the column is not a question, where that is known at once.
    """

    name: str
    cells: list[str]
    text: str = ""
    kind: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    group: str = ""
    option: str = ""
    group_text: str = ""
    missing: NoAnswerCodes = field(default_factory=NoAnswerCodes)
    low: float | None = None
    high: float | None = None
    dropped: str = ""

    @property
    def distinct(self) -> list[str]:
        """The different cells that are not empty, in the order of their first rows."""
        return [text for text in dict.fromkeys(self.cells) if text]


@dataclass
class Export:
    """A file of a survey tool.

    Attributes
    ----------
    tool : str
    items : list of ExportColumn
    rows : int
    left_out : dict
        Numbers of rows that are no answers of a person to the survey, by the reason.
    person : ExportColumn or None
        The column that identifies people.
    joins : bool
        Whether the rows of one person are parts of one answer, each with other columns.
    """

    tool: str
    items: list[ExportColumn]
    rows: int
    left_out: dict[str, list[int]] = field(default_factory=dict)
    person: ExportColumn | None = None
    joins: bool = False

    def leave_out(self, reason: str, item: ExportColumn | None, is_wrong: Callable[[str], bool]) -> None:
        """Note the rows in which a column has a wrong cell; a row has the first reason that is found."""
        if item is None:
            return
        gone = {row for rows in self.left_out.values() for row in rows}
        rows = [row for row, cell in enumerate(item.cells) if row not in gone and is_wrong(cell)]
        if rows:
            self.left_out.setdefault(reason, []).extend(rows)

    def item(self, *names: str) -> ExportColumn | None:
        """Return the first column with one of these names, whatever their case and spaces."""
        plain = [plain_name(name) for name in names]
        by_name = {plain_name(item.name): item for item in reversed(self.items)}
        return next((by_name[name] for name in plain if name in by_name), None)


MARKUP = re.compile(r"<[^>]*>")


def plain_text(text: str) -> str:
    """Return a text on one line, without the tags of HTML.

    Examples
    --------
    >>> plain_text("<b>Have you ever</b>  cheated?&nbsp;")
    'Have you ever cheated?'
    """
    import html

    words = html.unescape(MARKUP.sub(" ", text)).replace("\xa0", " ").split()
    line = " ".join("".join(letter for letter in word if letter.isprintable()) for word in words)
    return re.sub(r" ([?!.,;:])", r"\1", line)


def short_name(text: str, taken: Iterable[str] = ()) -> str:
    """Return a short name for a question, which no other one has.

    Examples
    --------
    >>> short_name("How satisfied are you with your job, all in all?")
    'how_satisfied_are_you_with'
    >>> short_name("Age", ["age"])
    'age_2'
    """
    words = re.findall(r"\w+", plain_text(text).casefold())
    name = ""
    for word in words:
        if name and len(name) + len(word) + 1 > 28:
            break
        name = f"{name}_{word}" if name else word[:28]
    return unique_name(name or "question", taken)


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return a name, with a number behind it where it is taken."""
    used, number, result = set(taken), 1, name
    while result in used:
        number += 1
        result = f"{name}_{number}"
    return result


def cells_by_column(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Return the cells of rows by column, without blanks around them; missing ones are empty.

    Examples
    --------
    >>> cells_by_column([["a", " b"], ["c"]], 2)
    [['a', 'c'], ['b', '']]
    """
    known: dict[str, str] = {}
    columns: list[list[str]] = [[] for _ in range(width)]
    for row in rows:
        for place, column in enumerate(columns):
            cell = row[place].strip() if place < len(row) else ""
            column.append(known.setdefault(cell, cell))
    return columns
