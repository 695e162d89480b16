"""Who may do what: the owner's key, posts of the owner's own pages, limits for everybody.

The key comes once in the address, is compared in constant time, and is then in a cookie that no script reads
and no other site sends. Each post needs the origin of the page and a token of the form as well.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

OWNER = "/owner"
"""Where the owner's routes are mounted."""
MOST_BYTES = 1 << 20
"""Of the body of a request of anybody."""
MOST_OWNER_BYTES = 1 << 25
"""Of a request of the owner, who posts drafts and files."""
MOST_IN_FLIGHT = 1 << 26
"""Of the bodies of all respondents at one time."""
RETRY = {"Retry-After": "10", "Connection": "close"}
MOST_SECONDS = 20.0
"""How long a body may take to arrive."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Of all answers."""
WELCOME = f'''<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={OWNER}/">
<title>mechdesign</title>
<p><a href="{OWNER}/">mechdesign</a></p>
</html>
'''
NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The policy of what is no page."""


class WithHeaders:
    """Adds to every answer the headers that all have, unless it has its own."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", NOTHING)
            await send(message)

        await self.app(scope, receive, sent)


class InFlight:
    """How many bytes of bodies are being received, over all connections: memory has a limit, too."""

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0


async def body_of(
    request: Request, most: int = MOST_BYTES, in_flight: InFlight | None = None
) -> bytes | Response:
    """Return the body of a request, or the answer where it is too long, too slow, or does not come."""
    body, others = bytearray(), in_flight or InFlight(most)
    try:
        async with asyncio.timeout(MOST_SECONDS):
            async for part in request.stream():
                body += part
                others.bytes += len(part)
                if len(body) > most:
                    return PlainTextResponse("too long", 413, {"Connection": "close"})
                if others.bytes > others.most:
                    return PlainTextResponse("too much at once: send it again later", 503, RETRY)
    except ClientDisconnect:
        print("a client left before its message was complete", file=sys.stderr, flush=True)
        return PlainTextResponse("incomplete", 400)
    except TimeoutError:
        return PlainTextResponse("too slow", 408, {"Connection": "close"})
    finally:
        others.bytes -= len(body)
    return bytes(body)


class Rates:
    """How often each address may do something: a bucket of so many, filled at a rate; flat in memory.

    Parameters
    ----------
    each_second : float
    at_once : float
        What the bucket holds.

    Examples
    --------
    >>> rates = Rates(0.001, 2)
    >>> [rates.allows("a"), rates.allows("a"), rates.allows("a"), rates.allows("b")]
    [True, True, False, True]
    """

    MOST = 10_000
    """Addresses that are remembered, in memory alone."""

    def __init__(self, each_second: float, at_once: float) -> None:
        self.each_second, self.at_once = each_second, at_once
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Whether an address may do it once more, which then counts as done."""
        now = time.monotonic()
        left, since = self._left.pop(address, (self.at_once, now))
        left = min(self.at_once, left + (now - since) * self.each_second)
        is_allowed = left >= 1.0
        self._left[address] = (left - 1.0 if is_allowed else left, now)
        if len(self._left) > self.MOST:
            self._left.popitem(last=False)
        return is_allowed


def network_of(address: str) -> str:
    """Return what limits are counted by: an address, or the network that an address of IPv6 is one of.

    Examples
    --------
    >>> network_of("192.0.2.7"), network_of("2001:db8:1:2:3::4"), network_of("unix")
    ('192.0.2.7', '2001:db8:1:2::/64', 'unix')
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if known.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))


class OwnerGate:
    """Lets in who has the owner's key, and posts that come from the owner's own pages.

    Parameters
    ----------
    app : application
        The owner's rooms.
    key : str
    hosts : sequence of str
        Names under which the rooms are served, with any port; others are refused, so that no site can make
        its own name lead here.
    """

    def __init__(self, app: Application, key: str, hosts: tuple[str, ...] = LOOPBACK) -> None:
        self.app = app
        self.hosts = tuple((f"[{host.strip('[]')}]" if ":" in host else host).casefold() for host in hosts)
        self._key = key.encode()
        self._session = derived_secret(key, "session")
        self._form = derived_secret(key, "form")
        self._cookie = f"mechdesign_owner_{derived_secret(key, 'cookie')[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = self._refusal(HTTPConnection(scope))
        if answer is None and scope["method"] not in ("GET", "HEAD"):
            request = Request(scope, receive)
            body = await body_of(request, MOST_OWNER_BYTES)
            if isinstance(body, Response):
                answer = body
            elif not self._is_own_form(request, body):
                answer = PlainTextResponse("the form is not one of this server: load the page again", 403)
            else:
                receive = _again(body, receive)
        await (answer or self.app)(scope, receive, send)

    def _refusal(self, connection: HTTPConnection) -> Response | None:
        """Return the answer to who may not come in; None for the owner."""
        host = connection.headers.get("host", "")
        if not _names(host, self.hosts):
            return PlainTextResponse("another name than this server's", 421)
        typed = connection.query_params.get("key")
        if typed is not None and hmac.compare_digest(typed.encode("utf-8", "replace"), self._key):
            return self._welcome(connection)
        cookie = connection.cookies.get(self._cookie, "")
        if not hmac.compare_digest(cookie.encode("utf-8", "replace"), self._session.encode()):
            return PlainTextResponse("the key is missing: open the address that the server printed", 401)
        return None if self._is_own_page(connection) else PlainTextResponse("from another site", 403)

    def _welcome(self, connection: HTTPConnection) -> Response:
        """Put the session into a cookie, and lead to the address without the key.

        A page leads there, not a redirect: whatever opened this address, the next one comes from here, and so
        has the cookie.
        """
        answer = HTMLResponse(WELCOME, headers={"Referrer-Policy": "no-referrer"})
        is_secure = connection.url.scheme == "https"
        answer.set_cookie(
            self._cookie, self._session, path=OWNER, httponly=True, samesite="strict", secure=is_secure
        )
        return answer

    def _is_own_page(self, connection: HTTPConnection) -> bool:
        """Whether a request does not come from another site; a post has to say where it comes from."""
        headers = connection.headers
        if connection.scope["method"] in ("GET", "HEAD"):
            is_navigation = headers.get("sec-fetch-mode", "navigate") == "navigate"
            return is_navigation or headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        host = headers["host"]
        return headers.get("origin", "") in (f"http://{host}", f"https://{host}")

    def _is_own_form(self, request: Request, body: bytes) -> bool:
        """Whether a post has the token of the owner's forms, in its header or in its field."""
        token = request.headers.get("x-csrf-token", "")
        if not token and request.headers.get("content-type", "").startswith("application/x-www-form"):
            match = re.search(rb"(?:^|&)csrf=([0-9a-f]{64})(?:&|$)", body)
            token = match[1].decode() if match else ""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._form.encode())


def derived_secret(key: str, what: str) -> str:
    """Return a secret that is made of the key, and does not tell it."""
    return hmac.new(key.encode(), what.encode(), hashlib.sha256).hexdigest()


def _names(host: str, hosts: tuple[str, ...]) -> bool:
    """Whether the header names one of the hosts, with any port or none."""
    name = re.sub(r":[0-9]{1,5}\Z", "", host).casefold()
    return name in hosts


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, once more."""
    waiting = [body]

    async def received() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return received
