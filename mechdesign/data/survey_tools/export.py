"""The columns and rows of an export, as a tool describes them.

Columns that identify people, or say when or from where they answered, are known by their names and cells.
Rows are one answer of one person each: no tests, no parts, no repeats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from mechdesign.data.identifiers import identifier_or, plain_name

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


NAMES = frozenset(
    [
        "email",
        "emailaddress",
        "mail",
        "mailaddress",
        "emailadresse",
        "epost",
        "correo",
        "courriel",
        "recipientemail",
        "username",
        "name",
        "firstname",
        "lastname",
        "surname",
        "fullname",
        "givenname",
        "familyname",
        "middlename",
        "maidenname",
        "vorname",
        "nachname",
        "nom",
        "prenom",
        "nombre",
        "apellido",
        "cognome",
        "recipientfirstname",
        "recipientlastname",
        "namefirst",
        "namelast",
        "phone",
        "phonenumber",
        "telephone",
        "telephonenumber",
        "mobile",
        "cell",
        "cellphone",
        "telefon",
        "telefonnummer",
        "handy",
        "telefono",
        "address",
        "streetaddress",
        "street",
        "adresse",
        "anschrift",
        "strasse",
        "city",
        "zip",
        "zipcode",
        "postcode",
        "postalcode",
        "plz",
        "ip",
        "ipaddress",
        "ipaddr",
        "ipadresse",
        "locationlatitude",
        "locationlongitude",
        "latitude",
        "longitude",
        "lat",
        "lon",
        "lng",
        "externalreference",
        "externaldatareference",
        "recipientid",
        "panelid",
        "mturkid",
        "workerid",
        "prolificid",
        "prolificpid",
        "ssn",
        "socialsecuritynumber",
        "passport",
        "iban",
        "dob",
        "dateofbirth",
        "birthdate",
        "birthday",
        "geburtsdatum",
        "geburtstag",
        "signature",
        "mrn",
        "patientid",
        "studentid",
        "employeeid",
        "matrikelnummer",
        "mugshot",
    ]
)
"""Plain names of columns that identify people."""

ENDS = re.compile(
    r"(?:.*[\W_])?(?:e-?mail|e-?mail[\W_]?address|(?:tele)?phone|(?:tele)?phone[\W_]?number|first[\W_]?name|last[\W_]?name"
    r"|ip[\W_]?address|date[\W_]of[\W_]birth|zip([\W_]?code)?|post(al)?[\W_]?code|plz)[\W_0-9]*",
    re.IGNORECASE | re.DOTALL,
)
"""How names of further such columns end, as ``work_email`` or ``telephone_1``."""

ASKS = re.compile(
    r".*\b(?:your|ihre?n?|deine?n?|votre|tu|su)\s+(?:(?:full|first|last|real|given|family)\s+)?"
    r"(?:names?|surname|vor- und nachname|nom|nombre|e-?mail(?:[- ]?address|adresse)?"
    r"|(?:tele)?phone number|telefonnummer|home address)\W*"
    r"|.*wie hei(?:ß|ss)en sie\W*",
    re.IGNORECASE | re.DOTALL,
)
"""Questions for names and addresses."""

MOST_WORDS = 4
"""Words of a text that may be the name of a column and no question."""

EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
ADDRESS = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){3,7}")
TIME = re.compile(
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}(?:[T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}(?:[T ,].*)?"
    r"|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?: ?[AaPp][Mm])?"
)
LINK = re.compile(r"https?://\S+")
PHONE = re.compile(r"\+?\(?[0-9][0-9 ()/.-]{6,}[0-9]")

SHARE = 0.5
"""Part of the cells that tells what a column holds."""


def identifying_reason(item: ExportColumn) -> str:
    """Return why a column tells who answered, or when; empty where it does not.

    Examples
    --------
    >>> identifying_reason(ExportColumn("Q7", ["ann@uni.edu", "bob@uni.edu"]))
    'identifies people'
    >>> identifying_reason(ExportColumn("Q8", ["2026-01-02 10:00", ""]))
    'dates and times'
    """
    for name in (item.name, item.text):
        plain = plain_name(name)
        is_name = len(re.findall(r"[^\W_]+", name)) <= MOST_WORDS and not item.option
        if plain in NAMES or (is_name and ENDS.fullmatch(name)) or ASKS.fullmatch(name):
            return IDENTIFYING
    cells = [cell for cell in item.cells if cell]
    if _most(cells, EMAIL) or _most(cells, ADDRESS) or _most(cells, LINK):
        return IDENTIFYING
    if _most(cells, TIME):
        return TIMES
    long = [cell for cell in cells if sum(map(str.isdigit, cell)) >= 7]
    if len(long) > SHARE * len(cells) and _most(long, PHONE) and not all(map(_is_number, long)):
        return IDENTIFYING
    return ""


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+", text) is not None


def _most(cells: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return bool(cells) and sum(pattern.fullmatch(cell) is not None for cell in cells) > SHARE * len(cells)


UNFINISHED = "not finished"
REPEATED = "of people with an earlier one"
LATEST = "of people with a later one"
JOINED = "joined to the first of their person"
BLANK = "without any answer"


@dataclass(frozen=True)
class RowRule:
    """What a user states about rows.

    Attributes
    ----------
    partial : bool
        Whether answers that were not finished count.
    person : str
        The column that identifies people; empty for the tool's, ``-`` for none.
    last : bool
        Whether the last row of a person counts, not the first.
    """

    partial: bool = False
    person: str = ""
    last: bool = False


def selected_rows(
    export: Export, rule: RowRule, person: ExportColumn | None
) -> tuple[list[int], dict[str, int]]:
    """Return the rows that count, and how many do not, by the reason; the cells of joined rows are moved."""
    reasons = {reason: len(rows) for reason, rows in export.left_out.items()}
    gone = {row for rows in export.left_out.values() for row in rows}
    if rule.partial and UNFINISHED in reasons:
        reasons.pop(UNFINISHED)
        gone -= set(export.left_out[UNFINISHED])
    rows = [row for row in range(export.rows) if row not in gone]
    if person is not None:
        rows = _of_people(export, rows, person, rule.last, reasons)
    answer_columns = [item for item in export.items if not item.dropped]
    filled = [row for row in rows if any(_answers(item, row) for item in answer_columns)]
    if len(filled) < len(rows):
        reasons[BLANK] = len(rows) - len(filled)
    return filled, reasons


def _of_people(
    export: Export, rows: list[int], person: ExportColumn, last: bool, reasons: dict[str, int]
) -> list[int]:
    """Return one row for each person; a row without an identifier is a person of its own."""
    owners: dict[str, list[int]] = {}
    for row in rows:
        owners.setdefault(identifier_or(person.cells[row]) or f"\0{row}", []).append(row)
    further = len(rows) - len(owners)
    if not further:
        return rows
    reasons[JOINED if export.joins else LATEST if last else REPEATED] = further
    if export.joins:
        for own in owners.values():
            _join(export, own)
    return [own[-1] if last and not export.joins else own[0] for own in owners.values()]


def _join(export: Export, rows: list[int]) -> None:
    """Give the first row of a person, in each column, the first cell that is not empty."""
    first = rows[0]
    for item in export.items if len(rows) > 1 else ():
        item.cells[first] = next((item.cells[row] for row in rows if item.cells[row]), "")


def _answers(item: ExportColumn, row: int) -> bool:
    cell = item.cells[row]
    return (
        bool(cell) and not item.missing.has(cell) and not (item.kind == "tick" and cell in ("0", "Unchecked"))
    )
