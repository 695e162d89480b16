"""Numbers where names are expected: a column of ages is not taken for the codes of categories.

A mechanism without labels takes the codes 0, 1, 2, ... of its categories. Any column of small numbers would
fit, and nobody would notice. So a file in whose column no row has the code 0 is refused until its owner says
that it holds codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import DataError, MechDesignError
from mechdesign.core.tables import Block, Coded
from mechdesign.data.data_set import open_table
from mechdesign.data.intake import MissingRule

LEAST_ROWS = 20
"""In fewer rows the code 0 may be missing by chance."""


def require_codes(mechanism: Mechanism, path: str, columns: Sequence[str] | None = None) -> None:
    """Raise DataError when a column that has to hold codes does not look as if it did.

    Parameters
    ----------
    mechanism : Mechanism
        Its :meth:`~mechdesign.collect.Mechanism.bare_codes` say which columns those are.
    path : str
        People's data.
    columns : sequence of str, optional
        As the user names them; else those that the mechanism was built for, or all of the file.
    """
    coded = mechanism.bare_codes()
    if not any(size for _, size in coded):
        return
    try:
        table = open_table(path, MissingRule("drop"))
        given = list(columns or mechanism.data_columns or table.columns)
        names = [name if name is not None else given[place] for place, (name, _) in enumerate(coded)]
        wanted = {name: size for name, (_, size) in zip(names, coded, strict=True) if size}
        found = _smallest(table.blocks(list(wanted)), list(wanted))
    except (MechDesignError, LookupError, ValueError, OSError):
        return  # what is wrong with the file is said where it is randomized
    for name, (rows, least) in found.items():
        if rows >= LEAST_ROWS and least > 0:
            codes = f"codes of categories, 0 to {wanted[name] - 1},"
            raise DataError(
                f"{path}: column '{name}'",
                f"numbers from {least:g} on, where {codes} are expected",
                "set labels in the model, or use --codes if these are codes",
            )


def _smallest(blocks: Iterable[Block], names: Sequence[str]) -> dict[str, tuple[int, float]]:
    """Return for each column the number of rows and the smallest number."""
    result = {name: (0, float("inf")) for name in names}
    for block in blocks:
        for name in names:
            rows, least = result[name]
            values = block[name]
            distinct = values.values if isinstance(values, Coded) else np.unique(np.asarray(values))
            result[name] = (rows + len(values), min(least, float(distinct.astype(np.float64).min())))
    return result
