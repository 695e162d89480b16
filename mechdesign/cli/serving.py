"""The command that serves surveys: to their owner in a browser, and to respondents."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mechdesign.cli.parser import FINE, AddCommand
from mechdesign.core.errors import DataError, MissingPackageError, ParameterError, unread

if TYPE_CHECKING:
    from mechdesign.serve.place import Place

PORT = 8000
FOLDER = "surveys"
EVERYWHERE = ("0.0.0.0", "::")
"""Hosts that are no part of an address."""
SHORTEST_KEY = 16
PACKAGES = ("starlette", "uvicorn", "jinja2", "segno")


def add_commands(command: AddCommand) -> None:
    """Add the command to the parser."""
    summary = "serve surveys: design them, collect reports and read results in a browser"
    command("serve", _serve, summary, _serve_options)


def _serve_options(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "survey",
        nargs="*",
        metavar="SURVEY.toml|FILE.json",
        help="surveys to begin with: as they are stated, or as build has written them (default: none)",
    )
    serve.add_argument("--folder", metavar="DIR", help=f"where everything is kept (default: {FOLDER})")
    serve.add_argument(
        "--host", default="127.0.0.1", help="address that respondents reach (default: 127.0.0.1)"
    )
    serve.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"port for respondents (default: {PORT})"
    )
    serve.add_argument(
        "--owner-host",
        default="127.0.0.1",
        metavar="HOST",
        help="address of the owner's rooms (default: 127.0.0.1)",
    )
    serve.add_argument(
        "--owner-port",
        type=int,
        metavar="N",
        help="port of the owner's rooms (default: the next after --port)",
    )
    serve.add_argument(
        "--public-url",
        default="",
        metavar="URL",
        help="address of the pages behind a proxy, for links and cards",
    )
    serve.add_argument(
        "--key-file", metavar="FILE", help="file with the owner's key (default: a new key at each start)"
    )
    serve.add_argument(
        "--rate",
        type=float,
        default=200.0,
        metavar="N",
        help="posts per second from one address, on average over 100 seconds (default: 200)",
    )
    serve.add_argument("--no-browser", action="store_true", help="open no browser")
    serve.add_argument(
        "--demo",
        action="store_true",
        help="show surveys of synthetic people, in a temporary folder that is removed at the end",
    )
    serve.add_argument(
        "--language", choices=("en", "de"), default="", help="of the owner's rooms (default: the browser's)"
    )


def _serve(options: argparse.Namespace) -> int:
    _require_packages()
    if not 0 < options.rate <= 1e6:
        raise ParameterError("--rate", f"{options.rate} is not a rate", "give posts per second, such as 200")
    key, mask = _key(options.key_file), os.umask(0o077)
    try:
        with ExitStack() as stack:
            _serve_with(options, key, stack)
    finally:
        os.umask(mask)
    return FINE


def _serve_with(options: argparse.Namespace, key: str, stack: ExitStack) -> None:
    """Serve until a signal; what is opened meanwhile is closed with the stack."""
    from mechdesign.serve.access import LOOPBACK
    from mechdesign.serve.application import owner_application, respondents_application
    from mechdesign.serve.place import Place
    from mechdesign.serve.running import bound, is_loopback, serve_until_signal

    public = stack.enter_context(bound(options.host, options.port, "--port"))
    port = public.getsockname()[1]
    owner_port = options.owner_port if options.owner_port is not None else (port + 1 if options.port else 0)
    own = stack.enter_context(bound(options.owner_host, owner_port, "--owner-port"))
    host = _network_address() if options.host in EVERYWHERE else options.host
    url = options.public_url or _address(host, port)
    place = stack.enter_context(Place(stack.enter_context(_folder(options)), url))
    _begin_with(place, options.survey)
    if not (options.survey or options.demo or place.surveys()):
        place.new()  # there is something to type into
    if options.demo:
        from mechdesign.serve.demo import add_demo

        add_demo(place)
        print("demo:        synthetic people; nothing is kept when this ends", flush=True)
    rooms = owner_application(place, key, options.language, (*LOOPBACK, options.owner_host))
    owner_host = "127.0.0.1" if options.owner_host in EVERYWHERE else options.owner_host
    open_at = f"{_address(owner_host, own.getsockname()[1])}/owner/?key={key}"
    address = open_at if options.key_file is None else f"{open_at.removesuffix(key)}... (--key-file)"
    page = None if options.no_browser else stack.enter_context(_opener(place.folder, open_at))

    def begun() -> None:
        print(f"owner:       {address}")
        print(f"respondents: {url.rstrip('/')}/s/NAME/", flush=True)
        if not is_loopback(options.owner_host):
            print("mechdesign: --owner-host: others reach the owner's rooms", file=sys.stderr)
        if page is not None:
            _open(page)

    serve_until_signal([(rooms, own), (respondents_application(place, options.rate), public)], begun)


@contextmanager
def _folder(options: argparse.Namespace) -> Iterator[str]:
    """Give the folder where everything is kept; of the demonstration one that is removed."""
    if not options.demo:
        yield options.folder or FOLDER
        return
    if options.folder is not None:
        raise ParameterError(
            f"--folder {options.folder}", "is not for --demo, which keeps nothing", "omit it"
        )
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="mechdesign-") as folder:
        yield folder


def _require_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingPackageError("serve", f"needs {', '.join(missing)}", "pip install 'mechdesign[serve]'")


def _key(path: str | None) -> str:
    """Return the owner's key: that of a file, else a new one."""
    if path is None:
        return secrets.token_urlsafe(24)
    try:
        key = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        what = unread(error) if isinstance(error, OSError) else "is not a text"
        raise ParameterError(f"--key-file {path}", what, "check the path") from None
    if len(key) < SHORTEST_KEY or not key.isascii() or not all(c.isalnum() or c in "-_" for c in key):
        what = f"expected {SHORTEST_KEY} letters or more out of A-Z, a-z, 0-9, - and _"
        raise ParameterError(f"--key-file {path}", what, "make one with: openssl rand -hex 24")
    return key


def _network_address() -> str:
    """Return the address by which others in the network reach this machine; nothing is sent for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of nobody, kept for examples
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _begin_with(place: Place, paths: list[str]) -> None:
    """Add surveys of files, unless the folder has surveys of these names."""
    from mechdesign.collect.base import load_mechanism
    from mechdesign.serve.draft import draft_of_text
    from mechdesign.serve.settings import slug_of
    from mechdesign.work.files import read_text

    known, begun = {survey.slug for survey in place.surveys()}, set[str]()
    for path in paths:
        if not path.endswith((".toml", ".json")):
            raise ParameterError(path, "is not a name of a survey file", "name a .toml or a .json file")
        slug = slug_of(Path(path).stem)
        if slug in begun:
            raise ParameterError(path, f"has the name '{slug}' of another file", "rename one of them")
        begun.add(slug)
        if slug in known:
            print(
                f"mechdesign: {path}: the folder has a survey '{slug}' already, which is used",
                file=sys.stderr,
            )
            continue
        if path.endswith(".json"):
            place.adopt(load_mechanism(path), slug)
            continue
        try:
            text = read_text(path, 1 << 20, DataError)
        except (OSError, UnicodeDecodeError) as error:
            what = unread(error) if isinstance(error, OSError) else "is not a text in UTF-8"
            raise ParameterError(path, what, "check the path") from None
        draft_of_text(text, path)
        place.new(text, slug)


@contextmanager
def _opener(folder: Path, address: str) -> Iterator[Path]:
    """Give a file, for the owner alone, that leads to an address.

    A browser is started with the name of the file, because everybody on the machine sees how programs are
    started, and the address has the key.
    """
    path = folder / f"open-{secrets.token_hex(8)}.html"
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(
                f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">mechdesign</a>'
            )
        yield path
    finally:
        path.unlink(missing_ok=True)


def _open(path: Path) -> None:
    """Open a file in a browser, without waiting for it."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=[path.resolve().as_uri()], daemon=True).start()
