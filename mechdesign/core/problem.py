"""The noun *problem*: a frozen, validated description that judges candidates and knows no solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self

import numpy as np

from mechdesign.core.certificate import WITHIN, Certificate, optimality
from mechdesign.core.errors import MethodError
from mechdesign.core.fields import fields_of, values_of
from mechdesign.core.text import abridged
from mechdesign.core.types import MechanismT_co

if TYPE_CHECKING:
    from mechdesign.core.solution import Solution

Sense = Literal["max", "min"]
Variables = Mapping[str, Any]


class Problem(ABC, Generic[MechanismT_co]):
    """Base class of every design problem.

    A problem is decorated with :func:`~mechdesign.core.fields.frozen_problem`: its fields are the parameters
    of the model file, each stated once with its check, default and meaning; what concerns several of them
    is checked in ``__attrs_post_init__``. It evaluates its own objective and residuals for given variables,
    so that no solver is believed about either, and it turns an optimal solution into a mechanism. Beside its
    module, or in the same folder of a home, found by name: methods (``METHODS`` or ``METHOD``),
    ``quantities.py`` with ``quantities(problem, solution)``, further numbers that claims may name,
    ``simulation.py`` with ``simulation(problem, solution, users, repetitions, rng)``, ``outlook.py`` with
    ``outlook(problem, solution, users)``, what ``build`` prints of it, and ``figures.py`` with
    ``figures(problem, solution)``, pictures of the design.

    ``class MyProblem(Problem[MyMechanism])`` tells type checkers what ``solve(...).mechanism()`` returns.

    Class attributes
    ----------------
    name : str
        The stable name used in model files, JSON and on the command line.
    sense : {"max", "min"}
        Whether ``value`` is maximised or minimised.
    value_name : str
        What ``value`` is, with its unit: the label of the axis in figures.
    summary : str
        One line for listings.
    compared_with : str
        The set of mechanisms among which an optimum of this problem is one, as a noun phrase that follows
        "among": each certificate of optimality prints it. Where it depends on the parameters, see
        :meth:`among`.
    optimal_within : float
        A value is certified optimal when a proven bound leaves at most this part of what is at stake.
    trivial : float or None
        What no mechanism can be better than, whatever it does: 0 for an error. Bounds are cut there. Where it
        depends on the parameters, see :meth:`trivial_bound`.
    example : mapping
        Parameters that state a small problem; what is missing in a model file is shown as it stands here.
    renamed : mapping
        Former names of parameters and what they are called now: a model file that has one is told so.
    levers : tuple of str
        Parameters whose worth a solution states: numbers of which the optimum has a derivative.
    relaxations : mapping
        Parameters that constrain, and the value at which each does not: an infeasible problem names those
        of them that conflict.
    """

    name: ClassVar[str]
    sense: ClassVar[Sense]
    value_name: ClassVar[str] = "value"
    summary: ClassVar[str] = ""
    compared_with: ClassVar[str] = ""
    optimal_within: ClassVar[float] = WITHIN
    trivial: ClassVar[float | None] = None
    example: ClassVar[Mapping[str, Any]] = {}
    renamed: ClassVar[Mapping[str, str]] = {}
    levers: ClassVar[tuple[str, ...]] = ()
    relaxations: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def objective(self, variables: Variables) -> float:
        """Return the objective value of the variables."""

    @abstractmethod
    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much each group of constraints is violated (0 when satisfied)."""

    @abstractmethod
    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return the certificates of a solution of this problem."""

    def value_label(self) -> str:
        """Return the name of ``value``: :attr:`value_name`, unless parameters choose among several goals."""
        return self.value_name

    def __repr__(self) -> str:
        """Return the class and the parameters that are not at their defaults, without whole arrays."""
        shown = []
        for field in fields_of(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) or value != field.default:
                shown.append(f"{field.name}={abridged(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def among(self) -> str:
        """Return the set of mechanisms among which an optimum of this problem is one."""
        return self.compared_with

    def optimality(
        self, solution: Solution[Any], left: float | None = None, scale: float | None = None, **more: Any
    ) -> Certificate:
        """Return whether a bound leaves little; see :func:`~mechdesign.core.certificate.optimality`."""
        return optimality(solution, left, scale, within=self.optimal_within, **more)

    def trivial_bound(self) -> float | None:
        """Return what no mechanism can be better than, whatever it does; None where nothing is known."""
        return self.trivial

    def at_stake(self, value: float, bound: float) -> float:
        """Return the size of which an optimum leaves at most the part :attr:`optimal_within`."""
        return max(abs(value), abs(bound), self.objective_scale())

    def objective_scale(self) -> float:
        """Return the size of the numbers that the objective adds up, for what rounding may lose.

        The default 0 means that they are no larger than the objective value itself.
        """
        return 0.0

    def droppable(self) -> tuple[str, ...]:
        """Return the constraints that this problem can do without, by name, if they constrain."""
        free = self.relaxations
        return tuple(name for name in free if getattr(self, name) not in (None, free[name]))

    def without(self, names: Sequence[str]) -> Self:
        """Return the problem without these of its constraints."""
        free = {name: self.relaxations[name] for name in names if name in self.relaxations}
        return type(self)(**{**values_of(self), **free})

    @property
    def planned_users(self) -> int | None:
        """Number of planned users, for whom forecasts are made; None where no parameter states it."""
        return None

    def planned_error(self, solution: Solution[Any]) -> tuple[float, str, str] | None:
        """Return the error for the users of the problem, what kind of error it is, and of what.

        Only where the mechanism is made for a number of users, a parameter ``users``. Elsewhere mechanisms
        forecast the error for any number of users, and this is None.
        """
        return None

    def mechanism(self, solution: Solution[Any]) -> MechanismT_co:
        """Return the mechanism that runs; the default refuses and says what to build instead."""
        self.require_mechanism()
        raise NotImplementedError(f"{type(self).__name__}: defines neither mechanism nor why_no_mechanism")

    def why_no_mechanism(self) -> str | None:
        """Return why the problem does not have a mechanism, and what to build; None if it has one."""
        runs = type(self).mechanism is not Problem.mechanism
        return None if runs else "its solution is a set of numbers, and 'mechdesign solve' prints them"

    def require_mechanism(self) -> None:
        """Raise MethodError where nothing runs."""
        reason = self.why_no_mechanism()
        if reason is not None:
            raise MethodError(self.name, "this problem has no mechanism to run", reason)
