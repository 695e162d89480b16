"""What of other packages a value is made of, and a digest of their source: the cache must notice a change."""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

OWN = __name__.partition(".")[0]
MEASURED = ("numpy", "scipy", "cvxpy", "pulp", "clarabel", "scs", "highspy", "networkx")
"""The libraries that the package computes with: their versions count, not their source."""


class _Pickler(pickle.Pickler):
    """Notes the top modules of all classes and functions that it meets."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.owners: set[str] = set()

    def reducer_override(self, value: Any) -> Any:
        """Note where a class or a function is from, and pickle it as always."""
        if isinstance(value, (type, FunctionType, BuiltinFunctionType)):
            self.owners.add((value.__module__ or "builtins").partition(".")[0])
        return NotImplemented


def pickled_with_owners(value: Any) -> tuple[bytes, list[str]]:
    """Return a value pickled, and the other packages whose classes and functions it holds, in order.

    Not counted are this package, the standard library and the libraries whose versions count anyway.

    Examples
    --------
    >>> from fractions import Fraction
    >>> pickled_with_owners([Fraction(1, 2), 0.5])[1]
    []
    """
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.dump(value)
    known = {OWN, *MEASURED, *sys.stdlib_module_names} - {"__main__"}
    return stream.getvalue(), sorted(pickler.owners - known)


@cache
def source_digest(owner: str) -> str | None:
    """Return a digest of the source of a package, or of a single file and those next to it.

    None where there is no file, as for what is defined in a notebook.

    Examples
    --------
    >>> len(source_digest("mechdesign") or "")
    16
    """
    name = getattr(sys.modules.get(owner), "__file__", None)
    if name is None:
        return None
    place = Path(name).resolve()
    is_package = place.name.startswith("__init__.")
    digest = hashlib.sha256()
    try:
        for path in sorted(place.parent.rglob("*.py") if is_package else place.parent.glob("*.py")):
            digest.update(path.relative_to(place.parent).as_posix().encode())
            digest.update(path.read_bytes())
        digest.update(place.read_bytes())
    except OSError:
        return None
    return digest.hexdigest()[:16]
