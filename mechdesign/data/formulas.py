r"""Texts that a spreadsheet would take for formulas: made harmless on writing CSV, and restored on reading.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-`` or ``@`` (or the full-width forms of these,
and whatever it skips before them) when somebody opens the file: a name that a user chose could read other
cells, or start programs. Such a text is written with an apostrophe before it, and reading takes one away
again. Numbers are not texts of this kind, ``-3.5`` stays as it is.
"""

from __future__ import annotations

import re
import unicodedata

from mechdesign.core.errors import DataError

MARK = "'"
"""What is written before such a text."""
SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
STARTS = "\t\r\n"
"""Characters that spreadsheets skip: a text that begins so is marked in any case."""
QUOTES = "'\"`\u00b4\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\uff02\uff07"
NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
)
SUSPECT = re.compile(f"[{re.escape(SIGNS + STARTS)}]")
SPLIT = re.compile(r"([;,\t\r\n|])")
"""What separates cells in one country or another, whatever the quotes."""


def is_formula(text: str) -> bool:
    r"""Whether a spreadsheet might take a cell of this text for a formula.

    Examples
    --------
    >>> [is_formula(text) for text in ("=1+1", "+49 30", "@ann", " -a", '"=1', "\t1", "\uff1d1")]
    [True, True, True, True, True, True, True]
    >>> [is_formula(text) for text in ("-3.5", "+4e-7", "-", "a=1", "", "-inf")]
    [False, False, False, False, False, False]
    """
    if text[:1].isalnum() or NUMBER.fullmatch(text):
        return False
    if text.lstrip(QUOTES)[:1] in tuple(STARTS):
        return True
    core = next((place for place, letter in enumerate(text) if not _is_skipped(letter)), len(text))
    return text[core : core + 1] in tuple(SIGNS) and text[core + 1 :].strip() != ""


def _is_skipped(letter: str) -> bool:
    """Whether it is a quote, white space, or a character without a width."""
    return letter in QUOTES or letter.isspace() or unicodedata.category(letter) in ("Cc", "Cf", "Mn", "Me")


def escaped_formula(text: str) -> str:
    """Return the text as it is written to a CSV file.

    A mark stands at the beginning, and behind each separator that another spreadsheet's settings split at.

    Examples
    --------
    >>> escaped_formula("=1+1"), escaped_formula("-3.5"), escaped_formula("'=1+1"), escaped_formula("a;=1+1")
    ("'=1+1", '-3.5', "''=1+1", "a;'=1+1")
    """
    if not SUSPECT.search(text):
        return text
    parts = SPLIT.split(text)  # every second one is a separator
    parts[2::2] = [MARK + part if is_formula(part) else part for part in parts[2::2]]
    written = "".join(parts)
    return MARK + written if is_formula(written) else written


def unescaped_formula(text: str) -> str:
    """Return the text that was written as this one: the inverse of :func:`escaped_formula`.

    A text that :func:`escaped_formula` never writes is returned as it is.

    Examples
    --------
    >>> [unescaped_formula(text) for text in ("'=1+1", "'tis", "''=1+1", "=1")]
    ['=1+1', "'tis", "'=1+1", '=1']
    """
    if not SUSPECT.search(text):
        return text
    parts = SPLIT.split(_without(text))
    parts[2::2] = map(_without, parts[2::2])
    restored = "".join(parts)
    return restored if escaped_formula(restored) == text else text


def _without(text: str) -> str:
    return text[1:] if text[:1] == MARK and is_formula(text[1:]) else text


class Unmarking:
    """Restores the texts of one column, and refuses one in which two texts could become the same.

    Every formula that :func:`escaped_formula` wrote has its mark. A column in which some have it and
    others do not was put together from several files, and nobody can say which names in it are the same.

    Parameters
    ----------
    name : str
        The file and the column, for the error.

    Examples
    --------
    >>> column = Unmarking("bids.csv: user")
    >>> column("'=a"), column("'=b")
    ('=a', '=b')
    >>> column("=a")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: bids.csv: user: "'=a" and '=a' begin like formulas, one with an ...
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._with, self._without = "", ""

    def __call__(self, text: str) -> str:
        """Return the text as it was before it was written."""
        if not SUSPECT.search(text):
            return text
        restored = unescaped_formula(text)
        if restored != text:
            self._with = self._with or text
        elif escaped_formula(text) != text:
            self._without = self._without or text
        if self._with and self._without:
            raise DataError(
                self.name,
                f"{_cut(self._with)} and {_cut(self._without)} begin like formulas, one with an apostrophe "
                "before it and one without",
                "write both in one way",
            )
        return restored

    def all(self, texts: list[str]) -> list[str]:
        """Return the texts as they were before they were written; the list itself where none is suspect."""
        return [self(text) for text in texts] if SUSPECT.search("".join(texts)) else texts


def _cut(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
