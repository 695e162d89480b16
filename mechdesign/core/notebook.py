"""What notebooks show: tables in HTML, without styles of their own, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mechdesign.core.printable import printable


def html_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]], notes: Iterable[str] = ()
) -> str:
    """Return a table; numbers stand to the right, None is an empty cell.

    Examples
    --------
    >>> html_table("2 < 3", ["name", "share"], [["a", 0.25]])
    '<table><caption>2 &lt; 3</caption><thead><tr><th>name</th><th>share</th></tr></thead><tbody>...'
    """
    head = "".join(f"<th>{_text(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    after = "".join(f"<p>{_text(note)}</p>" for note in notes)
    return (
        f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{after}"
    )


def html_list(caption: str, lines: Iterable[str]) -> str:
    """Return a caption and a list of sentences.

    Examples
    --------
    >>> html_list("KaryResponse", ["An answer goes in."])
    '<p><strong>KaryResponse</strong></p><ul><li>An answer goes in.</li></ul>'
    """
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<p><strong>{_text(caption)}</strong></p><ul>{items}</ul>"


class Explained:
    """Objects that a notebook shows as their ``repr`` and the sentences that explain them."""

    def explained(self) -> tuple[str, ...]:
        """Return an explanation of the object, in sentences."""
        return ()

    def _repr_html_(self) -> str:
        return html_list(repr(self), self.explained())


class TextInNotebooks:
    """Objects that a notebook shows line by line, as ``print`` does."""

    def _repr_html_(self) -> str:
        return html_list(type(self).__name__, str(self).splitlines())


class NumberText(str):
    """A number as text, which stands to the right in its cell."""


def _text(value: object) -> str:
    from html import escape  # its table of characters is for notebooks alone

    return escape(printable(str(value)))


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, bool) or not isinstance(value, (int, float, NumberText)):
        return f"<td>{_text(value)}</td>"
    text = _text(value) if isinstance(value, NumberText) else f"{value:.6g}"
    return f'<td style="text-align: right">{text}</td>'
