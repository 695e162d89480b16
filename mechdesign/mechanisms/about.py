"""What a mechanism is for: the title and the question of a survey, and how many users are planned."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

from mechdesign.core.errors import ParameterError
from mechdesign.core.printable import one_line
from mechdesign.core.text import counted
from mechdesign.core.validation import integer
from mechdesign.core.values import frozen_value, kept
from mechdesign.mechanisms.sealed import Sealed

LONGEST = 1000
"""Letters of a title or a question."""

MOST_USERS = 10**12


def _line(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise ParameterError(name, f"expected a string, got {text!r}", "put it in quotes")
    if len(text) > LONGEST:
        raise ParameterError(name, f"has {counted(len(text), 'letter')}", f"give at most {LONGEST}")
    line: str = one_line(text)
    return line


@frozen_value()
class About:
    """Title, question and planned users of a survey, in its mechanism's file; no guarantee depends on them.

    Attributes
    ----------
    title : str
        A short name of the survey.
    question : str
        What respondents are asked, word for word.
    users : int or None
        How many users are planned.

    Raises
    ------
    ParameterError
        For a text that is too long, or a number of users that is impossible.

    Examples
    --------
    >>> about = About("Health 2026", "Do you smoke?", 5000)
    >>> about.heading
    'Do you smoke?'
    >>> About.from_json(about.as_json()) == about, About("Health 2026").heading, About().as_json()
    (True, 'Health 2026', {})
    """

    title: str = kept(_line, default="")
    question: str = kept(_line, default="")
    users: int | None = kept(partial(integer, low=1, high=MOST_USERS), default=None, optional=True)

    @property
    def heading(self) -> str:
        """Return the heading of a page about it: the question, or else the title; empty without both."""
        return self.question or self.title

    def as_json(self) -> dict[str, Any]:
        """Return the entries as plain values."""
        return {name: value for name, value in vars(self).items() if value}

    @classmethod
    def from_json(cls, document: object) -> About:
        """Return an object from the output of :meth:`as_json`; anything else is refused."""
        if not isinstance(document, Mapping) or not set(document) <= {"title", "question", "users"}:
            raise ParameterError("about", "expected title, question and users", "rebuild it")
        return cls(**document)


class WithAbout(Sealed):
    """Objects with a title, a question and planned users: every mechanism."""

    about: About = About()

    def described(self, title: str = "", question: str = "", users: int | None = None) -> Self:
        """Return the same with the title and the question of a survey, which its file and pages keep.

        They say what it is for and change nothing that it does: fingerprint and equality stay.

        Examples
        --------
        >>> from mechdesign.mechanisms.mean import Duchi
        >>> Duchi(1.0, 0, 100).described(question="How old are you?").about.heading
        'How old are you?'
        """
        return self.replaced(about=About(title, question, users))
