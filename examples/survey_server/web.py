"""The server itself: the page, the place for reports, and for the collector what was received."""

from __future__ import annotations

import asyncio
import hmac
import sys

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from store import Store

from mechdesign.collect import Mechanism
from mechdesign.core.errors import DataError
from mechdesign.export import ExportSettings, Receiver, export

MOST_BYTES = 1 << 20
MOST_SECONDS = 20
"""How long a message may take to arrive."""
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"}


async def body_of(request: Request) -> bytes | Response:
    """Return the body of a post, or the answer where it is too long, too slow, or does not come."""
    body = b""
    try:
        async with asyncio.timeout(MOST_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > MOST_BYTES:
                    return PlainTextResponse("too long", 413)
    except ClientDisconnect:
        print("a client left before its message was complete", file=sys.stderr, flush=True)
        return PlainTextResponse("incomplete", 400)
    except TimeoutError:
        return PlainTextResponse("too slow", 408, headers={"Connection": "close"})
    return body


def application(mechanism: Mechanism, store: Store, key: str, settings: ExportSettings) -> Starlette:
    """Return the server: the page, the place for reports, and what came in, for those with the key.

    What respondents read stands in the mechanism's file; the settings can replace title, question and
    language, and make the page one for a device that many people use.
    """
    page = export(mechanism, "html", settings)
    receiver = Receiver(mechanism)

    async def show(request: Request) -> Response:
        return HTMLResponse(page, headers=HEADERS)

    async def take(request: Request) -> Response:
        body = await body_of(request)
        if isinstance(body, Response):
            return body
        try:
            message = receiver.parsed(body)
            token, rows, number = receiver.token(message), receiver.rows(message), receiver.retry(message)
        except DataError as error:  # it names no answer, there is none
            return PlainTextResponse(str(error), 400)
        return Response(status_code=await run_in_threadpool(store.take, token, rows, number))

    def allowed(request: Request) -> bool:
        return hmac.compare_digest(
            request.headers.get("Authorization", "").encode(), f"Bearer {key}".encode()
        )

    def counts(request: Request) -> Response:
        found = store.counts() if allowed(request) else None
        if found is None:
            return PlainTextResponse("the key is missing", 401)
        return JSONResponse({"reports": sum(found.values()), "counts": found}, headers=HEADERS)

    def reports(request: Request) -> Response:
        if not allowed(request):
            return PlainTextResponse("the key is missing", 401)
        text = "".join(f"{line}\n" for line in store.lines())
        return Response(text, media_type="application/x-ndjson", headers=HEADERS)

    routes = [Route("/", show), Route("/reports", take, methods=["POST"])]
    return Starlette(routes=[*routes, Route("/counts", counts), Route("/reports.jsonl", reports)])
