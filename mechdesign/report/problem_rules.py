"""What a class of problems has to keep, rule by rule; :mod:`mechdesign.report.problem_check` asks them.

Each rule yields findings: what is not as it should be, and what to do about it.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mechdesign.collect.base import Mechanism, load_mechanism
from mechdesign.core.certificate import OPTIMALITY, format_figure
from mechdesign.core.errors import MechDesignError, failure_text
from mechdesign.core.fields import fields_of, parameters_of, problem_from, toml_text, values_of
from mechdesign.core.problem import Method, Outcome, Problem
from mechdesign.core.solution import Solution
from mechdesign.core.validation import written_float
from mechdesign.core.values import changed, encode
from mechdesign.exact.numbers import rounding_allowance
from mechdesign.report.compare import Comparison
from mechdesign.solvers.solve import methods_of, solve
from mechdesign.work.files import parse_toml

NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")

TEXT = "no number"
"""What is put in the place of a number; no choice and no generator is called so."""

SATISFIED = 1e-6
"""A residual up to this is one of rounding."""

MOST_PLACES = 4
"""Numbers of one parameter in whose place something wrong is put."""

FACTORS = (0.0, 0.5, 2.0, 10.0, -1.0)
SHIFTS = (1.0, -1.0)
"""By which variables are changed, to see whether residuals judge them."""


@dataclass(frozen=True)
class Fault:
    """Something that a problem does not keep.

    Attributes
    ----------
    rule : str
        Which rule it is about.
    what : str
        What is wrong, with the value that shows it.
    remedy : str
        What to do.
    """

    rule: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}; {self.remedy}"


Findings = Iterator[tuple[str, str]]
"""Pairs of what is wrong and what to do."""


def error_text(error: BaseException) -> str:
    """Return what was raised, in one line."""
    return " ".join(failure_text(error).split())


# The class


def class_attributes(problem: Problem[Any]) -> Findings:
    """Check that the class has a name, a sense and a set of mechanisms among which an optimum is one."""
    name, sense = getattr(problem, "name", None), getattr(problem, "sense", None)
    if not isinstance(name, str) or not NAME.match(name):
        yield (
            f"name = {name!r} is not lower-case words joined by '-'",
            'write name = "my-problem" in the class',
        )
    if sense not in ("max", "min"):
        yield f"sense = {sense!r}", 'write sense = "max" or sense = "min" in the class'
    if not problem.among():
        yield (
            "it does not say among which mechanisms an optimum is one",
            'write compared_with = "all ..." in the class: certificates of optimality print it',
        )


def frozen_parameters(problem: Problem[Any]) -> Findings:
    """Check that nothing in a problem can be changed once it was checked."""
    parameters = fields_of(problem)
    if not parameters:
        yield "the class has no parameters", "decorate it with @frozen_problem() and state its fields"
    for parameter in parameters:
        value = getattr(problem, parameter.name)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            yield (
                f"{parameter.name} is an array that can be written to",
                "return mechdesign.exact.numbers.frozen(array) from its check",
            )
        try:
            setattr(problem, parameter.name, value)
        except AttributeError:
            continue
        yield f"{parameter.name} can be set later, unchecked", "decorate the class with @frozen_problem()"


# Parameters


def _stated(problem: Problem[Any]) -> dict[str, Any]:
    """Return all parameters as plain JSON values, those at their defaults as well."""
    return {name: encode(value) for name, value in values_of(problem).items() if value is not None}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where numbers are in a nested value."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _places(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _places(item, (*path, place))


def _with(value: Any, path: Sequence[Any], entry: Any) -> Any:
    """Return a copy of a nested value with another entry at a place."""
    if not path:
        return entry
    result = dict(value) if isinstance(value, Mapping) else list(value)
    result[path[0]] = _with(value[path[0]], path[1:], entry)
    return result


def _written(name: str, path: Sequence[Any]) -> str:
    return name + "".join(f"[{part!r}]" if isinstance(part, str) else f"[{part}]" for part in path)


def wrong_values(problem: Problem[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield parameters that no problem should take: NaN, texts for numbers, empty and misshapen lists."""
    stated = _stated(problem)
    for name, value in stated.items():
        for path in islice(_places(value), MOST_PLACES):
            place = _written(name, path)
            yield f"{place} = nan", {**stated, name: _with(value, path, math.nan)}
            yield f'{place} = "{TEXT}"', {**stated, name: _with(value, path, TEXT)}
        if isinstance(value, list):
            if value:
                yield f"{name} = []", {**stated, name: []}
            yield f"{name} = [[{name}]]", {**stated, name: [[value]]}
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield f"{name} = [[{name}]]", {**stated, name: [[value]]}
        if isinstance(value, str):
            yield f"{name} = nan", {**stated, name: math.nan}


def inputs(problem: Problem[Any]) -> Findings:
    """Check that impossible parameters are refused in one line."""
    remedy = "check it in its field: real(...), whole(...), choice(...) or checked(...) of core.fields"
    for text, parameters in wrong_values(problem):
        try:
            problem_from(type(problem), parameters)
        except MechDesignError as error:
            if "\n" in str(error):
                yield f"{text} is refused in several lines", "raise ParameterError with one line"
        except Exception as error:
            yield f"{text} raises {error_text(error)}", f"raise ParameterError instead; {remedy}"
        else:
            yield f"{text} is accepted", remedy


def round_trips(problem: Problem[Any]) -> Findings:
    """Check that JSON, TOML, pickle and a copy give the same problem again."""
    kind = type(problem)
    try:
        parameters = parameters_of(problem)
        text = json.dumps(parameters)
    except Exception as error:
        yield (
            f"its parameters are no JSON values: {error_text(error)}",
            "keep numbers, texts, tuples or arrays, or give the value a method as_json()",
        )
        return
    ways: dict[str, Callable[[], Any]] = {
        "JSON": lambda: problem_from(kind, json.loads(text)),
        "TOML": lambda: problem_from(kind, _through_toml(parameters)),
        "a copy": lambda: copy.deepcopy(problem),
        "pickle": lambda: pickle.loads(pickle.dumps(problem)),
    }
    if not _importable(kind):
        del ways["pickle"]  # nothing defined inside a function can be
    for way, again in ways.items():
        try:
            other = again()
        except Exception as error:
            yield f"{way} does not give it back: {error_text(error)}", "let checks take what they return"
            continue
        if parameters_of(other) != parameters:
            difference = _difference(parameters, parameters_of(other))
            yield f"{way} gives another problem: {difference}", "let checks take what they return"
        elif way == "JSON":
            yield from _equality(problem, other)
    if "\n" in repr(problem):
        yield "its repr has several lines", "keep the one of Problem"


def _importable(kind: type) -> bool:
    return "<locals>" not in kind.__qualname__


def _through_toml(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as a model file has them."""
    lines = [f"{name} = {toml_text(value)}" for name, value in parameters.items() if value is not None]
    return parse_toml("\n".join(lines), written_float)


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    name = next(name for name in [*before, *after] if before.get(name) != after.get(name))
    return f"{name} = {after.get(name)} in place of {before.get(name)}"


def _equality(problem: Problem[Any], other: Problem[Any]) -> Findings:
    """Yield where equal parameters do not make equal problems; a class may compare by identity."""
    by_identity = type(problem).__eq__ is object.__eq__
    try:
        is_equal = bool(problem == other)
    except Exception as error:
        yield (
            f"comparing it with another one raises {error_text(error)}",
            "decorate the class with @frozen_problem(eq=False), as a parameter is an array",
        )
        return
    if not is_equal and not by_identity:
        yield "it is not equal to a problem with the same parameters", "keep values that compare by content"


# Methods and values


def method_table(problem: Problem[Any]) -> Findings:
    """Check that there are methods, each name once, and each says whether it applies."""
    methods = methods_of(problem)
    if not methods:
        module = type(problem).__module__
        yield "it has no method", f"define METHODS = (md.Method(...),) in {module} or in {module}_methods"
    names = [method.name for method in methods]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"{names.count(name)} methods are called '{name}'", "use each name once"
    for method in methods:
        try:
            reason: Any = method.why_not(problem)
        except Exception as error:
            yield f"why_not of '{method.name}' raises {error_text(error)}", "return None or a sentence"
            continue
        if reason is not None and not (isinstance(reason, str) and reason and "\n" not in reason):
            yield f"why_not of '{method.name}' returns {reason!r}", "return None or a sentence"


def equal_lengths(problem: Problem[Any], comparison: Comparison) -> Findings:
    """Check that lists of different lengths are refused, or solved."""
    stated = _stated(problem)
    lists = {name: value for name, value in stated.items() if isinstance(value, list) and len(value) > 1}
    if len(lists) < 2:
        return
    for name, value in lists.items():
        try:
            shorter = problem_from(type(problem), {**stated, name: value[:-1]})
            run = solve(shorter)
        except MechDesignError:
            continue
        if run.status == "failed":
            yield (
                f"{name} with an entry less is accepted, and then '{run.method}' fails: {run.message}",
                "compare lengths in __attrs_post_init__ and raise ParameterError",
            )


def answers(comparison: Comparison) -> list[Solution[Any]]:
    """Return the runs with variables, without published formulas."""
    return [run for run in comparison.judged if run.found]


def outcomes(problem: Problem[Any], comparison: Comparison) -> Findings:
    """Check that every method that applies gives an answer, and what it says of itself holds."""
    if not comparison.runs:
        yield "no method applies to this problem", "check a problem that one can solve"
    for run in comparison.runs:
        if run.status == "failed":
            yield f"method '{run.method}' fails: {' '.join(run.message.split())}", "repair it, or say why_not"
        if run.status in ("infeasible", "unbounded") and not run.message:
            yield f"method '{run.method}' says {run.status} without a reason", "give Outcome a message"
    by_name = {method.name: method for method in methods_of(problem)}
    for run in comparison.judged:
        if run.kind != "numeric":  # what a solver calls optimal is 'feasible' where its bound leaves more
            yield from _claimed(problem, by_name[run.method], run)


def _claimed(problem: Problem[Any], method: Method, run: Solution[Any]) -> Findings:
    """Yield where a method says ``optimal`` and its bound does not show it."""
    try:
        outcome: Any = method.run(problem)
    except Exception as error:
        yield f"method '{method.name}' fails the second time: {error_text(error)}", "keep no state"
        return
    if not isinstance(outcome, Outcome):
        kind = type(outcome).__name__
        yield f"method '{method.name}' returns a {kind}", "return md.Outcome(status, variables, bound=...)"
        return
    if outcome.status != "optimal" or run.status == "optimal":
        return
    if outcome.bound is None or not outcome.bound_source:
        what = "without a bound" if outcome.bound is None else "without a bound_source"
        remedy = "give the bound and how it is proven, or say 'feasible'"
    else:
        what = f"but its bound {format_figure(outcome.bound)} is not its value {format_figure(run.value)}"
        remedy = "prove a better bound, or say 'feasible'"
    yield f"method '{method.name}' says 'optimal' {what}", remedy


def values(problem: Problem[Any], comparison: Comparison) -> Findings:
    """Check that the objective depends on the variables alone, and residuals are numbers >= 0."""
    for run in answers(comparison):
        before = _copied(run.variables)
        again: Any = problem.objective(run.variables)
        if not _same_numbers(before, run.variables):
            yield f"objective changes the variables of '{run.method}'", "compute with copies"
        if not isinstance(again, (int, float, np.floating)) or isinstance(again, bool):
            yield f"objective returns a {type(again).__name__}", "return float(...)"
        elif again != run.value:
            what = f"objective gives {format_figure(run.value)}, then {format_figure(again)}"
            yield f"{what} for the variables of '{run.method}'", "compute it from the variables alone"
        for name, residual in run.residuals.items():
            if not math.isfinite(residual) or residual < 0:
                yield (
                    f"residual '{name}' is {residual}",
                    "return by how much it is violated, 0 where it is not",
                )
            elif residual > SATISFIED * max(1.0, problem.objective_scale()) and run.status == "optimal":
                yield (
                    f"'{run.method}' is optimal, but violates '{name}' by {format_figure(residual)}",
                    "repair the method, or the residual",
                )


def _copied(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: np.array(value) if isinstance(value, np.ndarray) else value for name, value in variables.items()
    }


def _same_numbers(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return before.keys() == after.keys() and all(
        np.array_equal(value, after[name]) for name, value in before.items() if isinstance(value, np.ndarray)
    )


def _excess(problem: Problem[Any], value: float, bound: float) -> float:
    """Return by how much a value is beyond a bound; negative where it is not."""
    beyond = value - bound if problem.sense == "max" else bound - value
    allowed = problem.optimal_within * problem.at_stake(value, bound)
    return beyond - allowed - rounding_allowance(max(abs(value), abs(bound), problem.objective_scale()))


def bounds(problem: Problem[Any], comparison: Comparison) -> Findings:
    """Check that no value is beyond a bound, and the methods agree within their gaps."""
    side, are_wrong = "below" if problem.sense == "max" else "above", False
    for run in comparison.judged:
        if run.bound is None or run.scope:
            continue
        for other in answers(comparison):
            satisfied = all(residual <= SATISFIED for residual in other.residuals.values())
            if not other.scope and satisfied and _excess(problem, other.value, run.bound) > 0:
                are_wrong = True
                yield (
                    f"the bound {format_figure(run.bound)} of '{run.method}' is {side} the value "
                    f"{format_figure(other.value)} of '{other.method}'",
                    "one of them is wrong: a bound holds for every feasible solution",
                )
    for text in () if are_wrong else comparison.disagreements:
        yield (
            f"methods disagree: {text}",
            "find the wrong one; a solver's point violates constraints by its tolerance: repair it",
        )


def judged_variables(problem: Problem[Any], comparison: Comparison) -> Findings:
    """Check that residuals notice variables that are better than a bound."""
    bound = comparison.best_bound
    run = next((run for run in answers(comparison) if not run.scope), None)
    if bound is None or run is None:
        return
    for text, variables in _changed_variables(run.variables):
        try:
            value = float(problem.objective(variables))
            residuals = problem.residuals(variables)
        except Exception:  # variables of another shape or sign may be refused
            continue
        is_better = math.isfinite(value) and _excess(problem, value, bound) > 1e-6 * max(1.0, abs(bound))
        if is_better and all(residual <= SATISFIED for residual in residuals.values()):
            yield (
                f"{text} of '{run.method}' are worth {format_figure(value)}, beyond the bound "
                f"{format_figure(bound)}, and residuals find nothing wrong with them",
                "judge every constraint in residuals",
            )
            return


def _changed_variables(variables: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    numbers = {
        name: np.asarray(value, dtype=np.float64)
        for name, value in variables.items()
        if isinstance(value, (int, float, np.ndarray)) and np.asarray(value).dtype.kind in "if"
    }
    if not numbers:
        return
    for factor in FACTORS:
        scaled = {name: _like(variables[name], factor * value) for name, value in numbers.items()}
        yield f"{factor:g} times the variables", {**variables, **scaled}
    for shift in SHIFTS:
        moved = {name: _like(variables[name], value + shift) for name, value in numbers.items()}
        yield f"{shift:+g} added to the variables", {**variables, **moved}


def _like(original: Any, value: Any) -> Any:
    return value if isinstance(original, np.ndarray) else float(value)


def certified(problem: Problem[Any], comparison: Comparison) -> Findings:
    """Check that the certificates of a solution hold, optimality among them where it is claimed."""
    for run in answers(comparison):
        try:
            certificates = run.certificates
        except Exception as error:
            yield f"certificates of '{run.method}' raise {error_text(error)}", "repair certificates"
            continue
        for certificate in certificates:
            if not certificate.holds:
                yield f"'{run.method}': {certificate}", "repair the method, or the certificate"
        names = [certificate.property for certificate in certificates]
        if run.claims_optimality and OPTIMALITY not in names:
            yield (
                f"'{run.method}' is optimal and has no certificate of it",
                ("return (..., self.optimality(solution)) from certificates"),
            )
        yield from _refuses_a_worse_value(problem, run)


def _refuses_a_worse_value(problem: Problem[Any], run: Solution[Any]) -> Findings:
    """Yield where variables whose value is far from the bound are certified as an optimum."""
    if not run.claims_optimality or run.bound is None:
        return
    for text, variables in _changed_variables(run.variables):
        try:
            value = float(problem.objective(variables))
            residuals = problem.residuals(variables)
            worse = changed(
                run, variables=variables, value=value, residuals=residuals, realisation=None, prices=None
            )
            is_far = _excess(problem, 2.0 * run.bound - value, run.bound) > 0
            certificates = problem.certificates(worse) if is_far else ()
        except Exception:  # variables of another shape or sign may be refused
            continue
        if any(item.holds for item in certificates if item.property == OPTIMALITY):
            yield (
                f"optimality holds for {text} of '{run.method}', worth {format_figure(value)}, "
                f"with the bound {format_figure(run.bound)}",
                "return self.optimality(solution), which compares the two",
            )
            return


# The mechanism


def mechanism(problem: Problem[Any], comparison: Comparison) -> Findings:
    """Check that what runs is audited, and is the same after it was saved and loaded."""
    run = next(iter(answers(comparison)), None)
    if run is None:
        return
    try:
        built = run.mechanism()
    except Exception as error:
        yield (
            f"mechanism of '{run.method}' raises {error_text(error)}",
            "repair it, or define why_no_mechanism",
        )
        return
    if not isinstance(built, Mechanism):
        yield f"mechanism returns a {type(built).__name__}", "return a subclass of md.Mechanism"
        return
    audit = built.audit()
    if not audit.holds:
        yield f"its mechanism fails its audit: {' '.join(str(audit).split())}", "repair it before it is built"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mechanism.json"
        try:
            built.save(path)
            loaded = load_mechanism(path)
        except Exception as error:
            yield f"saving and loading its mechanism raises {error_text(error)}", "see fields and type"
            return
    if loaded != built:
        yield "its mechanism is another one after it was saved and loaded", "list all parts in fields"
    elif not loaded.audit().holds:
        yield "its mechanism fails its audit once it was loaded", "list all parts in fields"
