"""A client as one file without dependencies: the tables of a mechanism in a template of its language.

The address that a page sends reports to: one that its policy can name, without anything secret.

A checksum of a client's tables that every language computes in a few lines: against damage only.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mechdesign.collect.base import Mechanism
from mechdesign.collect.kernel import Steps
from mechdesign.core.errors import ParameterError
from mechdesign.core.extensions import packaged_text
from mechdesign.export.known_answers import self_check
from mechdesign.export.texts import DEFAULT, Tables, Texts, texts_from, texts_of

LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
PATH = r"/(?![/\\])[A-Za-z0-9._~:/@!$&()*+=%-]*(?:\?[A-Za-z0-9._~:/@!$&()*+=%?-]*)?"
ABSOLUTE = re.compile(rf"(https?://{LABEL}(?:\.{LABEL})*(?::[0-9]{{1,5}})?)(?:{PATH})?")
"""An address with its origin: letters that a policy takes for nothing else, and no name or password."""
RELATIVE = re.compile(PATH)
"""A path on the server that the page comes from."""
MOST_PORT = 65535

REMEDY = "give one such as https://example.org/reports, or /reports on the page's own server"


def require_address(post: str) -> None:
    """Raise ParameterError for what is not an address that a page may send reports to.

    Examples
    --------
    >>> require_address("https://example.org/reports")
    >>> require_address("//example.org")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: post: '//example.org' is not an address; give one such as ...
    """
    if not post or RELATIVE.fullmatch(post):
        return
    if re.match(r"[a-z]+://[^/?#]*@", post):
        raise ParameterError("post", "has a name or a password, which everyone could read", "omit it")
    if "#" in post:
        raise ParameterError("post", "has a fragment (#), which is never sent", "omit it")
    if not post.isascii():
        raise ParameterError(
            "post", f"'{post}' has letters that are not ASCII", "write xn-- and %XX for them"
        )
    match = ABSOLUTE.fullmatch(post)
    port = re.search(r":([0-9]+)$", match[1]) if match else None
    if match is None or (port is not None and not 0 < int(port[1]) <= MOST_PORT):
        raise ParameterError("post", f"'{post}' is not an address", REMEDY)


def origin_of(post: str) -> str:
    """Return what a policy names so that a page may connect to an address, and to nothing else.

    Examples
    --------
    >>> origin_of("https://example.org:8443/reports?wave=2"), origin_of("/reports"), origin_of("")
    ('https://example.org:8443', "'self'", "'none'")
    """
    if not post:
        return "'none'"
    match = ABSOLUTE.fullmatch(post)
    return match[1] if match else "'self'"


PRIME = (1 << 31) - 1
BASE = 257
BLOCK = 256


def checksum(tables: Any) -> int:
    """Return the sum of all bytes b of plain values, s -> (257 s + b) mod 2^31 - 1 from 0 on.

    Objects are read in the order of their keys, which are not read themselves; numbers are doubles of 8
    bytes, the lowest first; texts are UTF-8; true is a byte 1, false 0, and null 2.

    Examples
    --------
    >>> checksum({"b": "a", "a": [True, None]}) == (1 * 257 + 2) * 257 + ord("a")
    True
    """
    data = b"".join(_bytes(tables))
    padded = data.rjust(-(-len(data) // BLOCK) * BLOCK, b"\0")
    powers = np.array([pow(BASE, BLOCK - 1 - place, PRIME) for place in range(BLOCK)], dtype=np.int64)
    blocks = np.frombuffer(padded, dtype=np.uint8).reshape(-1, BLOCK).astype(np.int64) @ powers
    result, step = 0, pow(BASE, BLOCK, PRIME)
    for block in blocks.tolist():
        result = (result * step + block) % PRIME
    return result


def _bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _bytes(value[key])
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _bytes(each)
    elif isinstance(value, str):
        yield value.encode()
    elif value is None or isinstance(value, bool):
        yield b"\2" if value is None else bytes([value])
    else:
        yield struct.pack("<d", value)


FORMAT = "mechdesign-client"
VERSION = 1
PLACE = re.compile("@@([A-Z_]+)@@")
"""A place in a template."""
MARK = "mechdesign-export: "
"""What begins the text in every export from which it can be made again."""


@dataclass(frozen=True)
class ExportSettings:
    """Texts and address of an export, next to the mechanism itself.

    Attributes
    ----------
    title, question : str
        What respondents read on a page.
    post : str
        The address that a page sends reports to; without one, the report is a file to download.
    language : str
        A shipped language of the page; English by default.
    texts : mapping of mappings, optional
        All sentences of the page in another language.
    shared : bool
        Whether the page is for a device that many people use: nothing is stored, and there is a button for
        the next person.
    """

    title: str = ""
    question: str = ""
    post: str = ""
    language: str = ""
    texts: Tables | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        for name in ("title", "question", "post", "language"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text.isprintable():
                raise ParameterError(name, "has a line break or a control character", "give one line")
        require_address(self.post)
        if self.texts is not None and self.language:
            raise ParameterError("language", "is given with texts of another", "give one of them")
        if self.texts is not None:
            texts_from(self.texts)
        elif self.language:
            texts_of(self.language)

    @property
    def words(self) -> Texts:
        """The sentences of the page."""
        return texts_of(self.language or DEFAULT) if self.texts is None else texts_from(self.texts)

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain values, language and texts where they are given."""
        settings = asdict(self)
        return {
            name: value for name, value in settings.items() if value or name in ("title", "question", "post")
        }


def sheet(mechanism: Mechanism) -> dict[str, Any]:
    """Return all that a client runs on: what it is and of which survey, the recipe, vectors, and digests.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> sorted(sheet(KaryResponse.of(3, 1.0)))
    ['fingerprint', 'format', 'promise', 'recipe', 'sha256', 'sum', 'type', 'vectors', 'version']
    """
    audit = getattr(mechanism, "audit", lambda: None)()
    tables = {
        "format": FORMAT,
        "version": VERSION,
        "type": mechanism.type,
        "fingerprint": mechanism.fingerprint,
        "promise": {"epsilon": getattr(audit, "epsilon", None), "delta": getattr(audit, "delta", 0.0)},
        "recipe": mechanism.recipe().as_json(),
    }
    if mechanism.about.id:
        tables["survey"] = mechanism.about.id
    sums = {"sum": checksum(tables), "sha256": client_digest(tables)}
    return {**tables, **sums, "vectors": [list(row) for row in self_check(mechanism)]}


def client_digest(tables: dict[str, Any]) -> str:
    """Return the SHA-256 of the tables of a client, without vectors, checksum and the digest itself."""
    steps = {key: value for key, value in tables.items() if key not in ("sum", "sha256", "vectors")}
    return hashlib.sha256(plain_json(steps).encode()).hexdigest()


def plain_json(value: Any) -> str:
    r"""Return canonical JSON in ASCII that can stand in a script, a page and a raw Python string.

    Examples
    --------
    >>> plain_json({"b": "</script>", "a": 'Zürich'})
    '{"a":"Z\\u00fcrich","b":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    for letter in "<>&'":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def template(name: str) -> str:
    """Return the text of a template."""
    return packaged_text("mechdesign.export", "templates", name)


def header(kind: str, settings: ExportSettings) -> str:
    """Return the line from which an export can be made again, to be compared."""
    return MARK + plain_json({"to": kind, **settings.as_json()}).replace("--", "-\\u002d")


def filled(text: str, parts: dict[str, str]) -> str:
    """Return a template with its parts; a part that it does not have, or lacks, is an error.

    All places are filled in one pass: what a part says, such as a label, is never taken for a place.

    Examples
    --------
    >>> filled("@@TITLE@@: @@SCRIPT@@", {"TITLE": "@@SCRIPT@@", "SCRIPT": "1"})
    '@@SCRIPT@@: 1'
    """
    places = PLACE.findall(text)
    if sorted(places) != sorted(parts):
        raise AssertionError(f"the template has the places {sorted(places)}, and not {sorted(parts)}")
    return PLACE.sub(lambda match: parts[match[1]], text)


def python(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return the client for Python, a module."""
    facts = sheet(mechanism)
    keeping = ""
    if facts["recipe"]["steps"]["step"] in KEEPING:
        keeping = "    remember(answer, path)       draw the permanent response, once, into a file\n"
        keeping += "    report(path)                 the next report from it"
        if facts["recipe"]["steps"].get("most", 1) > 1:
            keeping += "; report(path, answer=...) where it has changed"
    return filled(
        template("client.py.txt"),
        {
            "FINGERPRINT": facts["fingerprint"],
            "HEADER": header("python", settings),
            "KEEPING": keeping,
            "SHEET": plain_json(facts),
        },
    )


def javascript(mechanism: Mechanism, settings: ExportSettings, to: str = "js") -> str:
    """Return the client for browsers and node, an ES module."""
    facts = sheet(mechanism)
    parts = {
        "FINGERPRINT": facts["fingerprint"],
        "HEADER": header(to, settings),
        "SHEET": plain_json(facts),
        "MORE": more(facts["recipe"]["steps"], to),
    }
    return filled(template("client.js"), parts)


KEEPING = ("joint", "weekly")
"""Steps of which a device keeps a permanent response."""

MORE = {
    "messages": "messages.js",
    "joint": "joint.js",
    "weekly": "weekly.js",
    **dict.fromkeys(("survey", "sets"), "survey.js"),
    **dict.fromkeys(("patterns", "orbits"), "patterns.js"),
    "events": "events.js",
    **dict.fromkeys(("items", "set-hashing"), "items.js"),
    "prefix": "text.js",
}
"""What a step needs next to the usual ones."""


def more(steps: Steps, to: str) -> str:
    """Return the client's additional steps: few mechanisms have any, so that most clients are small."""
    names = ["alone.js"] if to == "html" or steps["step"] in KEEPING else []
    names += [MORE[steps["step"]]] if steps["step"] in MORE else []
    if steps["step"] == "survey" and any(
        part["kind"] == "ordered" for design in steps["designs"] for part in design
    ):
        names += ["patterns.js"]
    if steps["step"] == "messages":
        names += sorted(
            {"secure.js" if part["make"] in ("noisy", "entries") else "parts.js" for part in steps["parts"]}
        )
    return "".join(map(template, names))
