"""What a list of the models shows, read from the heads of their files: no problem is built for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from mechdesign.catalog.shipped import models, models_folder
from mechdesign.catalog.toml import read_toml
from mechdesign.core.documents import parse_toml
from mechdesign.core.errors import ModelFileError, one_line
from mechdesign.work.files import read_text

HEAD = "[model]\n"
NEXT = re.compile(r"^\[[a-z]", re.MULTILINE)
CLAIM = re.compile(r"^\[\[claim\]\]", re.MULTILINE)
LARGEST = 1 << 24


class ModelLine(NamedTuple):
    """A line of the list: slug, name of the problem, number of claims, title."""

    slug: str
    problem: str
    claims: int
    title: str


def listed_models(family: str | None = None) -> list[ModelLine]:
    """Return a line for each shipped model, or for those of one family.

    Raises
    ------
    ModelFileError
        When a file is not valid TOML or has no title or problem.

    Examples
    --------
    >>> next(line.problem for line in listed_models("response"))
    'randomized-response'
    """
    folder = models_folder()
    return [_listed(slug, folder / f"{slug}.toml") for slug in models(family)]


def _listed(slug: str, path: Path) -> ModelLine:
    head, claims = _head(path)
    for key in ("title", "problem"):
        if not isinstance(head.get(key), str):
            raise ModelFileError(f"{path}: [model] {key}", "is missing or not a string", "give one")
    return ModelLine(slug, head["problem"], claims, one_line(head["title"]))


def _head(path: Path) -> tuple[dict[str, Any], int]:
    """Return the table [model] and the number of claims.

    Only the part before the next table is parsed, as claims and parameters can be long; the whole file where
    that part is not TOML by itself or a claim may stand inside a text.
    """
    text = read_text(path, LARGEST, ModelFileError)
    after = NEXT.search(text, len(HEAD)) if text.startswith(HEAD) else None
    plain = after is not None and "'''" not in text[after.start() :] and '"""' not in text[after.start() :]
    if after is not None and plain:
        try:
            return parse_toml(text[: after.start()])["model"], len(CLAIM.findall(text, after.start()))
        except ValueError:
            pass  # a line of the statement begins like a table
    document = read_toml(path)
    head, claims = document.get("model"), document.get("claim", [])
    return head if isinstance(head, dict) else {}, len(claims) if isinstance(claims, list) else 0
