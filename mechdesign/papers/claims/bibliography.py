"""The sources of the shipped models: ``models/references.bib``, read strictly."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from mechdesign.catalog.load import models_folder
from mechdesign.core.errors import ModelFileError

ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    '"': "\u0308",
    "~": "\u0303",
    "c": "\u0327",
    "v": "\u030c",
}
"""TeX's accents and the combining marks they stand for."""

ACCENT = re.compile(r"\\(['`^\"~]|[cv](?=[\s{]))\s*\{?\s*(\w)\s*\}?")
HEAD = re.compile(r"\s*@(\w+)\s*\{\s*([^\s,{}]+)\s*,")
FIELD = re.compile(r"\s*,?\s*(\w+)\s*=\s*")
END = re.compile(r"\s*,?\s*\}")
REQUIRED = ("author", "title", "year")


@dataclass(frozen=True)
class Reference:
    """One entry of the bibliography.

    Attributes
    ----------
    key, kind : str
        ``zhou2019``, ``article``.
    fields : mapping
        Names in lower case to texts, without braces and TeX accents.
    """

    key: str
    kind: str
    fields: Mapping[str, str]

    @property
    def authors(self) -> str:
        """The authors as people write them: ``Yihui Zhou, Laifeng Lu, Zhenqiang Wu``."""
        names = re.split(r"\s+and\s+", self.fields["author"])
        return ", ".join(" ".join(reversed(name.split(", ", 1))) for name in names)

    def __str__(self) -> str:
        return f"{self.authors} ({self.fields['year']}). {self.fields['title']}"


@cache
def bibliography() -> Mapping[str, Reference]:
    """Return the references of the shipped models by their keys.

    Examples
    --------
    >>> print(bibliography()["holohan2017"])  # doctest: +NORMALIZE_WHITESPACE
    Naoise Holohan, Douglas J. Leith, Oliver Mason (2017). Optimal differentially private mechanisms
    for randomised response
    """
    return parse((models_folder() / "references.bib").read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, Reference]:
    r"""Return the entries of a BibTeX file by their keys.

    Only what the file needs is read: entries with fields in braces. Anything else is an error.

    Raises
    ------
    ModelFileError
        Naming the entry: an entry or a field that is not closed, a key that is there twice.

    Examples
    --------
    >>> parse("@book{knuth, author = {Knuth, Donald E.}, title = {The {TeX}book}, year = {1984}}").keys()
    dict_keys(['knuth'])
    """
    entries: dict[str, Reference] = {}
    place = 0
    while text[place:].strip():
        head = HEAD.match(text, place)
        if head is None:
            line = text.count("\n", 0, place + len(text[place:]) - len(text[place:].lstrip())) + 1
            raise ModelFileError(f"references.bib: line {line}: expected an entry, @article{{key, ...}}")
        kind, key = head[1].lower(), head[2]
        if key in entries:
            raise ModelFileError(f"references.bib: {key}: is there twice; drop one of them")
        fields, place = _fields(text, head.end(), key)
        missing = [name for name in REQUIRED if not fields.get(name)]
        if missing:
            raise ModelFileError(f"references.bib: {key}: has no {missing[0]}; give one")
        entries[key] = Reference(key, kind, fields)
    return entries


def _fields(text: str, place: int, key: str) -> tuple[dict[str, str], int]:
    """Return the fields of an entry and the place after its closing brace."""
    fields: dict[str, str] = {}
    while True:
        closing = END.match(text, place)
        if closing:
            return fields, closing.end()
        name = FIELD.match(text, place)
        if name is None:
            raise ModelFileError(f"references.bib: {key}: the entry is not closed; add the brace")
        value, place = _braced(text, name.end(), key, name[1])
        if name[1].lower() in fields:
            raise ModelFileError(f"references.bib: {key}: the field '{name[1]}' is there twice")
        fields[name[1].lower()] = plain(value)


def _braced(text: str, start: int, key: str, name: str) -> tuple[str, int]:
    """Return the text between this brace and the one that closes it, and the place after that."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            break
    if depth != 0 or text[start : start + 1] != "{":
        raise ModelFileError(f"references.bib: {key}: the field '{name}' is not in braces that close")
    return text[start + 1 : place], place + 1


def plain(text: str) -> str:
    r"""Return TeX as plain text: accents as letters, no braces, dashes, single spaces.

    Examples
    --------
    >>> plain(r"{RCP}: Andr{\'e}s,  pages 1--51")
    'RCP: Andrés, pages 1–51'
    """
    accented = ACCENT.sub(lambda found: unicodedata.normalize("NFC", found[2] + ACCENTS[found[1]]), text)
    return " ".join(re.sub(r"[{}]|\\(?=[&%_#$])", "", accented).replace("--", "–").split())
