"""The owner's collecting room: who may answer and until when, links and cards, how many came on which day."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.export import ExportSettings, export
from mechdesign.export.texts import LANGUAGES
from mechdesign.serve.access import OWNER
from mechdesign.serve.pages import owner_page, posted_fields
from mechdesign.serve.place import Place, ServedSurvey
from mechdesign.serve.respondents import policy_of, words_for
from mechdesign.serve.running import is_loopback

MOST_CARDS = 1000
"""Cards on one page: each has a picture."""


def routes(place: Place) -> list[Route]:
    """Return the routes of the room, below ``/owner``."""
    return [
        Route("/s/{slug}/collect", _show),
        Route("/s/{slug}/collect", _change, methods=["POST"]),
        Route("/s/{slug}/collect/begin", _begin, methods=["POST"]),
        Route("/s/{slug}/collect/end", _end, methods=["POST"]),
        Route("/s/{slug}/collect/links", _links, methods=["POST"]),
        Route("/s/{slug}/collect/remove", _remove, methods=["POST"]),
        Route("/s/{slug}/collect/wave", _ask_again, methods=["POST"]),
        Route("/s/{slug}/preview", _preview),
    ]


def _survey(request: Request) -> ServedSurvey:
    place: Place = request.app.state.place
    return place.survey(request.path_params["slug"])


def _back(survey: ServedSurvey) -> Response:
    return RedirectResponse(f"{OWNER}/s/{survey.slug}/collect", 303)


def _show(request: Request) -> Response:
    return _page(request, _survey(request))


def _page(request: Request, survey: ServedSurvey, error: str = "") -> Response:
    """Show the room, with an error where a form was wrong."""
    days = survey.count_by_day()
    return owner_page(
        request,
        "collect.html",
        400 if error else 200,
        survey=survey,
        settings=survey.settings,
        address=survey.address,
        is_local=is_loopback(urlsplit(survey.address).hostname or ""),
        card_address=qr_code(survey.address) if survey.address.startswith("http") else "",
        is_fixed=survey.state not in ("draft", "built"),
        days=[(day, days[day]) for day in sorted(days, reverse=True)],
        largest=max(days.values(), default=1),
        tongues=LANGUAGES,
        most_cards=MOST_CARDS,
        error=error,
    )


async def _change(request: Request) -> Response:
    """Change the settings as the form says."""
    survey, form = _survey(request), await posted_fields(request)
    try:
        survey.change(**_settings_in(form))
    except MechDesignError as error:
        return _page(request, survey, str(error))
    return _back(survey)


def _settings_in(form: dict[str, list[str]]) -> dict[str, Any]:
    """Return the settings that a form has; a box that is not ticked is not sent."""
    result: dict[str, Any] = {
        name: form[name][0].strip() for name in ("stop", "url", "language") if name in form
    }
    if "access" in form:
        result["access"] = form["access"][0]
    if "least" in form:
        result["least"] = whole_number(form["least"][0], "least")
    return {**result, "shared": "shared" in form}


def whole_number(text: str, name: str) -> int:
    """Return the whole number that somebody typed.

    Examples
    --------
    >>> whole_number(" 50 ", "least")
    50
    """
    if not text.strip().isascii() or not text.strip().isdigit() or len(text) > 12:
        raise ParameterError(name, f"'{text:.40}' is not a whole number", "write one such as 50")
    return int(text)


def _begin(request: Request) -> Response:
    survey = _survey(request)
    try:
        survey.begin()
    except MechDesignError as error:
        return _page(request, survey, str(error))
    return _back(survey)


def _end(request: Request) -> Response:
    survey = _survey(request)
    survey.end()
    return _back(survey)


async def _remove(request: Request) -> Response:
    """Remove a survey; one with reports only where its name was typed."""
    survey, form = _survey(request), await posted_fields(request)
    try:
        survey.place.remove(survey.slug, form.get("name", [""])[0].strip())
    except MechDesignError as error:
        return _page(request, survey, str(error))
    return RedirectResponse(f"{OWNER}/", 303)


async def _ask_again(request: Request) -> Response:
    """Make the next wave of a survey, and lead to its room."""
    survey, form = _survey(request), await posted_fields(request)
    try:
        following = survey.place.next_wave(survey.slug, form.get("wave", [""])[0].strip())
    except MechDesignError as error:
        return _page(request, survey, str(error))
    return _back(following)


async def _links(request: Request) -> Response:
    """Make tokens, and give their links as a file or as cards: the server does not keep them."""
    survey, form = _survey(request), await posted_fields(request)
    has_cards = form.get("as", ["csv"])[0] == "cards"
    try:
        count = whole_number(form.get("count", [""])[0], "number of links")
        if has_cards and count > MOST_CARDS:
            what = f"{count} cards are more than {MOST_CARDS} on a page"
            raise ParameterError("number of links", what, "make them in parts, or as CSV")
        links = survey.tokens.links(survey.tokens.make(count))
    except MechDesignError as error:
        return _page(request, survey, str(error))
    if not has_cards:
        name = f"links-{survey.slug}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(links_csv(links), media_type="text/csv", headers=headers)
    cards = [{"link": link, "code": qr_code(link)} for link in links]
    words = words_for(survey)  # of respondents, whatever the owner reads
    return owner_page(request, "cards.html", survey=survey, cards=cards, csv=links_csv(links), words=words)


def links_csv(links: Sequence[str]) -> str:
    r"""Return links as CSV, with numbers for a letter to each.

    Examples
    --------
    >>> links_csv(["https://a.org/s/mood/#token=x"])
    'number,link\r\n1,https://a.org/s/mood/#token=x\r\n'
    """
    stream = io.StringIO()
    csv.writer(stream).writerows([("number", "link"), *enumerate(links, start=1)])
    return stream.getvalue()


def qr_code(text: str) -> Markup:
    """Return a QR code as SVG, dark on white in every theme."""
    import segno

    code = segno.make(text, error="m", micro=False)
    return Markup(code.svg_inline(omitsize=True, border=4, dark="#000", light="#fff", svgclass="code"))


def _preview(request: Request) -> Response:
    """Show the page as respondents see it; its report is saved as a file and goes nowhere."""
    survey = _survey(request)
    mechanism = survey.mechanism
    if mechanism is None:
        raise ParameterError(survey.slug, "is not built", "build it first")
    settings = ExportSettings(language=survey.settings.language, shared=True)
    content = export(mechanism, "html", settings)
    return HTMLResponse(content, headers={"Content-Security-Policy": policy_of(content)})
