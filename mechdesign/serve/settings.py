"""What the owner decides about collecting, and what a survey is called in addresses.

Where the owner wants it, tokens let one report in each.
"""

from __future__ import annotations

import re
import secrets
import tomllib
import unicodedata
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Protocol

from mechdesign.core.errors import ParameterError

if TYPE_CHECKING:
    from mechdesign.serve.pool import ReportPool

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?")
URL = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+(?:/[A-Za-z0-9._~/-]*)?")
ACCESS = ("open", "tokens")
MOST_DRAFT = 1 << 20
"""Bytes of a draft."""


@dataclass(frozen=True)
class CollectionSettings:
    """What the owner decides about collecting.

    Attributes
    ----------
    least : int
        Reports below which no result is shown.
    stop : str
        The last day on which reports are taken, such as ``"2026-12-31"``; empty for none.
    access : str
        ``"open"``, or ``"tokens"``: one report for each.
    url : str
        The public address of the respondents' pages, such as ``"https://survey.example.org"``.
    shared : bool
        Whether many people use one device.
    language : str
        Of the respondents' page; by default the survey's.

    Examples
    --------
    >>> CollectionSettings(least=0)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: least: 0 is not a number of reports; give 1 or more
    """

    least: int = 50
    stop: str = ""
    access: str = "open"
    url: str = ""
    shared: bool = False
    language: str = ""

    def __post_init__(self) -> None:
        if type(self.least) is not int or not 1 <= self.least <= 10**9:
            raise ParameterError("least", f"{self.least!r} is not a number of reports", "give 1 or more")
        if self.access not in ACCESS:
            raise ParameterError("access", f"expected one of {', '.join(ACCESS)}, got '{self.access}'")
        if self.stop and not _is_day(self.stop):
            raise ParameterError("stop", f"'{self.stop}' is not a day", "write one such as 2026-12-31")
        if self.url and not URL.fullmatch(self.url):
            what = f"'{self.url}' is not an address"
            raise ParameterError("public address", what, "write one such as https://survey.example.org")

    @property
    def is_over(self) -> bool:
        """Whether the last day is past."""
        return bool(self.stop) and date.today() > date.fromisoformat(self.stop)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def require_draft(text: str) -> None:
    """Raise ParameterError for a draft that is too long, or cannot be written."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ParameterError("draft", "has half a character", "type it again") from None
    if size > MOST_DRAFT or "\0" in text:
        raise ParameterError("draft", "is longer than 1 MiB, or no text", "make it shorter")


def title_of(toml_text: str) -> str:
    r"""Return the title in a draft; empty where it has none, or is not TOML.

    Examples
    --------
    >>> title_of('[survey]\ntitle = "Mood"'), title_of("[")
    ('Mood', '')
    """
    match = re.search(r"""^\s*title\s*=\s*("(?:[^"\\\n]|\\.)*"|'[^'\n]*')\s*(?:#.*)?$""", toml_text, re.M)
    try:
        return str(tomllib.loads(f"title = {match[1]}")["title"]).strip() if match else ""
    except tomllib.TOMLDecodeError:
        return ""


def slug_of(title: str) -> str:
    """Return a title as it can be part of an address.

    Examples
    --------
    >>> slug_of("Größe & Mood!")
    'grosse-mood'
    """
    plain = unicodedata.normalize("NFKD", title.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:40].strip("-") or "survey"


def free_slug(title: str, known: set[str]) -> str:
    """Return a slug of a title that no survey has."""
    stem = slug_of(title)
    names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(known) + 2))
    return next(name for name in names if name not in known)


MOST_TOKENS = 100_000
"""Tokens that are made at once."""


class LinkedSurvey(Protocol):
    """What tokens use of their survey."""

    slug: str

    @property
    def address(self) -> str:
        """The address of the respondents' page; without a public one, its path."""

    @property
    def has_tokens(self) -> bool:
        """Whether a report needs a token."""

    @property
    def has_files(self) -> bool:
        """Whether there may be reports."""

    @property
    def pool(self) -> ReportPool:
        """Reports and tokens on the disk, from the first time on that they are needed."""


class Tokens:
    """The tokens of a survey: each lets one report in. The disk has their digests alone.

    Attributes
    ----------
    survey : ServedSurvey
    """

    def __init__(self, survey: LinkedSurvey) -> None:
        self.survey = survey

    @property
    def count(self) -> int:
        """Number of tokens."""
        return self.survey.pool.token_count if self.survey.has_files else 0

    @property
    def used(self) -> int:
        """Number of tokens that were used."""
        return self.survey.pool.used_count if self.survey.has_files else 0

    def make(self, count: int) -> list[str]:
        """Return new tokens that nobody can guess; this is the only time that they can be read."""
        if not 1 <= count <= MOST_TOKENS:
            what = f"{count} is not from 1 to {MOST_TOKENS}"
            raise ParameterError("number of links", what, "give another number")
        if not self.survey.has_tokens:
            raise ParameterError(
                self.survey.slug, "is open: it has no links of persons", "choose links first"
            )
        tokens = [secrets.token_urlsafe(16) for _ in range(count)]
        self.survey.pool.add_tokens(tokens)
        return tokens

    def links(self, tokens: list[str]) -> list[str]:
        """Return the address of the page for each token."""
        return [f"{self.survey.address}#token={token}" for token in tokens]
