"""Objects that stay as they were built: what they are for is audited once, and must not change after that."""

from __future__ import annotations

from abc import ABCMeta
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from mechdesign.core.errors import SealedError


class Sealing(ABCMeta):
    """The class of classes whose objects are finished when their ``__init__`` has returned."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        """Build an object and seal it."""
        made = super().__call__(*args, **options)
        vars(made)["_sealed"] = True
        return made


class Sealed(metaclass=Sealing):
    """An object whose attributes can be set only while it is built.

    A value computed later (``cached_property``) is not a change; it follows from the rest. Copies and
    unpickled objects are sealed as well.

    Class attributes
    ----------------
    moving : tuple of str
        The attributes that change all the same: a state beside what it is.
    """

    moving: ClassVar[tuple[str, ...]] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        self._require_open(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._require_open(name)
        super().__delattr__(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copy; a pickle does not keep that arrays are read-only."""
        vars(self).update(state)
        close_arrays({name: value for name, value in state.items() if name not in self.moving}, set())

    def replaced(self, **parts: Any) -> Self:
        """Return the same but for these attributes, from which nothing else was computed."""
        made = copy(self)
        vars(made).update(parts)
        return made

    def _require_open(self, name: str) -> None:
        if "_sealed" in vars(self) and name not in self.moving:
            raise SealedError(name, f"a finished {type(self).__name__} does not change", "build another one")


def close_arrays(value: Any, seen: set[int]) -> None:
    """Make all arrays read-only that a value of the package holds, however deep.

    Parameters
    ----------
    value : object
        An array, a container, or an object with attributes.
    seen : set of int
        The identities of what was visited, for what refers to itself.

    Examples
    --------
    >>> import numpy as np
    >>> held = {"counts": (np.arange(3), "names")}
    >>> close_arrays(held, set())
    >>> held["counts"][0].flags.writeable
    False
    """
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, (tuple, list)):
        parts = list(value)
    else:
        parts = list(getattr(value, "__dict__", {}).values())
    for part in parts:
        if not isinstance(part, (str, int, float, type)):
            close_arrays(part, seen)
