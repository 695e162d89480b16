"""The noun *problem*: a frozen, validated description that judges candidates and knows no solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from mechdesign.core.certificate import Certificate

if TYPE_CHECKING:
    from mechdesign.core.solution import Solution

Sense = Literal["max", "min"]
Variables = Mapping[str, Any]


class Problem(ABC):
    """Base class of every design problem.

    A problem is a frozen dataclass: its fields are the parameters of the model file, checked in
    ``__post_init__``. It evaluates its own objective and residuals for given variables, so that no
    solver is believed about either, and it turns an optimal solution into a mechanism.

    Class attributes
    ----------------
    name : str
        The stable name used in model files, JSON and on the command line.
    sense : {"max", "min"}
        Whether ``value`` is maximised or minimised.
    summary : str
        One line for listings.
    """

    name: ClassVar[str]
    sense: ClassVar[Sense]
    summary: ClassVar[str] = ""

    @abstractmethod
    def objective(self, variables: Variables) -> float:
        """Return the objective value of the variables."""

    @abstractmethod
    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much each group of constraints is violated (0 when satisfied)."""

    @abstractmethod
    def certificates(self, solution: Solution) -> tuple[Certificate, ...]:
        """Return the certificates of a solution of this problem."""

    def objective_scale(self) -> float:
        """Return the size of the numbers that the objective adds up, for what rounding may lose.

        The default 0 means that they are no larger than the objective value itself.
        """
        return 0.0

    def mechanism(self, solution: Solution) -> Any:
        """Return the mechanism that runs; the default refuses, naming the problem."""
        from mechdesign.core.errors import MethodError

        raise MethodError(f"{self.name}: this problem has no mechanism to run; use the variables instead")

    def quantities(self, solution: Solution) -> dict[str, Any]:
        """Return further named numbers of a solution that claims may refer to (none by default)."""
        return {}

    def simulate(
        self, solution: Solution, users: int, repetitions: int, rng: np.random.Generator
    ) -> dict[str, float]:
        """Return measured quantities of the mechanism on simulated users.

        The default refuses; families that have a simulation in their source implement it.
        """
        from mechdesign.core.errors import MethodError

        raise MethodError(
            f"{self.name}: no simulation is defined for this problem; drop the table 'simulation'"
        )
