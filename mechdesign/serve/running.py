"""The servers of a process, one for respondents and one for the owner, until a signal ends both."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import ipaddress
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mechdesign.core.errors import ParameterError
from mechdesign.serve.access import network_of

MOST_PORT = 65535
HEAD_SECONDS = 20.0
"""How long the head of a request may take to arrive."""
READ_SECONDS = 20.0
"""How long a client may take no byte of an answer that it has asked for."""
IDLE_SECONDS = 5
"""How long a connection may wait for its next request."""
MOST_CONNECTIONS = 1000
"""Connections at once; more are answered with 503."""
MOST_OF_ADDRESS = 250
"""Connections at once of one address; more are closed at once."""
MOST_HEAD = 1 << 14
"""Bytes of the head of a request."""
ENDING_SECONDS = 5


class Impatient(H11Protocol):
    """A connection that is closed where a head does not arrive in time, or an answer is not taken.

    One address has so many of them at once; a proxy, whose connections are those of all, has no such limit.
    """

    _counts: ClassVar[Counter[str]] = Counter()
    _holder: str = ""
    _late: asyncio.TimerHandle | None = None
    _full: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        if address and not is_proxy(address, self.config.forwarded_allow_ips):
            self._holder = network_of(address)
            self._counts[self._holder] += 1
            if self._counts[self._holder] > MOST_OF_ADDRESS:
                transport.abort()
                return
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._holder:
            self._counts[self._holder] -= 1
            if not self._counts[self._holder]:
                del self._counts[self._holder]
            self._holder = ""
        for clock in (self._late, self._full):
            if clock is not None:
                clock.cancel()

    def _should_upgrade(self) -> bool:
        """Answer who asks for another protocol as if they had not, without a line for each."""
        return False

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._full is not None:
            self._full.cancel()
            self._full = None

    def _watch_reader(self, size: int) -> None:
        """Look later whether the client has taken anything of what waits for it, and leave it if not."""
        self._full = self.loop.call_later(READ_SECONDS, self._leave_full, size)

    def _leave_full(self, size: int) -> None:
        waiting = self.transport.get_write_buffer_size()
        if waiting < size:
            self._watch_reader(waiting)
        else:
            self.transport.abort()

    def _watch(self) -> None:
        """Set the clock while a head is awaited, and stop it when one is complete."""
        is_awaited = self.conn.their_state is h11.IDLE
        if is_awaited and self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self._leave)
        elif not is_awaited and self._late is not None:
            self._late.cancel()
            self._late = None

    def _leave(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


class _Server(uvicorn.Server):
    """A server that leaves the signals to who runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bound(host: str, port: int, option: str) -> socket.socket:
    """Return a socket that listens; ParameterError names the option where it cannot."""
    if not 0 <= port <= MOST_PORT:
        raise ParameterError(option, f"{port} is not from 0 to {MOST_PORT}", "give another port")
    listening = None
    try:
        families = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = families[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()  # two sockets may be bound to one port, but not listen there
    except (OSError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            option, f"cannot serve on {host}:{port} ({reason})", "give another one"
        ) from None
    return listening


def is_loopback(host: str) -> bool:
    """Whether nobody else's machine reaches a host.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_proxy(address: str, trusted: Sequence[str] | str | None) -> bool:
    """Whether an address is that of a proxy: of this machine, or one that ``FORWARDED_ALLOW_IPS`` names.

    Examples
    --------
    >>> is_proxy("127.0.0.1", ""), is_proxy("10.0.0.9", "10.0.0.0/8, ::1"), is_proxy("192.0.2.1", "10.0.0.9")
    (True, True, False)
    """
    names = trusted.split(",") if isinstance(trusted, str) else (trusted or ())
    return is_loopback(address) or any(_is_in(address, name.strip()) for name in names)


def _is_in(address: str, name: str) -> bool:
    """Whether an address is the one that is named, or in the network that is named; ``*`` names all."""
    try:
        return name == "*" or ipaddress.ip_address(address) in ipaddress.ip_network(name, strict=False)
    except ValueError:
        return address == name


def serve_until_signal(served: Sequence[tuple[Any, socket.socket]], begun: Callable[[], None]) -> None:
    """Serve applications on their sockets until SIGINT or SIGTERM.

    Parameters
    ----------
    served : sequence of (application, socket)
    begun : callable
        Called once all of them serve.
    """
    forbid_core_dumps()
    servers = [_Server(_config(application)) for application, _ in served]

    async def serve() -> None:
        loop = asyncio.get_running_loop()

        def end() -> None:
            for server in servers:
                server.should_exit = True

        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, end)
        tasks = [
            asyncio.create_task(server.serve(sockets=[listening]))
            for server, (_, listening) in zip(servers, served, strict=True)
        ]
        while not all(server.started for server in servers) and not any(task.done() for task in tasks):
            await asyncio.sleep(0.01)
        begun()
        await asyncio.gather(*tasks)

    asyncio.run(serve())


def forbid_core_dumps() -> None:
    """See to it that a crash writes no memory to the disk: it has messages with their links."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows
        resource = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _config(application: Any) -> uvicorn.Config:
    """Return the limits of a server: no log of requests, whose addresses would tell who answered when."""
    return uvicorn.Config(
        application,
        http=Impatient,
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        date_header=True,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=ENDING_SECONDS,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=MOST_HEAD,
    )
