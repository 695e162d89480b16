"""``check_problem``: whether a class of problems keeps what the toolkit relies on, for its author."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mechdesign.core.errors import MechDesignError, ParameterError, counted
from mechdesign.core.fields import fields_of, problem_from
from mechdesign.core.problem import Problem
from mechdesign.families import problem_class
from mechdesign.report import problem_rules as rules
from mechdesign.report.compare import Comparison, compare
from mechdesign.report.problem_rules import Fault, error_text
from mechdesign.show.tables import html_table, table

COLUMNS = ("rule", "result", "what is checked")


@dataclass(frozen=True, repr=False)
class ProblemCheck:
    """What was checked of a class of problems, and what it does not keep.

    Attributes
    ----------
    problem : Problem
        The problem that was tried.
    rules : mapping
        For each rule that was checked, what it says.
    skipped : mapping
        For each rule that was not checked, why.
    findings : tuple of Fault
        Each with what is wrong and what to do.
    advice : tuple of Fault
        What readers of lists, errors and pages would miss; nothing fails without it.
    seconds : float
    """

    problem: Problem[Any]
    rules: Mapping[str, str]
    skipped: Mapping[str, str]
    findings: tuple[Fault, ...]
    advice: tuple[Fault, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def of_rule(self, rule: str) -> tuple[Fault, ...]:
        """Return the findings of one rule."""
        return tuple(finding for finding in self.findings if finding.rule == rule)

    def rows(self) -> list[list[str]]:
        """Return a row of texts a rule, in the order of ``COLUMNS``."""
        rows = []
        for rule, meaning in self.rules.items():
            count = len(self.of_rule(rule))
            rows.append([rule, counted(count, "finding") if count else "holds", meaning])
        return rows + [[rule, "not checked", reason] for rule, reason in self.skipped.items()]

    @property
    def _title(self) -> str:
        verdict = "holds" if self.holds else counted(len(self.findings), "finding")
        return f"{type(self.problem).__name__} ({self.problem.name}): {verdict}"

    def _remarks(self) -> list[str]:
        return [f"FINDING {item}" for item in self.findings] + [f"advice {item}" for item in self.advice]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``check --problem --json``."""
        return {
            "problem": self.problem.name,
            "holds": self.holds,
            "rules": list(self.rules),
            "skipped": dict(self.skipped),
            "findings": [vars(item) for item in self.findings],
            "advice": [vars(item) for item in self.advice],
        }

    def __repr__(self) -> str:
        return f"ProblemCheck({self._title})"

    def __str__(self) -> str:
        return "\n".join(
            [self._title, table(COLUMNS, self.rows()), *(f"  {line}" for line in self._remarks())]
        )

    def _repr_html_(self) -> str:
        return html_table(self._title, COLUMNS, self.rows(), self._remarks())


def check_problem(problem: Problem[Any] | type[Problem[Any]]) -> ProblemCheck:
    """Check whether a class of problems keeps what solving, comparing, saving and auditing rely on.

    For authors of classes, on one small problem: nothing that is set later or shared, wrong parameters
    refused in one line, the same problem through JSON, TOML and pickle, methods that agree and whose bounds
    are on the right side, residuals that notice what is not allowed, a mechanism that is audited after it was
    loaded.

    Parameters
    ----------
    problem : Problem or its class
        A problem that its methods solve in seconds; a class stands for its ``example``.

    Returns
    -------
    ProblemCheck
        ``print`` it, or ask it for ``.holds`` in a test.

    Raises
    ------
    ParameterError
        Where there is nothing to check: it is no problem, or the class has no example that can be made.

    Examples
    --------
    >>> import mechdesign as md
    >>> check = md.check_problem(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0))
    >>> check
    ProblemCheck(RandomizedResponse (randomized-response): holds)
    >>> list(check.rules)[:4]
    ['class', 'frozen', 'inputs', 'round trips']
    """
    start = time.perf_counter()
    instance = _instance(problem)
    alone: dict[str, Callable[[Problem[Any]], rules.Findings]] = {
        "class": rules.class_attributes,
        "frozen": rules.frozen_parameters,
        "inputs": rules.inputs,
        "round trips": rules.round_trips,
        "methods": rules.method_table,
    }
    solved: dict[str, Callable[[Problem[Any], Comparison], rules.Findings]] = {
        "lengths": rules.equal_lengths,
        "outcomes": rules.outcomes,
        "values": rules.values,
        "bounds": rules.bounds,
        "residuals": rules.judged_variables,
        "certificates": rules.certified,
        "mechanism": rules.mechanism,
    }
    skipped = _unchecked(instance, solved)
    findings: list[Fault] = []
    for name, rule in alone.items():
        findings += _findings(name, partial(rule, instance))
    comparison = compare(instance) if "outcomes" not in skipped else None
    for name, judge in solved.items():
        if name not in skipped and comparison is not None:
            with np.errstate(all="ignore"):  # of variables that are changed on purpose
                findings += _findings(name, partial(judge, instance, comparison))
    checked: dict[str, Callable[..., Any]] = dict(alone)
    checked |= {name: rule for name, rule in solved.items() if name not in skipped}
    return ProblemCheck(
        instance,
        {name: _meaning(rule) for name, rule in checked.items()},
        skipped,
        tuple(findings),
        tuple(Fault("texts", *pair) for pair in _texts(instance)),
        time.perf_counter() - start,
    )


def named_class(name: str) -> type[Problem[Any]]:
    """Return a class of problems by its name, or by module and class, such as ``shade:Shade``.

    A module is looked for in the current folder as well.

    Raises
    ------
    ParameterError
        Where the module cannot be imported or has no such class.

    Examples
    --------
    >>> named_class("mean-channel").__name__
    'MeanChannel'
    >>> named_class("mechdesign.families.mean:MeanChannel").__name__
    'MeanChannel'
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        return problem_class(name)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        value = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:
        raise ParameterError("--problem", f"{module} cannot be imported: {error_text(error)}") from None
    if not (isinstance(value, type) and issubclass(value, Problem)):
        raise ParameterError("--problem", f"{module} has no class of problems '{attribute}'")
    return value


def _instance(problem: Any) -> Problem[Any]:
    """Return the problem to try: the one that was passed, or the example of its class."""
    if isinstance(problem, Problem):
        return problem
    if not (isinstance(problem, type) and issubclass(problem, Problem)):
        what = f"expected a problem or its class, got {type(problem).__name__}"
        raise ParameterError("check_problem", what, "pass one that is made, such as Shade(rate=0.5)")
    missing = [
        name for name in ("objective", "residuals") if getattr(problem, name) is getattr(Problem, name)
    ]
    if missing and problem.statement is Problem.statement:
        what = f"{problem.__name__} does not define {' and '.join(missing)}"
        raise ParameterError("check_problem", what, "define them, or a statement that says both")
    try:
        return problem_from(problem, problem.example)
    except Exception as error:
        text = str(error) if isinstance(error, MechDesignError) else error_text(error)
        remedy = "state the parameters of a small problem in the class: example = {...}"
        raise ParameterError("check_problem", f"its example cannot be made: {text}", remedy) from None


def _unchecked(problem: Problem[Any], solved: Mapping[str, Any]) -> dict[str, str]:
    """Return the rules that cannot be checked, each with the reason."""
    from mechdesign.solvers.solve import methods_of

    if not methods_of(problem):
        return dict.fromkeys(solved, "there is no method")
    reason = problem.why_no_mechanism()
    return {} if reason is None else {"mechanism": f"it has none: {reason}"}


def _findings(name: str, rule: Callable[[], rules.Findings]) -> Iterator[Fault]:
    """Yield the findings of a rule; what it raises on the way is one as well."""
    try:
        for what, remedy in dict.fromkeys(rule()):
            yield Fault(name, " ".join(what.split()), remedy)
    except Exception as error:
        yield Fault(name, f"checking it raises {error_text(error)}", "repair what raises it")


def _meaning(rule: Callable[..., Any]) -> str:
    """Return what a rule says: the first line of its docstring."""
    return (rule.__doc__ or "").partition("\n")[0].rstrip(".").removeprefix("Check that ")


def _texts(problem: Problem[Any]) -> rules.Findings:
    """Yield the words that lists, errors and pages would print."""
    kind = type(problem)
    if not kind.summary:
        yield "it has no summary", 'write summary = "..." in the class: lists of problems print it'
    if not kind.example:
        yield "it has no example", "write example = {...} in the class: errors print it"
    for parameter in fields_of(problem):
        value = getattr(problem, parameter.name)
        if isinstance(value, (list, dict, set)):
            text = f"{parameter.name} is kept as a {type(value).__name__}, which can be changed later"
            yield text, "let its check return a tuple"
        if not parameter.meaning:
            yield (
                f"parameter '{parameter.name}' has no meaning",
                "state it in its field: help and show print it",
            )
