"""Mathematics of statements, between dollars in TeX, as MathML, which browsers render without scripts."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

from mechdesign.core.errors import MissingPackageError

PIECE = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$|`([^`\n]+)`", re.DOTALL)

BRACE = re.compile(r">\\([{}])<")
"""How the converter leaves large braces."""
LETTER = "<mi>[^<]*</mi>|<mover[^>]*>(?:(?!</?mover).)*</mover>"
PRIME = re.compile(f"<msup>({LETTER})(<mi>&#x0203[2-4];</mi>)</msup>")
"""How it leaves a prime: raised, although the sign is; without a mathematical font it flies away."""
PRIME_AND_INDEX = re.compile(f"<msubsup>({LETTER})((?:(?!</?msubsup>).)*?)(<mi>&#x0203[2-4];</mi>)</msubsup>")
"""The same where there is an index, too."""
PRIMES_LAST = re.compile(r"(_(?:\{[^{}]*\}|\\[A-Za-z]+|\w))('+)")
"""Primes behind an index in TeX, of which the converter takes one for all."""
FUNCTION = re.compile("<mi>(cosh?|coth|exp|lg|ln|log|sinh?|tanh?)</mi>")
"""Names that need space around them."""
LINKS = re.compile(r'\s(?:href|style|class|id|on\w+)="[^"]*"')
"""What TeX from a file may not bring into a page."""


def marked_up(text: str) -> str:
    """Return a text with its mathematics as HTML, everything else escaped.

    ``$...$`` stands in the line, ``$$...$$`` on its own, and what is between backticks is code. TeX that
    cannot be converted is shown as it is written.

    Raises
    ------
    MissingPackageError
        Without latex2mathml.

    Examples
    --------
    >>> print(marked_up("a < b, `x`, and $x$"))
    a &lt; b, <code>x</code>, and <math ...>...</math>
    """
    parts: list[str] = []
    place = 0
    for found in PIECE.finditer(text):
        parts.append(escape(text[place : found.start()]))
        display, line, code = found.groups()
        if code is not None:
            parts.append(f"<code>{escape(code)}</code>")
        else:
            parts.append(mathml(display or line, display is not None))
        place = found.end()
    return "".join([*parts, escape(text[place:])])


@cache
def mathml(tex: str, display: bool = False) -> str:
    r"""Return TeX as a MathML element, with the TeX itself for those who copy it.

    Examples
    --------
    >>> "<msup>" in mathml(r"e^\\varepsilon")
    True
    """
    try:
        written = PRIMES_LAST.sub(r"\2\1", tex.strip())
        found = _converter().convert(written, display="block" if display else "inline")
    except MissingPackageError:
        raise
    except Exception:  # the converter has no error of its own for TeX that it does not know
        return f'<code class="tex">{escape(tex)}</code>'
    if "<mi>&</mi>" in found:  # an alignment of which it made nothing
        return f'<code class="tex">{escape(tex)}</code>'
    found = BRACE.sub(r">\1<", LINKS.sub("", found))
    found = PRIME.sub(r"<mrow>\1\2</mrow>", found)
    found = PRIME_AND_INDEX.sub(r"<msub><mrow>\1\3</mrow>\2</msub>", found)
    found = FUNCTION.sub(r'<mo lspace="0.17em" rspace="0.17em">\1</mo>', found)
    text: str = found.replace("<math ", f'<math title="{escape(" ".join(tex.split()))}" ', 1)
    return text


def _converter() -> Any:
    try:
        from latex2mathml import converter
    except ImportError:
        raise MissingPackageError(
            "report: needs latex2mathml and jinja2; pip install 'mechdesign[report]'"
        ) from None
    return converter
