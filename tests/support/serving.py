"""A survey server as a process, what respondents and owners do with it, and an application without one."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

KEY = "the-key-of-the-owner-of-tests"


def require_packages() -> None:
    """Skip where the extra is not installed."""
    for name in ("starlette", "uvicorn", "segno", "jinja2"):
        pytest.importorskip(name, reason=f"no {name} here: pip install mechdesign[serve]")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Running:
    """The command ``serve`` as a process on a folder."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder, self.words = folder, words
        self.port, self.owner_port = free_port(), free_port()
        self.key_file = folder.parent / "key.txt"
        self.key_file.write_text(KEY)
        self.lines: list[str] = []
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "mechdesign", "serve", "--folder", str(self.folder), "--no-browser"]
        command += ["--port", str(self.port), "--owner-port", str(self.owner_port)]
        command += ["--key-file", str(self.key_file), *self.words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("respondents:"):
                break
        else:
            raise AssertionError("\n".join(self.lines))
        self._reader = threading.Thread(target=self._read, args=[self.process.stdout], daemon=True)
        self._reader.start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            self.lines.append(line.rstrip())

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the process, and return its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=20)
        self._reader.join(timeout=5)
        self.process.stdout.close()
        return code

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Iterable[tuple[str, str]] = (),
        owner: bool = False,
    ) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.owner_port if owner else self.port, timeout=30)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def post(self, slug: str, document: Any) -> int | None:
        """Return the status of a report; None where the server was ended before it answered."""
        try:
            return self.request("POST", f"/s/{slug}/reports", json.dumps(document))[0]
        except (OSError, HTTPException):
            return None

    def memory(self) -> int:
        """Return how many MiB the process has."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"VmRSS:\s*(\d+) kB", text)
        assert match is not None
        return int(match[1]) // 1024


def posted(
    running: Running,
    slug: str,
    documents: Iterable[Any],
    connections: int,
    statuses: dict[int, int | None] | None = None,
) -> dict[int, int | None]:
    """Post messages over some connections that stay, and return the status of each by its place."""
    waiting = list(enumerate(documents))
    waiting.reverse()
    statuses = {} if statuses is None else statuses

    def client() -> None:
        connection = HTTPConnection("127.0.0.1", running.port, timeout=60)
        while waiting:
            try:
                place, document = waiting.pop()
            except IndexError:
                break
            try:
                connection.request("POST", f"/s/{slug}/reports", json.dumps(document))
                answer = connection.getresponse()
                answer.read()
                statuses[place] = answer.status
            except (OSError, HTTPException):  # the server was ended, perhaps in the middle of its answer
                statuses[place] = None
                connection.close()
        connection.close()

    with ThreadPoolExecutor(connections) as pool:
        for each in [pool.submit(client) for _ in range(connections)]:
            each.result()
    return statuses


def message(mechanism: Any, rows: list[dict[str, Any]], number: int, token: str = "") -> dict[str, Any]:
    """Return a message as the page sends it."""
    said = {"format": "mechdesign-report", "version": 1, "fingerprint": mechanism.fingerprint, "rows": rows}
    if mechanism.about.id:
        said["survey"] = mechanism.about.id
    return {**said, "retry": f"{number:032x}", **({"token": token} if token else {})}


def asked(
    application: Any,
    method: str,
    path: str,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    parts: list[bytes] | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """Return what an application answers, without a server: status, headers, body."""
    name, _, query = path.partition("?")
    sent = {"host": "127.0.0.1:8001", **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": name,
        "raw_path": name.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(key.lower().encode(), value.encode()) for key, value in sent.items()],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8001),
    }
    pieces = list(parts if parts is not None else [body])
    answered: list[Any] = []

    async def receive() -> dict[str, Any]:
        if not pieces:
            return {"type": "http.disconnect"}
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(event: Any) -> None:
        answered.append(event)

    asyncio.run(application(scope, receive, send))
    head = answered[0]
    found = {key.decode(): value.decode() for key, value in head["headers"]}
    return head["status"], found, b"".join(event.get("body", b"") for event in answered[1:])


class Owner:
    """An owner with the key, at an application without a server."""

    def __init__(self, application: Any, key: str = KEY) -> None:
        self.application = application
        status, headers, _ = asked(application, "GET", f"/owner/?key={key}")
        assert status == 200
        self.cookie = headers["set-cookie"].partition(";")[0]
        page = self.get("/owner/")[1]
        match = re.search(r'name="csrf" content="([0-9a-f]{64})"', page)
        assert match is not None
        self.form_token = match[1]

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        status, _, body = asked(self.application, "GET", path, b"", {"cookie": self.cookie, **headers})
        return status, body.decode()

    def post(self, path: str, **fields: str) -> tuple[int, dict[str, str], str]:
        from urllib.parse import urlencode

        body = urlencode({"csrf": self.form_token, **fields}).encode()
        headers = {
            "cookie": self.cookie,
            "origin": "http://127.0.0.1:8001",
            "content-type": "application/x-www-form-urlencoded",
        }
        status, answer, content = asked(self.application, "POST", path, body, headers)
        return status, answer, content.decode()
