"""The nouns *problem*, a validated description that judges candidates, and *method*, an algorithm for one.

What belongs to a problem is found by name. A problem in the module ``families/mean/interval.py`` has its
table ``METHODS`` there or in ``interval_methods.py``, and what reproduces its sources in
``families/mean/papers/interval.py``. A method in a file of its own is found where that file is named
``interval_<word>.py`` and has a line that begins with ``METHOD = ``. Where the problem has a folder of its
own, ``interval/problem.py``, all modules of that folder and of ``papers/interval/`` belong to it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from abc import ABC
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self

import attrs
import numpy as np

from mechdesign.core.certificate import WITHIN, Certificate, optimality
from mechdesign.core.errors import MethodError
from mechdesign.core.extensions import PAPERS, papers_beside
from mechdesign.core.fields import fields_of, replace_parameters, values_of
from mechdesign.core.values import MechanismT_co, abridged, frozen_value

if TYPE_CHECKING:
    import cvxpy

    from mechdesign.core.solution import Solution
    from mechdesign.solvers.sensitivity import PricedSolution

Sense = Literal["max", "min"]
Variables = Mapping[str, Any]


class Problem(ABC, Generic[MechanismT_co]):
    """Base class of every design problem.

    A problem is decorated with :func:`~mechdesign.core.fields.frozen_problem`: its fields are the parameters
    of the model file, each stated once with its check, default and meaning; what concerns several of them is
    checked in ``__attrs_post_init__``. It evaluates its own objective and residuals for given variables, so
    that no solver is believed about either, and it turns an optimal solution into a mechanism. A class with
    a :meth:`statement` has them from there. Beside its module, or in the same folder of a home, found by
    name: methods (``METHODS`` or ``METHOD``), ``quantities.py`` with ``quantities(problem, solution)``,
    further numbers that claims may name, ``simulation.py`` with ``simulation(problem, solution, users,
    repetitions, rng)``, ``outlook.py`` with ``outlook(problem, solution, users)``, what ``build`` prints of
    it, and ``figures.py`` with ``figures(problem, solution)``, pictures of the design.

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
    unstated : str
        Why there is no :meth:`statement`, in one sentence: what of the problem no convex or integer program
        can say.
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
    unstated: ClassVar[str] = "its class has no method 'statement'"

    def replace(self, **parameters: Any) -> Self:
        """Return the same problem with other parameters, which are checked as in the constructor.

        Examples
        --------
        >>> import mechdesign as md
        >>> md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0).replace(epsilon=3).epsilon
        3.0
        """
        return replace_parameters(self, parameters)

    def objective(self, variables: Variables) -> float:
        """Return the objective value of the variables; by default that of the statement."""
        return float(self._stated(variables).objective.value)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much each group of constraints is violated; by default those of the statement."""
        program, result = self._stated(variables), dict[str, float]()
        for variable in program.variables():
            apart = np.abs(variable.project(variable.value) - variable.value)
            result[f"domain of {variable.name()}"] = float(np.max(apart))
        for place, row in enumerate(program.constraints, start=1):
            name = row.label or f"constraint {place}"
            result[name] = max(result.get(name, 0.0), float(np.max(row.violation())))
        return result

    def _stated(self, variables: Variables) -> cvxpy.Problem:
        """Return the statement with these values of its variables."""
        program = self.statement()
        for variable in program.variables():
            name = variable.name()
            if name not in variables:
                what = f"a variable of its statement has another name in each call, such as '{name}'"
                raise MethodError(self.name, what, "name the variables: cvxpy.Variable(3, name='parts')")
            variable.save_value(np.array(variables[name], dtype=np.float64))
        return program

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return the certificates of a solution of this problem; by default that of optimality."""
        return (self.optimality(solution),)

    def value_label(self) -> str:
        """Return the name of ``value``: :attr:`value_name`, unless parameters choose among several goals."""
        return self.value_name

    def __repr__(self) -> str:
        """Return the class and the parameters that are not at their defaults, without whole arrays."""
        text = []
        for field in fields_of(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) or value != field.default:
                text.append(f"{field.name}={abridged(value)}")
        return f"{type(self).__name__}({', '.join(text)})"

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

    # As a program

    def statement(self) -> cvxpy.Problem:
        """Return the problem in cvxpy as on paper, convex or with integers; see :meth:`why_no_statement`.

        Its variables and constraints have names; its optimum is the optimal ``value``.
        """
        raise MethodError(self.name, "is not stated as a program", self.why_no_statement() or self.unstated)

    def why_no_statement(self) -> str | None:
        """Return why this problem is no convex or integer program, in a sentence; None where it is one."""
        return None if type(self).statement is not Problem.statement else self.unstated

    def statement_size(self) -> int:
        """Return the number of numbers that the variables of the statement hold, without stating it."""
        return 0

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        """Return the problem's variables from the values of the statement's, and multipliers of its labels.

        By default those of the statement's variables; a function ``from_statement(problem, values)`` next to
        the methods changes them. Here solvers' tolerances are mended: shares sum to 1, budgets are kept.
        """
        function = companion(type(self), "from_statement")
        if function is not None:
            return dict(function(self, values))
        names = {variable.name() for variable in self.statement().variables()}
        return {name: value for name, value in values.items() if name in names} or dict(values)

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


Kind = Literal["analytic", "numeric", "heuristic", "published"]
Status = Literal["optimal", "feasible", "infeasible", "unbounded", "failed"]


@frozen_value()
class Outcome:
    """Result of a method; :func:`mechdesign.solve` turns it into a checked Solution.

    Parameters
    ----------
    status : str
        ``"optimal"``, ``"feasible"`` (no optimality claimed), ``"infeasible"``, ``"unbounded"`` or
        ``"failed"``. Without a bound that proves it, ``"optimal"`` becomes ``"feasible"``.
    variables : mapping
        The problem's variables by their stable names; empty when there is no solution.
    bound : float, ProvenBound or None
        A proven bound on the optimum: an upper one when maximising, a lower one when minimising. The result
        of :func:`mechdesign.prove` is proven; of a number, from a method outside of the toolkit, certificates
        say that it is asserted by the method.
    bound_source : str
        How the bound is proven, in a few words.
    solver : str
        Name of the solver or ``"closed form"``.
    message : str
        For ``infeasible``, ``unbounded`` and ``failed``: the reason, and what would help.
    notes : mapping
        Further figures, for instance the utility given up by a repair.
    realisation : object, optional
        An exact or structured form of the variables that the mechanism is built from instead of them.
    prices : PricedSolution, optional
        The multipliers that prove the bound, for :attr:`Solution.sensitivity`.
    scope : str
        Where it depends on the problem that a method chooses from another class; see :class:`Method`.
    """

    status: Status
    variables: Mapping[str, Any] = attrs.field(factory=dict)
    bound: Any = None
    bound_source: str = ""
    solver: str = ""
    message: str = ""
    notes: Mapping[str, Any] = attrs.field(factory=dict)
    realisation: Any = None
    prices: PricedSolution | None = None
    scope: str = ""


@frozen_value()
class Method:
    """A named algorithm for one class of problems.

    Parameters
    ----------
    name : str
        Stable name, used by ``solve(problem, method=name)`` and on the command line.
    problem : type
        The class of problems it solves.
    kind : {"analytic", "numeric", "heuristic", "published"}
        ``published`` reproduces a printed formula that is not right; it is never chosen by default
        and never counts when methods are compared for agreement.
    summary : str
        One line for listings.
    run : callable
        ``run(problem, **options) -> Outcome``.
    why_not : callable
        ``why_not(problem)`` is None where the method applies, else one sentence that says why it does not.
    defers : callable
        ``defers(problem)`` is whether it is not the default, although it applies, as long as another method
        does: where those after it find more in about the same time.
    scope : str
        For a method that chooses from another class of mechanisms than the one that the bounds of the
        problem's methods are for: which. Its value is shown next to theirs and not judged by their bounds.
    former_names : tuple of str
        What the method was called, or methods that it has taken the place of: they still name it.
    """

    name: str
    problem: type[Problem]
    kind: Kind
    summary: str
    run: Callable[..., Outcome]
    why_not: Callable[[Any], str | None] = lambda problem: None
    scope: str = ""
    defers: Callable[[Any], bool] = lambda problem: False
    former_names: tuple[str, ...] = ()


METHODS, OWN_FOLDER = "_methods", "problem"
"""The ending of the module of a problem's methods, and the module of a problem in a folder of its own."""

ONE_METHOD = "\nMETHOD = "
"""In the text of a module with one method."""


def modules_of(problem_class: type[Problem], word: str = "") -> Iterator[ModuleType]:
    """Yield the modules that belong to a problem's class, then those of the classes that it derives from.

    Only modules whose text has a ``word`` are imported.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> any("methods" in module.__name__ for module in modules_of(RandomizedResponse, "METHODS"))
    True
    """
    seen = set()
    for owner in problem_class.__mro__:
        if not issubclass(owner, Problem) or owner is Problem:
            continue
        for name in _names(owner.__module__):
            if name not in seen and (not word or _has(name, word)):
                seen.add(name)
                yield importlib.import_module(name)


def _names(own: str) -> Iterator[str]:
    """Yield the names of the modules that belong to a class of a module, itself first."""
    if own in sys.modules:  # a script has no other way to be found
        yield own
    package, _, last = own.rpartition(".")
    if not package:
        return
    if last == OWN_FOLDER:
        for parent in (importlib.import_module(package), *papers_beside(package)):
            for module_info in pkgutil.iter_modules(parent.__path__):
                yield f"{parent.__name__}.{module_info.name}"
        return
    for name in (f"{own}{METHODS}", f"{package}.{PAPERS}.{last}"):
        if _exists(name):
            yield name
    for module_info in pkgutil.iter_modules(getattr(sys.modules.get(package), "__path__", ())):
        if module_info.name.startswith(f"{last}_") and _has(f"{package}.{module_info.name}", ONE_METHOD):
            yield f"{package}.{module_info.name}"


def _exists(name: str) -> bool:
    return _spec(name) is not None


def _spec(name: str) -> ModuleSpec | None:
    """Return where a module is, without importing the packages that it is in; None where there is none."""
    module = sys.modules.get(name)
    if module is not None:
        return module.__spec__
    parent = name.rpartition(".")[0]
    above = _spec(parent) if parent else None
    if parent and (above is None or above.submodule_search_locations is None):
        return None
    return PathFinder.find_spec(name, None if above is None else above.submodule_search_locations)


def _has(name: str, word: str) -> bool:
    """Whether the text of a module has a word, or is not in a file of its own."""
    module = sys.modules.get(name)
    spec = None if module is not None else _spec(name)
    file = getattr(module, "__file__", None) if module is not None else spec and spec.origin
    if not file or not Path(file).is_file():
        return True
    return word in Path(file).read_text(encoding="utf-8")


def companion(problem_class: type[Problem], name: str) -> Callable[..., Any] | None:
    """Return the function of this name that a module of the problem's own defines, or None.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> ".response.papers." in companion(RandomizedResponse, "quantities").__module__
    True
    """
    look_up = _companion if is_in_a_notebook(problem_class) else _companion_in_package
    return look_up(problem_class, name)


def is_in_a_notebook(problem_class: type[Problem]) -> bool:
    """Whether a class, or one that it derives from, is in a notebook or a script, which can bring more."""
    owners = [owner for owner in problem_class.__mro__ if issubclass(owner, Problem) and owner is not Problem]
    return any("." not in owner.__module__ for owner in owners)


def _companion(problem_class: type[Problem], name: str) -> Callable[..., Any] | None:
    for module in modules_of(problem_class, f"def {name}("):
        function: Callable[..., Any] | None = vars(module).get(name)
        if function is not None and function.__module__ == module.__name__:
            return function
    return None


_companion_in_package = cache(_companion)
