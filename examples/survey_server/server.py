"""A small server for a survey: it serves the page, takes one private report a token, and keeps every one.

    umask 077
    python server.py tokens 1000 > tokens.txt
    python server.py serve survey.json --tokens tokens.txt --key-file key.txt
    python server.py reports > reports.jsonl      # then: mechdesign estimate survey.json reports.jsonl

Put it behind a server that speaks HTTPS (nginx, Caddy) and does not log the bodies of requests. Send each
respondent the address of the page with ``#token=...``: what follows the ``#`` is not sent when a page is
loaded. What its files keep, and what they reveal, is in README.md.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from pathlib import Path

from store import Store

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import MechDesignError, MissingPackageError, ParameterError, unread
from mechdesign.export import ExportSettings
from mechdesign.export.page import TOKEN

MOST_PORT = 65535


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tokens").add_argument("count", type=int)
    serve = commands.add_parser("serve")
    for command in (serve, commands.add_parser("reports")):
        command.add_argument("--folder", type=Path, default=Path("received"), help="what is kept")
    serve.add_argument("mechanism")
    serve.add_argument("--tokens", type=Path, required=True)
    serve.add_argument("--key-file", type=Path, required=True, help="the collector's password, for /counts")
    serve.add_argument("--title", default="")
    serve.add_argument("--question", default="")
    serve.add_argument("--language", default="", help="of the page; by default the survey's")
    serve.add_argument("--shared", action="store_true", help="the page is for a device that many people use")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    return parser


def text_of(path: Path) -> str:
    """Return the content of a file; ParameterError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        what = unread(error) if isinstance(error, OSError) else "is not a text"
        raise ParameterError(str(path), what, "check the path") from None


def tokens_of(path: Path) -> list[str]:
    """Return the tokens of a file; ParameterError for one that no page sends."""
    tokens = text_of(path).split()
    for place, token in enumerate(tokens, start=1):
        if not TOKEN.fullmatch(token):
            what = f"token {place} is not made of 1 to 200 letters, digits, - and _"
            raise ParameterError(str(path), what, "make tokens with: server.py tokens COUNT")
    return tokens


def new_tokens(count: int) -> str:
    """Return lines of tokens that nobody can guess."""
    if count < 1:
        raise ParameterError("tokens", f"{count} is not a number of tokens", "give 1 or more")
    return "".join(f"{secrets.token_urlsafe(16)}\n" for _ in range(count))


def reports(folder: Path) -> list[str]:
    """Return the rows of all reports that were received."""
    store = Store(folder)
    if not store.reports.exists():
        raise ParameterError("--folder", f"{folder} has no reports", "name the folder that serve uses")
    return store.lines()


def serve(options: argparse.Namespace) -> None:
    """Serve the page until the process is ended."""
    try:
        import uvicorn
        from web import application
    except ImportError as error:
        what = f"needs {error.name}"
        raise MissingPackageError("serve", what, "install mechdesign[server]") from None
    if not 0 <= options.port <= MOST_PORT:
        raise ParameterError("--port", f"{options.port} is not from 0 to {MOST_PORT}", "give another port")
    mechanism, store = load_mechanism(options.mechanism), Store(options.folder)
    key = text_of(options.key_file).strip()
    if len(key) < 16:
        raise ParameterError("--key-file", "fewer than 16 characters can be guessed", "make a longer key")
    store.open(mechanism.survey_digest, tokens_of(options.tokens))
    settings = ExportSettings(
        options.title, options.question, "/reports", options.language, shared=options.shared
    )
    served = application(mechanism, store, key, settings)
    uvicorn.run(served, host=options.host, port=options.port, access_log=False, log_level="warning")


def main() -> int:
    """Run a command, and return the exit code: errors are one line."""
    os.umask(0o077)
    options = command_line().parse_args()
    try:
        if options.command == "tokens":
            sys.stdout.write(new_tokens(options.count))
        elif options.command == "reports":
            sys.stdout.writelines(f"{line}\n" for line in reports(options.folder))
        else:
            serve(options)
    except MechDesignError as error:
        print(f"server.py: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"server.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
