"""A client as one file without dependencies: the tables of a mechanism in a template of its language."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.collect.recipes import Steps
from mechdesign.core.errors import ParameterError
from mechdesign.export.address import require_address
from mechdesign.export.checksum import checksum
from mechdesign.export.vectors import self_check

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
    """

    title: str = ""
    question: str = ""
    post: str = ""

    def __post_init__(self) -> None:
        for name, text in asdict(self).items():
            if not isinstance(text, str) or not text.isprintable():
                raise ParameterError(name, "has a line break or a control character", "give one line")
        require_address(self.post)


def sheet(mechanism: Mechanism) -> dict[str, Any]:
    """Return all that a client runs on: what it is and of which survey, the recipe, vectors, and digests.

    Examples
    --------
    >>> from mechdesign.collect.kary import KaryResponse
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
    kept = {key: value for key, value in tables.items() if key not in ("sum", "sha256", "vectors")}
    return hashlib.sha256(plain_json(kept).encode()).hexdigest()


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
    return (files("mechdesign.export") / "templates" / name).read_text(encoding="utf-8")


def header(kind: str, settings: ExportSettings) -> str:
    """Return the line from which an export can be made again, to be compared."""
    return MARK + plain_json({"to": kind, **asdict(settings)}).replace("--", "-\\u002d")


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
    return PLACE.sub(lambda found: parts[found[1]], text)


def python(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return the client for Python, a module."""
    made = sheet(mechanism)
    keeping = ""
    if made["recipe"]["steps"]["step"] == "joint":
        keeping = "    remember(answer, path)       draw the permanent response, once, into a file\n"
        keeping += "    report(path)                 the next report from it"
    return filled(
        template("client.py.txt"),
        {
            "FINGERPRINT": made["fingerprint"],
            "HEADER": header("python", settings),
            "KEEPING": keeping,
            "SHEET": plain_json(made),
        },
    )


def javascript(mechanism: Mechanism, settings: ExportSettings, to: str = "js") -> str:
    """Return the client for browsers and node, an ES module."""
    made = sheet(mechanism)
    parts = {
        "FINGERPRINT": made["fingerprint"],
        "HEADER": header(to, settings),
        "SHEET": plain_json(made),
        "MORE": more(made["recipe"]["steps"], to),
    }
    return filled(template("client.js"), parts)


MORE = {
    "messages": "messages.js",
    "joint": "joint.js",
    **dict.fromkeys(("survey", "sets"), "survey.js"),
    **dict.fromkeys(("patterns", "orbits"), "patterns.js"),
    "events": "events.js",
}
"""What a step needs next to the usual ones."""


def more(steps: Steps, to: str) -> str:
    """Return the client's additional steps: few mechanisms have any, so that most clients are small."""
    names = ["alone.js"] if to == "html" or steps["step"] == "joint" else []
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
