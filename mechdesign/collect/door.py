"""The one door for data frames: an operation of a mechanism on tables in memory, as ``run`` does it on files.

A data frame is read like a file: by the names of its columns, in the same blocks, with the same rule for
missing values and the same refusals of reports of another mechanism. So a seed gives the same reports, and a
frame that is written to a file can be read by the command line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.core.tables import Block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mechdesign.collect.base import Mechanism
    from mechdesign.collect.operations import Operation, Settings
    from mechdesign.data.missing import MissingRule

OPTION = r"--([a-z][a-z-]*)(?: (refuse|drop|category)\b)?"


def run_on_tables(mechanism: Mechanism, name: str, tables: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Run an operation of a mechanism on data frames or series; see :meth:`Mechanism.run`."""
    from mechdesign.collect.operations import operation_of
    from mechdesign.data.frames import FrameTable

    operation = operation_of(mechanism.operations(), name, mechanism.type)
    with in_python(operation):
        given = {key: value for key, value in options.items() if key != "missing"}
        settings = settings_of(operation, given)
        _require_tables(operation, tables)
        rule = rule_for(mechanism, operation, options.get("missing"))
        sources = [FrameTable(table, rule) for table in tables]
        made = operation.run(sources, settings)
        if not operation.gives:
            return made
        columns = _joined(list(made))
    return sources[0].like(columns, operation.in_order) if sources else columns


def on_table(mechanism: Mechanism, name: str, table: Any, **options: Any) -> NDArray[Any]:
    """Run an operation on one data frame; type checkers take what comes back for an array."""
    made: NDArray[Any] = run_on_tables(mechanism, name, [table], options)
    return made


def _require_tables(operation: Operation, tables: Sequence[Any]) -> None:
    least, most = (1 if operation.takes else 0), (None if operation.several else 1)
    most = most if operation.takes else 0
    if len(tables) < least or (most is not None and len(tables) > most):
        wanted = "one or more" if most is None else "none" if most == 0 else "one"
        raise ParameterError("tables", f"{len(tables)} given, '{operation.name}' takes {wanted}")


def settings_of(operation: Operation, given: Mapping[str, Any]) -> Settings:
    """Return the options of an operation as Python writes them: ``rng`` is the seed, a text may be a list."""
    named = {"seed" if key == "rng" else key: value for key, value in given.items()}
    lists = [option.name for option in operation.options if option.kind == "texts"]
    for key in lists:
        if isinstance(named.get(key), str):
            named[key] = [named[key]]
        elif named.get(key) is not None:
            named[key] = [",".join(text) if isinstance(text, (list, tuple)) else text for text in named[key]]
    return operation.settings(named)


def missing_rule(mechanism: Mechanism, rule: str | None = None, codes: tuple[str, ...] = ()) -> MissingRule:
    """Return the treatment of rows without a value: as requested, or as the mechanism was built."""
    from mechdesign.collect.report_gaps import require_no_category
    from mechdesign.data.missing import MissingRule

    chosen = rule or mechanism.intake.missing
    mechanism._require_missing(chosen)
    found = MissingRule(chosen, codes, _takes_missing(mechanism), mechanism._missing_word)
    require_no_category(mechanism, found)
    return found


def rule_for(
    mechanism: Mechanism, operation: Operation, rule: str | None = None, codes: tuple[str, ...] = ()
) -> MissingRule:
    """Return the treatment of rows without a value for an operation: of answers, or of reports."""
    from mechdesign.collect.collecting import mark_in
    from mechdesign.collect.report_gaps import report_rule

    if any(mark_in(column.name) for column in operation.takes):
        return report_rule(mechanism, rule, codes)
    return missing_rule(mechanism, rule, codes)


def _takes_missing(mechanism: Mechanism) -> bool:
    try:
        mechanism._require_missing("category")
    except ParameterError:
        return False
    return True


def _joined(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    names = list(blocks[0]) if blocks else []
    return {name: np.concatenate([np.asarray(block[name]) for block in blocks]) for name in names}


@contextmanager
def in_python(operation: Operation) -> Iterator[None]:
    """Write options in errors as arguments: ``column=`` for ``--column``, ``clip=True`` for ``--clip``."""
    flags = {option.name for option in operation.options if option.kind == "flag"}

    def written(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        if found[2]:
            return f"{name}='{found[2]}'"
        return f"{name}=True" if name in flags else f"{name}="

    try:
        yield
    except MechDesignError as error:
        parts = {name: re.sub(OPTION, written, getattr(error, name)) for name in ("where", "what", "remedy")}
        raise error.changed(**parts, in_shell=False) from None


class WithTables:
    """Objects that run their operations on data frames: every mechanism."""

    def run(self, operation: str, *tables: Any, **options: Any) -> Any:
        """Run an operation on data frames or series, as the command ``run`` does it on files.

        Parameters
        ----------
        operation : str
            One that :meth:`operations` lists, such as ``randomize``.
        *tables : data frame or series
            Of pandas, polars, pyarrow and their like. A series is a table of one column.
        **options
            Those of the operation: ``column="city"``, ``clip=True``; ``rng`` for simulations only; and
            ``missing``, what to do with rows without a value: ``"refuse"``, ``"drop"`` or ``"category"``.

        Returns
        -------
        data frame, series or result
            The like of the first table, with the index of its rows; or the result, such as an estimate.

        Examples
        --------
        >>> import pandas as pd
        >>> from mechdesign.collect import KaryResponse
        >>> mechanism = KaryResponse.of(2, epsilon=2.0, labels=["no", "yes"])
        >>> people = pd.DataFrame({"name": ["a", "b"], "smoker": ["yes", "no"]})
        >>> mechanism.run("randomize", people, column="smoker", rng=1).shape
        (2, 1)
        """
        mechanism: Any = self
        return run_on_tables(mechanism, operation, tables, options)
