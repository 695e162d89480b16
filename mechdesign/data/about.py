"""What is said about a survey: identity, texts, wave and language, one frozen value that everything reads.

It stands in the mechanism's file, sealed with it, next to the columns of users' data (``intake.py``). No
guarantee of a report depends on it. The identity keeps the reports of surveys apart.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import attrs

from mechdesign.core.errors import ParameterError, counted, one_line, suggestion
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import integer
from mechdesign.core.values import changed, frozen_value, value_field

LONGEST = 1000
"""Letters of a title or a question."""

LONGEST_PARAGRAPHS = 5000
"""Letters of an introduction or a thank-you."""

MOST_USERS = 10**12
MOST_LABELS = 1 << 16
MOST_WAVES = 1000

IDENTITY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
"""What can be an identity: it stands in names of files, in addresses and in places of a browser's storage."""

LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*", re.ASCII)
"""A language tag as pages have it: ``de``, ``pt-BR``."""

SEALED_FROM = 3
"""From this version on, the digest of a mechanism file covers what it says about its survey."""

TEXTS_FROM = 4
"""The first version of mechanism files whose surveys have more than the entries of version 3."""

ENTRIES = ("title", "question", "users", "id")
"""What is said about a survey in version 3 of mechanism files; in earlier ones without the identity."""


def new_identity() -> str:
    """Return an identity that no other survey has: 128 random bits of the operating system.

    Examples
    --------
    >>> len(new_identity()), new_identity() == new_identity()
    (32, False)
    """
    return os.urandom(16).hex()


def _identity(name: str, text: object) -> str:
    if text == "":
        return ""
    if not isinstance(text, str) or not IDENTITY.fullmatch(text):
        raise ParameterError(
            name,
            f"{text!r:.120} cannot be the identity of a survey",
            "give 1 to 100 letters, digits, '.', '_' or '-', the first a letter or a digit; or omit it, and "
            "one is drawn",
        )
    return text


def _text(name: str, text: object, most: int) -> str:
    if not isinstance(text, str):
        raise ParameterError(name, f"expected a string, got {text!r:.120}", "put it in quotes")
    if len(text) > most:
        raise ParameterError(name, f"has {counted(len(text), 'letter')}", f"give at most {most}")
    return text


def text_line(name: str, text: object) -> str:
    """Return a text of at most 1000 letters on one printable line."""
    line: str = one_line(_text(name, text, LONGEST))
    return line


def paragraphs(name: str, text: object) -> str:
    r"""Return a text as paragraphs of one printable line each, with an empty line between them.

    Examples
    --------
    >>> paragraphs("thanks", "Thank you\nvery much.\n\n\nGoodbye.  ")
    'Thank you very much.\n\nGoodbye.'
    """
    parts = re.split(r"\n[^\S\n]*\n", _text(name, text, LONGEST_PARAGRAPHS).replace("\r\n", "\n"))
    return "\n\n".join(filter(None, (str(one_line(part)) for part in parts)))


def _name(name: str, text: object) -> str:
    """Return the name of a question as it is: it is also the name of a column."""
    exact = _text(name, text, LONGEST)
    if not exact.strip() or not exact.isprintable():
        what = "is empty" if not exact.strip() else f"{exact!r:.120} cannot be printed"
        raise ParameterError(name, what, 'name the question, as in name = "age"')
    return exact


def _names(name: str, value: object) -> tuple[str, ...]:
    return tuple(_name(name, item) for item in _list(name, value))


def _language(name: str, text: object) -> str:
    if text == "":
        return ""
    if not isinstance(text, str) or not LANGUAGE.fullmatch(text):
        raise ParameterError(name, f"{text!r:.120} is not the tag of a language", 'give one such as "de"')
    return text


def _list(name: str, value: object) -> Iterable[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ParameterError(name, f"expected a list, got {value!r:.120}", "put it in brackets")
    return value


def _lines(name: str, value: object) -> tuple[str, ...]:
    result = tuple(text_line(name, item) for item in _list(name, value))
    if len(result) > MOST_LABELS:
        raise ParameterError(name, f"has {counted(len(result), 'text')}", f"give at most {MOST_LABELS}")
    return result


def _ends(name: str, value: object) -> tuple[str, ...]:
    result = _lines(name, value)
    if len(result) not in (0, 2):
        what = f"expected the labels of both ends of a scale, got {counted(len(result), 'text')}"
        raise ParameterError(name, what, 'give two, as in ends = ["not at all", "very much"]')
    return result


def _guarantee(name: str, value: object) -> Guarantee:
    if isinstance(value, Guarantee):
        return value
    if not isinstance(value, Mapping) or "epsilon" not in value:
        raise ParameterError(name, f"expected a guarantee, got {value!r:.120}", "build the wave again")
    return Guarantee.from_json(value)


def _values(kind: Callable[[], type[Any]], name: str, value: object) -> tuple[Any, ...]:
    """Return a list of values of a class, of which some may be plain."""
    result = []
    for item in _list(name, value):
        if not isinstance(item, (kind(), Mapping)):
            raise ParameterError(name, f"expected a list of tables, got {item!r:.120}")
        result.append(item if isinstance(item, kind()) else _from_table(kind(), name, item))
    return tuple(result)


def _keys(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of what a value states."""
    return tuple(field.name for field in attrs.fields(kind))


def _from_table(kind: type[Any], where: str, table: Mapping[str, Any]) -> Any:
    """Return the value that a table states; an unknown key is refused with a suggestion."""
    known = _keys(kind)
    for key in table:
        if key not in known:
            raise ParameterError(where, f"no key '{key}'", suggestion(str(key), known))
    if "name" in known and "name" not in table:
        raise ParameterError(where, "one has no name", 'name the question, as in name = "age"')
    return kind(**table)


def _require_different(name: str, what: str, texts: list[str]) -> None:
    for text in texts:
        if texts.count(text) > 1:
            raise ParameterError(name, f"{what} '{text}' appears twice", "use it once")


@frozen_value()
class QuestionText:
    """The words of one question, as respondents read them.

    Attributes
    ----------
    name : str
        The name of the question: its column in files of answers.
    text : str
        The question, word for word.
    hint : str
        A smaller line below it.
    ends : tuple of str
        The labels of the two ends of a scale; empty, or two.
    labels : tuple of str
        The words of the possible answers, in their order, where they differ from those in files: of another
        language, or of the ticks of a question with several answers.
    parts : tuple of str
        The names of the questions that stand behind it in the mechanism, in the order of ``labels``: of a
        question with several answers, one yes/no question for each tick. Empty for itself.

    Examples
    --------
    >>> QuestionText("mood", "How are you?", ends=["bad", "good"]).as_json()
    {'name': 'mood', 'text': 'How are you?', 'ends': ['bad', 'good']}
    """

    name: str = value_field(_name)
    text: str = value_field(text_line, default="")
    hint: str = value_field(text_line, default="")
    ends: tuple[str, ...] = value_field(_ends, default=())
    labels: tuple[str, ...] = value_field(_lines, default=())
    parts: tuple[str, ...] = value_field(_names, default=())

    @property
    def columns(self) -> tuple[str, ...]:
        """The questions of the mechanism that it stands for."""
        return self.parts or (self.name,)

    def as_json(self) -> dict[str, Any]:
        """Return the entries as plain values."""
        return _plain(self)


@frozen_value()
class EarlierWave:
    """A wave of the survey before this one: by what a device and an owner recognize it, and what it revealed.

    Attributes
    ----------
    id : str
        Its identity.
    fingerprint : str
        The digest of its mechanism: with the identity, whose the reports are that a device has kept.
    wave : str
        What it is called, such as ``2026``.
    guarantee : Guarantee or None
        What one report of it is covered by, exactly; None for a mechanism without such a number.
    """

    id: str = value_field(_identity)
    fingerprint: str = value_field(text_line)
    wave: str = value_field(text_line, default="")
    guarantee: Guarantee | None = value_field(_guarantee, default=None, optional=True)

    def __attrs_post_init__(self) -> None:
        if not self.id or not self.fingerprint:
            raise ParameterError("earlier", "a wave has no identity or no fingerprint", "build it again")

    def as_json(self) -> dict[str, Any]:
        """Return the entries as plain values; numbers of the guarantee are texts, exactly."""
        return _plain(self)


def _plain(value: Any) -> dict[str, Any]:
    return {name: _plain_entry(entry) for name, entry in vars(value).items() if entry}


def _plain_entry(entry: Any) -> Any:
    if isinstance(entry, tuple):
        return [_plain_entry(item) for item in entry]
    return entry.as_json() if hasattr(entry, "as_json") else entry


@frozen_value()
class About:
    """What is said about a survey, in its mechanism's file.

    No guarantee of a report depends on it. The identity keeps the reports of surveys apart.

    Attributes
    ----------
    title : str
        A short name of the survey.
    question : str
        What respondents are asked, word for word, where it is one question.
    users : int or None
        How many users are planned.
    id : str
        The identity of the survey, or of this wave of it; empty where it has none.
    introduction, thanks : str
        What stands before the questions, and after the report was sent: paragraphs, an empty line between.
    contact : str
        Whom respondents can ask.
    language : str
        The language of the texts, a tag such as ``de``; empty where it is not stated.
    wave : str
        What this wave is called, such as ``2027``.
    earlier : tuple of EarlierWave
        The waves before it, the first one first.
    questions : tuple of QuestionText
        The words of the questions, in the order in which a page asks them.
    translations : tuple of About
        The same texts in other languages: each states its language, and its questions by their names.

    Raises
    ------
    ParameterError
        For a text that is too long, or entries that cannot be.

    Examples
    --------
    >>> about = About("Health 2026", "Do you smoke?", 5000)
    >>> about.heading
    'Do you smoke?'
    >>> About.from_json(about.as_json()) == about, About("Health 2026").heading, About().as_json()
    (True, 'Health 2026', {})
    """

    title: str = value_field(text_line, default="")
    question: str = value_field(text_line, default="")
    users: int | None = value_field(partial(integer, low=1, high=MOST_USERS), default=None, optional=True)
    id: str = value_field(_identity, default="")
    introduction: str = value_field(paragraphs, default="")
    thanks: str = value_field(paragraphs, default="")
    contact: str = value_field(text_line, default="")
    language: str = value_field(_language, default="")
    wave: str = value_field(text_line, default="")
    earlier: tuple[EarlierWave, ...] = value_field(partial(_values, lambda: EarlierWave), default=())
    questions: tuple[QuestionText, ...] = value_field(partial(_values, lambda: QuestionText), default=())
    translations: tuple[About, ...] = value_field(partial(_values, lambda: About), default=())

    def __attrs_post_init__(self) -> None:
        _require_different("questions", "the question", [question.name for question in self.questions])
        identities = [wave.id for wave in self.earlier]
        _require_different("earlier", "the identity", [*identities, *([self.id] if self.id else [])])
        if len(identities) > MOST_WAVES:
            raise ParameterError(
                "earlier", f"has {counted(len(identities), 'wave')}", f"at most {MOST_WAVES}"
            )
        languages = [one.language for one in self.translations]
        _require_different("translations", "the language", [*languages, *filter(None, [self.language])])
        for one in self.translations:
            _require_translation(self, one)

    @property
    def heading(self) -> str:
        """Return the heading of a page about it: the question, or else the title; empty without both."""
        return self.question or self.title

    @property
    def survey(self) -> str:
        """Return what tells the survey from others, for a sentence: its title, its wave and its identity.

        Examples
        --------
        >>> print(About("Health 2026", id="h26").survey, About().survey, sep="; ")
        the survey 'Health 2026' (id h26); a survey without an identity
        >>> print(About("Health", id="h26", wave="2026").survey)
        the survey 'Health' (wave 2026, id h26)
        """
        title = f" '{self.title}'" if self.title else ""
        if not self.id:
            return f"the survey{title}, which has no identity" if title else "a survey without an identity"
        wave = f"wave {self.wave}, " if self.wave else ""
        return f"the survey{title} ({wave}id {self.id})"

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of its texts, its own first; that of texts whose language is not stated is empty."""
        return (self.language, *(one.language for one in self.translations))

    def question_text(self, name: str) -> QuestionText:
        """Return the words of a question by its name or a column of it; without words its text is its name.

        Examples
        --------
        >>> about = About(questions=[QuestionText("mood", "How are you?")])
        >>> about.question_text("mood").text, about.question_text("age").text
        ('How are you?', 'age')
        >>> About(question="How old are you?").question_text("age").text
        'How old are you?'
        """
        stated = next(
            (one for one in self.questions if name == one.name or name in one.columns), QuestionText(name)
        )
        single = self.question if len(self.questions) <= 1 else ""
        return changed(stated, text=stated.text or single or stated.name)

    def in_language(self, language: str) -> About:
        """Return the same with the texts of a language; what has no translation stays.

        Raises
        ------
        ParameterError
            For a language without a translation.

        Examples
        --------
        >>> about = About("Mood", language="en", translations=[About("Stimmung", language="de")])
        >>> about.in_language("de").title
        'Stimmung'
        """
        if language == self.language:
            return self
        if language not in self.languages:
            stated = [one for one in self.languages if one]
            raise ParameterError("language", f"no texts in '{language}'", suggestion(language, stated))
        other = next(one for one in self.translations if one.language == language)
        words = {name: value for name in _WORDS if (value := getattr(other, name))}
        names = {question.name: question for question in other.questions}
        questions = tuple(_translated(one, names.get(one.name)) for one in self.questions)
        own = changed(self, language="", translations=(), questions=questions, **words)
        return changed(own, language=language)

    def as_json(self) -> dict[str, Any]:
        """Return the entries as plain values."""
        return _plain(self)

    @property
    def file_version(self) -> int:
        """The version of mechanism files that can hold it."""
        return SEALED_FROM if set(self.as_json()) <= set(ENTRIES) else TEXTS_FROM

    @classmethod
    def from_json(cls, document: object, version: int = TEXTS_FROM) -> About:
        """Return an object from the output of :meth:`as_json` in a file of a version; else it is refused."""
        known: tuple[str, ...] = ENTRIES if version >= SEALED_FROM else ENTRIES[:-1]
        if version >= TEXTS_FROM:
            known = _keys(cls)
        if not isinstance(document, Mapping) or not set(document) <= set(known):
            listed = f"{', '.join(known[:-1])} and {known[-1]}"
            raise ParameterError("about", f"expected {listed}", "rebuild it")
        return cls(**document)


_WORDS = ("title", "question", "introduction", "thanks", "contact")


def _translated(question: QuestionText, other: QuestionText | None) -> QuestionText:
    """Return the words of a question in another language, with its own name and parts."""
    words = {} if other is None else {key: getattr(other, key) for key in ("text", "hint", "ends", "labels")}
    return changed(question, **{key: value for key, value in words.items() if value})


def _require_translation(about: About, other: About) -> None:
    """Raise ParameterError for a translation without a language, or with more than texts."""
    where = f"translations: {other.language or 'one'}"
    if not other.language:
        raise ParameterError("translations", "one states no language", 'give language = "de"')
    more = [name for name in ("users", "id", "wave", "earlier", "translations") if getattr(other, name)]
    if more:
        raise ParameterError(where, f"'{more[0]}' is of the survey, not of a translation", "omit it")
    names = [question.name for question in about.questions]
    for question in other.questions:
        if question.name not in names:
            raise ParameterError(where, f"no question '{question.name}'", suggestion(question.name, names))
