"""Text from files and from elsewhere, made fit for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def printable(text: object) -> str:
    r"""Return a text with everything that is not a printable character escaped: one line, no terminal codes.

    What comes from a file passes through this before a terminal shows it.

    Examples
    --------
    >>> print(printable("a\n\x1b[2Jb"))
    a\n\x1b[2Jb
    """
    letters = str(text)
    if letters.isprintable():
        return letters
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in letters
    )


def one_line(value: Any) -> Any:
    r"""Return a nested value with every text, also keys, on one printable line; white space becomes a space.

    Examples
    --------
    >>> one_line({"title": "a long\n  title", "size": 3})
    {'title': 'a long title', 'size': 3}
    """
    if isinstance(value, str):
        return printable(" ".join(value.split()))
    if isinstance(value, Mapping):
        return {one_line(key): one_line(item) for key, item in value.items()}
    return [one_line(item) for item in value] if isinstance(value, list) else value
