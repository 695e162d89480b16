"""The web application: the owner's rooms behind a key, and the respondents' pages."""

from __future__ import annotations

import re

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from mechdesign.core.errors import MechDesignError
from mechdesign.serve import collection, design, results
from mechdesign.serve.access import LOOPBACK, OWNER, OwnerGate, WithHeaders
from mechdesign.serve.pages import LANGUAGE_COOKIE, LANGUAGES, owner_page, posted_fields
from mechdesign.serve.place import Place, ServedSurvey
from mechdesign.serve.respondents import RATE, Respondents

OWN_PATH = re.compile(rf"{OWNER}/[A-Za-z0-9/._-]*")
"""Paths of the owner's pages, to which a form may lead back."""


def application(place: Place, key: str, language: str = "", hosts: tuple[str, ...] = LOOPBACK) -> Starlette:
    """Return the whole server: owner's rooms under ``/owner/``, respondents' pages under ``/s/SLUG/``.

    Parameters
    ----------
    place : Place
    key : str
        The owner's key.
    language : str
        Of the owner's pages; by default the browser's.
    hosts : tuple of str
        Names under which the owner's rooms may be opened.
    """
    mounts = [owner_mount(place, key, language, hosts), respondents_mount(place)]
    return Starlette(routes=mounts, middleware=[Middleware(WithHeaders)])


def owner_application(
    place: Place, key: str, language: str = "", hosts: tuple[str, ...] = LOOPBACK
) -> Starlette:
    """Return the owner's rooms alone; see :func:`application`."""
    root = Route("/", lambda request: RedirectResponse(f"{OWNER}/", 303))
    mounts = [root, owner_mount(place, key, language, hosts)]
    return Starlette(routes=mounts, middleware=[Middleware(WithHeaders)])


def respondents_application(place: Place, rate: float = RATE) -> Starlette:
    """Return the respondents' pages alone, which can be reached from outside, with so many posts a second."""
    return Starlette(routes=[respondents_mount(place, rate)], middleware=[Middleware(WithHeaders)])


def owner_mount(place: Place, key: str, language: str, hosts: tuple[str, ...]) -> Mount:
    """Return the owner's rooms behind their gate."""
    rooms = [Route("/", _surveys), Route("/new", _new, methods=["POST"])]
    rooms += [Route("/language", _language, methods=["POST"])]
    rooms += [*design.routes(place), *collection.routes(place), *results.routes(place)]
    gate = Middleware(OwnerGate, key=key, hosts=hosts)
    owner = Starlette(routes=rooms, exception_handlers={MechDesignError: _refused}, middleware=[gate])
    owner.state.place, owner.state.key, owner.state.language = place, key, language
    return Mount(OWNER, owner)


def respondents_mount(place: Place, rate: float = RATE) -> Mount:
    """Return the respondents' pages."""
    return Mount("/s", routes=Respondents(place, rate).routes())


def _surveys(request: Request) -> Response:
    """Answer with the list of surveys; one whose files are damaged is named with its fault."""
    surveys = [(survey, _fault(survey)) for survey in request.app.state.place.surveys()]
    return owner_page(request, "surveys.html", surveys=surveys)


def _fault(survey: ServedSurvey) -> str:
    """Return why a survey cannot be read; empty where it can."""
    try:
        _ = survey.mechanism, survey.count
    except MechDesignError as error:
        return str(error)
    return ""


async def _new(request: Request) -> Response:
    survey = request.app.state.place.new((await posted_fields(request)).get("draft", [""])[0])
    return RedirectResponse(f"{OWNER}/s/{survey.slug}/design", 303)


async def _language(request: Request) -> Response:
    """Keep the language that the owner chose in a cookie, and go back to the page."""
    form = await posted_fields(request)
    code, back = form.get("language", [""])[0], form.get("back", [""])[0]
    answer = RedirectResponse(back if OWN_PATH.fullmatch(back) else f"{OWNER}/", 303)
    if code in LANGUAGES:
        answer.set_cookie(LANGUAGE_COOKIE, code, path=OWNER, httponly=True, samesite="strict")
    return answer


def _refused(request: Request, error: Exception) -> Response:
    """Show an error of the toolkit as a page with its line."""
    return owner_page(request, "refused.html", 400, error=str(error))
