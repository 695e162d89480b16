"""Tables with one column of people's data for each attribute: which columns are read, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mechdesign.core.errors import DataError
from mechdesign.core.tables import Source
from mechdesign.mechanisms.collecting import require_data
from mechdesign.mechanisms.operations import Settings

if TYPE_CHECKING:
    from mechdesign.mechanisms.base import Mechanism


def attribute_columns(
    mechanism: Mechanism, names: Sequence[str] | None, count: int, source: Source, settings: Settings
) -> list[str]:
    """Return the columns in the order of the attributes: those named, or those of the attributes' names.

    Parameters
    ----------
    mechanism : Mechanism
    names : sequence of str or None
        Of the attributes; None when they are numbers.
    count : int
        How many attributes there are.
    source : Source
    settings : Settings
        Its ``column`` comes first, then the columns the mechanism was built for.

    Raises
    ------
    DataError
        When the columns are not those of the attributes, or another number of them.
    """
    given = settings["column"] or mechanism.data_columns or (names if names is not None else source.columns)
    columns = list(given)
    require_data(source, columns)
    if names is not None:
        if set(names) != set(columns):
            raise DataError(
                f"{source.name}: the columns are {', '.join(columns)}, the mechanism's attributes "
                f"{', '.join(names)}; name these with --column"
            )
        return list(names)
    if len(columns) != count:
        raise DataError(
            f"{source.name}: {len(columns)} columns for {count} attributes; name one each with --column"
        )
    return columns


class Without:
    """A source that hides a column, so that the reports are the only one left."""

    def __init__(self, source: Source, hidden: str) -> None:
        self.name, self.blocks, self.row = source.name, source.blocks, source.row
        self.columns = tuple(name for name in source.columns if name != hidden)
