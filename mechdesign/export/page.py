"""The page for respondents: the client, a form and its words in one file, with a content security policy.

What a server receives: messages of clients, which the reader of ``estimate`` itself has to take.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.collect.kernel import AskedText
from mechdesign.collect.server import new_server
from mechdesign.core.errors import DataError, MethodError, ParameterError
from mechdesign.data.about import EarlierWave
from mechdesign.data.json_lines import parse_distinct
from mechdesign.export.clients import (
    ExportSettings,
    filled,
    header,
    javascript,
    origin_of,
    plain_json,
    template,
)
from mechdesign.export.disclosure import is_certain, limit_for_respondents
from mechdesign.export.form import PageTexts, blocks_of, page_texts, silence_of_all
from mechdesign.export.messages import MessageReader
from mechdesign.export.texts import Texts
from mechdesign.families.marginals.items.codecs import AskedItems

SCRIPTS = ("words.js", "numbers.js", "form.js", "sent.js", "device.js", "page.js")
"""The parts of the page's own script, in their order."""

LIST = "list.js"
"""The part for sets of items, behind what is sent."""

MOST_LISTED = 2000
"""Longer lists have no page: each item is an element of the form."""

SPOKEN = ("language", "form", "number", "report", "earlier", "device", "fault")
"""The sections of sentences that the script says."""

EXPERTS = ("guarantee_unknown", "identity_none")

PRINTED = ("heading", "only", "drawn", "certain")
"""The sentences about the report that stand in the page itself."""


def require_short_list(mechanism: Mechanism) -> None:
    """Raise MethodError for sets of items of a list that is too long to choose from on a page."""
    sizes = [entry.size for entry in mechanism.recipe().inputs if isinstance(entry, AskedItems)]
    if max(sizes, default=0) > MOST_LISTED:
        what = f"a page lists at most {MOST_LISTED} items to choose from, and there are {max(sizes)}"
        raise MethodError("export", what, "use --to js, python or r in a form of your own")


def require_page(mechanism: Mechanism) -> None:
    """Raise MethodError for a mechanism that no page is made of, for respondents to answer on."""
    require_no_shuffler(mechanism)
    require_short_list(mechanism)


def page(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return the page as one file of HTML without outside resources.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> text = page(KaryResponse.of(3, 1.0), ExportSettings("Sleep", "How often do you wake?"))
    >>> "<h1>Sleep</h1>" in text, "https://" in text
    (True, False)
    >>> '<html lang="de"' in page(KaryResponse.of(3, 1.0), ExportSettings(language="de"))
    True
    """
    require_page(mechanism)
    if settings.shared and mechanism.recipe().as_json()["steps"]["step"] == "weekly":
        what = "a shared device keeps no permanent report, so the epsilons of the weeks would add up"
        raise ParameterError("shared", what, "export the page for the device of each person")
    texts = page_texts(mechanism, settings)
    words = texts.words
    inputs = mechanism.recipe().inputs
    asks_text = any(isinstance(entry, AskedText) for entry in inputs)
    asks_items = any(isinstance(entry, AskedItems) for entry in inputs)
    more = (*(("text",) if asks_text else ()), *(("items",) if asks_items else ()))
    tables = {name: dict(words.tables[name]) for name in (*SPOKEN, *more)}
    tables["report"] = {name: text for name, text in tables["report"].items() if name not in PRINTED}
    tables["experts"] = {name: words.tables["experts"][name] for name in EXPERTS}
    content = {
        "post": settings.post,
        "lang": texts.language or None,
        "blocks": [block.as_json() for block in blocks_of(mechanism, texts)],
        "texts": tables,
        "shared": settings.shared,
        "earlier": [_wave(wave) for wave in mechanism.about.earlier],
    }
    scripts = list(SCRIPTS)
    if asks_items:
        scripts.insert(SCRIPTS.index("sent.js") + 1, LIST)
    program = filled("".join(map(template, scripts)), {"PAGE": plain_json(content)})
    script, style = javascript(mechanism, settings, "html") + program, template("page.css")
    policy = {
        "default-src": "'none'",
        "script-src": f"'sha256-{_digest(script)}'",
        "style-src": f"'sha256-{_digest(style)}'",
        "img-src": "data:",
        "connect-src": origin_of(settings.post),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    title = html.escape(texts.title)
    return filled(
        template("page.html"),
        {
            "HEADER": header("html", settings),
            "LANGUAGE": html.escape(words.code),
            "DIRECTION": words.direction,
            "POLICY": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "TITLE": title,
            "TITLE_AGAIN": title,
            "LEAVES": html.escape(_sent_words(mechanism, words), quote=False),
            "ONLY": html.escape(_only_words(mechanism, words), quote=False),
            "STYLE": style,
            "SCRIPT": script,
            "TEXTS_LANGUAGE": _of_language(texts),
            "INTRODUCTION": _introduction(mechanism, settings, texts),
            "THANKS": _paragraphs("thanks", texts.about.thanks, _of_language(texts)),
            "CONTACT": _contact(texts),
            **_fixed_words(words),
        },
    )


FIXED = {
    "NOSCRIPT": "page.script",
    "MAKE": "page.make",
    "HEADING": "report.heading",
    "UNSENT": "device.unsent",
    "NEXT": "device.next",
    "SUMMARY": "experts.summary",
    "MECHANISM": "experts.mechanism",
    "GUARANTEE": "experts.guarantee",
    "FINGERPRINT_NAME": "experts.fingerprint",
    "IDENTITY": "experts.identity",
    "DIGEST": "experts.digest",
}
"""The sentences at places of the template that never change."""


def _fixed_words(words: Texts) -> dict[str, str]:
    """Return what stands at the places of the template in a language."""
    result = {place: html.escape(words.say(key), quote=False) for place, key in FIXED.items()}
    command = "<code>mechdesign audit</code>"
    return {**result, "AUDIT": html.escape(words.tables["experts"]["audit"]).replace("{command}", command)}


def _wave(wave: EarlierWave) -> dict[str, Any]:
    """Return what the page knows of an earlier wave: its name, where its reports are kept, and epsilon."""
    place = f"mechdesign report {wave.fingerprint} survey={wave.id} "
    numbers: dict[str, float | None] = {"epsilon": None, "delta": 0.0}
    if wave.guarantee is not None:
        numbers = {"epsilon": float(wave.guarantee.epsilon), "delta": float(wave.guarantee.delta)}
    return {"wave": wave.wave, "place": place, **numbers}


def _introduction(mechanism: Mechanism, settings: ExportSettings, texts: PageTexts) -> str:
    """Return what stands before the questions."""
    lead = texts.about.question if len(mechanism.recipe().inputs) > 1 else ""
    shared = texts.words.say("device.shared") if settings.shared else ""
    silence = silence_of_all(mechanism, texts)
    return (
        _paragraphs("introduction", texts.about.introduction, _of_language(texts))
        + _paragraphs("lead", lead, _of_language(texts))
        + _paragraphs("shared", shared)
        + _paragraphs("silence", silence)
    )


def _contact(texts: PageTexts) -> str:
    """Return whom respondents can ask."""
    contact = texts.about.contact
    return _paragraphs("contact", texts.words.say("page.contact", contact=contact) if contact else "")


def _of_language(texts: PageTexts) -> str:
    """Return the attribute that states the language of the survey's texts where it is not the page's."""
    return f' lang="{html.escape(texts.language)}"' if texts.language else ""


def _paragraphs(kind: str, text: str, attributes: str = "") -> str:
    """Return the paragraphs of a text, between which there is an empty line; nothing for no text."""
    return "".join(
        f'<p class="{kind}"{attributes}>{html.escape(part, quote=False)}</p>\n'
        for part in text.split("\n\n")
        if part
    )


def _sent_words(mechanism: Mechanism, words: Texts) -> str:
    """Return what is sent, and what it can reveal: next to the button, whatever epsilon is."""
    return words.joined([words.say(f"sent.{_kind(mechanism)}"), limit_for_respondents(mechanism, words)])


def _only_words(mechanism: Mechanism, words: Texts) -> str:
    """Return what is sent, and how it relates to the answer."""
    return words.joined([words.say("report.only"), words.say(f"report.{_kind(mechanism)}")])


def _kind(mechanism: Mechanism) -> str:
    """Return how a report relates to the answer, as the names of sentences have it."""
    return "certain" if is_certain(mechanism) else "drawn"


def require_no_shuffler(mechanism: Mechanism) -> None:
    """Raise MethodError for messages that are private only once a shuffler has mixed them with all others."""
    if mechanism.recipe().steps["step"] == "messages":
        raise MethodError(
            "export",
            f"the messages of a {mechanism.type} are private only behind a shuffler",
            "export js, python or r, and hand the messages to the shuffler",
        )


def _digest(text: str) -> str:
    """Return the digest by which a policy names a script or a style."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


TOKEN = re.compile(r"[A-Za-z0-9_-]{1,200}")
RETRY = re.compile(r"[0-9a-f]{32}")


class Receiver:
    """Checks the messages of the clients of a mechanism.

    A message is taken when its rows are one report that ``estimate`` counts: an empty server of the mechanism
    reads them, in the way in which it reads files.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> mechanism = KaryResponse.of(3, 1.0)
    >>> receiver = Receiver(mechanism)
    >>> column = receiver.recipe.columns[0]
    >>> message = {"format": "mechdesign-report", "version": 1, "fingerprint": mechanism.fingerprint}
    >>> receiver.rows({**message, "rows": [{column: 2}]}) == [{column: 2}]
    True
    >>> receiver.rows({**message, "rows": [{column: 3}]})
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.DataError: message: 3 is not a report of this mechanism (unknown category 3); ...
    """

    def __init__(self, mechanism: Mechanism) -> None:
        require_no_shuffler(mechanism)
        new_server(mechanism)  # refused at once where nothing counts
        self.mechanism = mechanism
        self.recipe = mechanism.recipe()
        self._reader = MessageReader(mechanism)

    def parsed(self, body: bytes) -> Any:
        """Return the content of a message as ``estimate`` reads a line of a file.

        Raises
        ------
        DataError
            For what is not JSON in UTF-8, is too deep or too large, or has a key twice.
        """
        try:
            return parse_distinct(body.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise DataError("message", f"is not JSON ({error})", "use the exported client") from None

    def rows(self, message: Any) -> list[dict[str, Any]]:
        """Return the rows of a message.

        Raises
        ------
        DataError
            For anything that is not one report of this mechanism.
        """
        return self._reader.rows(message)

    def token(self, message: Any) -> str:
        """Return the token of a message, or raise DataError: one report is taken for each."""
        token = message.get("token") if isinstance(message, dict) else None
        if not isinstance(token, str) or not TOKEN.fullmatch(token):
            raise DataError("message", "has no token", "open the page with the link that was sent")
        return token

    def retry(self, message: Any) -> bytes | None:
        """Return the random number of a message, which stays when it is sent again; None without one."""
        number = message.get("retry") if isinstance(message, dict) else None
        if number is None:
            return None
        if not isinstance(number, str) or not RETRY.fullmatch(number):
            raise DataError("message", "its number is not 32 hex digits", "use the exported client")
        return bytes.fromhex(number)
