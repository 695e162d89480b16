"""Tables in memory, read as files are; missing reports.

A data frame is read like a file: by the names of its columns, in the same blocks, with the same rule for
missing values and the same refusals of reports of another mechanism. So a seed gives the same reports, and a
frame that is written to a file can be read by the command line.

A report is never empty, and leaving some out by value is biased. Other programs read some words as missing
values and write them as empty fields. Where such a word is a report, rows without a report are not rows of
users who sent none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import MechDesignError, ParameterError, RowError, named_option, option
from mechdesign.data.intake import READ_AS_MISSING, Block
from mechdesign.exact.numbers import number_of_text

if TYPE_CHECKING:
    from mechdesign.collect.base import Mechanism
    from mechdesign.collect.collecting import Operation, Settings
    from mechdesign.data.intake import MissingRule


def run_on_tables(mechanism: Mechanism, name: str, tables: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Run an operation of a mechanism on data frames or series; see :meth:`Mechanism.run`."""
    from mechdesign.collect.collecting import operation_of
    from mechdesign.data.frames import FrameTable

    operation = operation_of(mechanism.operations(), name, mechanism.type)
    settings = settings_of(operation, {key: value for key, value in options.items() if key != "missing"})
    _require_tables(operation, tables)
    rule = rule_for(mechanism, operation, options.get("missing"))
    sources = [FrameTable(table, rule) for table in tables]
    result = operation.run(sources, settings)
    if not operation.gives:
        return result
    columns = _joined(list(result))
    return sources[0].like(columns, operation.in_order) if sources else columns


def on_table(mechanism: Mechanism, name: str, table: Any, **options: Any) -> NDArray[Any]:
    """Run an operation on one data frame; type checkers take what comes back for an array."""
    result: NDArray[Any] = run_on_tables(mechanism, name, [table], options)
    return result


def _require_tables(operation: Operation, tables: Sequence[Any]) -> None:
    least, most = (1 if operation.takes else 0), (None if operation.several else 1)
    most = most if operation.takes else 0
    if len(tables) < least or (most is not None and len(tables) > most):
        number = "one or more" if most is None else "none" if most == 0 else "one"
        raise ParameterError("tables", f"{len(tables)} given, '{operation.name}' takes {number}")


def settings_of(operation: Operation, options: Mapping[str, Any]) -> Settings:
    """Return the options of an operation as Python writes them: ``rng`` is the seed, a text may be a list."""
    named = {"seed" if key == "rng" else key: value for key, value in options.items()}
    lists = [option.name for option in operation.options if option.kind == "texts"]
    for key in lists:
        if isinstance(named.get(key), str):
            named[key] = [named[key]]
        elif named.get(key) is not None:
            named[key] = [",".join(text) if isinstance(text, (list, tuple)) else text for text in named[key]]
    return operation.settings(named)


def missing_rule(mechanism: Mechanism, rule: str | None = None, codes: tuple[str, ...] = ()) -> MissingRule:
    """Return the treatment of rows without a value: as requested, or as the mechanism was built."""
    from mechdesign.data.intake import MissingRule

    chosen = rule or mechanism.intake.missing
    mechanism._require_missing(chosen)
    result = MissingRule(chosen, codes, _takes_missing(mechanism), mechanism._missing_word)
    require_no_category(mechanism, result)
    return result


def rule_for(
    mechanism: Mechanism, operation: Operation, rule: str | None = None, codes: tuple[str, ...] = ()
) -> MissingRule:
    """Return the treatment of rows without a value for an operation: of answers, or of reports."""
    from mechdesign.collect.collecting import mark_in

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


def alphabets_of(mechanism: Any) -> list[tuple[str, ...]]:
    """Return the named answers of every question or attribute.

    Examples
    --------
    >>> from mechdesign.collect import KaryResponse
    >>> alphabets_of(KaryResponse.of(2, epsilon=1.0, labels=["no", "yes"]))
    [('no', 'yes')]
    """
    inner = getattr(mechanism, "local", mechanism)  # behind a shuffler
    attributes = getattr(getattr(inner, "attributes", None), "labels", None) or ()
    questions = getattr(getattr(inner, "questions", None), "all", None) or ()
    named = [getattr(getattr(inner, "labels", None), "names", None), *(each.names for each in attributes)]
    named += [question.labels for question in questions]
    return [tuple(names) for names in named if names]


MOST_CODES = 1 << 20
"""Categories without names that are compared with codes for missing values."""

BITS = re.compile(r"x[0-9a-fA-F]+", re.ASCII)
"""How a report of bits is written."""


def report_rule(mechanism: Mechanism, rule: str | None = None, codes: Sequence[str] = ()) -> MissingRule:
    """Return the treatment of empty fields in columns of reports: refused, unless rows are to be dropped.

    Parameters
    ----------
    mechanism : Mechanism
    rule : {"refuse", "drop", "category"}, optional
        That the mechanism was built with another one concerns answers.
    codes : sequence of str
        Texts that stand for no report.

    Raises
    ------
    ParameterError
        For a category, for a code that is a report, and for dropping where an empty field may be a report.
    """
    from mechdesign.data.intake import MissingRule  # build only looks at labels

    if rule == "category":
        raise ParameterError(
            option("missing", "category"), "is for answers; a report has no category", "omit it"
        )
    for code in codes:
        if is_report(mechanism, code):
            what = f"'{code}' can be a report of this mechanism; leaving it out makes the estimates wrong"
            raise ParameterError(named_option("missing_code"), what, "omit it")
    if rule == "drop" and (words := [word for word in risky_labels(mechanism) if is_report(mechanism, word)]):
        raise ParameterError(
            option("missing", "drop"),
            f"an empty field may be the report '{words[0]}', which other programs read as missing",
            "use the file that randomize wrote",
        )
    return MissingRule(rule or "refuse", tuple(codes), reports=True)


def is_report(mechanism: Any, text: str) -> bool:
    """Return whether a text of a table can be a report: the mechanism counts it.

    Where a report takes several columns, every number and all bits can be one.
    """
    server = mechanism.counter() if hasattr(mechanism, "counter") else None
    server = mechanism.aggregator() if hasattr(mechanism, "aggregator") else server
    if server is None:
        return False
    try:
        server.update(np.array([text], dtype=object))
    except RowError:
        return False
    except MechDesignError:
        return number_of_text(text) is not None or BITS.fullmatch(text) is not None
    return True


def risky_labels(mechanism: Any) -> list[str]:
    """Return the labels that other programs read as missing values.

    Examples
    --------
    >>> from mechdesign.collect import KaryResponse
    >>> risky_labels(KaryResponse.of(3, epsilon=1.0, labels=["yes", "no", "N/A"]))
    ['N/A']
    """
    names = (name for alphabet in alphabets_of(mechanism) for name in alphabet)
    return list(dict.fromkeys(name for name in names if name.strip() in READ_AS_MISSING))


def all_categories(mechanism: Any) -> list[str]:
    """Return the categories of all columns of answers as a table has them: labels, or codes from 0.

    Examples
    --------
    >>> from mechdesign.collect import KaryResponse
    >>> all_categories(KaryResponse.of(3, epsilon=1.0))
    ['0', '1', '2']
    >>> all_categories(KaryResponse.of(2, epsilon=1.0, labels=["a", "b"]))
    ['a', 'b']
    """
    inner = getattr(mechanism, "local", mechanism)  # behind a shuffler
    attributes = getattr(getattr(inner, "attributes", None), "labels", None) or ()
    alphabets = (getattr(inner, "labels", None), *attributes)
    unnamed = [labels for labels in alphabets if not getattr(labels, "names", None)]
    codes = [map(str, range(min(getattr(labels, "size", 0), MOST_CODES))) for labels in unnamed]
    names = [name for alphabet in (*alphabets_of(mechanism), *codes) for name in alphabet]
    return list(dict.fromkeys(names))


def require_no_category(mechanism: Any, rule: MissingRule) -> None:
    """Refuse a code for missing values that is a category: answers would be left out by their value.

    Raises
    ------
    ParameterError
        Naming the category.
    """
    for name in all_categories(mechanism) if rule.codes else ():
        if rule.is_missing(name):
            what = f"'{name}' is a category here; without such answers the estimates are wrong"
            raise ParameterError(
                named_option("missing_code"), what, "omit it, or give the category another name"
            )
