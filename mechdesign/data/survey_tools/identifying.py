"""Columns that identify people, or say when or from where they answered, by their names and cells."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mechdesign.data.identifiers import plain_name
from mechdesign.data.survey_tools.export import IDENTIFYING, TIMES, ExportColumn

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
