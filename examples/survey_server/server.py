"""A small server for a survey: it serves the page, takes one private report a token, and keeps every one.

    python server.py tokens 1000 > tokens.txt
    python server.py serve survey.json --tokens tokens.txt --key-file key.txt --question "How do you feel?"
    python server.py reports > reports.jsonl      # then: mechdesign estimate survey.json reports.jsonl

Put it behind a server that speaks HTTPS (nginx, Caddy) and does not log the bodies of requests. Send each
respondent the address of the page with ``#token=...``: what follows the ``#`` is not sent when a page is
loaded. Tokens and reports stand in two tables without anything that joins them, and reports in random order.
"""

from __future__ import annotations

import argparse
import hmac
import json
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mechdesign.core.documents import parse_json
from mechdesign.core.errors import DataError
from mechdesign.export import ExportSettings, Receiver, export
from mechdesign.mechanisms import Mechanism, load_mechanism

MOST_BYTES = 1 << 20
SCHEMA = """
CREATE TABLE IF NOT EXISTS mechanism (fingerprint TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS tokens (token TEXT PRIMARY KEY, used INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS reports (place INTEGER PRIMARY KEY, rows TEXT NOT NULL);
"""
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"}


class Store:
    """Tokens and reports in a file of SQLite; what was answered with success survives any crash."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(self.connect()) as database:
            database.executescript(SCHEMA)

    def connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        return database

    def open(self, fingerprint: str, tokens: list[str]) -> None:
        """Begin a survey or go on with it; a file of another mechanism's reports is refused."""
        with closing(self.connect()) as database:
            database.execute("INSERT OR IGNORE INTO mechanism VALUES (?)", [fingerprint])
            if database.execute("SELECT COUNT(*) FROM mechanism").fetchone() != (1,):
                database.execute("DELETE FROM mechanism WHERE fingerprint = ?", [fingerprint])
                raise DataError(self.path, "holds reports of another survey", "give another --database")
            database.executemany(
                "INSERT OR IGNORE INTO tokens (token) VALUES (?)", [[each] for each in tokens]
            )

    def take(self, token: str, rows: list[dict[str, object]]) -> int:
        """Keep a report and return 204; 403 for an unknown token, 409 for one that was used."""
        with closing(self.connect()) as database:
            database.execute("BEGIN IMMEDIATE")
            done = database.execute("UPDATE tokens SET used = 1 WHERE token = ? AND used = 0", [token])
            if done.rowcount == 1:
                place = secrets.randbits(63)  # where it stands does not say when it came
                database.execute(
                    "INSERT INTO reports VALUES (?, ?)", [place, json.dumps(rows, sort_keys=True)]
                )
                database.execute("COMMIT")
                return 204
            known = database.execute("SELECT 1 FROM tokens WHERE token = ?", [token]).fetchone()
            database.execute("ROLLBACK")
            return 409 if known else 403

    def lines(self) -> list[str]:
        """Return the rows of all reports as JSON lines; those of one report follow one another."""
        with closing(self.connect()) as database:
            found = database.execute("SELECT rows FROM reports ORDER BY place").fetchall()
        return [json.dumps(row) for (rows,) in found for row in json.loads(rows)]

    def counts(self) -> dict[str, int]:
        """Return how often each report was made."""
        with closing(self.connect()) as database:
            return dict(database.execute("SELECT rows, COUNT(*) FROM reports GROUP BY rows ORDER BY rows"))


def application(
    mechanism: Mechanism, store: Store, key: str, title: str = "", question: str = ""
) -> Starlette:
    """Return the server: the page, the place for reports, and for whoever has the key what was received."""
    settings = ExportSettings(
        title or mechanism.about.title, question or mechanism.about.question, "/reports"
    )
    page = export(mechanism, "html", settings)
    receiver = Receiver(mechanism)

    async def show(request: Request) -> Response:
        return HTMLResponse(page, headers=HEADERS)

    async def take(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return PlainTextResponse("too long", 413)
        try:
            message = parse_json(body.decode())
            token, rows = receiver.token(message), receiver.rows(message)
        except (ValueError, RecursionError) as error:  # DataError is one; it names no answer, there is none
            return PlainTextResponse(str(error), 400)
        return Response(status_code=await run_in_threadpool(store.take, token, rows))

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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tokens").add_argument("count", type=int)
    serve, reports = commands.add_parser("serve"), commands.add_parser("reports")
    for command in (serve, reports):
        command.add_argument("--database", type=Path, default=Path("reports.sqlite"))
    serve.add_argument("mechanism")
    serve.add_argument("--tokens", type=Path, required=True)
    serve.add_argument("--key-file", type=Path, required=True, help="the collector's password, for /counts")
    serve.add_argument("--title", default="")
    serve.add_argument("--question", default="")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    if options.command == "tokens":
        print("\n".join(secrets.token_urlsafe(16) for _ in range(options.count)))
    elif options.command == "reports":
        print("\n".join(Store(options.database).lines()))
    else:
        mechanism, store = load_mechanism(options.mechanism), Store(options.database)
        store.open(mechanism.survey_digest, options.tokens.read_text().split())
        key = options.key_file.read_text().strip()
        if len(key) < 16:
            raise SystemExit("the key has fewer than 16 characters: anyone could guess it")
        served = application(mechanism, store, key, options.title, options.question)
        uvicorn.run(served, host=options.host, port=options.port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
