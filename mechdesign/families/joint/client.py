"""What a client keeps: its permanent response, from which every report is drawn, also after a restart."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import owner_entries
from mechdesign.core.errors import DataError, MethodError, ModelFileError
from mechdesign.core.text import counted
from mechdesign.exact.draw.packed import Packed, as_texts
from mechdesign.exact.randomness import Rng
from mechdesign.families.joint.counted import require_left
from mechdesign.families.joint.kept import DAMAGED, read_kept, write_kept
from mechdesign.work.files import one_at_a_time

if TYPE_CHECKING:
    from mechdesign.families.joint.response import JointResponse

FORMAT = "mechdesign-permanent-response"
WHAT = "permanent response"
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
    made : int
        Reports that were made.

    Examples
    --------
    >>> from mechdesign.families.joint import JointResponse
    >>> mechanism = JointResponse.of([2, 3], 4.1, redraw=0.5, keep=0.75, add=0.25, reports_per_user=3)
    >>> client = mechanism.remember([[1, 2]], rng=1)
    >>> client.report(rng=1).shape, client.made
    ((1, 1), 1)
    """

    def __init__(self, mechanism: JointResponse, bits: Packed, made: int = 0) -> None:
        self.mechanism, self.bits, self.made = mechanism, bits, made
        self.path: Path | None = None

    def __repr__(self) -> str:
        made = counted(self.made, "report")
        return f"PermanentResponse({counted(len(self.bits), 'client')}, {made} made, of {self.mechanism!r})"

    def __copy__(self) -> Self:
        raise MethodError(
            "permanent response", "a copy would count its reports by itself", "save and load it"
        )

    def __deepcopy__(self, memo: Any) -> Self:
        return self.__copy__()

    def __getstate__(self) -> Any:
        self.__copy__()

    @property
    def left(self) -> int | None:
        """Number of further reports that the guarantee allows; None for any number."""
        return max(0, self.mechanism.reports_per_user - self.made) if self.mechanism.limited else None

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
            require_left(self.mechanism, self.made)
            self.made += 1
        else:
            with one_at_a_time(self.path, ModelFileError):
                self.made = self._made_in(self.path)
                require_left(self.mechanism, self.made, f"{self.path}: reports")
                self._write(self.path, self.made + 1)
                self.made += 1
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
                    self.made = max(self.made, self._made_in(place))
                self._write(place, self.made)
        self.path = place

    def _move(self, old: Path, new: Path) -> None:
        """Close one file and open another; at no moment, not even after a crash, are both open."""
        first, second = sorted((old, new))
        with one_at_a_time(first, ModelFileError), one_at_a_time(second, ModelFileError):
            self.made = self._made_in(old)
            if new.exists():
                there = self._document(self.mechanism, new)
                if there["bits"] != as_texts(self.bits).tolist():
                    raise DataError(new, "holds another permanent response", "choose another path")
                if not there.get(MOVED) and not there.get(COMING):  # a copy by hand: both were reported from
                    self.made += there["made"]
            self._write(new, self.made, {COMING: str(old)})
            self._write(old, self.made, {MOVED: str(new)})
            self._write(new, self.made)

    def _write(self, path: Path, made: int, mark: Mapping[str, str] | None = None) -> None:
        document = {
            "format": FORMAT,
            **owner_entries(self.mechanism),
            "made": made,
            "bits": as_texts(self.bits).tolist(),
            **(mark or {}),
        }
        write_kept(path, document)

    def _made_in(self, path: Path) -> int:
        """Return the count in the file, which has to hold this very permanent response."""
        there = type(self).load(self.mechanism, path)
        if not np.array_equal(there.bits, self.bits):
            raise DataError(path, "holds another permanent response", "load that, or choose another path")
        return there.made

    @classmethod
    def load(cls, mechanism: JointResponse, path: str | os.PathLike[str]) -> Self:
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
        if document.get(COMING) and cls._is_open(mechanism, document[COMING]):
            origin = document[COMING]
            raise DataError(path, "its move was interrupted", f"load {origin} and save it here again")
        made = cls(mechanism, mechanism.read(np.array(document["bits"], dtype=object)), document["made"])
        made.path = Path(path)
        return made

    @staticmethod
    def _document(mechanism: JointResponse, path: str | os.PathLike[str]) -> dict[str, Any]:
        document = read_kept(path, FORMAT, WHAT, mechanism)
        texts = document.get("bits")
        if not isinstance(texts, list) or not texts:
            raise ModelFileError(path, DAMAGED)
        return document

    @classmethod
    def _is_open(cls, mechanism: JointResponse, origin: str) -> bool:
        """Whether the file that a move left is there and still the home."""
        return os.path.exists(origin) and not cls._document(mechanism, origin).get(MOVED)
