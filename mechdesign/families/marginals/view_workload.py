"""What an analyst states: attributes with their sizes and names, and the requested marginals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from mechdesign.core.errors import ParameterError, UnknownNameError, suggestion
from mechdesign.core.text import counted
from mechdesign.core.validation import in_range, integer, require_keys
from mechdesign.exact.numbers import text_of
from mechdesign.families.marginals.covering_audit import short_number

View = tuple[int, ...]
"""Attributes by their numbers, in rising order."""

MOST_ATTRIBUTES = 200
MOST_VALUES = 1 << 20
"""Values of one attribute."""

MOST_MARGINALS = 200_000
"""Wanted marginals whose errors are predicted one by one."""

ENTRY_KEYS = ("attributes", "weight")


def checked_sizes(value: Any) -> tuple[int, ...]:
    """Return the domain sizes; a whole number d means d attributes with two values each.

    Examples
    --------
    >>> checked_sizes(3), checked_sizes([2, 5])
    ((2, 2, 2), (2, 5))
    """
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__len__"):
        return (2,) * integer("attributes", value, 1, MOST_ATTRIBUTES)
    if not len(value):
        raise ParameterError("attributes", "is empty", "give the number of values of each attribute")
    if len(value) > MOST_ATTRIBUTES:
        raise ParameterError("attributes", f"{len(value)} are more than {MOST_ATTRIBUTES}", "leave some out")
    sizes = []
    for number, size in enumerate(value):
        field = f"attributes: entry {number}"
        if integer(field, size, 0, MOST_VALUES) < 2:
            raise ParameterError(
                field, f"has {text_of(size)} value(s), so there is nothing to ask", "drop it"
            )
        sizes.append(int(size))
    return tuple(sizes)


def checked_names(value: Any, count: int) -> tuple[str, ...] | None:
    """Return one name for each attribute, each once, or None where none are given."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) and name for name in value):
        raise ParameterError("names", f"expected a list of names, got {text_of(value)}")
    if len(value) != count:
        raise ParameterError(
            "names", f"{counted(len(value), 'name')} for {count} attributes", "give one for each"
        )
    for name in value:
        if list(value).count(name) > 1:
            raise ParameterError("names", f"'{name}' is there twice", "give each attribute a name of its own")
    return tuple(value)


def attribute_set(field: str, value: Any, count: int, names: Sequence[str] | None) -> View:
    """Return attributes, given by names or by numbers from 0, in rising order.

    Examples
    --------
    >>> attribute_set("views", ["b", 0], 2, ("a", "b"))
    (0, 1)
    """
    if isinstance(value, str) or not hasattr(value, "__len__") or isinstance(value, Mapping):
        raise ParameterError(field, f"expected a list of attributes, got {text_of(value)}")
    numbers = []
    for entry in value:
        if isinstance(entry, str):
            if names is None:
                raise ParameterError(field, f"names attribute '{entry}', but there are no names", "add names")
            if entry not in names:
                raise UnknownNameError(field, f"no attribute '{entry}'", suggestion(entry, names))
            numbers.append(names.index(entry))
        else:
            numbers.append(integer(f"{field}: attribute", entry, 0, count - 1))
    if not numbers:
        raise ParameterError(field, "is empty", "name at least one attribute")
    if len(set(numbers)) < len(numbers):
        raise ParameterError(field, "has an attribute twice", "name each once")
    return tuple(sorted(numbers))


def checked_sets(field: str, value: Any, count: int, names: Sequence[str] | None) -> tuple[View, ...]:
    """Return a list of attribute sets, each once."""
    if isinstance(value, (str, Mapping)) or not hasattr(value, "__len__") or not len(value):
        raise ParameterError(field, f"expected a list of lists of attributes, got {text_of(value)}")
    if len(value) > MOST_MARGINALS:
        raise ParameterError(field, f"{len(value)} are more than {MOST_MARGINALS}", "leave some out")
    distinct: dict[View, None] = {}
    for number, entry in enumerate(value):
        one = attribute_set(f"{field}: entry {number}", entry, count, names)
        if one in distinct:
            raise ParameterError(field, f"entry {number} is there twice", "drop one")
        distinct[one] = None
    return tuple(distinct)


def checked_workload(value: Any, count: int, names: Sequence[str] | None) -> dict[View, float]:
    """Return the weight of each requested marginal.

    Each entry is a list of attributes, or ``{attributes = [...], weight = 2.0}``; the weight is 1 where none
    is given.

    Examples
    --------
    >>> checked_workload([["a", "b"], {"attributes": ["b"], "weight": 3}], 2, ("a", "b"))
    {(0, 1): 1.0, (1,): 3.0}
    """
    if isinstance(value, (str, Mapping)) or not hasattr(value, "__len__") or not len(value):
        raise ParameterError("workload", f"expected a list of marginals, got {text_of(value)}")
    weights = []
    for number, entry in enumerate(value):
        if not isinstance(entry, Mapping):
            weights.append(1.0)
            continue
        field = f"workload: entry {number}"
        require_keys(field, entry, ENTRY_KEYS)
        if "attributes" not in entry:
            raise ParameterError(field, "attributes is missing", "name the attributes of the marginal")
        weights.append(in_range(f"{field}: weight", entry.get("weight", 1.0), 0.0, 1e9, low_open=True))
    sets = [entry["attributes"] if isinstance(entry, Mapping) else entry for entry in value]
    return dict(zip(checked_sets("workload", sets, count, names), weights, strict=True))


def all_marginals(count: int, order: int) -> dict[View, float]:
    """Return every marginal of ``order`` of the attributes, with weight 1.

    Raises
    ------
    ParameterError
        Where they are too many, saying how much memory their errors would take.
    """
    number = math.comb(count, order)
    if number > MOST_MARGINALS:
        gibibytes = max(1, number * 256 >> 30)
        raise ParameterError(
            "order",
            f"{count} attributes have {short_number(number)} marginals of {order}, whose errors would take "
            f"{short_number(gibibytes)} GiB of memory",
            f"{MOST_MARGINALS} are the limit: give a workload, or a smaller order",
        )
    return dict.fromkeys(combinations(range(count), order), 1.0)
