"""What the server keeps: reports in random places of one file, and which tokens were used in another one.

Both files have their full size from the start, and everything is written in its place: no journal, no log, no
order. A report fills a place drawn at random, and then the token's mark is set; nothing that is written
depends on both. A page that sends again after a failure is recognized by a digest of its token and of a
random number that it sent with its report. That number is not kept, so the digest leads to nobody.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
import threading
from collections import Counter
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from mechdesign.core.errors import DataError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows: take care yourself that one server runs
    flock = None  # type: ignore[assignment]

FORMAT, VERSION = "mechdesign-reports", 1
HEAD = 512
"""Bytes before the first place."""
SMALLEST = 256
DIGEST, KEY, LENGTH = 16, 16, 4
BEFORE = DIGEST + KEY + LENGTH
"""Bytes of a place before its report: a checksum, its key, the length."""
MARK = 65
"""Where the mark of a token stands in its line: after 64 digits and a space."""
MARKS = re.compile(rb"(?:[0-9a-f]{64} [+-]\n)*")


@dataclass
class Post:
    """A report that waits to be written."""

    name: str
    """The digest of its token."""
    text: bytes
    key: bytes
    """What its token and the number of its page give together."""
    status: Future[int] = field(default_factory=Future)


class Store:
    """Reports and tokens in a folder; what was answered with 204 survives any crash."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reports, self.tokens = folder / "reports.bin", folder / "used_tokens.txt"
        self.waiting: SimpleQueue[Post] = SimpleQueue()
        self.file: FileIO | None = None
        self.sound = False

    # Begin

    def open(self, survey: str, tokens: list[str]) -> None:
        """Begin a survey, named by a digest, or go on with it; a folder of another survey is refused."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            os.chmod(self.folder, 0o700)
        except OSError as error:
            what = f"cannot be used as a folder ({error.strerror})"
            raise DataError(self.folder, what, "make the folder above it, or give another --folder") from None
        self._lock()
        for part in self.folder.glob("*.part"):
            part.unlink()
        if self.reports.exists() and self._head()["survey"] != survey:
            what = "holds reports of another mechanism or survey"
            raise DataError(self.folder, what, "give another --folder")
        used = {name: mark for name, mark in self._used().items() if mark == "+"}
        marks = {_hashed(token): "-" for token in tokens} | used  # a token that is not listed answers no more
        lines = "".join(f"{name} {mark}\n" for name, mark in sorted(marks.items()))
        self._put(self._part(self.tokens, lines.encode()), self.tokens)
        self.used = {name: mark == "+" for name, mark in marks.items()}
        self.line = {name: place * (MARK + 2) for place, name in enumerate(sorted(marks))}
        self.marks = self.tokens.open("r+b", buffering=0)
        self._refill(survey, SMALLEST, len(marks) + 1)
        threading.Thread(target=self._write_groups, daemon=True).start()

    def _lock(self) -> None:
        """Hold the folder as long as this process lives."""
        self.lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        if flock is not None:
            try:
                flock(self.lock, LOCK_EX | LOCK_NB)
            except OSError:
                raise DataError(self.folder, "another server uses it", "end that one first") from None

    def _used(self) -> dict[str, str]:
        """Return the mark of every token: + for one that was used."""
        if not self.tokens.exists():
            return {}
        text = self.tokens.read_bytes()
        if not MARKS.fullmatch(text):
            raise DataError(self.tokens, "is damaged", "take it from a copy of the folder")
        return dict(line.split() for line in text.decode().splitlines())

    def _head(self) -> dict[str, Any]:
        head: Any = None
        with self.reports.open("rb") as file, suppress(ValueError, RecursionError):
            head = json.loads(file.read(HEAD))
        if (
            not isinstance(head, dict)
            or (head.get("format"), head.get("version")) != (FORMAT, VERSION)
            or not isinstance(head.get("survey"), str)
            or type(head.get("size")) is not int
            or head["size"] < SMALLEST
            or (self.reports.stat().st_size - HEAD) % head["size"]
        ):
            raise DataError(self.reports, "is damaged", "take it from a copy of the folder")
        return head

    def _refill(self, survey: str, size: int, places: int) -> None:
        """Write the file of reports with places of this size, all reports in new random ones."""
        records = self._records()
        longest = max((len(text) for text in records.values()), default=0)
        while size < BEFORE + longest:
            size *= 2
        places = max(places, 2 * len(records), 16)
        order = secrets.SystemRandom().sample(range(places), len(records))
        body = bytearray(places * size)
        for place, (key, text) in zip(order, records.items(), strict=True):
            body[place * size : (place + 1) * size] = _record(key, text, size)
        head = {"format": FORMAT, "version": VERSION, "survey": survey, "size": size}
        part = self._part(self.reports, json.dumps(head).encode().ljust(HEAD) + body)
        self.sound = False  # until the new file is open: where the disk is full we do not come here
        if self.file is not None:
            self.file.close()
        self._put(part, self.reports)
        self.file = self.reports.open("r+b", buffering=0)
        self.survey, self.size, self.places = survey, size, places
        self.texts = {key: _digest(text) for key, text in records.items()}
        self.free = sorted(set(range(places)) - set(order))
        self.sound = True

    def _part(self, path: Path, content: bytes | bytearray) -> Path:
        """Write what will be a file, for its owner alone; nothing of it stays if it cannot be written."""
        part = path.with_suffix(".part")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            part.unlink()
            raise
        return part

    def _put(self, part: Path, path: Path) -> None:
        """Let a file appear whole."""
        os.replace(part, path)
        with suppress(OSError):  # folders cannot be synchronized everywhere
            folder = os.open(self.folder, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    # Take reports

    def take(self, token: str, rows: list[dict[str, Any]], number: bytes | None = None) -> int:
        """Keep a report and return 204; 403 for an unknown token, 409 for a used one, 500 if it is not kept.

        ``number`` is the random number of the page: the same report that is sent again with the same token
        is kept once, and another report with both is answered with 409.
        """
        text = json.dumps(rows, sort_keys=True).encode()
        key = _key(token, number) if number else secrets.token_bytes(KEY)
        post = Post(_hashed(token), text, key)
        self.waiting.put(post)
        return post.status.result()

    def _write_groups(self) -> None:
        """Write what waits, a group at a time: while one is written, the next gathers."""
        while True:
            group = [self.waiting.get()]
            with suppress(Empty):
                while True:
                    group.append(self.waiting.get_nowait())
            try:
                if not self.sound:
                    self._refill(self.survey, self.size, self.places)
                self._write(group)
            except Exception as error:  # whatever it is, the next group is written
                self.sound = False
                for post in group:
                    if not post.status.done():
                        _fail(post, error)

    def _write(self, group: list[Post]) -> None:
        """Write the reports, then the marks of their tokens, then answer."""
        fresh, again = self._sorted(group)
        stored = [post for post in fresh if self._filled(post)]
        assert self.file is not None
        os.fsync(self.file)
        again = [post for post in again if post.key in self.texts]  # not those of a report that failed
        accepted = [*stored, *again]
        for name in {post.name for post in accepted}:
            self.marks.seek(self.line[name] + MARK)
            self.marks.write(b"+")
        os.fsync(self.marks)
        for post in accepted:
            self.used[post.name] = True
            post.status.set_result(204)
        for post in group:
            if not post.status.done():
                post.status.set_result(500)

    def _sorted(self, group: list[Post]) -> tuple[list[Post], list[Post]]:
        """Return the reports that are new and those that are sent again, and answer the others."""
        fresh: dict[bytes, Post] = {}
        again: list[Post] = []
        names: set[str] = set()
        for post in group:
            first = fresh.get(post.key)
            if post.name not in self.used:
                post.status.set_result(403)
            elif (first and first.text == post.text) or self.texts.get(post.key) == _digest(post.text):
                again.append(post)
            elif first or post.key in self.texts or self.used[post.name] or post.name in names:
                post.status.set_result(409)
            else:
                fresh[post.key] = post
                names.add(post.name)
        return list(fresh.values()), again

    def _filled(self, post: Post) -> bool:
        """Write a report to a free place drawn at random; answer 500 where the file cannot grow for it."""
        if not self.free or len(post.text) > self.size - BEFORE:
            size = self.size if len(post.text) <= self.size - BEFORE else 2 * (BEFORE + len(post.text))
            try:
                self._refill(self.survey, size, 2 * self.places)
            except OSError as error:
                if not self.sound:
                    raise
                _fail(post, error)
                return False
        at = secrets.randbelow(len(self.free))
        self.free[at], self.free[-1] = self.free[-1], self.free[at]
        place = self.free.pop()
        record = _record(post.key, post.text, self.size)
        assert self.file is not None
        self.file.seek(HEAD + place * self.size)
        if self.file.write(record) != len(record):
            raise OSError(f"{self.reports}: a report was written in part")
        self.texts[post.key] = _digest(post.text)
        return True

    # Read

    def _records(self) -> dict[bytes, bytes]:
        """Return the reports by their keys, in the order of their places; a torn one was not answered."""
        if not self.reports.exists():
            return {}
        size, content = self._head()["size"], self.reports.read_bytes()
        records = {}
        for start in range(HEAD, len(content), size):
            record = content[start : start + size]
            length = int.from_bytes(record[DIGEST + KEY : BEFORE], "big")
            key, text = record[DIGEST : DIGEST + KEY], record[BEFORE : BEFORE + length]
            if length and record == _record(key, text, size):
                records[key] = text
        return records

    def lines(self) -> list[str]:
        """Return the rows of all reports as JSON lines; those of one report follow one another."""
        return [json.dumps(row) for text in self._records().values() for row in json.loads(text)]

    def counts(self) -> dict[str, int]:
        """Return how often each report was made."""
        return dict(sorted(Counter(text.decode() for text in self._records().values()).items()))


def _fail(post: Post, error: Exception) -> None:
    """Answer a report that is not kept: its page sends it again later."""
    print(f"a report was not stored: {error}", file=sys.stderr, flush=True)
    post.status.set_result(500)


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def _record(key: bytes, text: bytes, size: int) -> bytes:
    """Return what stands in a place: checksum, key, length, report."""
    body = key + len(text).to_bytes(LENGTH, "big") + text
    return (hashlib.sha256(body).digest()[:DIGEST] + body).ljust(size, b"\0")


def _key(token: str, number: bytes) -> bytes:
    """Return by what a report is recognized: only who knows its token and its number can tell it."""
    return hashlib.sha256(number + token.encode()).digest()[:KEY]


def _hashed(token: str) -> str:
    """Return what is kept of a token: who reads the file cannot answer with it."""
    return hashlib.sha256(token.encode()).hexdigest()
