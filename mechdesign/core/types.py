"""What type checkers and editors are told: numbers that are accepted, and what mechanisms hand back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the default of a type variable: in `typing` from Python 3.13 on

    from mechdesign.core.guarantee import Proof

    MechanismT_co = TypeVar("MechanismT_co", covariant=True, default=Any)
    EstimateT_co = TypeVar("EstimateT_co", covariant=True, default="Estimate")
else:
    from typing import TypeVar

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
