"""Counts as files: what a server keeps of reports, which files they came from, and of which mechanism.

A count file is whole or absent. It names its mechanism and survey by their digest, and holds the mechanism
itself where that is small, so that counts can be merged without another file. It keeps a digest of each
file that was counted: the same reports are not counted twice, however often count files are merged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.collect.about import About
from mechdesign.collect.base import Mechanism, mechanism_of, read, written
from mechdesign.collect.server import SavedCounts, new_server
from mechdesign.core.documents import parse_json
from mechdesign.core.errors import DataError, MechDesignError, unread
from mechdesign.data.reading import Copies, CountedFile
from mechdesign.work.files import read_text, whole_file

FORMAT = "mechdesign-counts"
VERSION = 1
LARGEST_FILE = 1 << 28
"""A count file with more bytes is neither written nor read."""
SMALL = 1 << 18
"""Characters of a mechanism that is written into the count file."""
AGAIN = "count the reports again"
WRITTEN_BY = "name a file written by count or merge"


@dataclass(frozen=True)
class CountFile:
    """Content of a count file.

    Attributes
    ----------
    survey_digest : str
        Of the mechanism whose server counted, and of its survey.
    users : int
        How many reports were counted: of users, or of users' messages.
    unit : str
        What they are: reports, users, messages.
    question : str
        The column that was asked for, as far as it is known.
    files : tuple of CountedFile
    counts : dict
        What the server wrote.
    mechanism : dict or None
        The mechanism as in its own file, where it is small.
    """

    survey_digest: str
    users: int
    unit: str
    question: str
    files: tuple[CountedFile, ...]
    counts: dict[str, Any]
    mechanism: dict[str, Any] | None

    def source(self, name: str) -> SavedCounts:
        """Return the counts as what a server takes."""
        return SavedCounts(name, self.counts, self.question)

    def save(self, path: str) -> None:
        """Write the file; it appears whole, on the disk, or not at all."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "mechanism": self.survey_digest,
            "users": self.users,
            "unit": self.unit,
            "question": self.question,
            "files": [[file.name, file.rows, file.digest] for file in self.files],
            "counts": written(self.counts),
            "built": self.mechanism,
        }
        text = json.dumps({**document, "sha256": _digest(document)}, indent=1, allow_nan=False) + "\n"
        if len(text) > LARGEST_FILE:
            raise DataError(path, f"the counts take more than {LARGEST_FILE >> 20} MiB", "count fewer files")
        with whole_file(path, DataError, durable=True) as temporary:
            temporary.write_text(text, encoding="utf-8")


def count_file_of(server: Any, files: Sequence[CountedFile], mechanism: Mechanism) -> CountFile:
    """Return the count file of a server of a mechanism."""
    document = mechanism.document()
    small = len(json.dumps(document)) <= SMALL
    return CountFile(
        server.mechanism.survey_digest,
        int(server.users),
        server.unit,
        server.question,
        tuple(files),
        server.as_json(),
        document if small else None,
    )


def load_counts(path: str) -> CountFile:
    """Return the content of a count file.

    Raises
    ------
    DataError
        For a file that cannot be read, is none, is cut short, was changed, or is of a newer format.
    """
    try:
        document = parse_json(read_text(path, LARGEST_FILE, DataError))
    except OSError as error:
        raise DataError(path, unread(error), WRITTEN_BY) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, MechDesignError):
            raise
        raise DataError(path, f"is damaged or cut short: not JSON ({error})", AGAIN) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(path, "is not a file of counts", WRITTEN_BY)
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise DataError(path, f"has version {version}, this release reads {VERSION}", AGAIN)
    if document.pop("sha256", None) != _digest(document):
        raise DataError(path, "is damaged: its digest is that of another content", AGAIN)
    try:
        files = tuple(
            CountedFile(str(name), int(rows), str(digest)) for name, rows, digest in document["files"]
        )
        counts = read(document["counts"])
        built = document["built"]
        if not isinstance(counts, dict) or not (built is None or isinstance(built, dict)):
            raise TypeError
        return CountFile(
            str(document["mechanism"]),
            int(document["users"]),
            str(document["unit"]),
            str(document["question"]),
            files,
            counts,
            built,
        )
    except (KeyError, TypeError, ValueError):
        raise DataError(path, "is damaged: a part is missing", AGAIN) from None


def note_files(found: CountFile, path: str, copies: Copies) -> None:
    """Note the files that were counted in another one; refuse what was counted before."""
    for file in found.files:
        copies.add(file, inside=path)


def merged(paths: Sequence[str], identical: bool, mechanism: Mechanism | None = None) -> CountFile:
    """Return the counts of several count files together.

    Parameters
    ----------
    paths : sequence of str
    identical : bool
        Whether files that were counted in two of them are meant twice.
    mechanism : Mechanism, optional
        Theirs; only needed where it is too large to be inside.
    """
    found = [(path, load_counts(path)) for path in paths]
    first, one = found[0]
    for path, other in found:
        if other.survey_digest != one.survey_digest:
            what = f"counts reports of another mechanism or survey than {first}"
            raise DataError(path, what + _surveys(other, one), "merge those of one")
        if other.question.casefold() != one.question.casefold():
            what = f"counts the column '{other.question}', {first} '{one.question}'"
            raise DataError(path, what, "merge counts of one column")
    copies = Copies(identical)
    for path, other in found:
        note_files(other, path, copies)
    own = _mechanism(found, mechanism)
    server = new_server(own)
    for path, other in found:
        server.take(other.source(path), None)
    return count_file_of(server, copies.files, own)


def _surveys(*files: CountFile) -> str:
    """Return the surveys of files, in brackets, where they say whose they are."""
    found = [About.from_json(file.counts["survey"]).survey for file in files if "survey" in file.counts]
    return f" ({', and '.join(found)})" if found else ""


def _mechanism(found: Sequence[tuple[str, CountFile]], value: Mechanism | None) -> Mechanism:
    if value is not None:
        return value
    for path, one in found:
        if one.mechanism is not None:
            return mechanism_of(one.mechanism, path)
    raise DataError(
        found[0][0], "its mechanism is too large to be inside", "name the mechanism file with --mechanism"
    )


def _digest(document: dict[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
