"""The page for respondents: the client, a form and its words in one file, with a content security policy."""

from __future__ import annotations

import base64
import hashlib
import html

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import MethodError
from mechdesign.export.address import origin_of
from mechdesign.export.clients import ExportSettings, filled, header, javascript, plain_json, template
from mechdesign.export.disclosure import is_certain, limit_for_respondents

TITLE = "A question with a private answer"


def page(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return the page as one file of HTML without outside resources.

    Examples
    --------
    >>> from mechdesign.collect.kary import KaryResponse
    >>> text = page(KaryResponse.of(3, 1.0), ExportSettings("Sleep", "How often do you wake?"))
    >>> "<h1>Sleep</h1>" in text, "https://" in text
    (True, False)
    """
    require_no_shuffler(mechanism)
    text = {"title": settings.title, "question": settings.question, "post": settings.post}
    program = template("numbers.js") + filled(template("page.js"), {"PAGE": plain_json(text)})
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
    title = html.escape(settings.title or TITLE)
    return filled(
        template("page.html"),
        {
            "HEADER": header("html", settings),
            "POLICY": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "TITLE": title,
            "TITLE_AGAIN": title,
            "LEAVES": html.escape(_what_leaves(mechanism), quote=False),
            "DRAWN": _how_drawn(mechanism),
            "STYLE": style,
            "SCRIPT": script,
        },
    )


def _what_leaves(mechanism: Mechanism) -> str:
    """Return what is sent, and what it can reveal: next to the button, whatever epsilon is."""
    begin = "Your answer does not leave this device. A report is drawn from it"
    if is_certain(mechanism):
        begin = "A report is drawn from your answer"
    return (
        f"{begin} at random, and you see it before it is sent. The survey computes percentages or averages "
        f"from the reports of many. {limit_for_respondents(mechanism)}"
    )


def _how_drawn(mechanism: Mechanism) -> str:
    """Return how a report relates to the answer."""
    if is_certain(mechanism):
        return "It was drawn at random, but it can show your answer with practical certainty."
    return "It was drawn at random: it need not be your answer."


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
