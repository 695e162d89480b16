"""The sources of the shipped models: ``models/references.toml``, read strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from mechdesign.catalog.shipped import models_folder, read_toml
from mechdesign.core.errors import ModelFileError
from mechdesign.papers.claims.recorded import recorded_document

REQUIRED = ("kind", "author", "title", "year")


@dataclass(frozen=True)
class BibliographyEntry:
    """One entry of the bibliography.

    Attributes
    ----------
    key, kind : str
        ``zhou2019``, ``article``.
    fields : mapping
        Names to texts.
    """

    key: str
    kind: str
    fields: Mapping[str, str]

    @property
    def authors(self) -> str:
        """The authors as people write them: ``Yihui Zhou, Laifeng Lu, Zhenqiang Wu``."""
        names = re.split(r"\s+and\s+", self.fields["author"])
        return ", ".join(" ".join(reversed(name.split(", ", 1))) for name in names)

    def __str__(self) -> str:
        return f"{self.authors} ({self.fields['year']}). {self.fields['title']}"


@cache
def bibliography() -> Mapping[str, BibliographyEntry]:
    """Return the references of the shipped models by their keys.

    Examples
    --------
    >>> print(bibliography()["holohan2017"])  # doctest: +NORMALIZE_WHITESPACE
    Naoise Holohan, Douglas J. Leith, Oliver Mason (2017). Optimal differentially private mechanisms
    for randomised response
    """
    path = models_folder() / "references.toml"
    return entries_of(path, recorded_document(path, partial(read_toml, path)))


def read_references(path: Path) -> dict[str, BibliographyEntry]:
    """Return the entries of a file by their keys, as :func:`entries_of` does."""
    return entries_of(path, read_toml(path))


def entries_of(path: Path, document: Mapping[str, Any]) -> dict[str, BibliographyEntry]:
    """Return the entries of a file's content: tables of texts, with a kind, author, title and year.

    Raises
    ------
    ModelFileError
        Naming the entry that is not in order.
    """
    entries: dict[str, BibliographyEntry] = {}
    for key, entry in document.items():
        if not isinstance(entry, dict):
            raise ModelFileError(f"{path.name}: {key}", "is not a table", "write [key] above its fields")
        for name, value in entry.items():
            if not isinstance(value, str):
                raise ModelFileError(
                    f"{path.name}: {key}", f"the field '{name}' is not a string", "put it in quotes"
                )
        missing = [name for name in REQUIRED if not entry.get(name, "").strip()]
        if missing:
            raise ModelFileError(f"{path.name}: {key}", f"has no {missing[0]}", "give one")
        fields = {name: value for name, value in entry.items() if name != "kind"}
        entries[key] = BibliographyEntry(key, entry["kind"], fields)
    return entries
