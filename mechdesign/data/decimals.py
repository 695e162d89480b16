r"""Decimal commas and points in the cells of a table, recognized or stated; never a guess.

The number ``12,5`` has a decimal comma and ``12.5`` a decimal point. ``1,234`` may be either 1.234 or 1234,
and so may ``1.234``: a table tells which where another number in it is clear, or somebody states it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mechdesign.core.errors import DataError

SIGN = r"[+-]?"
EXPONENT = r"(?:[eE][+-]?[0-9]+)?"


def _patterns(decimal: str, other: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return patterns: a clear number with this decimal sign, what may be one, groups by the other sign."""
    mark, group = re.escape(decimal), re.escape(other)
    grouped = rf"{SIGN}[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+"
    clear = re.compile(
        rf"{grouped}{mark}[0-9]*{EXPONENT}|{SIGN}[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}}){{2,}}"
        rf"|(?!{SIGN}[1-9][0-9]{{0,2}}{mark}[0-9]{{3}}\Z)(?:{SIGN}[0-9]*{mark}[0-9]+{EXPONENT}"
        rf"|{SIGN}[0-9]+{mark}[0-9]*{EXPONENT})"
    )
    return clear, re.compile(rf"{SIGN}[1-9][0-9]{{0,2}}{mark}[0-9]{{3}}"), re.compile(grouped)


CLEAR_COMMA, EITHER_COMMA, POINT_GROUPS = _patterns(",", ".")
CLEAR_POINT, EITHER_POINT, COMMA_GROUPS = _patterns(".", ",")
QUOTED_COMMA = re.compile(r'"[+-]?[0-9.]*,[0-9]')
"""How a number with a comma looks in a file whose columns are separated by commas."""


class DecimalSigns:
    """Rewrites the numbers of a table with decimal points, once it is known which sign they have.

    Parameters
    ----------
    name : str
        The file, for errors.
    stated : str
        The sign that somebody states, after which the other one groups thousands; empty to recognize it.
    texts : frozenset of str
        Cells that are texts whatever they look like.
    points : bool
        Whether, where nothing is stated, a point before three digits is a decimal point.

    Examples
    --------
    >>> numbers = DecimalSigns("a.csv", "", frozenset(["1,0"]))
    >>> numbers.plain("x", ["12,5", "-0,25", "1.234,5", "7", "no", "1,0"])
    ['12.5', '-0.25', '1234.5', '7', 'no', '1,0']
    >>> DecimalSigns("a.csv", ",", frozenset()).plain("x", ["1.234", "1,234"])
    ['1234', '1.234']
    >>> DecimalSigns("a.csv", "", frozenset()).plain("x", ["1,234"])
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: a.csv: column 'x': '1,234' may be 1.234 or 1234; add --decimal comma ...
    """

    def __init__(self, name: str, stated: str, texts: frozenset[str], points: bool = False) -> None:
        self.name, self.stated, self.texts, self._points = name, stated, texts, points
        self.sign, self._example = stated, ""

    def look(self, column: str, words: Iterable[str]) -> None:
        """Recognize the sign by the clear numbers among some cells."""
        for word in words:
            if not self.stated and word not in self.texts and ("," in word or "." in word):
                self._note(column, word.strip())

    def _note(self, column: str, word: str) -> None:
        sign = "," if CLEAR_COMMA.fullmatch(word) else "." if CLEAR_POINT.fullmatch(word) else ""
        if not sign:
            return
        if self.sign and sign != self.sign:
            what = f"has decimal points ({self._example if self.sign == '.' else word}) and decimal commas"
            commas = word if self.sign == "." else self._example
            where = f"{self.name}: column '{column}'"
            raise DataError(where, f"{what} ({commas})", "write all numbers in one way")
        if not self.sign:
            self.sign, self._example = sign, word

    def plain(self, column: str, words: list[str]) -> list[str]:
        """Return cells with decimal points in numbers; the list itself where nothing is to be changed.

        Raises
        ------
        DataError
            For a number that may be two, or for two decimal signs in one table.
        """
        if not any("," in word or "." in word for word in words):
            return words
        self.look(column, words)
        return [self._plain(column, word) if "," in word or "." in word else word for word in words]

    def _plain(self, column: str, word: str) -> str:
        bare = word.strip()
        if word in self.texts:
            return word
        if self.sign == ",":
            if EITHER_POINT.fullmatch(bare) and not self.stated:
                raise self._either(column, bare)
            if self.stated and CLEAR_POINT.fullmatch(bare):
                raise DataError(
                    f"{self.name}: column '{column}'", f"'{bare}' has a decimal point", "omit --decimal comma"
                )
            if CLEAR_COMMA.fullmatch(bare) or EITHER_COMMA.fullmatch(bare) or POINT_GROUPS.fullmatch(bare):
                return bare.replace(".", "").replace(",", ".")
            return word
        if self.stated == ".":
            if CLEAR_COMMA.fullmatch(bare):
                raise DataError(
                    f"{self.name}: column '{column}'", f"'{bare}' has a decimal comma", "omit --decimal point"
                )
            grouped = CLEAR_POINT.fullmatch(bare) or COMMA_GROUPS.fullmatch(bare)
            return bare.replace(",", "") if grouped else word
        if not self.sign and (
            EITHER_COMMA.fullmatch(bare) or (EITHER_POINT.fullmatch(bare) and not self._points)
        ):
            raise self._either(column, bare)
        return word

    def _either(self, column: str, word: str) -> DataError:
        sign = "," if "," in word else "."
        small, large = word.replace(",", "."), word.replace(sign, "")
        remedy = "add --decimal comma or --decimal point"
        return DataError(f"{self.name}: column '{column}'", f"'{word}' may be {small} or {large}", remedy)
