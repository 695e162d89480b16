"""Tables with one column of users' data for each attribute: which columns are read, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mechdesign.collect.collecting import report_column, require_columns, require_data, side_by_side
from mechdesign.collect.labels import Codes
from mechdesign.collect.operations import Column, Option, Settings
from mechdesign.core.errors import DataError
from mechdesign.core.tables import Source
from mechdesign.core.text import counted
from mechdesign.data.intake import MISSING_CATEGORY
from mechdesign.data.missing import let_lack

if TYPE_CHECKING:
    from mechdesign.collect.attributes import Attributes
    from mechdesign.collect.base import Mechanism
    from mechdesign.collect.of_attributes import AttributeMechanism

MARGINAL = Option("marginal", "texts", "a marginal: attributes separated by commas; once for each")


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
                source.name,
                f"the columns are {', '.join(columns)}, the mechanism's attributes {', '.join(names)}",
                "name these with --column",
            )
        return list(names)
    if len(columns) != count:
        raise DataError(
            source.name,
            f"{counted(len(columns), 'column')} for {counted(count, 'attribute')}",
            "name one each with --column",
        )
    return columns


def encoded(
    mechanism: AttributeMechanism[Any], sources: Sequence[Source], settings: Settings
) -> Iterator[Codes]:
    """Yield the numbers of users' values, (n, d) a block, one column an attribute.

    A mechanism whose reports do not allow any estimate is refused, unless the user sets ``anyway``.
    """
    if not settings["anyway"]:
        mechanism.require_estimable()
    (source,) = sources
    attributes = mechanism.attributes
    columns = attribute_columns(mechanism, attributes.names, attributes.count, source, settings)
    with_category = zip(columns, attributes.labels, strict=True)
    let_lack(source, (name for name, labels in with_category if MISSING_CATEGORY in (labels.names or ())))
    yield from side_by_side(
        source, columns, [partial(labels.encode, what="values") for labels in attributes.labels]
    )


def people(names: Sequence[str], what: str = "a value") -> Column:
    """Return the columns of an operation that reads one column per attribute."""
    more = ", ..." if len(names) > 6 else ""
    return Column("columns", f"{what} each: {', '.join(names[:6])}{more}", any_name=True)


def asked_attributes(texts: Sequence[str] | None, attributes: Attributes) -> list[tuple[int, ...]]:
    """Return the attributes that each text lists; every single attribute without a text."""
    if not texts:
        return [(place,) for place in range(attributes.count)]
    known = attributes.shown()  # a name may hold commas when it stands alone
    lists = [[text] if text in known else [part.strip() for part in text.split(",")] for text in texts]
    return [attributes.positions(names) for names in lists]


def with_reports(source: Source, first: str, settings: Settings, mechanism: Mechanism) -> list[str]:
    """Return the columns of a table in which a column, as of groups, stands before the reports."""
    require_columns(source, [first])
    return [first, report_column(Without(source, first), settings, mechanism)]


class Without:
    """A source that hides a column, so that the reports are the only one left."""

    def __init__(self, source: Source, hidden: str) -> None:
        self.name, self.blocks, self.row = source.name, source.blocks, source.row
        self.columns = tuple(name for name in source.columns if name != hidden)
