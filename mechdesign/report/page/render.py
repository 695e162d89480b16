"""Pages from templates: one file with its style and script inside, that asks for nothing from elsewhere.

Mathematics of statements, between dollars in TeX, as MathML, which browsers render without scripts.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree

from mechdesign.core.errors import MissingPackageError, printable

PACKAGES = ("jinja2", "latex2mathml", "matplotlib")


def require_packages() -> None:
    """Raise MissingPackageError where no page could be written, before minutes are spent on one."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingPackageError("report", f"needs {', '.join(missing)}", "install mechdesign[report]")


def rendered(template: str, **values: Any) -> str:
    """Return the page of a template.

    Everything that is put in is escaped, unless it was made here and says so (``markup``). The page's policy
    allows the one script that stands in it, by its digest, and nothing from elsewhere.

    Raises
    ------
    MissingPackageError
        Without jinja2.
    """
    script, style = _part("page.js"), _part("page.css")
    page: str = (
        _environment()
        .get_template(template)
        .render(script=markup(script), style=markup(style), script_digest=_digest(script), **values)
    )
    return page


@cache
def _environment() -> Any:
    """Return where templates are found; it keeps those that were read, ready to be filled in."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingPackageError(
            "report", "needs latex2mathml and jinja2", "pip install 'mechdesign[report]'"
        ) from None
    return Environment(
        loader=PackageLoader("mechdesign.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def markup(text: str) -> Any:
    """Return HTML that was made by the toolkit itself as what a template does not escape."""
    from markupsafe import Markup

    return Markup(text)


def _part(name: str) -> str:
    return files("mechdesign.report.page").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


PIECE = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$|`([^`\n]+)`", re.DOTALL)

BRACE = re.compile(r"\\[{}]")
"""How the converter leaves large braces."""
LETTER = "<mi>[^<]*</mi>|<mover[^>]*>(?:(?!</?mover).)*</mover>"
PRIME = re.compile(f"<msup>({LETTER})(<mi>&#x0203[2-4];</mi>)</msup>")
"""How it leaves a prime: raised, although the sign is; without a mathematical font it flies away."""
PRIME_AND_INDEX = re.compile(f"<msubsup>({LETTER})((?:(?!</?msubsup>).)*?)(<mi>&#x0203[2-4];</mi>)</msubsup>")
"""The same where there is also an index."""
PRIMES_LAST = re.compile(r"(_(?:\{[^{}]*\}|\\[A-Za-z]+|\w))('+)")
"""Primes behind an index in TeX, of which the converter takes one for all."""
FUNCTION = re.compile("<mi>(cosh?|coth|exp|lg|ln|log|sinh?|tanh?)</mi>")
"""Names that need space around them."""
ELEMENTS = re.compile(
    "math|menclose|mfrac|mi|mmultiscripts|mn|mo|mover|mpadded|mphantom|mprescripts|mroot|mrow|ms|mspace|msqrt"
    "|mstyle|msub|msubsup|msup|mtable|mtd|mtext|mtr|munder|munderover|none"
)
ATTRIBUTES = re.compile(
    "accent|accentunder|columnalign|columnlines|columnspacing|depth|display|displaystyle|fence|form|height"
    "|largeop|linebreak|linethickness|lspace|mathbackground|mathcolor|mathsize|mathvariant|maxsize|minsize"
    "|movablelimits|notation|rowlines|rowspacing|rspace|scriptlevel|separator|stretchy|symmetric|voffset|width"
)
"""What may stand in a page: TeX of a file brings no link, no style and no element of HTML."""
PLAIN = re.compile(r"\\(?:text|textrm|textit|textbf|texttt|textsf|mbox|hbox|operatorname)\*?\s*\{[^{}]*\}")
"""Where TeX has letters, which the converter hands on without escaping them."""
MARKUP = {"<": "\ue000", ">": "\ue001", "&": "\ue002"}


def marked_up(text: str) -> str:
    """Return a text with its mathematics as HTML, everything else escaped.

    Letters that cannot be seen, such as those that turn the direction of writing, are shown by their codes.
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
    text = "\n".join(printable(line) for line in text.expandtabs().splitlines())
    for match in PIECE.finditer(text):
        parts.append(escape(text[place : match.start()]))
        display, line, code = match.groups()
        if code is not None:
            parts.append(f"<code>{escape(code)}</code>")
        else:
            parts.append(mathml(display or line, display is not None))
        place = match.end()
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
        written = PRIMES_LAST.sub(r"\2\1", PLAIN.sub(_hidden, tex.strip()))
        markup = _converter().convert(written, display="block" if display else "inline")
        element = _checked(_set(markup))
    except MissingPackageError:
        raise
    except Exception:  # the converter has no error of its own for TeX that it does not know
        return f'<code class="tex">{escape(printable(tex))}</code>'
    title = escape(printable(" ".join(tex.split())))
    start = f'<math title="{title}" xmlns="http://www.w3.org/1998/Math/MathML" '
    text = ElementTree.tostring(element, encoding="unicode").replace("<math ", start, 1)
    for letter, hidden in MARKUP.items():
        text = text.replace(hidden, escape(letter))
    return text


def _set(text: str) -> str:
    """Return the converter's result with primes and names of functions set as they are elsewhere."""
    text = PRIME.sub(r"<mrow>\1\2</mrow>", text)
    text = PRIME_AND_INDEX.sub(r"<msub><mrow>\1\3</mrow>\2</msub>", text)
    return FUNCTION.sub(r'<mo lspace="0.17em" rspace="0.17em">\1</mo>', text)


def _hidden(match: re.Match[str]) -> str:
    """Return plain letters with those replaced that would be taken for markup."""
    text = match[0]
    for letter, hidden in MARKUP.items():
        text = text.replace(letter, hidden)
    return text


def _checked(text: str) -> ElementTree.Element:
    """Return the converter's result as elements, without attributes that are not needed.

    Raises
    ------
    ParseError, ValueError
        When there is anything that is not mathematics.
    """
    root = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", text, count=1))
    for element in root.iter():
        if not ELEMENTS.fullmatch(element.tag):
            raise ValueError(f"{element.tag} is not an element of mathematics")
        element.attrib = {name: value for name, value in element.attrib.items() if ATTRIBUTES.fullmatch(name)}
        if element.text and BRACE.fullmatch(element.text):
            element.text = element.text[1]
    return root


def _converter() -> Any:
    try:
        from latex2mathml import converter
    except ImportError:
        raise MissingPackageError(
            "report", "needs latex2mathml and jinja2", "pip install 'mechdesign[report]'"
        ) from None
    return converter
