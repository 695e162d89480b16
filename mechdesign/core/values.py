"""Values: small frozen objects with checked fields; what mechanisms hand back; values as text and as JSON.

A dataclass is complete before it can check its fields, so to keep something else than its argument it would
have to write to what must not be written to. Here a field states its check (:func:`value_field`,
:func:`dependent_field`), and the class has in ``__attrs_post_init__`` only what concerns several fields.
Parameters of problems also state their words: see :mod:`mechdesign.core.fields`.

An exact number is written as a quotient where that is short, else in decimals, rounded in the direction that
is named. No double and no text of all digits is made on the way: a number may have a million digits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, dataclass_transform

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import NORMAL, SHOWN, html_text, listed, margin_text

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")


def value_field(
    check: Callable[[str, Any], Any], *, default: Any = attrs.NOTHING, optional: bool = False
) -> Any:
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

    def alone(value: object, name: str, entry: Any) -> Any:
        return None if optional and entry is None else check(name, entry)

    return dependent_field(alone, default=default)


def dependent_field(check: Callable[[Any, str, Any], Any], *, default: Any = attrs.NOTHING) -> Any:
    """Return a field like :func:`value_field` whose check also takes the object, with the fields above it."""

    def converted(entry: Any, value: Any, field: attrs.Attribute[Any]) -> Any:
        return check(value, field.name, entry)

    converter = attrs.Converter(converted, takes_self=True, takes_field=True)
    return attrs.field(default=default, converter=converter)


@dataclass_transform(frozen_default=True, field_specifiers=(value_field, dependent_field, attrs.field))
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
    ...     users: int = value_field(lambda name, value: integer(name, value, 1))
    >>> changed(Crowd(3), users=5)
    Crowd(users=5)
    >>> Crowd(0)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: users: 0 is not at least 1
    """

    def result(value_class: Class) -> Class:
        # Without slots: cached properties and vars() need a __dict__. attrs would compile text for each
        # class, of which a command has hundreds: what compares and shows values is one for all of them.
        frozen = attrs.frozen(slots=False, eq=False, kw_only=kw_only, repr=False)(value_class)
        own = vars(value_class)
        if eq and "__eq__" not in own:
            frozen.__eq__ = _equal  # type: ignore[method-assign, assignment]
            if own.get("__hash__") is None:
                frozen.__hash__ = _hashed  # type: ignore[method-assign, assignment]
        if repr and "__repr__" not in own:
            frozen.__repr__ = _shown  # type: ignore[method-assign, assignment]
        # attrs would tell the type of the converter's argument.
        vars(frozen)["__init__"].__annotations__ |= {item.name: item.type for item in attrs.fields(frozen)}
        return frozen

    return result


def _equal(value: Any, other: Any) -> Any:
    """Whether two values of one class have equal fields."""
    if other.__class__ is not value.__class__:
        return NotImplemented
    return _fields(value) == _fields(other)


def _hashed(value: Any) -> int:
    return hash((value.__class__, *_fields(value)))


def _fields(value: Any) -> tuple[Any, ...]:
    """Return the fields that count when values are compared."""
    return tuple([getattr(value, item.name) for item in value.__attrs_attrs__ if item.eq])


def _shown(value: Any) -> str:
    """Return the class and the fields that are shown."""
    parts = [f"{item.name}={getattr(value, item.name)!r}" for item in value.__attrs_attrs__ if item.repr]
    return f"{value.__class__.__qualname__.rpartition('>.')[2]}({', '.join(parts)})"


def changed(value: Value, /, **fields: Any) -> Value:
    """Return a copy of a value with other fields, which are checked."""
    copied: Any = value  # type checkers take these classes for dataclasses, and evolve for attrs' own alone
    result: Value = attrs.evolve(copied, **fields)
    return result


if TYPE_CHECKING:
    from typing_extensions import (
        TypeVar as DefaultTypeVar,  # the default of a type variable: in `typing` from Python 3.13 on
    )

    from mechdesign.core.certificate import Certificate
    from mechdesign.core.guarantee import Proof

    MechanismT_co = DefaultTypeVar("MechanismT_co", covariant=True, default=Any)
    EstimateT_co = DefaultTypeVar("EstimateT_co", covariant=True, default="Estimate")
else:
    MechanismT_co = TypeVar("MechanismT_co", covariant=True)
    EstimateT_co = TypeVar("EstimateT_co", covariant=True)

Vector: TypeAlias = Sequence[float] | NDArray[np.floating[Any]] | NDArray[np.integer[Any]]
"""A list, a tuple or an array of numbers."""

Matrix: TypeAlias = Sequence[Sequence[float]] | NDArray[np.floating[Any]] | NDArray[np.integer[Any]]
"""A list of rows, or an array with two dimensions."""


class Verdict(Protocol):
    """Result of ``audit()`` of every mechanism: ``print`` it, or ask whether it holds."""

    @property
    def holds(self) -> bool:
        """Whether the mechanism keeps what it promises."""


class PrivacyVerdict(Verdict, Protocol):
    """Result of ``audit()`` of a mechanism that collects."""

    @property
    def epsilon(self) -> float:
        """The epsilon that is promised."""

    @property
    def true_epsilon(self) -> float:
        """The least epsilon that the mechanism has with delta = 0."""

    @property
    def proof(self) -> Proof:
        """The guarantee, exactly, and what is proven of it."""

    def certificate(self) -> Certificate:
        """Return the certificate ``privacy``."""


class Estimate(Protocol):
    """Result of ``estimate``, a number or an array of numbers; ``print`` it for a table."""

    @property
    def value(self) -> Any:
        """The unbiased estimate."""

    @property
    def standard_error(self) -> Any:
        """The standard error of the estimate."""

    @property
    def users(self) -> int:
        """Number of users who reported."""

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the ends of confidence intervals."""

    def figures(self) -> list[Any]:
        """Return pictures of it, for ``plot``."""

    def tidy(self, level: float = 0.95) -> dict[str, list[Any]]:
        """Return the estimates as columns, a row each."""

    def to_frame(self, backend: str = "pandas", level: float = 0.95) -> Any:
        """Return the estimates as a data frame, a row each."""

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain values."""


class Outlook(Protocol):
    """Forecast before anything is collected: ``print`` it."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""


class Counter(Protocol[EstimateT_co]):
    """Result of ``aggregator()``: add reports, merge with others, estimate."""

    @property
    def users(self) -> int:
        """Number of users whose reports were added."""

    def update(self, reports: Any) -> None:
        """Add reports: an array, a data frame or a series."""

    def count_table(self, source: Any, settings: Any) -> None:
        """Add the reports of a table, block by block."""

    def take(self, source: Any, settings: Any) -> None:
        """Add the reports of a table, or the counts of a file."""

    def merge(self, other: Any) -> None:
        """Add what another machine has counted."""

    def estimate(self, population: bool = False) -> EstimateT_co:
        """Return the estimate from all reports added so far."""

    def as_json(self) -> dict[str, Any]:
        """Return the exact sums as plain values."""


SHARES = ("frequencies", "marginals", "survey", "total variation")
"""Quantities that are between 0 and 1."""

USELESS = 0.3
"""A margin of error of a share from which on an estimate says hardly anything."""

USERS = 10_000
"""The number of users that forecasts are for where nobody says."""


@frozen_value()
class Forecast:
    """Whether reports determine what is asked for, and with which standard error.

    Attributes
    ----------
    quantity : str
        What is estimated: frequencies, a mean.
    users : int
    possible : bool
        Whether it can be estimated at all.
    largest : float or None
        The largest standard error over all data these users may have (and all categories).
    typical : float or None
        The standard error for typical data, which ``typical_data`` names.
    typical_data : str
    reason : str
        Why nothing can be estimated, and what would help.
    of : str
        What the standard error is of: a share, the mean, a cell.

    Examples
    --------
    >>> print(Forecast("mean", 400, True, largest=0.05, of="the mean"))
    mean: can be estimated; with 400 users the standard error of the mean is at most 0.05
    >>> print(Forecast("frequencies", 400, False, reason="epsilon is 0; give a larger one"))
    frequencies: CANNOT be estimated: epsilon is 0; give a larger one
    """

    quantity: str
    users: int
    possible: bool
    largest: float | None = None
    typical: float | None = None
    typical_data: str = ""
    reason: str = ""
    of: str = ""

    @classmethod
    def of_shares(
        cls, users: int, largest: float, typical: float, typical_data: str, of: str = "a share"
    ) -> Forecast:
        """Return the forecast of frequencies: an error above 1 says nothing about a share between 0 and 1."""
        figures = (largest, typical, typical_data)
        if largest <= 1.0:
            return cls("frequencies", users, True, *figures, of=of)
        reason = (
            f"with {users} users the standard error of {of} is up to {largest:.4g}, but a share lies "
            "between 0 and 1; collect from more users, or build with a larger epsilon"
        )
        return cls("frequencies", users, False, *figures, reason, of)

    def __str__(self) -> str:
        if not self.possible:
            return f"{self.quantity}: CANNOT be estimated: {self.reason}"
        whose = f" of {self.of}" if self.of else ""
        margin = None if self.largest is None else NORMAL * self.largest
        useless = self.is_of_shares and margin is not None and margin > USELESS
        verdict = "can be estimated, but too roughly to be of use" if useless else "can be estimated"
        head = f"{self.quantity}: {verdict}; with {self.users} users the standard error{whose} is"
        usual = "" if self.typical is None else f" {self.typical:.4g} {self.typical_data} and"
        error = f", a margin of error of {margin_text(margin, True)}" if self.is_of_shares else ""
        return f"{head}{usual} at most {self.largest:.4g}{error}"

    @property
    def is_of_shares(self) -> bool:
        """Whether errors are those of shares, or of means over the width of their range."""
        return self.quantity in SHARES

    def as_json(self) -> dict[str, Any]:
        """Return the forecast as plain values."""
        return dict(vars(self))


@frozen_value()
class Remark:
    """One sentence for those who build, and the figures in it.

    Parameters
    ----------
    text : str
    figures : mapping of str to object
        For JSON.

    Examples
    --------
    >>> remark = Remark("at most 20 users a slot", {"most_users": 20})
    >>> print(remark)
    at most 20 users a slot
    >>> remark.as_json()
    {'text': 'at most 20 users a slot', 'most_users': 20}
    """

    text: str
    figures: Mapping[str, Any] = attrs.field(factory=dict)

    def __str__(self) -> str:
        return self.text

    def as_json(self) -> dict[str, Any]:
        """Return the text and the figures."""
        return {"text": self.text, **self.figures}


SHORT = 40
"""Characters of a quotient that is printed as it is."""

LONGEST = 4000
"""Digits of an integer that is ever written; Python itself refuses more than 4300."""

LOG_OF_TWO = math.log10(2.0)

DECIMALS = 20
"""Of the bounds that are printed."""


def decimal_context(digits: int, rounding: str | None = None) -> Context:
    """Return decimal arithmetic with so many significant digits and with exponents of every size."""
    return Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)


def is_writable(number: int) -> bool:
    """Whether an integer has few enough digits to be written."""
    return number.bit_length() * 0.30103 < LONGEST


def quotient(value: Fraction, digits: int, rounding: str) -> Decimal:
    """Return a fraction as a decimal of this many significant digits, rounded as stated.

    Examples
    --------
    >>> from decimal import ROUND_FLOOR
    >>> quotient(Fraction(2, 3), 4, ROUND_FLOOR)
    Decimal('0.6666')
    """
    top, bottom = abs(value.numerator), value.denominator
    if not top:
        return Decimal(0)
    # Two digits more than are asked for, and a last one that says whether anything follows: integers of a
    # million digits are divided quickly where the quotient is short, and would take long as decimals.
    shift = digits + 2 - math.floor((top.bit_length() - bottom.bit_length() - 1) * LOG_OF_TWO)
    whole, rest = divmod(top * 10 ** max(0, shift), bottom * 10 ** max(0, -shift))
    decimal = Decimal(whole * 10 + (rest > 0)).scaleb(-shift - 1, decimal_context(2 * digits + 50, rounding))
    return decimal_context(digits, rounding).plus(decimal if value > 0 else decimal.copy_negate())


def quotient_text(value: Fraction, longest: int = LONGEST) -> str | None:
    """Return an exact number as an integer or a quotient of two; None where that is longer than ``longest``.

    Examples
    --------
    >>> quotient_text(Fraction(1, 3)), quotient_text(Fraction(10) ** 400, 40)
    ('1/3', None)
    """
    if not (is_writable(value.numerator) and is_writable(value.denominator)):
        return None
    whole = value.denominator == 1
    text = str(value.numerator) if whole else f"{value.numerator}/{value.denominator}"
    return text if len(text) <= longest else None


def rounded_text(value: Fraction, digits: int = 10) -> str:
    """Return a number to some significant digits, also one that no double holds.

    Examples
    --------
    >>> rounded_text(Fraction(1, 3)), rounded_text(Fraction(10) ** 400 / 3, 4), rounded_text(Fraction(0))
    ('0.3333333333', '3.333e+399', '0')
    """
    near = quotient(value, digits + 10, ROUND_HALF_EVEN)
    if not near or -300 < near.adjusted() < 300:
        return f"{float(near):.{digits}g}"
    power = near.adjusted()
    lead = decimal_context(digits, ROUND_HALF_EVEN).plus(
        near.scaleb(-power, decimal_context(digits + 10, ROUND_HALF_EVEN))
    )
    return f"{lead.normalize():f}e{power:+d}"


def short_text(value: Fraction) -> str:
    """Return an exact number as it is where that is short, else to ten digits.

    Examples
    --------
    >>> short_text(Fraction(20, 9)), short_text(Fraction(3) ** 1000)
    ('20/9', '1.322070819e+477')
    """
    return quotient_text(value, SHORT) or rounded_text(value)


def abridged(value: Any) -> str:
    """Return a value in at most one short line, long lists and matrices abridged; for ``repr``.

    Examples
    --------
    >>> import numpy as np
    >>> abridged([0.5, 0.25, 0.25]), abridged("line"), abridged(np.zeros((20, 3)))
    ('[0.5, 0.25, 0.25]', "'line'", '<20 x 3 array>')
    >>> abridged(range(1000))
    '[0, 1, 2, ... 1000 in all]'
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {abridged(item)}" for key, item in value.items()) + "}"
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return f"<{' x '.join(map(str, value.shape))} array>"
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        return "[" + listed([abridged(item) for item in value[: SHOWN + 1]], len(value)) + "]"
    if isinstance(value, np.generic):
        return abridged(value.item())
    return f"<function {getattr(value, '__name__', '')}>" if callable(value) else repr(value)


def html_list(caption: str, lines: Iterable[str]) -> str:
    """Return a caption and a list of sentences.

    Examples
    --------
    >>> html_list("KaryResponse", ["An answer goes in."])
    '<p><strong>KaryResponse</strong></p><ul><li>An answer goes in.</li></ul>'
    """
    items = "".join(f"<li>{html_text(line)}</li>" for line in lines)
    return f"<p><strong>{html_text(caption)}</strong></p><ul>{items}</ul>"


class Explained:
    """Objects that a notebook shows as their ``repr`` and the sentences that explain them."""

    def explained(self) -> tuple[str, ...]:
        """Return an explanation of the object, in sentences."""
        return ()

    def _repr_html_(self) -> str:
        return html_list(repr(self), self.explained())


class TextInNotebooks:
    """Objects that a notebook shows line by line, as ``print`` does."""

    def _repr_html_(self) -> str:
        return html_list(type(self).__name__, str(self).splitlines())


LARGEST = Fraction(sys.float_info.max)


def json_object(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping as a JSON object; see :func:`encode`.

    Examples
    --------
    >>> import numpy as np
    >>> json_object({"value": np.array([0.5, np.nan])})
    {'value': [0.5, None]}
    """
    plain: dict[str, Any] = encode(values)
    return plain


def encode(value: Any) -> Any:
    """Turn arrays, numpy scalars, fractions and infinities into what ``json.dumps`` accepts.

    Infinity becomes the string ``"inf"`` (``"-inf"``), NaN becomes None; objects with a method
    ``as_json`` decide for themselves. A fraction that no double holds, or an integer of thousands of digits,
    becomes a string of ten of its digits.

    Examples
    --------
    >>> import numpy as np
    >>> encode({"a": float("inf"), "b": np.array([1.0, 2.0]), "c": (1, None)})
    {'a': 'inf', 'b': [1.0, 2.0], 'c': [1, None]}
    >>> encode([Fraction(1, 4), Fraction(10) ** 400, 3**10000])
    [0.25, '1e+400', '1.631350185e+4771']
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if hasattr(value, "as_json"):
        return encode(value.as_json())
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, int):
        return value if is_writable(value) else rounded_text(Fraction(value))
    if isinstance(value, Fraction):
        is_double = abs(value) <= LARGEST
        return float(value) if is_double else rounded_text(value)
    if isinstance(value, float):
        number = float(value)
        if math.isnan(number):
            return None
        if math.isinf(number):
            return "inf" if number > 0 else "-inf"
        return number
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode(item) for item in value]
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")
