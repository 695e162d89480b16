"""The owner's pages: one template around all of them, sentences in two languages, forms that were posted."""

from __future__ import annotations

import json
import re
import secrets
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from mechdesign.core.errors import DataError
from mechdesign.data.json_lines import parse_distinct
from mechdesign.serve.access import OWNER, derived_secret

LANGUAGES = ("en", "de")
LANGUAGE_COOKIE = "mechdesign_language"
"""Where the language that the owner chose is kept."""
BRACED = re.compile(r"\{([a-z_]+)\}")
ROOMS = ("frame", "design", "collect", "results")
"""The files of sentences."""
STYLES = ("serve.css", "frame.css", "results.css")
"""What comes after the style of the toolkit's own pages."""


class Words:
    """The sentences of the owner's pages in a language.

    Examples
    --------
    >>> Words("de").say("frame.surveys")
    'Umfragen'
    """

    def __init__(self, language: str) -> None:
        self.language = language if language in LANGUAGES else LANGUAGES[0]

    def say(self, key: str, **parts: object) -> str:
        """Return a sentence by room and name, such as ``"frame.surveys"``, with its parts filled in."""
        room, name = key.split(".", 1)
        sentence = room_tables(room)[self.language][name]
        return BRACED.sub(lambda match: str(parts[match[1]]), sentence)

    def line(self, text: str) -> dict[str, str]:
        """Return a line of the toolkit, and the language that it is in: English where it is not known."""
        return known_line(text, self.language, "refusals")

    @classmethod
    def of(cls, request: Request, chosen: str = "") -> Words:
        """Return the sentences in the chosen language, else in the first one that the browser asks for."""
        codes = re.findall(r"\b([a-z]{2})\b", request.headers.get("accept-language", "").casefold())
        return cls(next((code for code in [chosen, *codes] if code in LANGUAGES), LANGUAGES[0]))


@cache
def room_tables(room: str) -> dict[str, dict[str, str]]:
    """Return the sentences of a room by language and name."""
    return tomllib.loads(_text(f"texts/{room}.toml"))


def known_line(text: str, language: str, room: str, table: str = "") -> dict[str, str]:
    """Return a line of the toolkit in a language where it is known there, and the language that it is in.

    Examples
    --------
    >>> known_line("mood: is not built; build it first", "de", "refusals")["text"]
    'mood ist noch nicht gebaut. Bauen Sie die Umfrage zuerst.'
    >>> known_line("something else", "de", "refusals")
    {'text': 'something else', 'language': 'en'}
    """
    for pattern, own in _patterns(room, language, table):
        match = pattern.fullmatch(text)
        if match is not None:
            return {"text": own.format(**match.groupdict()), "language": language}
    return {"text": text, "language": LANGUAGES[0]}


@cache
def _patterns(room: str, language: str, table: str) -> list[tuple[re.Pattern[str], str]]:
    """Return what matches each known line, whose parts are named in braces, with the line in a language."""
    lines: Any = room_tables(room).get(language, {})
    return [(_pattern(line), own) for line, own in (lines.get(table, {}) if table else lines).items()]


def _pattern(line: str) -> re.Pattern[str]:
    pieces = re.split(r"\{([a-z]+)\}", line)
    parts = (f"(?P<{piece}>.*?)" if place % 2 else re.escape(piece) for place, piece in enumerate(pieces))
    return re.compile("".join(parts), re.DOTALL)


@cache
def _text(name: str) -> str:
    return files("mechdesign.serve").joinpath(name).read_text(encoding="utf-8")


@cache
def _style() -> str:
    shared = files("mechdesign.report.page").joinpath("templates", "page.css").read_text(encoding="utf-8")
    return "\n".join([shared, *(_text(f"templates/{name}") for name in STYLES)])


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("mechdesign.serve"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def words_of(request: Request) -> Words:
    """Return the sentences in the language of the owner: the chosen one, else the browser's."""
    chosen = request.query_params.get("language", "") or request.cookies.get(LANGUAGE_COOKIE, "")
    return Words.of(request, chosen or request.app.state.language)


def owner_page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page of the owner's room.

    Parameters
    ----------
    request : Request
    template : str
        Name of a file in ``templates`` that extends ``base.html``.
    status : int
    **values
        What the template fills in; everything is escaped.
    """
    words, nonce = words_of(request), secrets.token_urlsafe(16)
    context = {
        "say": words.say,
        "line": words.line,
        "language": words.language,
        "languages": LANGUAGES,
        "place": request.app.state.place,
        "nonce": nonce,
        "csrf": derived_secret(request.app.state.key, "form"),
        "style": Markup(_style()),
        "script": lambda name: Markup(f'<script nonce="{nonce}">{_text(f"templates/{name}")}</script>'),
        "data": lambda value: Markup(json.dumps(value).replace("<", "\\u003c")),
        "path": lambda text: f"{OWNER}{text}",
        "survey": None,
        "here": request.url.path,
        "room": request.url.path.partition("/s/")[2].partition("/")[2].partition("/")[0],
        **values,
    }
    content = _environment().get_template(template).render(context)
    headers = {"Content-Security-Policy": policy(nonce), "Referrer-Policy": "same-origin"}
    answer = HTMLResponse(content, status, headers)  # without a referrer, a form says nothing of its origin
    if request.query_params.get("language") in LANGUAGES:
        answer.set_cookie("mechdesign_language", words.language, path=OWNER, samesite="strict", httponly=True)
    return answer


def plain_page(words: Words, key: str, status: int, title: str = "") -> HTMLResponse:
    """Return a page with one sentence, for respondents where there is nothing to answer."""
    nonce = secrets.token_urlsafe(16)
    context = {"say": words.say, "language": words.language, "nonce": nonce, "style": Markup(_style())}
    content = _environment().get_template("plain.html").render(**context, title=title, key=key)
    return HTMLResponse(content, status, {"Content-Security-Policy": policy(nonce)})


def policy(nonce: str) -> str:
    """Return the content security policy of an owner's page: what has the nonce, nothing from elsewhere."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


async def posted_fields(request: Request) -> dict[str, list[str]]:
    """Return the fields of a form that was posted (``application/x-www-form-urlencoded``)."""
    body = await request.body()
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=5000)
    except ValueError:
        raise DataError("form", "is not a form", "use the page") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


async def json_of(request: Request) -> Any:
    """Return what a script of the page posted as JSON."""
    try:
        return parse_distinct((await request.body()).decode())
    except (ValueError, RecursionError):
        raise DataError("message", "is not JSON", "use the page") from None


STYLE = re.compile(r' style="([^"]*)"')


def for_page(picture: str) -> str:
    """Return an SVG element with its styles as attributes, which every policy allows.

    Pictures style each element by properties of SVG (``fill``, ``stroke``, ``font-size`` and the like), all
    of which are attributes as well.

    Examples
    --------
    >>> for_page('<path style="fill: none; stroke: #000"/>')
    '<path fill="none" stroke="#000"/>'
    """
    return STYLE.sub(lambda match: _attributes(match[1]), picture)


def _attributes(style: str) -> str:
    pairs = (part.partition(":") for part in style.split(";") if part.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in pairs)
