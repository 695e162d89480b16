"""``solve``: choose a method, run it, and check its outcome against the problem.

Linear algebra has one thread while something is solved. OpenBLAS and MKL have one for each core; on the small
matrices of design problems these wait for each other in small steps, and where another process has one of the
cores, a solve takes ten times as much of the processor. The number belongs to the whole process: the first
solve that begins sets it to one, and the last one that ends sets it back. It is left alone where an
environment variable says how many there are.
"""

from __future__ import annotations

import inspect
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mechdesign.core.certificate import ASSERTED
from mechdesign.core.errors import (
    MechDesignError,
    MethodError,
    ParameterError,
    UnknownNameError,
    failure_text,
    is_failure,
    suggestion,
)
from mechdesign.core.problem import Method, Outcome, Problem, Status, is_in_a_notebook, modules_of
from mechdesign.core.solution import Solution
from mechdesign.core.validation import float_up
from mechdesign.core.values import MechanismT_co, changed
from mechdesign.exact.numbers import rounding_allowance

if TYPE_CHECKING:
    import ctypes

VARIABLES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Where one of these is set, the caller has said how many threads there are."""

INSTALLED = ("libopenblas.so.0", "libopenblas.0.dylib", "libmkl_rt.so.2", "libmkl_rt.2.dylib")
"""OpenBLAS and MKL where numpy has not brought its own: looked at where something has loaded them."""

CALLS = (
    *((f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}")
      for prefix in ("scipy_", "") for suffix in ("64_", "", "_64")),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)  # fmt: skip
"""What the functions are called that tell and set the number of threads."""


class Library(NamedTuple):
    """A library for linear algebra: what tells and what sets its number of threads."""

    name: str
    threads: Callable[[], int]
    set_threads: Callable[[int], object]


_lock = threading.Lock()
_solving: dict[int, int] = {}
"""Number of solves that have begun and not ended, by thread."""
_before: dict[str, tuple[Library, int]] = {}
"""Number of threads that each library had before."""


@contextmanager
def one_thread(loading: bool = False) -> Iterator[None]:
    """Have one thread for linear algebra meanwhile, unless an environment variable says how many.

    Parameters
    ----------
    loading : bool
        Whether scipy's library, which a numeric method is going to need, is loaded where it is not yet.
    """
    if any(os.environ.get(name) for name in VARIABLES):
        yield
        return
    thread = threading.get_ident()
    try:
        _begin(thread, loading)
        yield
    finally:
        _end(thread)


def _begin(thread: int, loading: bool) -> None:
    with _lock:
        _solving[thread] = _solving.get(thread, 0) + 1
        for library in libraries(loading):
            count = library.threads()
            if library.name not in _before and count > 1:
                _before[library.name] = (library, count)
                library.set_threads(1)


def _end(thread: int) -> None:
    with _lock:
        left = _solving.pop(thread, 0) - 1
        if left > 0:
            _solving[thread] = left
        _set_back()


def _set_back() -> None:
    """Set the numbers back where nothing is being solved; a number that was changed meanwhile stays."""
    if _solving:
        return
    for library, count in _before.values():
        if library.threads() == 1:
            library.set_threads(count)
    _before.clear()


def _after_fork() -> None:
    """Forget what other threads were solving: in the new process there is only the one that has forked."""
    global _lock
    _lock = threading.Lock()
    thread = threading.get_ident()
    for other in [other for other in _solving if other != thread]:
        del _solving[other]
    _set_back()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def libraries(loading: bool = False) -> list[Library]:
    """Return the libraries for linear algebra of this process; with ``loading`` also scipy's before its use.

    Examples
    --------
    >>> all(library.threads() >= 1 for library in libraries())
    True
    """
    ready = loading or "scipy.linalg" in sys.modules
    opened = [_opened(path) for path in _bundled("numpy") + (_bundled("scipy") if ready else ())]
    return [library for library in opened or map(_loaded, INSTALLED) if library is not None]


@cache
def _bundled(package: str) -> tuple[str, ...]:
    """Return the paths of the libraries that the wheel of numpy or scipy has brought with it."""
    import numpy

    home = Path(numpy.__file__).parents[1]
    folders = [home / f"{package}.libs", home / package / ".dylibs"]
    return tuple(str(path) for folder in folders for path in sorted(folder.glob("*openblas*")))


@cache
def _opened(path: str) -> Library | None:
    """Return a library by its path; one that the process has loaded already is the same."""
    import ctypes

    try:
        return _library(path, ctypes.CDLL(path))
    except OSError:
        return None


def _loaded(name: str) -> Library | None:
    """Return a library by its name where the process has loaded it."""
    import ctypes

    if not hasattr(os, "RTLD_NOLOAD"):
        return None
    try:
        return _library(name, ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW))
    except OSError:
        return None


def _library(name: str, handle: ctypes.CDLL) -> Library | None:
    for count, set_count in CALLS:
        if hasattr(handle, count) and hasattr(handle, set_count):
            return Library(name, getattr(handle, count), getattr(handle, set_count))
    return None


def methods_of(problem: type[Problem] | Problem) -> tuple[Method, ...]:
    """Return the methods for a class of problems, or for a problem's class, in order of preference.

    A problem's methods are the tuple ``METHODS`` of a module in its package, in the order in which they are
    tried. One in a file of its own, as the module's ``METHOD``, comes after the tables, and what is kept to
    be refuted (``published``) after all others. Nothing else has to be registered.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> [method.name for method in methods_of(RandomizedResponse)][:3]
    ['closed-form', 'geometric', 'staircase']
    """
    problem_class = problem if isinstance(problem, type) else type(problem)
    if is_in_a_notebook(problem_class):
        return _methods(problem_class)  # a notebook or a script can still bring some, or other ones
    return _methods_of_package(problem_class) or _methods(problem_class)  # none yet is not remembered


@cache
def _methods_of_package(problem_class: type[Problem]) -> tuple[Method, ...]:
    return _methods(problem_class)


def _methods(problem_class: type[Problem]) -> tuple[Method, ...]:
    modules = list(modules_of(problem_class, "METHOD"))
    tables: list[Any] = [getattr(module, "METHODS", ()) for module in modules]
    tables += [(getattr(module, "METHOD", None),) for module in modules]
    methods = dict.fromkeys(
        method
        for table in tables
        if isinstance(table, (tuple, list))
        for method in table
        if isinstance(method, Method) and issubclass(problem_class, method.problem)
    )
    return tuple(sorted(methods, key=lambda method: method.kind == "published"))


def find_method(problem: Problem, name: str) -> Method:
    """Return the method of this name for the problem.

    Raises
    ------
    UnknownNameError
        With the closest names.
    """
    known = {method.name: method for method in methods_of(type(problem))}
    former = {old: method for method in known.values() for old in method.former_names}
    if name not in known | former:
        raise UnknownNameError(problem.name, f"no method '{name}'", suggestion(name, known))
    return (former | known)[name]


def applicable_methods(problem: Problem) -> Iterator[Method]:
    """Yield the methods that apply to the problem, in the order in which they are tried by default.

    That is the order of preference, those that defer to others last. Published formulas are left out.

    Raises
    ------
    MethodError
        When none applies, with the reason of each, or with the module where none is.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)
    >>> [method.name for method in applicable_methods(problem)]
    ['closed-form', 'lp', 'convex', 'extreme-points', 'statement']
    """
    known = methods_of(problem)
    if not known:
        raise MethodError(problem.name, *_why_no_method(type(problem)))
    candidates = [method for method in known if method.kind != "published"]
    reasons, later = [], []
    for method in candidates:
        reason = reason_against(method, problem)
        if reason is not None:
            reasons.append(f"{method.name}: {reason}")
        elif method.defers(problem):
            later.append(method)
        else:
            yield method
    yield from later
    if len(reasons) == len(candidates):
        raise MethodError(problem.name, f"no method applies ({'; '.join(reasons)})")


def _why_no_method(problem_class: type[Problem]) -> tuple[str, str]:
    """Return why a class has no method, and what to do about it."""
    module = sys.modules.get(problem_class.__module__)
    table = getattr(module, "METHODS", None)
    where = f"METHODS in module {problem_class.__module__}"
    if table is None:
        return f"no {where}", f"define METHODS = (md.Method(..., {problem_class.__name__}, ...),) there"
    if not isinstance(table, (tuple, list)):
        return f"{where} is not a tuple", "put a comma after its only method"
    return (
        f"{where} has no method for this class {problem_class.__name__}",
        "define METHODS again after the class",
    )


def reason_against(method: Method, problem: Problem) -> str | None:
    """Return why a method does not apply to a problem, or None; an error while it decides is a reason, too.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> problem = RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)
    >>> broken = Method("broken", RandomizedResponse, "numeric", "", print, lambda problem: problem.sizes)
    >>> reason_against(broken, problem).partition(" (in")[0]
    "it failed: AttributeError: 'RandomizedResponse' object has no attribute 'sizes'"
    """
    try:
        return method.why_not(problem)
    except BaseException as error:
        if not is_failure(error):
            raise
        return f"it failed: {failure_text(error)}"


def solve(
    problem: Problem[MechanismT_co], method: str | Method | None = None, **options: Any
) -> Solution[MechanismT_co]:
    """Solve a design problem and return a checked solution.

    Parameters
    ----------
    problem : Problem
        What to solve.
    method : str or Method, optional
        The method's name, or a Method of your own; by default the first that applies, and where that one
        fails, the next; the solution has a note then.
    **options
        Options of the method, see its own documentation.

    Returns
    -------
    Solution
        With value and residuals recomputed from the variables by the problem. Infeasible and
        unbounded problems are answers with a status and a message, not exceptions. So is a method that
        raises an error of its own or of a solver: its status is ``failed``, the message names the error.

    Raises
    ------
    UnknownNameError
        When there is no method of that name.
    MethodError
        When the named method does not apply to this problem, saying why.
    ParameterError
        For an option that the method does not have, naming those it has.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)
    >>> md.solve(problem).method, md.solve(problem, method="lp").method
    ('closed-form', 'lp')
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"solve: expected a problem, got {type(problem).__name__}; of a model take its .problem"
        )
    if method is None:
        return _solve_by_default(problem, options)
    chosen = method if isinstance(method, Method) else find_method(problem, method)
    reason = reason_against(chosen, problem)
    if reason is not None:
        raise MethodError(problem.name, f"method '{chosen.name}' does not apply: {reason}")
    return _solve_by(problem, chosen, options)


def _solve_by_default(problem: Problem[MechanismT_co], options: Mapping[str, Any]) -> Solution[MechanismT_co]:
    """Solve by the first method that applies; where it fails, by the next one, which says so in a note.

    Options are meant for the first method: with them no other one is tried.
    """
    failures: list[Solution[MechanismT_co]] = []
    for method in applicable_methods(problem):
        solution = _solve_by(problem, method, options)
        if solution.status != "failed":
            reasons = "; ".join(f"{run.method}: {run.message}" for run in failures)
            return changed(solution, notes={**solution.notes, "failed": reasons}) if reasons else solution
        failures.append(solution)
        if options:
            break
    return failures[0]


def _solve_by(
    problem: Problem[MechanismT_co], chosen: Method, options: Mapping[str, Any]
) -> Solution[MechanismT_co]:
    """Run a method that applies, and check what it says; an error that it raises is the status ``failed``."""
    _check_options(problem, chosen, options)
    start = time.perf_counter()
    try:
        with one_thread(loading=chosen.kind != "analytic"):
            outcome = chosen.run(problem, **options)
        seconds = time.perf_counter() - start
        return _checked(problem, chosen, options, outcome, seconds)
    except MechDesignError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        return _failed(problem, chosen, time.perf_counter() - start, "", failure_text(error))


def _failed(problem: Problem[Any], method: Method, seconds: float, solver: str, text: str) -> Solution[Any]:
    return Solution(
        problem, method.name, method.kind, "failed", math.nan, None, {}, {}, seconds, solver, message=text
    )


def _checked(
    problem: Problem[Any], method: Method, options: Mapping[str, Any], outcome: Outcome, seconds: float
) -> Solution[Any]:
    """Return an outcome with its value and its residuals, both computed by the problem."""
    # By its name, a method of ours can be kept in a cache with the solution: its functions often cannot.
    named = method.name if method in methods_of(problem) else method
    has_variables = outcome.status in ("optimal", "feasible")
    value = problem.objective(outcome.variables) if has_variables else math.nan
    if has_variables and not math.isfinite(value):
        text = f"the value of what was found is {value}, beyond double precision"
        return _failed(problem, method, seconds, outcome.solver, text)
    bound, source = _bound(problem, method, outcome)
    return Solution(
        problem=problem,
        method=method.name,
        kind=method.kind,
        status=_status(problem, outcome, value, bound, source),
        value=value,
        bound=bound,
        variables=outcome.variables,
        residuals=problem.residuals(outcome.variables) if has_variables else {},
        seconds=seconds,
        solver=outcome.solver,
        bound_source=source,
        message=outcome.message,
        notes=outcome.notes,
        realisation=outcome.realisation,
        scope=outcome.scope or method.scope,
        prices=outcome.prices,
        again=partial(solve, method=named, **options),
    )


def _bound(problem: Problem[Any], method: Method, outcome: Outcome) -> tuple[float | None, str]:
    """Return the bound of a method and its proof, cut at what is trivially known; None if not finite."""
    stated = outcome.bound
    if isinstance(stated, Fraction):
        stated = float_up(stated) if problem.sense == "max" else -float_up(-stated)
    if stated is None or not math.isfinite(bound := float(stated)):
        return None, ""
    known = problem.trivial_bound()
    if known is not None and (bound < known if problem.sense == "min" else bound > known):
        side = "at least" if problem.sense == "min" else "at most"
        return known, f"{problem.value_label()} is {side} {known:.10g}"
    source, proof = outcome.bound_source, getattr(outcome.bound, "why", None)
    if proof is not None:  # what prove returns
        return bound, source or f"multipliers in fractions, {proof}"
    return bound, source if not source or _is_own(method) else f"{ASSERTED}: {source}"


def _is_own(method: Method) -> bool:
    """Whether a method is one of the toolkit; what others state as a bound is not proven here."""
    function: Any = inspect.unwrap(method.run)
    while isinstance(function, partial):
        function = function.func
    module = getattr(function, "__module__", None) or ""
    return module.partition(".")[0] == __name__.partition(".")[0]


def _status(
    problem: Problem[Any], outcome: Outcome, value: float, bound: float | None, source: str
) -> Status:
    """Return the status of an outcome: ``optimal`` only where a bound leaves no more than is certified."""
    if outcome.status != "optimal":
        return outcome.status
    if bound is None or not source:
        return "feasible"
    scale = max(abs(value), abs(bound), problem.objective_scale())
    left = problem.optimal_within * problem.at_stake(value, bound) + rounding_allowance(scale)
    return "optimal" if abs(value - bound) <= left else "feasible"


def _check_options(problem: Problem[Any], method: Method, options: Mapping[str, Any]) -> None:
    """Refuse an option that the method does not have."""
    takes = list(inspect.signature(method.run).parameters.values())[1:]
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in takes):
        return
    known = [parameter.name for parameter in takes]
    for name in options:
        if name not in known:
            has = f"its options are {', '.join(known)}" if known else "it has none"
            raise ParameterError(problem.name, f"method '{method.name}' has no option '{name}'", has)
