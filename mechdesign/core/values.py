"""Values: small frozen objects whose fields are checked, and made what is kept, before they are complete.

A dataclass is complete before it can check its fields, so to keep something else than it was given it had to
write to what must not be written to. Here a field states its check (:func:`kept`, :func:`kept_after`), and
the class has in ``__attrs_post_init__`` only what concerns several fields. Parameters of problems also state
their words: see :mod:`mechdesign.core.fields`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import attrs

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")


def kept(check: Callable[[str, Any], Any], *, default: Any = attrs.NOTHING, optional: bool = False) -> Any:
    """Return a field that keeps what its check returns.

    Parameters
    ----------
    check : callable
        From the field's name and the given value to what is kept; raises ParameterError.
    default : optional
        Is checked as well.
    optional : bool
        Whether None is kept as it is.
    """

    def alone(value: object, name: str, given: Any) -> Any:
        return None if optional and given is None else check(name, given)

    return kept_after(alone, default=default)


def kept_after(check: Callable[[Any, str, Any], Any], *, default: Any = attrs.NOTHING) -> Any:
    """Return a field like :func:`kept` whose check is also given the object, with the fields above it set."""

    def converted(given: Any, value: Any, field: attrs.Attribute[Any]) -> Any:
        return check(value, field.name, given)

    converter = attrs.Converter(converted, takes_self=True, takes_field=True)
    return attrs.field(default=default, converter=converter)


@dataclass_transform(frozen_default=True, field_specifiers=(kept, kept_after, attrs.field))
def frozen_value(*, eq: bool = True, kw_only: bool = False, repr: bool = True) -> Callable[[Class], Class]:
    """Return the decorator of values.

    Parameters
    ----------
    eq : bool
        Whether values with equal fields are equal, and hashed by them.
    kw_only : bool
        Whether fields are given by name only.
    repr : bool
        Whether they are shown by their fields.

    Examples
    --------
    >>> from mechdesign.core.validation import integer
    >>> @frozen_value()
    ... class Crowd:
    ...     users: int = kept(lambda name, value: integer(name, value, 1))
    >>> changed(Crowd(3), users=5)
    Crowd(users=5)
    >>> Crowd(0)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: users: 0 is not at least 1
    """

    def made(value_class: Class) -> Class:
        # Without slots: cached properties and vars() need a __dict__.
        found = attrs.frozen(slots=False, eq=eq, kw_only=kw_only, repr=repr)(value_class)
        # attrs would tell the type of the converter's argument.
        vars(found)["__init__"].__annotations__ |= {item.name: item.type for item in attrs.fields(found)}
        return found

    return made


def changed(value: Value, /, **fields: Any) -> Value:
    """Return a copy of a value with other fields, which are checked."""
    copied: Any = value  # type checkers take these classes for dataclasses, and evolve for attrs' own alone
    made: Value = attrs.evolve(copied, **fields)
    return made
