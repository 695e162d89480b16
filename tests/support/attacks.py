"""The same numbers in every guise a caller can give them: dtypes, byte orders, strides, classes that lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

Rows = Sequence[Sequence[Any]]


def _lies(self: Any, *_: Any) -> Any:
    return True


def _zero(self: Any, *_: Any) -> Any:
    return 0


COMPARISONS = dict.fromkeys(("__lt__", "__le__", "__gt__", "__ge__", "__eq__"), _lies)
SUMS = dict.fromkeys(
    ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__neg__", "__abs__"), _zero
)
LIES = {**COMPARISONS, **SUMS, "__hash__": lambda self: 7, "__bool__": lambda self: False}

LyingInt: Any = type("LyingInt", (int,), {**LIES, "__index__": _zero, "__int__": _zero})
LyingFloat: Any = type(
    "LyingFloat",
    (float,),
    {**LIES, "__float__": lambda self: 0.0, "as_integer_ratio": lambda self: (0, 1), "is_integer": _lies},
)
LyingFraction: Any = type("LyingFraction", (Fraction,), dict(LIES))


class LyingArray(np.ndarray):
    """An array whose reductions and comparisons answer whatever suits it."""

    def min(self, *args: Any, **options: Any) -> Any:
        """Return 0."""
        return np.int64(0)

    def max(self, *args: Any, **options: Any) -> Any:
        """Return 0."""
        return np.int64(0)

    def sum(self, *args: Any, **options: Any) -> Any:
        """Return 2**62 for every row."""
        return np.full(len(self), 2**62)

    def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
        return np.False_

    def __array_function__(self, *args: Any, **options: Any) -> Any:
        return np.False_

    def astype(self, *args: Any, **options: Any) -> Any:
        """Return zeros."""
        return np.zeros(self.shape)

    def copy(self, *args: Any, **options: Any) -> Any:
        """Return itself."""
        return self


class Turncoat:
    """Numbers that change when they are read again."""

    def __init__(self, first: Any, later: Any) -> None:
        self.first, self.later, self.reads = first, later, 0

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self.reads += 1
        return np.array(self.first if self.reads == 1 else self.later, dtype=dtype)


def strided(array: np.ndarray) -> dict[str, np.ndarray]:
    """Return the array in other memory layouts, with the same entries."""
    wide = np.zeros(tuple(2 * size for size in array.shape), dtype=array.dtype)
    every_other = (slice(None, None, 2),) * array.ndim
    wide[every_other] = array
    backwards = (slice(None, None, -1),) * array.ndim
    locked = array.copy()
    locked.setflags(write=False)
    unaligned = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:].view(array.dtype).reshape(array.shape)
    unaligned[...] = array
    return {
        "fortran": np.asfortranarray(array),
        "backwards": array[backwards].copy()[backwards],
        "every-other": wide[every_other],
        "read-only": locked,
        "unaligned": unaligned,
        "swapped": array.astype(array.dtype.newbyteorder("S")),
        "lying": array.view(LyingArray),
    }


def nested(rows: Rows, kind: Callable[[Any], Any]) -> list[list[Any]]:
    """Return the numbers as lists, each in the given class."""
    return [[kind(entry) for entry in row] for row in rows]


def mixed(rows: Rows, kinds: Sequence[Callable[[Any], Any]]) -> list[list[Any]]:
    """Return the numbers as lists in which neighbours are of different classes."""
    return [
        [kinds[(place + number) % len(kinds)](entry) for place, entry in enumerate(row)]
        for number, row in enumerate(rows)
    ]


def objects(rows: Rows, kind: Callable[[Any], Any]) -> np.ndarray:
    """Return the numbers as an array of objects."""
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for first, row in enumerate(rows):
        for second, entry in enumerate(row):
            array[first, second] = kind(entry)
    return array


def guises_of_integers(rows: Rows) -> dict[str, Any]:
    """Return integers below 2**63 in every guise."""
    array = np.array(rows, dtype=np.int64)
    found: dict[str, Any] = {f"int64 {name}": guise for name, guise in strided(array).items()}
    most = max(max(row) for row in rows)
    for dtype in (np.uint8, np.int8, np.int16, np.uint32, np.uint64, np.longlong, np.ulonglong):
        if most <= np.iinfo(dtype).max:
            found[np.dtype(dtype).name] = array.astype(dtype)
            found[f"{np.dtype(dtype).name} swapped"] = array.astype(np.dtype(dtype).newbyteorder("S"))
    kinds = {"int": int, "numpy": np.int64, "unsigned": np.uint64, "lying": LyingInt}
    for name, kind in kinds.items():
        found[f"list of {name}"] = nested(rows, kind)
        found[f"objects of {name}"] = objects(rows, kind)
    found["list of mixed"] = mixed(rows, list(kinds.values()))
    found["tuple of arrays"] = tuple(np.array(row) for row in rows)
    found["matrix"] = array.view(np.matrix)
    return found


def guises_of_distances(rows: Rows) -> dict[str, Any]:
    """Return fractions that are doubles in every guise that can hold them exactly."""
    doubles = np.array(nested(rows, float))
    found: dict[str, Any] = {f"float64 {name}": guise for name, guise in strided(doubles).items()}
    for dtype in (np.float16, np.float32, np.longdouble, np.int8, np.uint8, np.int16, np.int64, np.uint64):
        with np.errstate(all="ignore"):
            cast = doubles.astype(dtype)
        if (cast.astype(np.longdouble) == doubles).all() and doubles.max() < 2.0**53:
            found[np.dtype(dtype).name] = cast
            found[f"{np.dtype(dtype).name} lying"] = cast.view(LyingArray)
            found[f"list of {np.dtype(dtype).name}"] = [list(row) for row in cast]
            if dtype is not np.longdouble:
                found[f"{np.dtype(dtype).name} swapped"] = cast.astype(cast.dtype.newbyteorder("S"))
    kinds = {"float": float, "numpy": np.float64, "fraction": Fraction, "lying": LyingFloat}
    kinds["decimal"] = lambda entry: Decimal(entry.numerator) / Decimal(entry.denominator)
    exact = all(entry.denominator <= 2**20 and entry < 2**40 for row in rows for entry in row)
    for name, kind in kinds.items():
        if exact or name != "decimal":
            found[f"list of {name}"] = nested(rows, kind)
            found[f"objects of {name}"] = objects(rows, kind)
    found["list of mixed"] = mixed(rows, [float, np.float64, Fraction, LyingFloat])
    return found


def guises_of_number(number: Fraction) -> dict[str, Any]:
    """Return one number that is a double in every guise that holds it exactly."""
    nearest = float(number)
    found: dict[str, Any] = {
        "float": nearest,
        "numpy": np.float64(nearest),
        "long double": np.longdouble(nearest),
        "lying": LyingFloat(nearest),
        "fraction": number,
    }
    for dtype in (np.float16, np.float32):
        with np.errstate(all="ignore"):
            if float(dtype(nearest)) == nearest:
                found[np.dtype(dtype).name] = dtype(nearest)
    if number.denominator == 1:
        found |= {"int": int(number), "lying int": LyingInt(number)}
        if abs(number) < 2**15:
            found["numpy int"] = np.int16(int(number))
    return found


NO_NUMBERS: dict[str, Any] = {
    "none": None,
    "text": "1",
    "numpy text": np.str_("1"),
    "bytes": b"1",
    "true": True,
    "numpy true": np.True_,
    "nan": float("nan"),
    "numpy nan": np.float32("nan"),
    "decimal nan": Decimal("nan"),
    "signalling": Decimal("snan"),
    "lying nan": LyingFloat("nan"),
    "infinity": float("inf"),
    "decimal infinity": Decimal("inf"),
    "huge": 10**400,
    "huge decimal": Decimal("1e999999999"),
    "tiny decimal": Decimal("1e-999999999"),
    "between doubles": Fraction(1, 3),
    "decimal between doubles": Decimal("0.1"),
    "long double between doubles": np.longdouble(1) / 3,
    "complex": 1 + 0j,
    "numpy complex": np.complex64(1),
    "time": np.timedelta64(1, "s"),
    "date": np.datetime64(1, "s"),
    "array": np.array(1.0),
    "list": [1.0],
    "dictionary": {"value": 1.0},
}
"""What no parameter that a promise rests on may be."""
