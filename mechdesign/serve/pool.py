"""Reports in random places of one file, and marks of used tokens in another: what the disk knows.

Statement. Let n reports be on the disk and u tokens be marked. The bytes of the two files are a function of
the set of reports, of the set of marked tokens, and of random numbers that depend on neither: which of the n
reports came with which of the u tokens, and in which order they came, is nowhere in them. This holds after
every system call, so also after a kill at any moment.

Proof sketch. Both files have their full size from the start, and are written in place: no journal, no log.
A report is a record of fixed size with a checksum, a key, and the rows. Its place is drawn uniformly among
the free ones, so given the set of reports every order of arrival has the same probability. Its key is a
digest of a random number of 128 bits that the page draws, and of the token; the number is not on the disk,
so the key is a random string for everybody else. The marks are a list sorted by the digests of the tokens: a
mark is one byte at a place that is fixed before anybody answers. A group of reports is written and
synchronized first, then the marks of its tokens, then the answers go out. Nothing needs both in one
transaction: a page whose answer was lost sends the same number again, its key is recognized, and the report
counts once. The times of the last change of both files are set to the day.

Not hidden: the two sets themselves (with one report and one mark there is nothing to choose from), and
anything from somebody who copies the files again and again, or watches the running machine.

When a file has to be written again, because tokens are added or it is full, all reports get new random
places, and the bytes of the old file are overwritten before it is left.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from io import FileIO
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

from mechdesign.core.errors import DataError

FORMAT, VERSION = "mechdesign-reports", 1
HEAD = 512
"""Bytes before the first place."""
SMALLEST = 256
FEWEST = 1024
"""Places of a file, at least: the file is written again when they are full."""
SPARE = 256
"""Places beyond one for each token: reports whose token has no mark, as the server was ended before."""
DIGEST, KEY, LENGTH = 16, 16, 4
BEFORE = DIGEST + KEY + LENGTH
"""Bytes of a place before its report: a checksum, its key, the length."""
MARK = 65
"""Where the mark of a token stands in its line: after 64 digits and a space."""
LINE = MARK + 2
MARKS = re.compile(rb"(?:[0-9a-f]{64} [+-]\n)*")
PIECE = 1 << 20
PAUSE = 1.0
"""Seconds after which what failed for lack of room is tried again, and said again."""

STORED, UNKNOWN, CONFLICT, FAILED = 204, 403, 409, 500
"""What a report is answered with."""

Rows = list[dict[str, Any]]


@dataclass
class Post:
    """A report that waits to be written.

    Attributes
    ----------
    name : str, optional
        The digest of its token; None where the survey has no tokens.
    text : bytes
    key : bytes
        What its token and the number of its page give together.
    status : Future
        Of what it is answered with.
    """

    name: str | None
    text: bytes
    key: bytes
    status: Future[int] = field(default_factory=Future)


class ReportPool:
    """The reports and the tokens of a survey in a folder.

    Parameters
    ----------
    folder : Path
        That is there, for its owner alone, and used by one process.
    survey : str
        A digest of the survey; files of another one are refused.
    after : callable, optional
        Called with the day and the number of reports after each group that was written.
    """

    def __init__(self, folder: Path, survey: str, after: Callable[[date, int], None] | None = None) -> None:
        self.folder, self.survey, self._after = folder, survey, after
        self.reports, self.tokens = folder / "reports.bin", folder / "used_tokens.txt"
        self._waiting: SimpleQueue[Post | None] = SimpleQueue()
        self._guard = threading.RLock()
        self._file: FileIO | None = None
        self._marks: FileIO | None = None
        self._sound = False
        self._silent_until = self._no_room_until = 0.0
        self.last_day = self._day_of_files()
        for path in (
            self.reports,
            self.tokens,
        ):  # a server that was killed has perhaps left them as they were
            hide_time(path, self.last_day)
        for part in folder.glob("*.part"):
            overwrite(part)
        try:
            self._open_marks()
            self._open_reports()
        except OSError as error:
            raise DataError(
                folder, f"cannot be written ({error.strerror})", "make room on the disk"
            ) from None
        self._writer = threading.Thread(target=self._write_groups, daemon=True)
        self._writer.start()

    # Files

    def _open_marks(self) -> None:
        """Read which tokens there are and which were used, and open their file."""
        text = self.tokens.read_bytes() if self.tokens.exists() else b""
        if not MARKS.fullmatch(text):
            raise DataError(self.tokens, "is damaged", "take it from a copy of the folder")
        names = [line[:64].decode() for line in text.splitlines()]
        self._used = {name: text[place * LINE + MARK] == ord("+") for place, name in enumerate(names)}
        self._line = {name: place * LINE for place, name in enumerate(names)}
        if self._marks is not None:
            self._marks.close()
        self._marks = self.tokens.open("r+b", buffering=0) if names else None

    def _open_reports(self) -> None:
        """Open the file of reports where it stands, or make it: what is there keeps its places."""
        places = max(FEWEST, len(self._used) + SPARE)
        if not self.reports.exists():
            self._write_again(SMALLEST, places)
            return
        head = _head_of(self.reports)
        if head["survey"] != self.survey:
            what = "holds reports of another mechanism or survey"
            raise DataError(self.folder, what, "give another --folder")
        self._size = head["size"]
        self._places = (self.reports.stat().st_size - HEAD) // self._size
        self._file = self.reports.open("r+b", buffering=0)
        self._digests, self._free = {}, []
        for place, key, text in self._scan():
            if key is None:
                self._free.append(place)
            else:
                self._digests[key] = _digest(text)
        self._sound = True
        if len(self._digests) + len(self._free) < len(self._used) + SPARE // 2:
            self._write_again(self._size, places)

    def _scan(self) -> Iterator[tuple[int, bytes | None, bytes]]:
        """Yield place, key and text of each record; the key is None for a free place or a torn record."""
        if not self.reports.exists():
            return
        size = _head_of(self.reports)["size"]
        with self.reports.open("rb") as stream:
            stream.seek(HEAD)
            place = 0
            while record := stream.read(size):
                length = int.from_bytes(record[DIGEST + KEY : BEFORE], "big")
                key, text = record[DIGEST : DIGEST + KEY], record[BEFORE : BEFORE + length]
                is_whole = bool(length) and record == _record(key, text, size)
                yield place, key if is_whole else None, text
                place += 1

    def _write_again(self, size: int, places: int) -> None:
        """Write the file of reports with places of this size, all reports in new random ones."""
        records = {key: text for _, key, text in self._scan() if key is not None}
        longest = max((len(text) for text in records.values()), default=0)
        while size < BEFORE + longest:
            size *= 2
        places = max(places, 2 * len(records))
        order = secrets.SystemRandom().sample(range(places), len(records))
        head = {"format": FORMAT, "version": VERSION, "survey": self.survey, "size": size}
        part = self.reports.with_suffix(".part")
        with _whole_part(part) as stream:
            stream.write(json.dumps(head).encode().ljust(HEAD))
            for _ in range(0, places * size, PIECE):  # in full, so that a full disk shows now and not later
                stream.write(bytes(min(PIECE, HEAD + places * size - stream.tell())))
            for place, (key, text) in sorted(zip(order, records.items(), strict=True)):
                stream.seek(HEAD + place * size)
                stream.write(_record(key, text, size))
        self._sound = False  # until the new file is open: where the disk is full we do not come here
        if self._file is not None:
            self._file.close()
        self._put(part, self.reports)
        self._file = self.reports.open("r+b", buffering=0)
        self._size, self._places = size, places
        self._digests = {key: _digest(text) for key, text in records.items()}
        self._free = sorted(set(range(places)) - set(order))
        self._sound = True

    def _put(self, part: Path, path: Path) -> None:
        """Let a file appear whole, and overwrite the bytes of the one that it replaces."""
        with ExitStack() as stack:
            old = stack.enter_context(path.open("r+b")) if path.exists() else None
            os.replace(part, path)
            sync_folder(self.folder)
            if old is not None:
                _clear(old)
        self._hide_time()
        hide_time(self.folder)

    def _day_of_files(self) -> date:
        """Return the day of the last report, as far as the files say it."""
        with suppress(OSError, ValueError):
            return min(date.fromtimestamp(self.reports.stat().st_mtime), date.today())
        return date.today()

    def _hide_time(self) -> None:
        """Set the times of the files to the beginning of the day."""
        self.last_day = date.today()
        hide_time(self.reports)
        hide_time(self.tokens)

    def add_tokens(self, tokens: Iterable[str]) -> None:
        """Let reports with these tokens in, from now on; they are kept as digests."""
        with self._guard:
            marks = dict.fromkeys(map(_hashed, tokens), False) | self._used
            lines = "".join(f"{name} {'-+'[is_used]}\n" for name, is_used in sorted(marks.items()))
            if len(self._free) + len(self._digests) < len(marks) + SPARE // 2:
                self._write_again(self._size, len(marks) + SPARE)
            part = self.tokens.with_suffix(".part")
            with _whole_part(part) as stream:
                stream.write(lines.encode())
            if self._marks is not None:
                self._marks.close()
                self._marks = None
            self._put(part, self.tokens)
            self._open_marks()

    def close(self) -> None:
        """Write what waits, and close the files."""
        if self._writer.is_alive():
            self._waiting.put(None)
            self._writer.join()
        for file in (self._file, self._marks):
            if file is not None:
                file.close()

    # Take reports

    def take(self, token: str | None, rows: Rows, number: bytes) -> int:
        """Store a report, and return what it is answered with.

        Parameters
        ----------
        token : str, optional
            None where the survey has no tokens.
        rows : list of dict
        number : bytes
            The random number of the page: what is sent again with it is stored once.

        Returns
        -------
        int
            204 once it is on the disk, and also for the same report with the same number and token; 403 for
            an unknown token; 409 for a used one, or another report with the same number; 500 if it cannot be
            stored.
        """
        return self.post(token, rows, number).result()

    def post(self, token: str | None, rows: Rows, number: bytes) -> Future[int]:
        """Return what will be the answer of :meth:`take`, without waiting for the disk."""
        text = json.dumps(rows, sort_keys=True).encode()
        name = None if token is None else _hashed(token)
        post = Post(name, text, _key(token or "", number))
        self._waiting.put(post)
        return post.status

    def _write_groups(self) -> None:
        """Write what waits, a group at a time: while one is written, the next gathers."""
        while True:
            group = [self._waiting.get()]
            with suppress(Empty):
                while True:
                    group.append(self._waiting.get_nowait())
            posts = [post for post in group if post is not None]
            try:
                with self._guard:
                    self._write_sound(posts)
            except Exception as error:  # whatever it is, the next group is written
                self._sound = False
                for post in posts:
                    if not post.status.done():
                        self._fail(post, error)
            if len(posts) < len(group):
                return

    def _write_sound(self, posts: list[Post]) -> None:
        if not self._sound:
            self._write_again(self._size, self._places)
        self._write(posts)
        self._hide_time()
        if self._after is not None:
            try:
                self._after(self.last_day, len(self._digests))
            except Exception as error:  # the reports are stored and answered
                print(f"the number of reports was not noted: {error}", file=sys.stderr, flush=True)

    def _write(self, group: list[Post]) -> None:
        """Write the reports, then the marks of their tokens, then answer."""
        fresh, again = self._sorted(group)
        stored = [post for post in fresh if self._fill(post)]
        assert self._file is not None
        os.fsync(self._file)
        again = [post for post in again if post.key in self._digests]  # not those of a report that failed
        accepted = [*stored, *again]
        self._mark({post.name for post in accepted if post.name is not None})
        for post in accepted:
            post.status.set_result(STORED)
        for post in group:
            if not post.status.done():
                post.status.set_result(FAILED)

    def _mark(self, names: set[str]) -> None:
        """Mark tokens as used, in the order of their places."""
        if not names:
            return
        assert self._marks is not None
        for name in sorted(names):
            self._marks.seek(self._line[name] + MARK)
            self._marks.write(b"+")
        os.fsync(self._marks)
        self._used.update(dict.fromkeys(names, True))

    def _sorted(self, group: list[Post]) -> tuple[list[Post], list[Post]]:
        """Return the reports that are new and those that are sent again, and answer the others."""
        fresh: dict[bytes, Post] = {}
        again: list[Post] = []
        names: set[str] = set()
        for post in group:
            first = fresh.get(post.key)
            is_used = post.name is not None and (self._used.get(post.name, False) or post.name in names)
            if post.name is not None and post.name not in self._used:
                post.status.set_result(UNKNOWN)
            elif (first and first.text == post.text) or self._digests.get(post.key) == _digest(post.text):
                again.append(post)
            elif first or post.key in self._digests or is_used:
                post.status.set_result(CONFLICT)
            else:
                fresh[post.key] = post
                names.add(post.name or "")
        return list(fresh.values()), again

    def _fill(self, post: Post) -> bool:
        """Write a report to a free place drawn at random; answer 500 where the file cannot grow for it."""
        if not self._free or len(post.text) > self._size - BEFORE:
            is_long = len(post.text) > self._size - BEFORE
            size = 2 * (BEFORE + len(post.text)) if is_long else self._size
            if time.monotonic() < self._no_room_until:
                post.status.set_result(FAILED)
                return False
            try:
                self._write_again(size, self._places if is_long and self._free else 2 * self._places)
            except OSError as error:
                if not self._sound:
                    raise
                self._no_room_until = time.monotonic() + PAUSE
                self._fail(post, error)
                return False
        at = secrets.randbelow(len(self._free))
        self._free[at], self._free[-1] = self._free[-1], self._free[at]
        place = self._free.pop()
        record = _record(post.key, post.text, self._size)
        assert self._file is not None
        self._file.seek(HEAD + place * self._size)
        if self._file.write(record) != len(record):
            raise OSError(f"{self.reports}: a report was written in part")
        self._digests[post.key] = _digest(post.text)
        return True

    def _fail(self, post: Post, error: Exception) -> None:
        """Answer a report that is not stored, whose page sends it again later; a line a second at most."""
        if time.monotonic() >= self._silent_until:
            print(f"a report was not stored: {error}", file=sys.stderr, flush=True)
            self._silent_until = time.monotonic() + PAUSE
        post.status.set_result(FAILED)

    # Read

    @property
    def count(self) -> int:
        """Number of reports."""
        return len(self._digests)

    @property
    def token_count(self) -> int:
        """Number of tokens."""
        return len(self._used)

    @property
    def used_count(self) -> int:
        """Number of tokens that were used."""
        return sum(self._used.values())

    def messages(self) -> list[Rows]:
        """Return the rows of each report, in random order."""
        with self._guard:
            texts = [text for _, key, text in self._scan() if key is not None]
        secrets.SystemRandom().shuffle(texts)
        return [json.loads(text) for text in texts]


def sync_folder(folder: Path) -> None:
    """See to it that the names in a folder are on the disk, where folders can be synchronized."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def overwrite(path: Path) -> None:
    """Overwrite the bytes of a file, and remove it."""
    with path.open("r+b") as stream:
        _clear(stream)
    path.unlink()


def hide_time(path: Path, day: date | None = None) -> None:
    """Set the times of a file, which are those of the last report, to the beginning of a day, or of today."""
    begin = datetime.combine(day or date.today(), datetime.min.time()).timestamp()
    with suppress(OSError):
        os.utime(path, (begin, begin))


def _head_of(path: Path) -> dict[str, Any]:
    """Return the head of a file of reports; DataError for what is damaged."""
    head: Any = None
    with path.open("rb") as file, suppress(ValueError, RecursionError):
        head = json.loads(file.read(HEAD))
    if (
        not isinstance(head, dict)
        or (head.get("format"), head.get("version")) != (FORMAT, VERSION)
        or not isinstance(head.get("survey"), str)
        or type(head.get("size")) is not int
        or head["size"] < SMALLEST
        or (path.stat().st_size - HEAD) % head["size"]
    ):
        raise DataError(path, "is damaged", "take it from a copy of the folder")
    return head


@contextmanager
def _whole_part(path: Path) -> Iterator[BinaryIO]:
    """Give a new file, for its owner alone, that is on the disk in the end; nothing stays if that fails."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            yield stream
            stream.flush()
            os.fsync(descriptor)
    except OSError:
        path.unlink()
        raise


def _clear(stream: BinaryIO) -> None:
    """Overwrite the bytes of a file that is left, so that its blocks say nothing to who finds them later."""
    with suppress(OSError):  # a disk that is read-only, or broken
        size = os.fstat(stream.fileno()).st_size
        stream.seek(0)
        for start in range(0, size, PIECE):
            stream.write(bytes(min(PIECE, size - start)))
        stream.flush()
        os.fsync(stream.fileno())


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:16]


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
