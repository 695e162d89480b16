"""The folder on the disk: several surveys, each with its draft, settings, mechanism, tokens and reports."""

from __future__ import annotations

import importlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from mechdesign.collect.base import Mechanism, load_mechanism
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    ParameterError,
    UnknownNameError,
    counted,
    suggestion,
)
from mechdesign.core.values import changed
from mechdesign.data.about import text_line
from mechdesign.export.page import require_page
from mechdesign.serve.draft import wave_draft
from mechdesign.serve.pool import ReportPool, Rows, hide_time, overwrite, sync_folder
from mechdesign.serve.settings import SLUG, CollectionSettings, Tokens, free_slug, require_draft, title_of
from mechdesign.survey import Survey
from mechdesign.work.files import whole_file

fcntl: Any = None  # Windows has none: take care yourself that one server runs
with suppress(ImportError):
    fcntl = importlib.import_module("fcntl")

MOST_SURVEYS = 1000
NEW = "new"
"""The state of a draft that is called after its title, whenever that changes, until it is built."""
BEFORE = (NEW, "draft", "built")
"""The states before collecting."""
DAY_NOTED = 1.0
"""Seconds between two notes of how many reports there are, at least."""

TABLES = """
CREATE TABLE IF NOT EXISTS surveys (
    slug TEXT PRIMARY KEY, draft TEXT NOT NULL, settings TEXT NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS days (
    slug TEXT NOT NULL, day TEXT NOT NULL, total INTEGER NOT NULL, PRIMARY KEY (slug, day)
) WITHOUT ROWID;
"""
"""The database: what the owner typed, and how many reports there were at the end of each day."""


class Place:
    r"""A folder with several surveys, used by one process at a time.

    Parameters
    ----------
    folder : path
        Made where it is not there; for its owner alone.
    url : str
        The public address of respondents' pages, for surveys that state none.

    Raises
    ------
    DataError
        For what cannot be used as a folder, or is used by another server.

    Examples
    --------
    >>> import tempfile
    >>> with Place(tempfile.mkdtemp()) as place:
    ...     survey = place.new('[survey]\ntitle = "Mood"')
    ...     survey.slug, survey.state, survey.settings.least
    ('mood', 'draft', 50)
    """

    def __init__(self, folder: str | os.PathLike[str], url: str = "") -> None:
        self.folder, self.url = Path(folder), url
        CollectionSettings(url=url)
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            os.chmod(self.folder, 0o700)
            self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            what = f"cannot be used as a folder ({error.strerror})"
            raise DataError(self.folder, what, "make the folder above it, or give another --folder") from None
        self._require_alone()
        for path in self.folder.glob("open-*.html"):  # of a server that was killed: it has its key
            path.unlink()
        self._guard = threading.RLock()
        self._surveys: dict[str, ServedSurvey] = {}
        self._former: dict[str, str] = {}  # what drafts were called before, for pages that are open
        path = self._path = self.folder / "surveys.sqlite"
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._base = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        try:
            self._base.execute("PRAGMA secure_delete = ON")
            self._base.executescript(TABLES)
        except sqlite3.Error as error:
            self._base.close()
            os.close(self._lock)
            raise DataError(path, f"cannot be used ({error})", "take it from a copy of the folder") from None

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _require_alone(self) -> None:
        """Hold the folder as long as this process lives."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise DataError(self.folder, "another server uses it", "end that one first") from None

    def close(self) -> None:
        """Write what waits, and leave the folder to others."""
        for survey in self._surveys.values():
            survey.close()
        self._base.close()
        os.close(self._lock)

    @contextmanager
    def base(self) -> Iterator[sqlite3.Connection]:
        """Give the database for one transaction; DataError where the disk is full."""
        with self._guard:
            try:
                self._base.execute("BEGIN IMMEDIATE")
                yield self._base
                self._base.execute("COMMIT")
            except sqlite3.OperationalError as error:
                raise DataError(
                    self.folder, f"cannot be written ({error})", "make room on the disk"
                ) from None
            finally:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
            hide_time(self._path)
            hide_time(self.folder)

    def rows(self, query: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query that changes nothing."""
        with self._guard:
            return self._base.execute(query, values).fetchall()

    def surveys(self) -> list[ServedSurvey]:
        """Return all surveys, by their slugs."""
        return [self.survey(slug) for (slug,) in self.rows("SELECT slug FROM surveys ORDER BY slug")]

    def survey(self, slug: str) -> ServedSurvey:
        """Return a survey by its slug; UnknownNameError where there is none."""
        with self._guard:
            slug = self._former.get(slug, slug)
            if slug not in self._surveys:
                known = self._known()
                if slug not in known:
                    raise UnknownNameError(
                        "survey", f"unknown survey '{slug:.60}'; {suggestion(slug, known)}"
                    )
                self._surveys[slug] = ServedSurvey(self, slug)
            return self._surveys[slug]

    def new(self, toml_text: str = "", slug: str = "") -> ServedSurvey:
        """Return a new survey with a draft; its slug is made of the title where none is given.

        Raises
        ------
        ParameterError
            For a slug that cannot be part of an address, or is there already.
        """
        require_draft(toml_text)
        with self._guard:
            known, title = self._known(), title_of(toml_text)
            name = slug or free_slug(title, {*known, *self._former, *self._names()})
            if not SLUG.fullmatch(name):
                what = f"'{name:.60}' is not made of a to z, 0 to 9 and -"
                raise ParameterError("slug", what, "choose another")
            if name in known or (self.folder / name).is_file():
                raise ParameterError("slug", f"'{name}' is there already", "choose another")
            if len(known) >= MOST_SURVEYS:
                raise ParameterError("survey", f"there are {MOST_SURVEYS}", "use another --folder")
            self._former.pop(name, None)
            state = "draft" if slug or title else NEW
            with self.base() as base:
                base.execute("INSERT INTO surveys VALUES (?, ?, ?, ?)", [name, toml_text, "{}", state])
            return self.survey(name)

    def _known(self) -> list[str]:
        """Return the slugs of all surveys."""
        return [str(name) for (name,) in self.rows("SELECT slug FROM surveys")]

    def _names(self) -> list[str]:
        """Return the names in the folder, of surveys and of everything else."""
        return [path.name for path in self.folder.iterdir()]

    def rename(self, survey: ServedSurvey, title: str) -> None:
        """Call a draft after a title; pages that are open find it by its former slug, too."""
        with self._guard:
            own = survey.slug
            others = {name for name, now in self._former.items() if now != own}
            slug = free_slug(title, {*self._known(), *others, *self._names()} - {own})
            if slug == own:
                return
            with self.base() as base:
                base.execute("UPDATE surveys SET slug = ? WHERE slug = ?", [slug, own])
            survey.move(slug)
            self._surveys[slug] = self._surveys.pop(own)
            former = {name: slug if now == own else now for name, now in self._former.items()}
            self._former = {name: now for name, now in {**former, own: slug}.items() if name != slug}

    def adopt(self, mechanism: Mechanism, slug: str = "") -> ServedSurvey:
        """Return a new survey of a mechanism that was built elsewhere; MethodError where it has no page."""
        require_page(mechanism)
        survey = self.new("", slug or free_slug(mechanism.about.title, {s.slug for s in self.surveys()}))
        survey.use(mechanism)
        return survey

    def next_wave(self, slug: str, name: str) -> ServedSurvey:
        """Return a new survey that is the next wave of a built one: with its questions and settings.

        Raises
        ------
        ParameterError
            For a survey that is not built, and for a name that is none, or that an earlier wave has.
        """
        before = self.survey(slug)
        if before.mechanism is None:
            raise ParameterError(slug, "is not built", "build it first")
        mechanism = Survey(before.mechanism).wave(text_line("wave", name)).mechanism
        with self._guard:
            known = {survey.slug for survey in self.surveys()}
            following = self.new(wave_draft(before.draft, name), free_slug(f"{slug} {name}", known))
            following.use(mechanism)
            following.change(**{**asdict(before.settings), "stop": ""})
            return following

    def remove(self, slug: str, typed: str = "") -> None:
        """Remove a survey, and overwrite its files; one with reports only where its name was typed as well.

        Raises
        ------
        ParameterError
            While it collects, or where the name is another one.
        """
        survey = self.survey(slug)
        slug = survey.slug
        with self._guard:
            if survey.state == "collecting":
                raise ParameterError(slug, "is collecting", "end collecting first")
            if survey.count and typed != slug:
                what = f"has {counted(survey.count, 'report')}, and '{typed:.60}' is not its name"
                raise ParameterError(slug, what, f"type {slug}")
            survey.close()
            with self.base() as base:
                base.execute("DELETE FROM days WHERE slug = ?", [slug])
                base.execute("DELETE FROM surveys WHERE slug = ?", [slug])
            for path in survey.folder.iterdir():
                overwrite(path)
            survey.folder.rmdir()
            del self._surveys[slug]


class ServedSurvey:
    """A survey of a place: draft, settings, mechanism, tokens and reports.

    Attributes
    ----------
    slug : str
        Its name in addresses, and that of its folder.
    """

    def __init__(self, place: Place, slug: str) -> None:
        self.place, self.slug = place, slug
        self.folder = place.folder / slug
        self.folder.mkdir(mode=0o700, exist_ok=True)
        sync_folder(place.folder)
        self._guard = threading.RLock()
        query = "SELECT draft, settings, state FROM surveys WHERE slug = ?"
        (row,) = place.rows(query, (slug,))
        self._row = dict(zip(("draft", "settings", "state"), map(str, row), strict=True))
        self._settings = CollectionSettings(**json.loads(self._row["settings"]))
        self._mechanism: Mechanism | None = None
        self._pool: ReportPool | None = None
        self._noted = 0.0
        self._seen: tuple[date, int] | None = None

    def move(self, slug: str) -> None:
        """Use the folder of another slug: of a draft, which has no files of its own yet."""
        with self._guard:
            folder = self.place.folder / slug
            self.folder.rename(folder)
            self.slug, self.folder = slug, folder
            sync_folder(self.place.folder)

    # What was typed

    @property
    def draft(self) -> str:
        """The TOML text that was typed last."""
        return self._row["draft"]

    def save_draft(self, text: str) -> None:
        """Keep what was typed; it is on the disk when this returns."""
        require_draft(text)
        self._write(draft=text)

    def follow_title(self, usual: str = "") -> str:
        """Call a survey that was begun without a name after its title, unless that is the usual one.

        Returns
        -------
        str
            The slug.
        """
        title = title_of(self.draft)
        if self._row["state"] == NEW and title and title != usual:
            self.place.rename(self, title)
        return self.slug

    @property
    def title(self) -> str:
        """The title of the built survey, else of the draft, else the slug."""
        mechanism = self.mechanism
        built = mechanism.about.title if mechanism is not None else ""
        return built or title_of(self.draft) or self.slug

    @property
    def state(self) -> str:
        """``"draft"``, ``"built"``, ``"collecting"`` or ``"ended"``."""
        state = self._row["state"]
        if state == NEW:
            return "draft"
        return "ended" if state == "collecting" and self.settings.is_over else state

    @property
    def settings(self) -> CollectionSettings:
        """What the owner decided."""
        return self._settings

    def change(self, **settings: Any) -> CollectionSettings:
        """Change settings, and return them.

        Raises
        ------
        ParameterError
            For a value that is none, and for ``least`` and ``access`` once collecting has begun.
        """
        unknown = set(settings) - {field.name for field in fields(CollectionSettings)}
        if unknown:
            raise ParameterError("settings", f"unknown setting '{min(unknown)}'", "use those of the page")
        with self._guard:
            before = self.settings
            after = replace(before, **settings)
            if before.least != after.least:
                self._require("began to collect, and its least number of reports is fixed", *BEFORE)
            if before.access != after.access:
                self._require("began to collect, and who may answer is fixed", *BEFORE)
            self._write(settings=json.dumps(asdict(after)))
            return after

    def _write(self, **values: str) -> None:
        """Write some of draft, settings and state to the disk."""
        with self._guard:
            row = {**self._row, **values}
            ordered = [row["draft"], row["settings"], row["state"], self.slug]
            with self.place.base() as base:
                base.execute("UPDATE surveys SET draft = ?, settings = ?, state = ? WHERE slug = ?", ordered)
            self._row = row
            self._settings = CollectionSettings(**json.loads(row["settings"]))

    def _require(self, what: str, *states: str) -> None:
        if self._row["state"] not in states:
            raise ParameterError(self.slug, what, "make a new survey")

    # What was built

    @property
    def mechanism_path(self) -> Path:
        """Where the built survey is."""
        return self.folder / "survey.json"

    @property
    def mechanism(self) -> Mechanism | None:
        """The built mechanism; None until it is built."""
        with self._guard:
            if self._mechanism is None and self.mechanism_path.exists():
                self._mechanism = load_mechanism(self.mechanism_path)
            return self._mechanism

    def build(self) -> Mechanism:
        """Build the draft, and return the mechanism.

        Raises
        ------
        ParameterError
            Once collecting has begun.
        MechDesignError
            For a draft that is not a survey, in one line.
        """
        self._require("began to collect, and its questions are fixed", *BEFORE)
        return self.use(mechanism_of_draft(self.draft, self.folder))

    def use(self, mechanism: Mechanism) -> Mechanism:
        """Collect with a mechanism, in place of the one that was built."""
        with self._guard:
            self._require("began to collect, and its questions are fixed", *BEFORE)
            require_page(mechanism)
            self._require_own_identity(mechanism.about.id)
            if not mechanism.about.id:
                mechanism = mechanism.described(mechanism.about.title, mechanism.about.question)
            mechanism = self._following(mechanism)
            self.close()
            (self.folder / "reports.bin").unlink(missing_ok=True)  # of the former one, without a report
            mechanism.save(self.mechanism_path)
            os.chmod(self.mechanism_path, 0o600)
            self._mechanism = mechanism
            self._write(state="built")
            return mechanism

    def _following(self, mechanism: Mechanism) -> Mechanism:
        """Return a mechanism as the wave that this survey is, where it is built again from its draft."""
        former = self.mechanism
        if former is None or not former.about.earlier or mechanism.about.earlier:
            return mechanism
        wave = mechanism.about.wave or former.about.wave
        if wave in [one.wave for one in former.about.earlier]:
            raise ParameterError("wave", f"'{wave}' is an earlier wave", "give this one another name")
        return mechanism.with_about(changed(mechanism.about, wave=wave, earlier=former.about.earlier))

    def _require_own_identity(self, identity: str) -> None:
        """Raise ParameterError for the identity of another survey: devices would take the two for one."""
        for other in self.place.surveys():
            mechanism = other.mechanism if other is not self and identity else None
            if mechanism is not None and mechanism.about.id == identity:
                what = f"'{identity}' is the identity of the survey '{other.slug}'"
                raise ParameterError("id", what, "omit it in the draft, or write another one")

    # Collecting

    def begin(self) -> None:
        """Begin to take reports, or go on."""
        with self._guard:
            if self.settings.is_over:
                raise ParameterError("last day", f"{self.settings.stop} is past", "choose a later last day")
            self._require("is not built, or collects already", "built", "ended")
            self._open_pool()  # its files take their room now
            self._write(state="collecting")

    def end(self) -> None:
        """Take no more reports."""
        self._require("is not collecting", "collecting")
        self._write(state="ended")

    @property
    def address(self) -> str:
        """The address of the respondents' page; without a public one, its path."""
        return f"{(self.settings.url or self.place.url).rstrip('/')}/s/{self.slug}/"

    @property
    def has_tokens(self) -> bool:
        """Whether a report needs a token."""
        return self.settings.access == "tokens"

    @property
    def pool(self) -> ReportPool:
        """Reports and tokens on the disk, from the first time on that they are needed."""
        return self._open_pool()

    def _open_pool(self) -> ReportPool:
        with self._guard:
            if self._pool is None:
                mechanism = self.mechanism
                if mechanism is None:
                    raise ParameterError(self.slug, "is not built", "build it first")
                self._pool = ReportPool(self.folder, mechanism.survey_digest, self._note)
            return self._pool

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens of its links."""
        return Tokens(self)

    def take(self, token: str, rows: Rows, number: bytes) -> int:
        """Store a report, and return the status that it is answered with; see ``ReportPool.take``."""
        return self.post(token, rows, number).result()

    def post(self, token: str, rows: Rows, number: bytes) -> Future[int]:
        """Return what will be the answer of :meth:`take`, without waiting for the disk."""
        return self.pool.post(token if self.has_tokens else None, rows, number)

    @property
    def has_files(self) -> bool:
        """Whether there may be reports."""
        return self._pool is not None or (self.folder / "reports.bin").exists()

    @property
    def count(self) -> int:
        """Number of reports."""
        return self.pool.count if self.has_files else 0

    @property
    def is_shown(self) -> bool:
        """Whether there are enough reports for results."""
        return self.count >= self.settings.least

    def count_by_day(self) -> dict[str, int]:
        """Return how many reports came on each day, such as ``{"2026-11-28": 12}``."""
        if self.has_files:
            self._note_now(self.pool.last_day, self.count)
        counts, before = {}, 0
        query = "SELECT day, total FROM days WHERE slug = ? ORDER BY day"
        for day, total in self.place.rows(query, (self.slug,)):
            if total > before:
                counts[str(day)] = int(total) - before
            before = int(total)
        return counts

    def _note(self, day: date, total: int) -> None:
        """Note the number of reports, once a second at most: what is not noted now is noted later."""
        if self._seen is not None and self._seen[0] != day:
            self._note_now(*self._seen)
        self._seen = day, total
        if time.monotonic() - self._noted >= DAY_NOTED:
            self._note_now(day, total)

    def _note_now(self, day: date, total: int) -> None:
        """Note the number of reports at the end of a day, unless it is noted already."""
        self._noted = time.monotonic()
        last = self.place.rows("SELECT MAX(total) FROM days WHERE slug = ?", (self.slug,))
        if total > (last[0][0] or 0):
            with self.place.base() as base:
                values = [self.slug, day.isoformat(), total]
                base.execute("INSERT OR REPLACE INTO days VALUES (?, ?, ?)", values)

    def close(self) -> None:
        """Write what waits, and close the files."""
        with self._guard:
            if self._pool is not None:
                self._pool.close()
                with suppress(DataError):  # a full disk: noted at the next start
                    self._note_now(self._pool.last_day, self._pool.count)
                self._pool = None

    # Results

    def reports(self) -> list[Rows]:
        """Return the rows of each report, in random order.

        Raises
        ------
        DataError
            Where there are fewer than the owner's least number.
        """
        if not self.is_shown:
            what = f"has {counted(self.count, 'report')}; results are shown from {self.settings.least} on"
            raise DataError(self.slug, what)
        return self.pool.messages()

    def reports_file(self, path: str | os.PathLike[str]) -> None:
        """Write the reports as JSON lines that ``estimate``, ``count`` and ``merge`` read, in random order.

        Raises
        ------
        DataError
            See :meth:`reports`.
        """
        lines = "".join(f"{json.dumps(row)}\n" for rows in self.reports() for row in rows)
        with whole_file(path, DataError, private=True) as part:
            part.write_text(lines, encoding="utf-8")


def mechanism_of_draft(text: str, folder: Path) -> Mechanism:
    """Return the mechanism of a draft, built as ``mechdesign build`` does; errors name the draft."""
    path = folder / "draft.toml"
    try:
        with whole_file(path, DataError, private=True) as part:
            part.write_text(text, encoding="utf-8")
        return Survey.load(path).build().mechanism
    except MechDesignError as error:
        raise type(error)(str(error).replace(str(path), "draft")) from None
    finally:
        path.unlink(missing_ok=True)
