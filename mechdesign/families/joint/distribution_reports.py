"""Where the reports of ``joint-distribution`` come from: patterns with counts, a file, or simulated users."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError, unread
from mechdesign.core.text import counted
from mechdesign.core.validation import integer, probability_vector
from mechdesign.exact.draw.packed import Packed, read_sets
from mechdesign.families.joint.one_hot import grouped
from mechdesign.work.files import read_text

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

LARGEST_FILE = 1 << 28
MOST_USERS = 1 << 24
BLOCK = 1 << 17
CLASSES = 6
"""Latent classes of the distribution ``mixture``."""


@dataclass(frozen=True)
class FileReports:
    """Reports in a CSV file: one column of texts as ``randomize`` of a joint response writes them."""

    path: str

    def as_json(self) -> dict[str, Any]:
        """Return the generator that names it."""
        return {"name": "file", "path": self.path}

    def patterns(self, sizes: Sequence[int], own: float, other: float) -> tuple[Packed, Codes]:
        """Return the different reports and how many users sent each."""
        try:
            text = read_text(Path(self.path), LARGEST_FILE, DataError)
        except OSError as error:
            raise DataError(self.path, unread(error), "check the path") from None
        rows = list(csv.reader(io.StringIO(text)))
        rows = [row for row in rows if row]
        if len(rows) < 2:
            raise DataError(self.path, "is empty", "give a header line and one report a line")
        if len(rows[0]) != 1:
            raise DataError(
                self.path,
                f"has {counted(len(rows[0]), 'column')}",
                "give a file with the column of reports alone",
            )
        if any(len(row) != 1 for row in rows):
            raise DataError(self.path, "a line has more than one field", "give one report a line")
        if rows[0][0].startswith("permanent__m"):
            raise DataError(self.path, "holds permanent responses", "name the file that 'report' wrote")
        try:
            packed = read_sets(np.array([row[0] for row in rows[1:]], dtype=object), sum(sizes))
        except DataError as error:
            raise error.within(str(self.path)) from None
        return grouped(packed, np.ones(len(packed), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class SimulatedReports:
    """Reports of simulated users, whose values are drawn from a distribution over the joint cells.

    Attributes
    ----------
    distribution : array or "mixture"
        One probability a joint cell, the last attribute fastest; or a mixture of six classes in which the
        attributes are independent, each with probabilities drawn from a Dirichlet law (1/2, ..., 1/2).
    users, seed : int
    """

    distribution: Any
    users: int
    seed: int

    def as_json(self) -> dict[str, Any]:
        """Return the generator that names it."""
        distribution = self.distribution
        listed = distribution if isinstance(distribution, str) else np.asarray(distribution).tolist()
        return {"name": "simulated", "distribution": listed, "users": self.users, "seed": self.seed}

    def values(self, sizes: Sequence[int]) -> Codes:
        """Return the users' values, shape (users, d)."""
        rng = np.random.default_rng([0, self.seed])
        if isinstance(self.distribution, str):
            return _mixture(sizes, self.users, rng)
        cells = rng.choice(len(self.distribution), size=self.users, p=self.distribution)
        return np.stack(np.unravel_index(cells, tuple(sizes)), axis=1)

    def truth(self, sizes: Sequence[int]) -> Array:
        """Return the shares of the joint cells among the users."""
        cells = np.ravel_multi_index(tuple(self.values(sizes).T), tuple(sizes))
        return np.bincount(cells, minlength=math.prod(sizes)) / self.users

    def patterns(self, sizes: Sequence[int], own: float, other: float) -> tuple[Packed, Codes]:
        """Return the different reports and how many users sent each."""
        rng, values = np.random.default_rng([1, self.seed]), self.values(sizes)
        parts = []
        for start in range(0, self.users, BLOCK):
            block = values[start : start + BLOCK]
            groups = [
                rng.random((len(block), size), dtype=np.float32)
                < np.where(np.arange(size) == block[:, place, None], own, other)
                for place, size in enumerate(sizes)
            ]
            parts.append(np.packbits(np.concatenate(groups, axis=1), axis=1))
        return grouped(np.concatenate(parts), np.ones(self.users, dtype=np.int64))


def _mixture(sizes: Sequence[int], users: int, rng: np.random.Generator) -> Codes:
    classes = rng.integers(0, CLASSES, users)
    columns = []
    for size in sizes:
        limits = np.cumsum(rng.dirichlet(np.full(size, 0.5), size=CLASSES), axis=1)
        values = (rng.random(users)[:, None] > limits[classes, :-1]).sum(axis=1)
        columns.append(values)
    return np.stack(columns, axis=1).astype(np.int64)


def from_file(path: str) -> FileReports:
    """Return the reports of a CSV file with one column."""
    name: Any = path
    if not isinstance(name, str) or not name:
        raise ParameterError("reports", "'path' is not a string", "give the path of a CSV file")
    return FileReports(path)


def simulated(distribution: Any, users: int, seed: int) -> SimulatedReports:
    """Return reports of simulated users with values drawn from the distribution, or from ``mixture``."""
    if isinstance(distribution, str):
        if distribution != "mixture":
            raise ParameterError(
                "reports", f"distribution '{distribution}' is not known", "give 'mixture', or a number a cell"
            )
        shares: Any = distribution
    else:
        shares = probability_vector("reports: distribution", distribution)
    return SimulatedReports(
        shares, integer("reports: users", users, 1, MOST_USERS), integer("reports: seed", seed, 0)
    )


GENERATORS: Mapping[str, Callable[..., Any]] = {"file": from_file, "simulated": simulated}
