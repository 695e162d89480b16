"""Words and numbers that stand for a missing value in data of other programs, and what to do with them."""

from __future__ import annotations

from typing import Any

READ_AS_MISSING = frozenset(
    [
        *("", ".", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
        *("None", "null", "NULL", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    ]
)
"""Words that R, pandas, SAS or SPSS read as a missing value, unless they are told not to."""

OTHERS = frozenset(["-", "--", "---", "?", "*", "/", "na", "n.a.", "none", "missing", "unknown", "refused"])
"""Other words for it that people write."""

NUMBERS_FOR_MISSING = frozenset(
    float(sign * number)
    for number in (7, 8, 9, *(int(d * n) for d in "789" for n in (2, 3, 4, 5)))
    for sign in (1, -1)
) | {-1.0, -2.0}
"""Numbers that questionnaires use for no answer: -1, -9, 99, 999, -8888 and the like."""


def missing_hint(value: Any) -> str:
    """Return what to add to a remedy where a value may stand for a missing one; empty elsewhere.

    Examples
    --------
    >>> missing_hint("N/A"), missing_hint("12a")
    ("; if it stands for a missing value, --missing-code 'N/A'", '')
    """
    if not isinstance(value, str):
        return ""
    bare = value.strip()
    if bare not in READ_AS_MISSING and bare.casefold() not in OTHERS and not bare.isalpha():
        return ""
    plain = bare.isalnum() and bare == value
    return f"; if it stands for a missing value, --missing-code {value if plain else repr(value)}"
