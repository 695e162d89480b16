"""Between data files and mechanisms: the columns a mechanism randomizes, and those its reports make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MechDesignError, MethodError, ParameterError
from mechdesign.mechanisms.base import Mechanism
from mechdesign.mechanisms.frequencies import FrequencyMechanism
from mechdesign.mechanisms.mean.attributes import AttributeSampling
from mechdesign.mechanisms.mean.values import as_floats
from mechdesign.report.columns import read_column, read_columns

ATTRIBUTE, REPORT = "attribute", "report"
"""The columns of the reports of attribute sampling."""


def randomized(
    mechanism: Mechanism, path: str, columns: Sequence[str] | None, seed: int | None, clip: bool
) -> dict[str, NDArray[Any]]:
    """Randomize the columns of a data file and return the columns of the reports.

    Parameters
    ----------
    mechanism : Mechanism
    path : str
        CSV or Parquet.
    columns : sequence of str, optional
        One for a mechanism of one attribute; as many as it has attributes for attribute sampling.
    seed : int, optional
        For simulations only.
    clip : bool
        Whether numbers outside the range are moved to its nearest end.
    """
    _require(mechanism)
    options = {} if isinstance(mechanism, FrequencyMechanism) else {"clip": clip}
    if clip and not options:
        raise ParameterError("--clip: is for mechanisms of numbers; this one randomizes categories")
    if isinstance(mechanism, AttributeSampling):
        table = _in_order(mechanism, path, read_columns(path, columns or None))
        numbers = np.stack([_numbers(path, name, values) for name, values in table.items()], axis=1)
        reports = _called(path, mechanism.randomize, numbers, rng=seed, **options)
        return {ATTRIBUTE: reports[ATTRIBUTE], REPORT: reports[REPORT]}
    name, values = read_column(path, _one(columns))
    return {name: _called(f"{path}: column '{name}'", mechanism.randomize, values, rng=seed, **options)}  # type: ignore[attr-defined]


def count_reports(mechanism: Mechanism, path: str, column: Sequence[str] | None, counter: Any) -> None:
    """Read the reports of a file and add them to the mechanism's aggregator."""
    if isinstance(mechanism, AttributeSampling):
        table = read_columns(path, [ATTRIBUTE, REPORT])
        numbers = {name: _numbers(path, name, values) for name, values in table.items()}
        if (numbers[ATTRIBUTE] != np.floor(numbers[ATTRIBUTE])).any():
            raise DataError(f"{path}: column '{ATTRIBUTE}': holds numbers that are not whole")
        reports = np.empty(len(numbers[REPORT]), dtype=[(ATTRIBUTE, np.int64), (REPORT, np.float64)])
        reports[ATTRIBUTE], reports[REPORT] = numbers[ATTRIBUTE], numbers[REPORT]
        _called(path, counter.update, reports)
        return
    name, values = read_column(path, _one(column))
    _called(f"{path}: column '{name}'", counter.update, values)


def aggregator(mechanism: Mechanism) -> Any:
    """Return the mechanism's empty aggregator."""
    _require(mechanism)
    return mechanism.aggregator()  # type: ignore[attr-defined]


def _in_order(mechanism: AttributeSampling, path: str, table: dict[str, Any]) -> dict[str, Any]:
    """Return the columns in the order of the mechanism's attributes, where these have names."""
    names = mechanism.labels.names
    if names is None:
        return table
    if set(names) != set(table):
        raise DataError(
            f"{path}: the columns are {', '.join(table)}, the mechanism's attributes {', '.join(names)}; "
            "name these with --column"
        )
    return {name: table[name] for name in names}


def _require(mechanism: Mechanism) -> None:
    if not hasattr(mechanism, "aggregator"):
        kind = type(mechanism).__name__
        raise MethodError(f"mechanism: a {kind} has no client for data files; load it in Python instead")


def _one(columns: Sequence[str] | None) -> str | None:
    if columns and len(columns) > 1:
        raise ParameterError(f"--column: {len(columns)} columns for a mechanism of one; name one")
    return columns[0] if columns else None


def _numbers(path: str, name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    return _called(f"{path}: column '{name}'", as_floats, values, 1, "values")  # type: ignore[no-any-return]


def _called(place: str, function: Any, *arguments: Any, **options: Any) -> Any:
    """Call a mechanism and put the place in front of its errors."""
    try:
        return function(*arguments, **options)
    except MechDesignError as error:
        text = str(error).replace("clip=True", "--clip")
        raise type(error)(f"{place}: {text}") from None
