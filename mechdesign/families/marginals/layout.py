"""Reports of different oracles as records of equal width: the number of the view, and the report's bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.labels import Labels
from mechdesign.collect.oracle import Oracle
from mechdesign.collect.sealed import Sealed
from mechdesign.core.errors import DataError, RowError
from mechdesign.exact.randomness import bit_source

VIEW, REPORT = "view", "report"


@dataclass(frozen=True)
class Drawn:
    """The reports of some users: their views, and for each distinct oracle its rows and reports.

    Attributes
    ----------
    views : (n,) int array
    parts : list of (int, int array, array)
        The first view with that oracle, which of the users, and what the oracle drew.
    """

    views: NDArray[np.int64]
    parts: list[tuple[int, NDArray[np.int64], NDArray[Any]]]


class Layout(Sealed):
    """Layout of the reports of oracles in records ``(view, report)``: bytes, filled up with zeros.

    Parameters
    ----------
    oracles : sequence
        One a view.
    """

    def __init__(self, oracles: Sequence[Oracle]) -> None:
        self.views = Labels(len(oracles))
        distinct = {id(oracle): _form(oracle) for oracle in oracles}
        self.forms = tuple(distinct[id(oracle)] for oracle in oracles)
        self.width = max(form.itemsize for form in self.forms)
        self.dtype = np.dtype([(VIEW, np.int32), (REPORT, np.uint8, (self.width,))])

    def packed(self, view: int, reports: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the bytes of reports of a view, shape (n, width)."""
        size = self.forms[view].itemsize
        table = np.zeros((len(reports), self.width), dtype=np.uint8)
        table[:, :size] = np.ascontiguousarray(reports).view(np.uint8).reshape(len(reports), size)
        return table

    def unpacked(self, view: int, table: NDArray[np.uint8], rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the reports of a view from their bytes; refuse bytes beyond the report's."""
        form = self.forms[view]
        beyond = table[:, form.itemsize :].any(axis=1)
        if beyond.any():
            row = int(rows[np.argmax(beyond)])
            raise RowError("reports", row, "is too long for its view", "use the mechanism it was made with")
        flat = np.ascontiguousarray(table[:, : form.itemsize]).view(form.base)
        return flat.reshape(len(table), *form.shape)

    def read(self, reports: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the views and the bytes of records, checked as far as all views have it in common."""
        array = np.asarray(reports)
        if array.dtype.names is None or set(array.dtype.names) != {VIEW, REPORT} or array.ndim != 1:
            raise DataError(
                "reports",
                f"expected records with the fields '{VIEW}' and '{REPORT}', as randomize returns them",
            )
        form = array.dtype[REPORT]
        if form.base != np.uint8 or form.shape != (self.width,):
            raise DataError(
                "reports",
                f"reports of {form.itemsize} bytes, not {self.width}",
                "use the mechanism they were made with",
            )
        return self.views.encode(array[VIEW], "reports: view"), array[REPORT]


def _form(oracle: Oracle) -> np.dtype[Any]:
    """Return the dtype of one report, which several numbers may make up."""
    drawn = oracle.draw(np.zeros(1, dtype=np.int64), bit_source(0))
    return np.dtype((drawn.dtype, drawn.shape[1:]))
