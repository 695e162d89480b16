"""Dataclasses whose methods are made where they are first used, so that a command does not pay for all.

The standard library writes a text for every method of every dataclass and compiles it where the class is
defined: about half a millisecond a class, of which a command defines some eighty and makes objects of a
few. Here ``__init__`` is compiled when the first object is made, and what compares, shows and freezes objects
is compiled once for all classes. In all else a class is what :func:`dataclasses.dataclass` makes of it:
``fields``, ``replace``, ``asdict``, signatures, and dataclasses derived from it.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError
from inspect import get_annotations
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

OWN = ("__match_args__", "__replace__")
"""What the standard library gives a class besides its fields; the second from Python 3.13 on."""

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        kind: type | None = None,
        /,
        *,
        init: bool = True,
        repr: bool = True,
        eq: bool = True,
        frozen: bool = False,
        kw_only: bool = False,
    ) -> Any:
        """Return a class with the fields that it annotates, as :func:`dataclasses.dataclass` does.

        Parameters
        ----------
        kind : type, optional
            The class; without it the decorator is returned.
        init, repr, eq, frozen, kw_only : bool
            As in the standard library.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Place:
        ...     name: str
        ...     users: int = 0
        >>> Place("a", users=3) == Place("a", 3), dataclasses.replace(Place("a"), users=2).users
        (True, 2)
        >>> Place("a").users = 4
        Traceback (most recent call last):
            ...
        dataclasses.FrozenInstanceError: cannot assign to field 'users'
        """

        def result(owner: type) -> type:
            _state_fields(owner, kw_only)
            own = vars(owner)
            parameters = owner.__dataclass_params__
            parameters.init, parameters.repr, parameters.eq, parameters.frozen = init, repr, eq, frozen
            if init and "__init__" not in own:
                owner.__init__ = _LateInit(owner)
            if repr and "__repr__" not in own:
                owner.__repr__ = _shown
            if eq:
                _compare(owner, frozen)
            if frozen:
                owner.__setattr__, owner.__delattr__ = _not_assigned, _not_deleted
            return owner

        return result if kind is None else result(kind)


def _state_fields(owner: type, kw_only: bool) -> None:
    """Give a class its fields, those of its bases first, and the defaults that stand in the class."""
    annotations = get_annotations(owner)
    body = {name: vars(owner)[name] for name in annotations if name in vars(owner)}
    plain = type(owner.__name__, (), body | {"__annotations__": annotations, "__module__": owner.__module__})
    plain.__doc__ = owner.__doc__ or owner.__name__  # else the standard library works out a signature
    plain = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(plain)
    described: Any = plain
    for name in annotations:
        if name in vars(plain):
            setattr(owner, name, vars(plain)[name])
        elif name in vars(owner):  # a field that states no default
            delattr(owner, name)
    stated: dict[str, Field[Any]] = {}
    for base in owner.__mro__[:0:-1]:
        stated |= getattr(base, "__dataclass_fields__", {})
    described_class: Any = owner
    described_class.__dataclass_fields__ = stated | described.__dataclass_fields__
    described_class.__dataclass_params__ = described.__dataclass_params__
    for name in OWN:
        if name in vars(plain):
            setattr(owner, name, vars(plain)[name])
    names = tuple(item.name for item in _in_signature(owner) if not item.kw_only)
    setattr(owner, "__match_args__", names)  # noqa: B010 (type checkers take it for constant)


def _in_signature(owner: type) -> list[Field[Any]]:
    """Return the fields that ``__init__`` takes, those by name only last."""
    taken = [item for item in dataclasses.fields(owner) if item.init]
    return sorted(taken, key=lambda item: bool(item.kw_only))


class _LateInit:
    """What stands in a class for ``__init__`` until that is first asked for, which it then replaces."""

    def __init__(self, owner: type) -> None:
        self.owner = owner

    def __get__(self, instance: object, kind: type | None = None) -> Any:
        method = vars(self.owner)["__init__"]
        if method is self:
            method = _compiled_init(self.owner)
            self.owner.__init__ = method
        return method if instance is None else method.__get__(instance, kind)


class _FactoryDefault:
    """The default in a signature where a function makes it for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _FactoryDefault()


def _compiled_init(owner: type) -> Callable[..., None]:
    """Return ``__init__`` of a class, which fills the object's own dictionary."""
    words, lines, names = ["self"], [], {"__factory__": _FACTORY}
    is_named = False
    for item in _in_signature(owner):
        if item.kw_only and not is_named:
            words.append("*")
            is_named = True
        value = item.name
        if item.default is not MISSING:
            names[f"__default_{item.name}"] = item.default
            words.append(f"{item.name}=__default_{item.name}")
        elif item.default_factory is not MISSING:
            names[f"__make_{item.name}"] = item.default_factory  # type: ignore[assignment]
            words.append(f"{item.name}=__factory__")
            value = f"__make_{item.name}() if {item.name} is __factory__ else {item.name}"
        else:
            words.append(item.name)
        lines.append(f"__own_values__['{item.name}'] = {value}")
    for item in dataclasses.fields(owner):
        if not item.init and item.default_factory is not MISSING:
            names[f"__make_{item.name}"] = item.default_factory  # type: ignore[assignment]
            lines.append(f"__own_values__['{item.name}'] = __make_{item.name}()")
    if hasattr(owner, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "".join(f"\n  {line}" for line in ("__own_values__ = self.__dict__", *lines))
    text = f"def make({', '.join(names)}):\n def __init__({', '.join(words)}):{body}\n return __init__"
    space: dict[str, Any] = {}
    exec(text, vars(sys.modules[owner.__module__]), space)
    method: Any = space["make"](**names)
    method.__qualname__ = f"{owner.__qualname__}.__init__"
    method.__annotations__ = {item.name: item.type for item in _in_signature(owner)} | {"return": None}
    return method  # type: ignore[no-any-return]


def _values(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns the attributes of these names."""
    listed = tuple(names)
    if len(listed) > 1:
        return attrgetter(*listed)
    return lambda value: tuple(getattr(value, name) for name in listed)


def _compare(owner: type, frozen: bool) -> None:
    """Give a class ``__eq__`` and ``__hash__`` where it does not state them."""
    stated, fields = vars(owner), dataclasses.fields(owner)
    has_hash = stated.get("__hash__") is not None
    compared = _values(item.name for item in fields if item.compare)
    described_class: Any = owner
    if "__eq__" not in stated:

        def equal(self: Any, other: Any) -> Any:
            return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

        described_class.__eq__ = equal
    if has_hash:
        return
    if not frozen:
        described_class.__hash__ = None
        return
    hashed = _values(item.name for item in fields if (item.compare if item.hash is None else item.hash))
    described_class.__hash__ = lambda self: hash(hashed(self))


@recursive_repr("...")
def _shown(self: Any) -> str:
    """Return the class and the fields that are shown."""
    parts = [f"{item.name}={getattr(self, item.name)!r}" for item in dataclasses.fields(self) if item.repr]
    return f"{self.__class__.__qualname__}({', '.join(parts)})"


def _is_frozen(self: Any, name: str) -> bool:
    """Whether an attribute is a field, or of an object whose own class is a frozen dataclass."""
    return name in self.__dataclass_fields__ or "__dataclass_params__" in vars(type(self))


def _not_assigned(self: Any, name: str, value: Any) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _not_deleted(self: Any, name: str) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)
