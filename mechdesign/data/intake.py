"""Where a mechanism's data come from: the columns of a file, and what to do where a value is missing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import one_of
from mechdesign.core.values import frozen_value, value_field

MISSING = ("refuse", "drop", "category")
"""What to do with a row without a value: refuse the file, leave the row out, or count it as a category."""

MISSING_CATEGORY = "missing"
"""The category that stands for a missing answer."""


def _names(field: str, names: object) -> tuple[str, ...]:
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(field, f"expected a list of names that are not empty, got {names!r}")
    if not all(name.isprintable() for name in names):
        raise ParameterError(field, f"{names!r} has a name that cannot be printed", "rename the column")
    if len(set(names)) != len(names):
        raise ParameterError(field, "a name appears twice", "names must differ")
    return tuple(names)


@frozen_value()
class Intake:
    """The columns a mechanism was built for, and what to do with missing values.

    Attributes
    ----------
    columns : tuple of str
        In the order of the mechanism's attributes; empty when the user is to name them.
    missing : {"refuse", "drop", "category"}

    Examples
    --------
    >>> Intake(("age",), "drop").as_json()
    {'columns': ['age'], 'missing': 'drop'}
    """

    columns: tuple[str, ...] = value_field(_names, default=())
    missing: str = value_field(partial(one_of, known=MISSING), default="refuse")

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return {"columns": list(self.columns), "missing": self.missing}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Intake:
        """Return the settings that :meth:`as_json` gave; anything else is refused."""
        if set(document) != {"columns", "missing"} or not isinstance(document["columns"], list):
            raise ParameterError("data", "expected columns and a rule for missing values", "rebuild it")
        return cls(tuple(document["columns"]), document["missing"])
