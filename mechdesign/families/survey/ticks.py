"""Answers to a question with several answers as survey tools export them: one cell with all ticks of a user.

In the mechanism such a question is a yes/no question for each answer that can be ticked. A file may have a
column for each of them, or one column with the question's name, whose cells list what was ticked with ';',
',' or '|' between. A cell that can be read in two ways is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collecting import located
from mechdesign.core.errors import DataError, RowError
from mechdesign.core.tables import Block, Coded, Source
from mechdesign.data.about import About, QuestionText
from mechdesign.exact.numbers import text_of
from mechdesign.families.survey.questions import Questions, absent_in, with_gaps

NONE = "none"
"""The cell of a user who ticked nothing, where an empty one stands for no answer."""

SEPARATORS = ";,|\n"

NO, YES = 0, 1


def ticks_in(cell: str, items: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a cell lists.

    Raises
    ------
    ValueError
        For a cell that lists something else, or can be read in two ways; the text states which.

    Examples
    --------
    >>> ticks_in("mail; chat", ("mail", "chat")), ticks_in("chat, phone|mail", ("mail", "chat, phone"))
    (('mail', 'chat'), ('chat, phone', 'mail'))
    >>> ticks_in("chat, phone", ("chat", "phone", "chat, phone"))
    Traceback (most recent call last):
        ...
    ValueError: can be read in two ways
    """
    readings = list(_readings(cell.strip(), items))
    if len(readings) > 1:
        raise ValueError("can be read in two ways")
    if not readings:
        raise ValueError("lists something that cannot be ticked")
    return readings[0]


def _readings(text: str, items: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the ways to read a text, at most two."""
    count = 0
    for item in items:
        if not text.startswith(item):
            continue
        rest = text[len(item) :].lstrip(" \t")
        if not rest:
            readings: Iterator[tuple[str, ...]] = iter([()])
        elif rest[0] in SEPARATORS:
            after = rest[1:].lstrip()
            readings = _readings(after, items) if after else iter([()])
        else:
            continue
        for reading in readings:
            yield (item, *reading)
            count += 1
            if count == 2:
                return


class Ticks:
    """A question with several answers: its name, and the yes/no questions behind it.

    Parameters
    ----------
    text : QuestionText
        The words of the question, with the names of its parts.
    questions : Questions
    """

    def __init__(self, text: QuestionText, questions: Questions) -> None:
        self.name, self.parts = text.name, text.parts
        self.items = tuple(part.removeprefix(f"{text.name}: ") for part in text.parts)
        first = questions[questions.place(text.parts[0])]
        self.skip, self.words = first.skip, first.labels
        self._read = lru_cache(maxsize=4096)(self._codes)

    def _codes(self, cell: str) -> tuple[int, ...]:
        if cell == NONE and NONE not in self.items:
            return (NO,) * len(self.items)
        ticked = ticks_in(cell, self.items)
        return tuple(YES if item in ticked else NO for item in self.items)

    def expanded(self, column: Any) -> dict[str, NDArray[Any]]:
        """Return the columns of the parts; RowError for a cell that cannot be read.

        An empty cell is no answer where the question may be skipped, else it ticks nothing.
        """
        values = column.values.take(column.codes) if isinstance(column, Coded) else with_gaps(column)
        cells = np.asarray(values)
        absent = absent_in(cells, self.items)
        result = np.empty((len(self.parts), len(cells)), dtype=object)
        for row, (cell, gap) in enumerate(zip(cells.tolist(), absent.tolist(), strict=True)):
            if gap:
                result[:, row] = None if self.skip else self.words[NO]
                continue
            try:
                codes = self._read(str(cell))
            except ValueError as error:
                remedy = f"write a column for each answer, such as '{self.parts[0]}'"
                if "something" in str(error):
                    listed = "; ".join(self.items[:4]) + ("; ..." if len(self.items) > 4 else "")
                    remedy = f"list answers with ';' between, out of: {listed}"
                raise RowError(f"question '{self.name}'", row, f"{text_of(cell)} {error}", remedy) from None
            result[:, row] = [self.words[code] for code in codes]
        return dict(zip(self.parts, result, strict=True))


class TickedSource:
    """A source in which one column with the ticks of a question stands for a column of each answer."""

    def __init__(self, source: Source, ticks: Sequence[Ticks]) -> None:
        self.source, self.ticks = source, ticks
        self.name = source.name
        self.columns = (*source.columns, *(part for each in ticks for part in each.parts))
        self._ticks_of = {part: each for each in ticks for part in each.parts}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def column(self, name: str) -> str:
        """Return the column of the file from which a column is read."""
        return self._ticks_of[name].name if name in self._ticks_of else name

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Yield the rows of these columns."""
        read = list(dict.fromkeys(map(self.column, columns)))
        for block in self.source.blocks(read):
            table = dict(block)
            for each in self.ticks:
                if each.name in read:
                    with located(self.source, each.name):
                        table |= each.expanded(block[each.name])
            yield {name: table[name] for name in columns}

    def row(self, number: int) -> int:
        """Return the row of the file of a row of the latest block."""
        return self.source.row(number)


def ticked(source: Source, about: About, questions: Questions) -> Source:
    """Return a source with a column for each yes/no question of those with several answers.

    Raises
    ------
    DataError
        Where a file has the ticks of a question in one column, and in columns of their own as well.
    """
    ticks = []
    for text in about.questions:
        if not text.parts or text.name not in source.columns:
            continue
        both = [part for part in text.parts if part in source.columns]
        if both:
            what = f"has the column '{text.name}', and '{both[0]}' as well"
            raise DataError(source.name, what, "omit one of them")
        ticks.append(Ticks(text, questions))
    return TickedSource(source, ticks) if ticks else source
