"""The one gate for numbers: what comes from a caller is read once and becomes plain, or is refused.

Behind the gate a number is a Python int, a Fraction or a finite float64, and an array is an int64 or
float64 array in native byte order whose memory nobody can write to. A value is never changed on the way in:
what is not a double exactly is refused where a promise depends on it. So no verdict depends on the dtype, the
strides, the byte order or the class of what was given, nor on what happens to it afterwards.

Classes are told by ``type``, and subclasses of int and float are read by int's and float's own methods: what
a subclass says of its sums and comparisons never counts.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, RowError

Number = int | float | Fraction
Doubles = NDArray[np.float64]
Wholes = NDArray[np.int64]

NUMPY_INTEGERS = frozenset(np.dtype(code).type for code in "bBhHiIlLqQ")
NUMPY_FLOATS = frozenset(np.dtype(code).type for code in "efdg")

DECIMAL_DIGITS = 1200
"""Decimals with more digits before or after the point are refused: their fractions would fill the memory."""

EXACT_BELOW = 1 << 53
"""Integers up to this size are doubles."""

PLAIN_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?[ \t]*", re.ASCII)
"""How a number may be written in a text: decimal digits, a point, an exponent; no ``1_0``, no ``inf``."""


ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
"""A place in memory, as Python shows what it cannot write."""


# One number


def plain(value: Any) -> Number | None:
    """Return a number of exactly the same value as an int, a float or a Fraction; None for anything else.

    Examples
    --------
    >>> plain(np.uint8(200)), plain(np.float32(0.5)), plain(True), plain("1")
    (200, 0.5, None, None)
    """
    kind = type(value)
    if kind is float or kind is int:
        return value  # type: ignore[no-any-return]
    if kind is bool or kind is np.bool_:
        return None
    if issubclass(kind, int):
        return int.__index__(value)
    if issubclass(kind, float):
        return float.__float__(value)
    if kind in NUMPY_INTEGERS:
        return int(value)
    if kind in NUMPY_FLOATS:
        return _of_numpy(value)
    if kind is Decimal:
        return _of_decimal(value)
    if kind is Fraction:
        return Fraction(int.__index__(value.numerator), int.__index__(value.denominator))
    return None


def _of_numpy(value: Any) -> float | Fraction:
    nearest = float(value)
    if not math.isfinite(nearest) and not np.isfinite(value):
        return nearest
    exact = Fraction(*value.as_integer_ratio())  # a long double need not be a double
    return nearest if math.isfinite(nearest) and Fraction(nearest) == exact else exact


def _of_decimal(value: Decimal) -> float | Fraction | None:
    if not value.is_finite():
        return math.nan if value.is_nan() else float(value)
    exponent = value.as_tuple().exponent
    digits = isinstance(exponent, int) and max(-exponent, value.adjusted()) <= DECIMAL_DIGITS
    return Fraction(value) if digits else None


def text_of(value: object) -> str:
    """Return a short text of one line that tells what was given."""
    try:
        text = value.isoformat() if hasattr(value, "isoformat") else repr(value)
    except Exception:  # the class of a stranger
        text = f"a {type(value).__name__}"
    if ADDRESS.search(text):  # which says nothing, and differs from run to run
        text = f"a {type(value).__name__}"
    text = "".join(letter if letter.isprintable() else "?" for letter in text[:61])
    return text if len(text) <= 60 else f"{text[:57]}..."


def plain_real(field: str, value: Any) -> Number:
    """Return a plain number, finite or infinite; refuse NaN, booleans, texts and whatever is not a number."""
    number = plain(value)
    if number is None:
        raise ParameterError(field, f"expected a number, got {text_of(value)}")
    if isinstance(number, float) and math.isnan(number):
        raise ParameterError(field, "is NaN", "give a number")
    return number


def plain_int(field: str, value: Any) -> int:
    """Return a plain int; refuse floats and fractions even where they are whole."""
    number = plain(value)
    if not isinstance(number, int):
        raise ParameterError(field, f"expected a whole number, got {text_of(value)}")
    return number


def rational(field: str, value: Any) -> Fraction:
    """Return a finite number as the exact fraction that it is.

    Examples
    --------
    >>> rational("budget", 0.5)
    Fraction(1, 2)
    """
    number = plain_real(field, value)
    if isinstance(number, float) and math.isinf(number):
        raise ParameterError(field, "is infinite", "give a finite number")
    return Fraction(number)


def double(field: str, value: Any, rounded: bool = False) -> float:
    """Return a number as the double that it is, infinities included.

    Parameters
    ----------
    field : str
        The name in error messages.
    value : number
    rounded : bool
        Whether a number between two doubles becomes the nearest one instead of being refused.

    Examples
    --------
    >>> double("epsilon", Fraction(1, 3))
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: epsilon: Fraction(1, 3) is between two doubles; give ...
    """
    number = plain_real(field, value)
    if isinstance(number, float):
        return number
    try:
        nearest = float(number)
    except OverflowError:
        raise ParameterError(field, "is too large for a number", "give a smaller one") from None
    if not rounded and Fraction(nearest) != number:
        raise ParameterError(
            field, f"{text_of(value)} is between two doubles", "give the float that is meant"
        )
    return nearest


# Arrays


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy whose memory belongs to an immutable object: no flag makes it writeable again.

    Examples
    --------
    >>> frozen(np.arange(3)).setflags(write=True)
    Traceback (most recent call last):
        ...
    ValueError: cannot set WRITEABLE flag to True of this array
    """
    return np.ndarray(array.shape, array.dtype, array.tobytes())


def is_frozen(array: Any, kind: type[np.generic]) -> bool:
    """Return whether :func:`frozen` made this array, of this dtype: it need not be copied again."""
    if type(array) is not np.ndarray:
        return False
    owner: object = array.base
    return (
        type(owner) is bytes
        and array.dtype == np.dtype(kind)
        and array.flags.c_contiguous
        and array.flags.aligned
    )


def wholes(field: str, values: Any, dimensions: int) -> Wholes:
    """Return integers of any integer dtype, or of nested lists, as a frozen int64 array.

    Raises
    ------
    ParameterError
        For another number of dimensions, an entry that is not an integer, or one beyond 64 bits.

    Examples
    --------
    >>> wholes("counts", np.array([3, 200], dtype=">u2"), 1)
    array([  3, 200])
    """
    if is_frozen(values, np.int64) and values.ndim == dimensions:
        return values  # type: ignore[no-any-return]
    raw = plain_array(field, values, dimensions)
    if raw.dtype.kind not in "iuO":
        raise ParameterError(field, f"expected integers, got an array of {raw.dtype}")
    if raw.dtype.kind != "O":
        if raw.size and int(raw.max()) >= 1 << 63:
            raise ParameterError(field, "an entry is beyond 64 bits", "give smaller numbers")
        return frozen(raw.astype(np.int64))
    entries = raw.ravel().tolist()
    if not set(map(type, entries)) <= {int}:
        entries = [plain_int(_entry(field, raw, place), entry) for place, entry in enumerate(entries)]
    try:
        return frozen(np.array(entries, dtype=np.int64).reshape(raw.shape))
    except OverflowError:
        raise ParameterError(field, "an entry is beyond 64 bits", "give smaller numbers") from None


def doubles(field: str, values: Any, dimensions: int, rounded: bool = False) -> Doubles:
    """Return numbers of any real dtype, or of nested lists, as a frozen float64 array without NaN.

    Parameters
    ----------
    field : str
        The name in error messages.
    values : array or nested lists
    dimensions : int
    rounded : bool
        Whether a number between two doubles becomes the nearest one instead of being refused.

    Raises
    ------
    ParameterError
        For another number of dimensions, NaN, or an entry that is not a double.

    Examples
    --------
    >>> distance = doubles("distance", np.array([[0, 200], [200, 0]], dtype=np.uint8), 2)
    >>> distance[0, 1] + distance[1, 0]
    np.float64(400.0)
    """
    if is_frozen(values, np.float64) and values.ndim == dimensions:
        result: Doubles = values
    else:
        raw = plain_array(field, values, dimensions)
        if raw.dtype.kind not in "iufO":
            raise ParameterError(field, f"expected numbers, got an array of {raw.dtype}")
        result = frozen(_converted(field, raw, rounded))
    if np.isnan(result).any():
        where = ", ".join(str(int(index)) for index in np.argwhere(np.isnan(result))[0])
        raise ParameterError(field, f"has NaN at index {where}", "give numbers")
    return result


def _converted(field: str, raw: NDArray[Any], rounded: bool) -> Doubles:
    if raw.dtype.kind == "f":
        with np.errstate(over="ignore"):
            result = raw.astype(np.float64)
        lost = (result != raw) & ~np.isnan(raw)
        if rounded:
            lost &= np.isinf(result)
        if not lost.any():
            return result
    elif raw.dtype.kind in "iu" and not _is_wide(raw):
        return raw.astype(np.float64)
    entries = raw.ravel().tolist()
    if not set(map(type, entries)) <= {float}:
        entries = [
            entry if type(entry) is float else double(_entry(field, raw, place), entry, rounded)
            for place, entry in enumerate(entries)
        ]
    return np.array(entries, dtype=np.float64).reshape(raw.shape)


def _is_wide(raw: NDArray[Any]) -> bool:
    return raw.size > 0 and (int(raw.max()) > EXACT_BELOW or int(raw.min()) < -EXACT_BELOW)


def plain_array(field: str, values: Any, dimensions: int) -> NDArray[Any]:
    """Return a plain copy of an array; lists become objects, so that no entry takes another's dtype."""
    kind = type(values)
    if is_masked(values):
        raise ParameterError(field, "is a masked array", "fill it, and give the numbers that are meant")
    try:
        if issubclass(kind, np.ndarray) or hasattr(kind, "__array__"):
            raw = np.array(values, order="C", subok=False)
        else:
            raw = np.array(values, dtype=object)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise ParameterError(field, f"expected {shape_name(dimensions)} of numbers") from None
    if raw.ndim != dimensions:
        shape = f"{raw.ndim} dimension(s)" if raw.ndim else text_of(values)
        remedy = "give its values as a list" if isinstance(values, Mapping) else ""
        raise ParameterError(field, f"expected {shape_name(dimensions)}, got {shape}", remedy)
    return raw


def shape_name(dimensions: int) -> str:
    """Return the name of an array with this number of dimensions in a message."""
    return {0: "a number", 1: "a list", 2: "a matrix (a list of rows of equal length)"}[dimensions]


def _entry(field: str, raw: NDArray[Any], place: int) -> str:
    index = ", ".join(str(int(part)) for part in np.unravel_index(place, raw.shape))
    return f"{field}: entry {index}" if index else field


# Numbers in texts


def number_of_text(text: str) -> float | None:
    """Return the finite number that a text states in plain decimal digits; None when it states none.

    Examples
    --------
    >>> number_of_text("-1.5e3"), number_of_text("1_0"), number_of_text("nan"), number_of_text("1e999")
    (-1500.0, None, None, None)
    """
    stripped = text.lstrip(" \t")
    if PLAIN_NUMBER.fullmatch(stripped) is None:
        return None
    number = float(stripped)
    return number if math.isfinite(number) else None


def numbers_of_texts(texts: list[Any]) -> NDArray[np.float64] | None:
    """Return the numbers that :func:`number_of_text` reads in a column, or None where it might refuse one.

    Python's own conversion takes more than plain decimals only with letters, spaces or underscores; a column
    with any of these, exponents among them, or with a value that is not a text is left to the other one.

    Examples
    --------
    >>> numbers_of_texts(["-1.5", "7"]), numbers_of_texts(["7", " 8"]), numbers_of_texts([7])
    (array([-1.5,  7. ]), None, None)
    """
    try:
        if not "".join(texts).encode("ascii").translate(None, NUMERAL_SIGNS):
            numbers = np.fromiter(map(float, texts), np.float64, count=len(texts))
            return numbers if np.isfinite(numbers).all() else None
    except (TypeError, ValueError):
        pass
    return None


NUMERAL_SIGNS = b"0123456789+-."
"""The characters of plain decimals without an exponent."""


def rounding_allowance(value: float, terms: int = 64) -> float:
    """Return tau: what summing some terms of this size in double precision may lose."""
    return terms * max(sys.float_info.epsilon * abs(value), math.ulp(0.0))


# Masks of numpy, which are never lost


REMEDY = "leave such rows out: values[~mask]"
UNTOUCHED = "a report is never empty: use what randomize returned"

Mask = NDArray[np.bool_]


def require_no_mask(values: Any, what: str) -> None:
    """Raise RowError for the first row of data with a masked entry, where the data have a mask.

    Examples
    --------
    >>> import numpy.ma
    >>> require_no_mask(numpy.ma.array([3, 1, 2], mask=[False, True, False]), "answers")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.RowError: answers: row 2: is missing; leave such rows out: values[~mask]
    """
    mask = mask_of(values)
    if mask is not None and mask.any():
        count = int(mask.sum())
        more = f" ({count} such rows here)" if count > 1 else ""
        raise RowError(what, int(np.argmax(mask)), f"is missing{more}", gap_remedy(what, REMEDY))


def mask_of(values: Any) -> Mask | None:
    """Return which rows of data have a masked entry; None where nothing can be masked.

    Masked arrays are recognized, sequences of them, and sequences and arrays of objects that hold
    ``numpy.ma.masked``.
    """
    masked = sys.modules.get("numpy.ma")  # where nothing has imported it, there is no masked array
    if masked is None:
        return None
    if isinstance(values, masked.MaskedArray):
        return _rows_of(masked.getmaskarray(values))
    if isinstance(values, np.ndarray):
        if values.dtype.kind != "O":
            return None
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        return None
    nested = (masked.MaskedArray, np.ndarray, list, tuple)
    if not any(issubclass(kind, nested) for kind in set(map(type, values))):
        return None
    return np.array([has_mask(entry) for entry in values], dtype=np.bool_)


def is_masked(values: Any) -> bool:
    """Return whether data are a masked array, whatever its mask, or hold masked entries."""
    masked = sys.modules.get("numpy.ma")
    if masked is None or isinstance(values, masked.MaskedArray):
        return masked is not None
    return has_mask(values)


def has_mask(entry: Any) -> bool:
    """Return whether a part of data is masked or holds masked entries."""
    mask = mask_of(entry)
    return mask is not None and bool(mask.any())


def _rows_of(mask: NDArray[Any]) -> Mask:
    """Return which rows of the mask of an array, of any shape and of records as well, are set."""
    whole = np.ascontiguousarray(mask)
    rows = len(whole) if mask.ndim else 1
    flat: Mask = (
        whole.reshape(-1).view(np.bool_).reshape(rows, -1) if whole.size else np.zeros((rows, 0), bool)
    )
    return np.asarray(flat.any(axis=1))


def gap_remedy(what: str, remedy: str) -> str:
    """Return what to do about a missing entry: of a report, use the one that was made.

    Reports that are left out by their value make estimates wrong.

    Examples
    --------
    >>> gap_remedy("answers", "omit it"), gap_remedy("reports", "omit it")
    ('omit it', 'a report is never empty: use what randomize returned')
    """
    return UNTOUCHED if names_reports(what) else remedy


def names_reports(what: str) -> bool:
    """Return whether data with this name in errors are reports."""
    return what.startswith(("reports", "messages"))


# Whole numbers in files of JSON, whose readers in other languages round every number to a double

NUMBER = re.compile(r"-?[0-9]{16,4000}", re.ASCII)
LIKE_A_NUMBER = re.compile(r"=*-?[0-9]{16,}", re.ASCII)


def file_values(value: Any) -> Any:
    """Return plain values as they stand in a file.

    A whole number beyond 2**53 is a string of its decimal digits. A string of at least 16 digits is therefore
    a number; a text that looks like one, such as a label of digits, has ``=`` before it, and so has one that
    begins with such signs. :func:`plain_values` is the inverse, whatever the content.

    Examples
    --------
    >>> file_values({"total": 1 << 62, "size": 3, "labels": ["no", "1234567890123456"]})
    {'total': '4611686018427387904', 'size': 3, 'labels': ['no', '=1234567890123456']}
    """
    if isinstance(value, dict):
        return {key: file_values(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [file_values(each) for each in value]
    if isinstance(value, str):
        return f"={value}" if LIKE_A_NUMBER.fullmatch(value) else value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > EXACT_BELOW:
        return str(int(value))
    return value


def plain_values(value: Any) -> Any:
    """Return the value that :func:`file_values` was given.

    Examples
    --------
    >>> plain_values(file_values({"total": 1 << 62, "labels": ["1234567890123456", "=x"]}))
    {'total': 4611686018427387904, 'labels': ['1234567890123456', '=x']}
    """
    if isinstance(value, dict):
        return {key: plain_values(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain_values(each) for each in value]
    if isinstance(value, str) and LIKE_A_NUMBER.fullmatch(value):
        return value[1:] if value.startswith("=") else int(value) if NUMBER.fullmatch(value) else value
    return value


# Primes


@cache
def prime_from(number: int) -> int:
    """Return the least prime that is not below a number.

    Examples
    --------
    >>> prime_from(2), prime_from(64), prime_from(1024)
    (2, 67, 1031)
    """
    candidate = max(2, number)
    while any(candidate % divisor == 0 for divisor in range(2, int(candidate**0.5) + 1)):
        candidate += 1
    return candidate
