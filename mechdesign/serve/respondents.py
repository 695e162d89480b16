"""What respondents see: the page of a survey, and the place to which it sends its one report."""

from __future__ import annotations

import asyncio
import html
import re
import sys
import threading
from dataclasses import dataclass
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import DataError, MechDesignError, MethodError, UnknownNameError
from mechdesign.export import ExportSettings, Receiver, export
from mechdesign.serve.access import MOST_IN_FLIGHT, NOTHING, InFlight, Rates, body_of, network_of
from mechdesign.serve.pages import Words, plain_page
from mechdesign.serve.place import Place, ServedSurvey
from mechdesign.serve.pool import Rows
from mechdesign.serve.settings import CollectionSettings

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
RATE = 200.0
"""Posts each second from one address, on average."""
LONG = 1 << 14
"""Bytes from which on a message is judged apart, so that others do not wait for it."""
PATH = re.compile(r"https?://[^/]+(/.*)")


@dataclass(frozen=True)
class ServedPage:
    """The page of a survey, and what checks its messages.

    Attributes
    ----------
    mechanism : Mechanism
    settings : CollectionSettings
        For which the page was made.
    page, policy : str
        The page is empty where the mechanism has clients for programs alone.
    receiver : Receiver
    """

    mechanism: Mechanism
    settings: CollectionSettings
    page: str
    policy: str
    receiver: Receiver


def served_page(survey: ServedSurvey) -> ServedPage:
    """Return the page of a built survey, and what checks its messages."""
    mechanism, settings = survey.mechanism, survey.settings
    if mechanism is None:
        raise DataError(survey.slug, "is not built", "build it first")
    match = PATH.fullmatch(survey.address)
    post = f"{match[1] if match else survey.address}reports"
    wishes = ExportSettings(post=post, language=settings.language, shared=settings.shared)
    try:
        page = export(mechanism, "html", wishes)
    except MethodError:  # its reports are sent by other programs
        page = ""
    return ServedPage(mechanism, settings, page, policy_of(page), Receiver(mechanism))


def policy_of(page: str) -> str:
    """Return the policy that a page states of itself, and that nobody may show it in a frame."""
    match = POLICY.search(page)
    return f"{html.unescape(match[1])}; frame-ancestors 'none'" if match else NOTHING


class Respondents:
    """The respondents' pages of all surveys of a place.

    Parameters
    ----------
    place : Place
    rate : float
        Posts each second from one address, on average over a hundred seconds.
    """

    def __init__(self, place: Place, rate: float = RATE) -> None:
        self.place = place
        self._posts = Rates(rate, 100 * rate)
        self._in_flight = InFlight(MOST_IN_FLIGHT)
        self._served: dict[str, ServedPage] = {}
        self._guard = threading.Lock()

    def routes(self) -> list[Route]:
        """Return the routes, below ``/s``."""
        return [
            Route("/{slug}", self.show),
            Route("/{slug}/", self.show),
            Route("/{slug}/reports", self.take, methods=["POST"]),
        ]

    def show(self, request: Request) -> Response:
        """Return the page of a survey that takes reports, or say that it does not."""
        survey = self._survey(request)
        if survey is None:
            return plain_page(Words.of(request), "collect.no_survey", 404)
        if survey.state != "collecting":
            key = "collect.is_over" if survey.state == "ended" else "collect.not_begun"
            return plain_page(words_for(survey), key, 200, survey.title)
        try:
            current = self._of(survey)
        except MechDesignError as error:  # a file of the survey is damaged
            print(f"a survey was not shown: {error}", file=sys.stderr, flush=True)
            return PlainTextResponse("not there now: come back later", 500)
        if not current.page:
            return PlainTextResponse("this survey has no page: its reports are sent by a program", 404)
        return HTMLResponse(current.page, headers={"Content-Security-Policy": current.policy})

    async def take(self, request: Request) -> Response:
        """Take a report, and answer once it is on the disk."""
        if not self._posts.allows(network_of(request.client.host if request.client else "")):
            return PlainTextResponse("too many at once: send it again later", 429, {"Retry-After": "10"})
        body = await body_of(request, in_flight=self._in_flight)
        if isinstance(body, Response):
            return body
        try:
            return await self._stored(request, body)
        except Exception as error:  # a line, not a traceback for each message that somebody sends
            reason = str(error) if isinstance(error, (OSError, MechDesignError)) else type(error).__name__
            print(f"a report was not stored: {reason}", file=sys.stderr, flush=True)
            return PlainTextResponse("not stored: send it again later", 500)

    async def _stored(self, request: Request, body: bytes) -> Response:
        survey = self._survey(request)
        if survey is None:
            return PlainTextResponse("no such survey", 404)
        if survey.state != "collecting":
            return PlainTextResponse("this survey takes no reports now", 410)
        receiver, has_tokens = self._of(survey).receiver, survey.has_tokens
        judge = partial(_judged, receiver, body, has_tokens)
        try:
            token, rows, number = judge() if len(body) < LONG else await run_in_threadpool(judge)
        except DataError as error:  # it names no answer, there is none
            return PlainTextResponse(str(error), 400)
        return Response(status_code=await asyncio.wrap_future(survey.post(token, rows, number)))

    def _survey(self, request: Request) -> ServedSurvey | None:
        try:
            return self.place.survey(request.path_params["slug"])
        except UnknownNameError:
            return None

    def _of(self, survey: ServedSurvey) -> ServedPage:
        """Return page and receiver of a survey, made once for its settings."""
        with self._guard:
            current = self._served.get(survey.slug)
            if (
                current is None
                or current.settings != survey.settings
                or current.mechanism is not survey.mechanism
            ):
                current = self._served[survey.slug] = served_page(survey)
            return current


def _judged(receiver: Receiver, body: bytes, has_tokens: bool) -> tuple[str, Rows, bytes]:
    """Return token, rows and number of a message; DataError for what is not one report of this survey."""
    message = receiver.parsed(body)
    rows, number = receiver.rows(message), receiver.retry(message)
    token = receiver.token(message) if has_tokens else ""
    if number is None:
        raise DataError("message", "has no random number", "use the exported page")
    return token, rows, number


def words_for(survey: ServedSurvey) -> Words:
    """Return the sentences in the language of a survey; in English where there are none in its own."""
    mechanism = survey.mechanism
    own = mechanism.about.language if mechanism is not None else ""
    return Words(survey.settings.language or own)
