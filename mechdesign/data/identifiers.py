"""Users in data: the one form of an identifier, and those who appear more than once.

A person keeps an identifier when a table is read and written by other programs. A column of whole numbers
becomes one of floats as soon as one of them is missing; blanks are added or lost; a letter with an accent is
written in two ways. Two forms of one identifier would be two users, and a second report, a second bid or a
second budget for one person.

Where people stand in several rows, each row becomes a report, and each report reveals epsilon. A column that
identifies people is one that is stated, or one with a name such as ``user_id`` that holds no answers. Of one
that is only recognized by its name, the first rows are looked at.

Where a file is randomized again, the user's cache knows: it remembers the digest of each file, never its
content, and the epsilon of each randomization. With ``MECHDESIGN_CACHE=off`` nothing is remembered. The same
people in another file are not noticed: a note is a help, no guarantee.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mechdesign.core.errors import DataError, RowError, counted
from mechdesign.data.intake import Coded, MissingRule, Values
from mechdesign.exact.numbers import plain, require_no_mask, text_of
from mechdesign.work.files import read_text, sha256_of, whole_file

if TYPE_CHECKING:
    from mechdesign.data.text_files import FileForm

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


MOST_ROWS = 1 << 15
"""Rows of a recognized column that are looked at; of a stated one all are."""
FEWER_ROWS = 1 << 13
"""The same in a large file, which is to be read as fast as without a look."""
LARGE = 1 << 22
"""Bytes of a large file."""


class Repeats(NamedTuple):
    """What a column of identifiers says of the rows of a data set.

    Attributes
    ----------
    file, column : str
        The first file that has the column, and the column.
    rows, people : int
    most : int
        The rows of the person with the most of them.
    """

    file: str
    column: str
    rows: int
    people: int
    most: int

    def text(self, epsilon: float) -> tuple[str, str]:
        """Return what the repeats mean, and what to do."""
        what = f"{counted(self.rows, 'row')} of {_people(self.people)}, up to {self.most} of one"
        total = f"that person's reports have epsilon = {self.most * epsilon:g} in all, not {epsilon:g}"
        remedy = "keep one row per person, or add --repeated if this is meant"
        return f"{what}: {total}", remedy


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number} people"


def repeats_in(
    paths: Sequence[str], answer_columns: Iterable[str], stated: str | None, form: FileForm | None = None
) -> Repeats | None:
    """Return how often people appear in some files of data; None where each appears once, or none is known.

    Parameters
    ----------
    paths : sequence of str
        People's data, whose rows are one data set.
    answer_columns : iterable of str
        The columns of answers, which identify nobody.
    stated : str, optional
        The column that identifies people.
    form : FileForm, optional
        What is stated about the form of the files.

    Raises
    ------
    DataError
        When a file cannot be read, or has no column of the stated name.
    """
    from mechdesign.data.data_set import open_table  # families that know identifiers read no files
    from mechdesign.data.text_files import PLAIN

    counts: dict[str, int] = {}
    column, first = stated or "", ""
    others = set(answer_columns)
    for path in paths:
        table = open_table(path, MissingRule("category"), form=form or PLAIN)
        table.shows = table.needs_rows = False
        if not column:
            names = [name for name in table.columns if name not in others and is_person_column(name)]
            column = names[0] if names else ""
        if stated and stated not in table.columns:
            raise DataError(path, f"no column '{stated}'", "name a column that identifies people")
        if not column or table.columns.count(column) != 1:
            continue
        first = first or path
        limit = None if stated else FEWER_ROWS if os.path.getsize(path) > LARGE else MOST_ROWS
        for name, count in _counts(table.first_values(column, limit)):
            counts[name] = counts.get(name, 0) + count
    if not counts or max(counts.values()) == 1:
        return None
    return Repeats(first, column, sum(counts.values()), len(counts), max(counts.values()))


def _counts(pieces: Iterable[Values]) -> Iterator[tuple[str, int]]:
    """Yield the identifiers in pieces of a column with their numbers of rows."""
    for values in pieces:
        if isinstance(values, Coded):
            words, counts = (
                values.values.tolist(),
                np.bincount(values.codes, minlength=len(values.values)).tolist(),
            )
        else:
            words, counts = np.asarray(values).tolist(), [1] * len(values)
        for word, count in zip(words, counts, strict=True):
            name = identifier_or(str(word))
            if count and name not in NAMELESS:
                yield name, count


FOLDER = "randomized"
"""The folder of the records within that of the cache."""
PIECE = 1 << 20
MOST = 1 << 20
"""Bytes of a record that are read."""


def repeated_note(paths: Sequence[str | os.PathLike[str]], epsilon: float) -> str:
    """Remember that files were randomized, and return what that costs if it was not the first time.

    Parameters
    ----------
    paths : sequence of path
        People's data.
    epsilon : float
        Of each report that was made.

    Returns
    -------
    str
        One line, however many files there are; empty the first time, and where nothing can be remembered.
    """
    from mechdesign.work.texts import cache_folder

    cache = cache_folder()
    if cache is None:
        return ""
    before = {path: earlier for path in paths if (earlier := _remembered(cache, path, epsilon))}
    if not before:
        return ""
    most = max(map(len, before.values()))
    times = "once" if most == 1 else f"{most} times"
    first, more = next(iter(before)), len(before) - 1
    what = f"{first}: was randomized {times} before"
    if more:
        up_to = times if min(map(len, before.values())) == most else f"up to {times}"
        what = f"{first} and {more} more of {len(paths)} files: were randomized {up_to} before"
    total = max(map(sum, before.values())) + epsilon
    return (
        f"{what}; a user whose reports are all sent has epsilon = {total:g} "
        f"in all, not {epsilon:g}: send one of them, or collect with a mechanism for several reports"
    )


def _remembered(cache: Path, path: str | os.PathLike[str], epsilon: float) -> list[float]:
    """Add a randomization to the record of a file, and return the epsilons of the earlier ones."""
    record = cache / FOLDER / _digest(path)
    earlier = _read(record)
    with suppress(OSError, DataError):
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        record.parent.mkdir(mode=0o700, exist_ok=True)
        with whole_file(record, DataError, private=True) as temporary:
            temporary.write_text(json.dumps([*earlier, epsilon]), encoding="utf-8")
    return earlier


def _digest(path: str | os.PathLike[str]) -> str:
    if os.path.getsize(path) <= PIECE:
        with open(path, "rb") as stream:
            return sha256_of(stream.read())
    import hashlib  # loads OpenSSL, which is faster for more than a few bytes

    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _read(record: Path) -> list[float]:
    """Return the epsilons of earlier randomizations; none where the record is missing or damaged."""
    with suppress(OSError, ValueError):
        content: Any = json.loads(read_text(record, MOST, DataError))
        if isinstance(content, list) and all(isinstance(number, (int, float)) for number in content):
            return [float(number) for number in content]
    return []
