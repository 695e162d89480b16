"""What a client keeps: its permanent response, and the count of the reports that were drawn from it.

**Files.**
A file names its home, the path where it was written. A copy elsewhere is refused as long as the original is
at home; a file that was moved by hand is taken, since nothing is left at its home. What no program can see:
a copy whose original was moved or deleted, a copy on another machine, an older copy that is put back.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import HasSurvey, other_owner, owner_entries
from mechdesign.core.errors import DataError, MethodError, ModelFileError, counted, unread
from mechdesign.core.extensions import FormerAttribute, former_arguments
from mechdesign.exact.bits import Packed, as_texts
from mechdesign.exact.numbers import plain
from mechdesign.exact.randomness import BitSource, Rng
from mechdesign.families.joint.estimate import JointEstimate
from mechdesign.primitives.attributes import AttributeMechanism
from mechdesign.work.files import one_at_a_time, parse_json, read_text, whole_file

LARGEST_FILE = 1 << 27
MOST_MADE = 1 << 62

DAMAGED = "is damaged; use a copy only if no report was made since it was taken"

IDENTITY = ("mechanism", "bits", "kept")
"""What tells whether two files keep the same: the permanent response itself, or its digest."""


def responses_digest(bits: Packed) -> str:
    """Return a digest of all bits of permanent responses.

    Examples
    --------
    >>> import numpy as np
    >>> responses_digest(np.array([[72]], dtype=np.uint8))[:12]
    '107be837a6bd'
    """
    return hashlib.sha256(f"{bits.shape} ".encode() + bits.tobytes()).hexdigest()


def write_kept(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a document with its sum; it is on the disk when this returns, and appears whole or not at all."""
    document = {**document, "home": os.path.realpath(path)}
    text = json.dumps({**document, "sha256": _sum_of(document)})
    if len(text) >= LARGEST_FILE:
        raise ModelFileError(path, f"would take more than {LARGEST_FILE >> 20} MiB", "keep fewer in a file")
    with whole_file(path, ModelFileError, durable=True, private=True) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_kept(path: str | os.PathLike[str], kind: str, what: str, mechanism: HasSurvey) -> dict[str, Any]:
    """Return a document that :func:`write_kept` wrote, of this kind, for this mechanism and survey.

    Raises
    ------
    ModelFileError
        When it cannot be read, is something else or damaged.
    DataError
        When it belongs to another mechanism or survey, or is a copy of a file that is still there.
    """
    document = _read(path, kind, what)
    if document.get("mechanism") != mechanism.survey_digest:
        owner = other_owner(mechanism, document.get("survey"), document.get("mechanism"))
        raise DataError(path, f"belongs to {owner}", "load the one it was made with")
    reports = plain(document.get("made"))
    if not isinstance(reports, int) or isinstance(reports, bool) or not 0 <= reports < MOST_MADE:
        raise ModelFileError(path, DAMAGED)
    _require_home(path, document, kind, what)
    return document


def _require_home(path: str | os.PathLike[str], document: Mapping[str, Any], kind: str, what: str) -> None:
    """Refuse a copy, and a file with two names: each of them would count from here on by itself."""
    if os.stat(path).st_nlink > 1:
        raise DataError(
            path, "has a second name (a hard link)", "remove one, reports are counted in one file"
        )
    home = document.get("home")
    if not isinstance(home, str) or home == os.path.realpath(path) or not os.path.isfile(home):
        return
    try:
        there = _read(home, kind, what)
    except ModelFileError:  # something else by now
        return
    if all(there.get(key) == document.get(key) for key in IDENTITY):
        raise DataError(path, f"is a copy of {home}, which is still there", "use that, it counts the reports")


def _read(path: str | os.PathLike[str], kind: str, what: str) -> dict[str, Any]:
    """Return an undamaged document of this kind, of whatever mechanism."""
    try:
        document = parse_json(read_text(path, LARGEST_FILE, ModelFileError))
    except OSError as error:
        raise ModelFileError(path, unread(error), "check the path") from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            path, f"is not a {what} ({error})", "name a file that was written as one"
        ) from None
    if not isinstance(document, dict) or document.get("format") != kind:
        raise ModelFileError(path, f"is not a {what}", "name a file that was written as one")
    if document.pop("sha256", None) != _sum_of(document):
        raise ModelFileError(path, DAMAGED)
    return document


def _sum_of(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


COUNT_FORMAT = "mechdesign-report-count"
COUNT = "count of reports"


class PermanentBits(AttributeMechanism[JointEstimate]):
    """What a client uses of the mechanism."""

    reports_per_user: int

    @property
    @abstractmethod
    def limited(self) -> bool:
        """Whether more reports than were promised would break the guarantee."""

    @abstractmethod
    def read(self, reports: Any) -> Packed:
        """Return reports or permanent responses as packed bits, from those or from texts."""

    @abstractmethod
    def draw_reports(self, permanent: Packed, source: BitSource) -> Packed:
        """Return a report for permanent bits, drawn again."""

    @abstractmethod
    def _report_source(self, rng: Rng) -> BitSource:
        """Return uniform integers for reports; a seed gives others than for permanent responses."""


def promised(mechanism: PermanentBits) -> str:
    """Return the number of reports that the guarantee covers, as a string."""
    return counted(mechanism.reports_per_user, "report")


def require_left(mechanism: PermanentBits, count: int, where: str = "reports") -> None:
    """Raise MethodError when no further report keeps the guarantee."""
    if mechanism.limited and count >= mechanism.reports_per_user:
        raise MethodError(
            where,
            f"{count} made, and the guarantee is for {promised(mechanism)}",
            "build a mechanism for more",
        )


def begin_count(mechanism: PermanentBits, path: str | os.PathLike[str], bits: Packed) -> None:
    """Write the count of permanent responses that were never reported from; over nothing that exists."""
    with one_at_a_time(path, ModelFileError):
        require_fresh(path)
        document = {
            "format": COUNT_FORMAT,
            **owner_entries(mechanism),
            "made": 0,
            "kept": responses_digest(bits),
        }
        write_kept(path, document)


def require_fresh(path: str | os.PathLike[str]) -> None:
    """Raise DataError when something stands there already: who was asked before keeps the first response."""
    if Path(path).exists():
        raise DataError(
            path, "exists", "report from what was remembered with it, or choose another path for other users"
        )


def count_report(mechanism: PermanentBits, path: str | os.PathLike[str], bits: Packed) -> int:
    """Count one more report of these permanent responses, and return how many were made with it.

    Raises
    ------
    MethodError
        When the promise is for no more; nothing is counted then.
    DataError
        When the count is that of other permanent responses, or of another mechanism.
    """
    with one_at_a_time(path, ModelFileError):
        document = read_kept(path, COUNT_FORMAT, COUNT, mechanism)
        if document.get("kept") != responses_digest(bits):
            raise DataError(path, "counts the reports of other permanent responses", "name that of these")
        require_left(mechanism, document["made"], f"{path}: reports")
        document["made"] += 1
        write_kept(path, document)
    return int(document["made"])


RESPONSE_FORMAT = "mechdesign-permanent-response"
RESPONSE = "permanent response"
MOVED, COMING = "moved_to", "coming_from"
"""Marks of a file that is closed because another one is the home now, and of one that is not yet the home."""


class PermanentResponse:
    """The permanent response of one client, or of several in a simulation, and how often it has reported.

    Every report is drawn from the same kept bits, so any number of reports reveals no more than they. When
    the promise is for R reports only, the next one is refused, unless any number of reports keeps it.

    Once it was saved or loaded, one file is its home: a report is counted there before anybody sees it, so
    that neither a crash nor a second process takes one back. Saving it elsewhere moves it: the file it
    leaves is closed, and says where it went. An object is not copied, since each copy would count by
    itself.

    Parameters
    ----------
    mechanism : JointResponse
    bits : (n, bytes) array of uint8
        Packed.
    report_count : int
        Number of reports so far.

    Examples
    --------
    >>> from mechdesign.families.joint import JointResponse
    >>> mechanism = JointResponse.of([2, 3], 4.1, redraw=0.5, keep=0.75, add=0.25, reports_per_user=3)
    >>> client = mechanism.remember([[1, 2]], rng=1)
    >>> client.report(rng=1).shape, client.report_count
    ((1, 1), 1)
    """

    @former_arguments(made="report_count")
    def __init__(self, mechanism: PermanentBits, bits: Packed, report_count: int = 0) -> None:
        self.mechanism, self.bits, self.report_count = mechanism, bits, report_count
        self.path: Path | None = None

    def __repr__(self) -> str:
        reports = counted(self.report_count, "report")
        return (
            f"PermanentResponse({counted(len(self.bits), 'client')}, {reports} made, of {self.mechanism!r})"
        )

    def __copy__(self) -> Self:
        raise MethodError(
            "permanent response", "a copy would count its reports by itself", "save and load it"
        )

    def __deepcopy__(self, memo: Any) -> Self:
        return self.__copy__()

    def __getstate__(self) -> Any:
        self.__copy__()

    made = FormerAttribute("report_count")

    @property
    def left(self) -> int | None:
        """Number of further reports that the guarantee allows; None for any number."""
        return max(0, self.mechanism.reports_per_user - self.report_count) if self.mechanism.limited else None

    def report(self, rng: Rng = None) -> NDArray[np.uint8]:
        """Return the next report as packed bits, shape (n, bytes).

        Raises
        ------
        MethodError
            When the promise is for no more reports.
        DataError, ModelFileError
            When the file it goes with is gone, damaged, or holds something else by now.
        """
        source = self.mechanism._report_source(rng)
        if self.path is None:
            require_left(self.mechanism, self.report_count)
            self.report_count += 1
        else:
            with one_at_a_time(self.path, ModelFileError):
                self.report_count = self._count_in(self.path)
                require_left(self.mechanism, self.report_count, f"{self.path}: reports")
                self._write(self.path, self.report_count + 1)
                self.report_count += 1
        return self.mechanism.draw_reports(self.bits, source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what the client keeps to a file, for its owner only; it appears whole or not at all.

        The file is its home from then on. One that was saved or loaded before moves there: its former file is
        closed. A count that is higher at home stays.

        Raises
        ------
        DataError, ModelFileError
            When something else stands there: another permanent response is never replaced.
        """
        place = Path(os.path.realpath(path))
        if self.path is not None and Path(os.path.realpath(self.path)) != place:
            self._move(Path(os.path.realpath(self.path)), place)
        else:
            with one_at_a_time(place, ModelFileError):
                if place.exists():
                    self.report_count = max(self.report_count, self._count_in(place))
                self._write(place, self.report_count)
        self.path = place

    def _move(self, old: Path, new: Path) -> None:
        """Close one file and open another; at no moment, not even after a crash, are both open."""
        first, second = sorted((old, new))
        with one_at_a_time(first, ModelFileError), one_at_a_time(second, ModelFileError):
            self.report_count = self._count_in(old)
            if new.exists():
                there = self._document(self.mechanism, new)
                if there["bits"] != as_texts(self.bits).tolist():
                    raise DataError(new, "holds another permanent response", "choose another path")
                if not there.get(MOVED) and not there.get(COMING):  # a copy by hand: both were reported from
                    self.report_count += there["made"]
            self._write(new, self.report_count, {COMING: str(old)})
            self._write(old, self.report_count, {MOVED: str(new)})
            self._write(new, self.report_count)

    def _write(self, path: Path, count: int, mark: Mapping[str, str] | None = None) -> None:
        document = {
            "format": RESPONSE_FORMAT,
            **owner_entries(self.mechanism),
            "made": count,
            "bits": as_texts(self.bits).tolist(),
            **(mark or {}),
        }
        write_kept(path, document)

    def _count_in(self, path: Path) -> int:
        """Return the count in the file, which has to hold this very permanent response."""
        there = type(self).load(self.mechanism, path)
        if not np.array_equal(there.bits, self.bits):
            raise DataError(path, "holds another permanent response", "load that, or choose another path")
        return there.report_count

    @classmethod
    def load(cls, mechanism: PermanentBits, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote, for the same mechanism.

        Raises
        ------
        DataError, ModelFileError
            When it was moved elsewhere, is a copy of a file that is still there, belongs to another
            mechanism, or is damaged.
        """
        document = cls._document(mechanism, path)
        if document.get(MOVED):
            raise DataError(path, f"was moved to {document[MOVED]}", "load that")
        origin = document.get(COMING)
        if origin and os.path.exists(origin) and not cls._document(mechanism, origin).get(MOVED):
            raise DataError(path, "its move was interrupted", f"load {origin} and save it here again")
        response = cls(mechanism, mechanism.read(np.array(document["bits"], dtype=object)), document["made"])
        response.path = Path(path)
        return response

    @staticmethod
    def _document(mechanism: PermanentBits, path: str | os.PathLike[str]) -> dict[str, Any]:
        document = read_kept(path, RESPONSE_FORMAT, RESPONSE, mechanism)
        texts = document.get("bits")
        if not isinstance(texts, list) or not texts:
            raise ModelFileError(path, DAMAGED)
        return document
