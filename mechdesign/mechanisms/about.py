"""What a mechanism is for: the title and the question of a survey, and how many users are planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import integer
from mechdesign.mechanisms.sealed import Sealed
from mechdesign.mechanisms.written import heading

MOST_USERS = 10**12

LONGEST = 1000
"""Letters of a title or a question."""

KEYS = ("title", "question", "planned_users")
"""The keys of a mechanism's file for it; they stand there when they are given."""


class WithAbout(Sealed):
    """What has a title, a question and planned users: every mechanism.

    They say what it is for and change nothing that it does: no guarantee depends on them, and fingerprint and
    equality stay as they are.

    Attributes
    ----------
    title : str
        A short name of the survey.
    question : str
        What respondents are asked, word for word.
    planned_users : int or None
    """

    title: str = ""
    question: str = ""
    planned_users: int | None = None

    @property
    def headline(self) -> str:
        """What a page about it is headed by: the question, or else the title; empty without both."""
        return self.question or self.title

    def described(self, title: str = "", question: str = "", planned_users: int | None = None) -> Self:
        """Return the same with the title and the question of a survey, which its file and pages keep.

        Raises
        ------
        ParameterError
            For a text that is not one line, or a number of users that is impossible.

        Examples
        --------
        >>> from mechdesign.mechanisms.mean import Duchi
        >>> Duchi(1.0, 0, 100).described(question="How old are you?").headline
        'How old are you?'
        """
        texts = {"title": title, "question": question}
        for name, text in texts.items():
            if len(heading(name, text)) > LONGEST:
                raise ParameterError(name, f"has {len(text)} letters", f"give {LONGEST} at most")
        if planned_users is not None:
            planned_users = integer("planned_users", planned_users, 1, MOST_USERS)
        return self.replaced(**texts, planned_users=planned_users)

    def about(self) -> dict[str, Any]:
        """Return what there is of title, question and planned users, as plain values."""
        return {name: value for name in KEYS if (value := getattr(self, name))}

    def described_by(self, document: Mapping[str, Any]) -> Self:
        """Return the same with what :meth:`about` has written to a file."""
        given = {name: document[name] for name in KEYS if name in document}
        return self.described(**given) if given else self
