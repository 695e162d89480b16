"""The sentences of the page for respondents in a language: shipped tables, or a file of the survey's owner.

A table is complete: it has all sentences of the English one, each with the same words in braces. What is
missing is an error that names it, so that no page is half in another language.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from mechdesign.core.errors import DataError, MechDesignError, ParameterError, counted, unread
from mechdesign.work.files import read_text
from mechdesign.work.records import dataclass

LANGUAGES = {
    "en": "English",
    "de": "Deutsch",
    "fr": "français",
    "es": "español",
    "it": "italiano",
    "zh": "中文",
}
"""The languages that are shipped, by the names of their tables."""

DEFAULT = "en"

MOST_BYTES = 1 << 20
"""Larger files of sentences are refused."""

LONGEST = 2000
"""Letters of a sentence."""

BRACED = re.compile(r"\{([a-z_]+)\}")
CODE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
UNSPACED = ("zh", "ja")
"""Languages without a space between sentences."""

DIRECTIONS = ("ltr", "rtl")

LATER = ("text",)
"""Sections that files of sentences from before they existed lack: there they are English."""

Tables = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Texts:
    r"""The sentences of a language, and how it writes numbers.

    Attributes
    ----------
    tables : mapping of mappings
        Sentences by section and name.

    Examples
    --------
    >>> german = texts_of("de")
    >>> german.say("limit.weak"), german.percent("73.2"), german.number("1234567.5")
    ('Dieser Schutz ist schwach.', '73,2\xa0%', '1.234.567,5')
    >>> texts_of("en").listed(["a", "b", "c"])
    'a, b and c'
    """

    tables: Tables

    @property
    def code(self) -> str:
        """The language as a page states it."""
        return self.tables["language"]["code"]

    @property
    def direction(self) -> str:
        """Where lines begin: ltr or rtl."""
        return self.tables["language"]["direction"]

    def say(self, key: str, **parts: str) -> str:
        """Return a sentence by section and name, such as ``"limit.weak"``, with its parts filled in."""
        section, name = key.split(".")
        return BRACED.sub(lambda match: parts[match[1]], self.tables[section][name])

    def number(self, text: str) -> str:
        """Return a number, written with a point, as the language writes it; groups from five digits on."""
        whole, point, part = text.partition(".")
        language = self.tables["language"]
        if len(whole.lstrip("-")) > 4 and whole.lstrip("-").isdigit():
            whole = re.sub(r"(?<=\d)(?=(\d{3})+$)", lambda _: language["group"], whole)
        return whole + (language["decimal"] if point else "") + part

    def percent(self, text: str) -> str:
        """Return a percentage, written with a point, as the language writes it."""
        return self.say("language.percent", number=self.number(text))

    def quote(self, text: str) -> str:
        """Return a text in quotation marks."""
        return self.say("language.quote", text=text)

    def listed(self, entries: Sequence[str]) -> str:
        """Return entries as a list."""
        if len(entries) < 2:
            return "".join(entries)
        first = self.tables["language"]["between"].join(entries[:-1])
        return self.say("language.last", first=first, last=entries[-1])

    def joined(self, sentences: Sequence[str]) -> str:
        """Return sentences as a paragraph; Chinese and Japanese have no space between them.

        Examples
        --------
        >>> texts_of("zh").joined(["a。", "b。"]), texts_of("de").joined(["A.", "", "B."])
        ('a。b。', 'A. B.')
        """
        return ("" if self.code.split("-")[0] in UNSPACED else " ").join(filter(None, sentences))

    def as_json(self) -> dict[str, dict[str, str]]:
        """Return the tables as plain values."""
        return {section: dict(entries) for section, entries in self.tables.items()}


@cache
def texts_of(language: str) -> Texts:
    """Return the sentences of a shipped language, also by the code of a country's, such as de-AT.

    Raises
    ------
    ParameterError
        For a language without a table.
    """
    shipped = language.casefold().partition("-")[0]
    if shipped not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ParameterError(
            "language",
            f"no sentences in '{language}'; there are {known}",
            "translate the file of --to texts, and name it with --texts",
        )
    return Texts(tomllib.loads(template_of(shipped)))


def template_of(language: str = DEFAULT) -> str:
    """Return the file of a shipped language, to be translated.

    Examples
    --------
    >>> template_of().splitlines()[0][:20]
    '# The sentences of t'
    """
    from mechdesign.core.extensions import packaged_text

    return packaged_text("mechdesign.export", "languages", f"{language}.toml")


def texts_from_file(path: str | os.PathLike[str]) -> Texts:
    """Return the sentences in a file.

    Raises
    ------
    DataError
        For a file that is not TOML.
    ParameterError
        For a sentence that is missing, unknown, or lacks a word in braces.
    """
    name = os.fspath(path)
    try:
        document = tomllib.loads(read_text(path, MOST_BYTES, DataError).removeprefix("\ufeff"))
    except OSError as error:
        raise DataError(name, unread(error), "check the path") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(name, f"is not TOML ({error})", 'write KEY = "sentence" in each line') from None
    try:
        return texts_from(document)
    except MechDesignError as error:
        raise error.within(name) from None


def texts_from(document: Any) -> Texts:
    """Return the sentences of a document, checked: all are there, each with its words in braces.

    Examples
    --------
    >>> document = texts_of("de").as_json()
    >>> del document["page"]["make"]
    >>> texts_from(document)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: page.make: is missing; translate 'Make my report'
    """
    english = texts_of(DEFAULT).tables
    if not isinstance(document, Mapping):
        raise ParameterError("texts", "expected tables of sentences", "start from the file of --to texts")
    document = {**{name: english[name] for name in LATER if name not in document}, **document}
    missing = [key for key in _keys(english) if _entry(document, key) is None]
    if missing:
        sentence = _entry(english, missing[0])
        more = f" (and {counted(len(missing) - 1, 'other sentence')})" if len(missing) > 1 else ""
        raise ParameterError(missing[0], f"is missing{more}", f"translate '{sentence}'")
    unknown = [key for key in _keys(document) if _entry(english, key) is None]
    if unknown:
        raise ParameterError(unknown[0], "is not a sentence of the page", "omit it")
    for key in _keys(english):
        _require_sentence(key, _entry(document, key), str(_entry(english, key)))
    language = document["language"]
    if not CODE.fullmatch(language["code"]):
        raise ParameterError(
            "language.code", f"{language['code']!r:.40} is not a language", 'write one such as "nl"'
        )
    if language["direction"] not in DIRECTIONS:
        raise ParameterError("language.direction", f"{language['direction']!r:.40}", "write ltr or rtl")
    if language["decimal"] not in (".", ",", "\u066b"):
        raise ParameterError("language.decimal", f"{language['decimal']!r:.40}", "write a point or a comma")
    return Texts({section: dict(entries) for section, entries in document.items()})


def _keys(tables: Mapping[str, Any]) -> Iterator[str]:
    """Yield section and name of all entries; of what is no section its name alone."""
    for section, entries in tables.items():
        if not isinstance(entries, Mapping):
            yield section
            continue
        yield from (f"{section}.{name}" for name in entries)


def _entry(tables: Mapping[str, Any], key: str) -> Any:
    """Return an entry by section and name; None where there is none."""
    section, _, name = key.partition(".")
    entries = tables.get(section)
    return entries.get(name) if isinstance(entries, Mapping) else None


def _require_sentence(key: str, value: Any, english: str) -> None:
    """Refuse what cannot stand for the English sentence."""
    if not isinstance(value, str):
        raise ParameterError(key, "is not a sentence", 'write it in quotes: "..."')
    if not value.strip() and key != "language.group":
        raise ParameterError(key, "is empty", f"translate '{english}'")
    if len(value) > LONGEST or any(ord(letter) < 32 for letter in value):
        raise ParameterError(
            key, "has a line break, or is too long", f"give one line, at most {LONGEST} letters"
        )
    words, present = set(BRACED.findall(english)), set(BRACED.findall(value))
    for word in sorted(words - present):
        raise ParameterError(key, f"lacks {{{word}}}", f"put it where '{english}' has it")
    for word in sorted(present - words):
        raise ParameterError(key, f"has {{{word}}}, which nothing fills", "omit it")
