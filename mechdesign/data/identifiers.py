"""One form of each user's identifier: a person keeps it when a table is read and written by other programs.

A column of whole numbers becomes one of floats as soon as one of them is missing; blanks are added or lost; a
letter with an accent is written in two ways. Two forms of one identifier would be two users, and a second
report, a second bid or a second budget for one person.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

from mechdesign.core.errors import RowError
from mechdesign.exact.numbers import plain, require_no_mask, text_of

NAMELESS = frozenset(["", "None", "nan", "NaN", "NaT", "<NA>", "missing"])
"""Texts that identify nobody: what other programs write for a missing value."""

EXACT = 1 << 53
"""Whole numbers from here on are rounded where they are floats."""

BLANKS = re.compile(r"\A[\s\ufeff\u200b]+|[\s\ufeff\u200b]+\Z")
"""Blanks and invisible marks at the ends."""

WHOLE = re.compile(r"([+-]?[0-9]+)\.0*", re.ASCII)
"""A whole number as a column of floats is written."""

LONGEST_EXACT = len(str(float(EXACT))) - 1
"""Characters of a whole number with a point and a zero below which it is exact."""

ROUNDED = re.compile(r"[+-]?[0-9](?:\.[0-9]+)?[eE]\+[0-9]+", re.ASCII)
"""A number as spreadsheets and programs write large ones, without its last digits."""


def identifier(value: Any) -> str:
    """Return the one form of an identifier: without blanks around it, whole numbers without a point.

    Raises
    ------
    ValueError
        For what identifies nobody, or no longer one person; the text says what is wrong.

    Examples
    --------
    >>> identifier(1), identifier(1.0), identifier("1.0"), identifier(" 1 "), identifier("01")
    ('1', '1', '1', '1', '01')
    >>> identifier(b"u1")
    'u1'
    >>> identifier("u" + chr(0x308) + "ber") == identifier(chr(0xFC) + "ber")
    True
    """
    if type(value) is str and value.isascii() and value.isalnum() and value not in NAMELESS:
        return value
    if isinstance(value, bytes):
        value = _decoded(value)
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{text_of(value)} identifies nobody")
    number = None if isinstance(value, str) else plain(value)
    if number is not None and not isinstance(number, int):
        if number != number:
            raise ValueError("has no name")
        if number >= EXACT or number <= -EXACT:
            raise ValueError(f"{text_of(value)} may be rounded")
        number = int(number) if number == int(number) else number
    text = BLANKS.sub("", unicodedata.normalize("NFC", str(value if number is None else number)))
    if text in NAMELESS:
        raise ValueError("has no name")
    if any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in text):
        raise ValueError(f"{text_of(text)} has a control character")
    whole = WHOLE.fullmatch(text)
    if ROUNDED.fullmatch(text) or (whole and len(text) > LONGEST_EXACT):
        raise ValueError(f"{text_of(text)} may be rounded")
    return whole.group(1) if whole else text


def _decoded(value: bytes) -> str:
    """Return the text of bytes, as arrays and files of other programs hold texts."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{text_of(value)} is not text in UTF-8") from None


def identifier_or(text: str) -> str:
    """Return the one form of an identifier; a text that is not a good one as it is.

    Examples
    --------
    >>> identifier_or("1.0"), identifier_or("1e+20")
    ('1', '1e+20')
    """
    try:
        return identifier(text)
    except ValueError:
        return text


def identifiers(values: Any, seen: set[str] | None = None, what: str = "users") -> list[str]:
    """Return the identifiers of rows; refuse one that is missing, or appears twice here or before.

    Parameters
    ----------
    values : iterable
    seen : set of str, optional
        Identifiers before these; these are added.
    what : str
        The name in errors.

    Raises
    ------
    RowError

    Examples
    --------
    >>> identifiers([1, "ann"])
    ['1', 'ann']
    """
    require_no_mask(values, what)
    seen = set() if seen is None else seen
    result = []
    for row, value in enumerate(values):
        try:
            name = identifier(value)
        except ValueError as error:
            raise RowError(
                what, row, str(error), "give each row an identifier of its user, as text"
            ) from None
        if name in seen:
            raise RowError(what, row, f"user {text_of(name)} appears twice", "give one row per user")
        seen.add(name)
        result.append(name)
    return result


def plain_name(name: str) -> str:
    """Return a name without case, spaces and signs.

    Examples
    --------
    >>> plain_name("IP-Address"), plain_name("Start Date ")
    ('ipaddress', 'startdate')
    """
    return re.sub(r"[\W_]+", "", name.casefold())


PERSONS = frozenset(
    [
        "id",
        "userid",
        "user",
        "person",
        "personid",
        "participant",
        "participantid",
        "respondent",
        "respondentid",
        "recordid",
        "record",
        "subject",
        "subjectid",
        "studyid",
        "caseid",
        "token",
        "pid",
        "uid",
        "uuid",
        "mturkid",
        "workerid",
        "prolificid",
        "prolificpid",
        "email",
        "emailaddress",
        "recipientemail",
        "employeeid",
        "studentid",
        "patientid",
        "panelid",
        "externalreference",
        "externaldatareference",
        "username",
        "code",
    ]
)
"""Plain names of columns by which the rows of one person are known."""


def is_person_column(name: str) -> bool:
    """Whether the rows of one person can be known by a column of this name."""
    return plain_name(name) in PERSONS
