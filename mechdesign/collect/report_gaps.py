"""Empty fields in columns of reports: a report is never empty, and leaving some out by value is biased.

Other programs read some words as missing values and write them as empty fields. Where such a word is a
report, rows without a report are not rows of users who sent none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.collect.label_clashes import alphabets_of
from mechdesign.core.errors import MechDesignError, ParameterError, RowError
from mechdesign.data.codes import READ_AS_MISSING
from mechdesign.exact.numbers import number_of_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mechdesign.collect.base import Mechanism
    from mechdesign.data.missing import MissingRule

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
    from mechdesign.data.missing import MissingRule  # build only looks at labels

    if rule == "category":
        raise ParameterError("--missing category", "is for answers; a report has no category", "omit it")
    for code in codes:
        if is_report(mechanism, code):
            what = f"'{code}' can be a report of this mechanism; leaving it out makes the estimates wrong"
            raise ParameterError("--missing-code", what, "omit it")
    if rule == "drop" and (words := [word for word in risky_labels(mechanism) if is_report(mechanism, word)]):
        raise ParameterError(
            "--missing drop",
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
            raise ParameterError("--missing-code", what, "omit it, or give the category another name")


def labels_note(mechanism: Mechanism) -> str | None:
    """Return a warning about labels that other programs read as missing values; None without any."""
    found = risky_labels(mechanism)
    if not found:
        return None
    shown = ", ".join(map(repr, found[:4])) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
    return f"labels: R, pandas or other programs read {shown} as a missing value; choose other words"
