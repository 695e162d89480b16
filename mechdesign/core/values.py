"""Values: small frozen objects with checked fields; types that mechanisms hand back; forecasts and remarks.

A dataclass is complete before it can check its fields, so to keep something else than its argument it would
have to write to what must not be written to. Here a field states its check (:func:`value_field`,
:func:`dependent_field`), and the class has in ``__attrs_post_init__`` only what concerns several fields.
Parameters of problems also state their words: see :mod:`mechdesign.core.fields`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, dataclass_transform

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.core.text import NORMAL, margin_text

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
        # Without slots: cached properties and vars() need a __dict__.
        frozen = attrs.frozen(slots=False, eq=eq, kw_only=kw_only, repr=repr)(value_class)
        # attrs would tell the type of the converter's argument.
        vars(frozen)["__init__"].__annotations__ |= {item.name: item.type for item in attrs.fields(frozen)}
        return frozen

    return result


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
