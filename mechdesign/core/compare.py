"""``compare``: every method on one problem, side by side, and whether they agree."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.core.certificate import format_figure
from mechdesign.core.errors import MechDesignError, UnknownNameError, suggestion
from mechdesign.core.forecast import USERS
from mechdesign.core.method import Method
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.core.solve import methods_of, solve
from mechdesign.core.text import listed, table


@dataclass(frozen=True, repr=False)
class Comparison:
    """Runs of all methods on one problem, the reasons of those that do not apply, and disagreements."""

    problem: Problem
    runs: tuple[Solution, ...]
    skipped: Mapping[str, str]
    disagreements: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether all methods agree within their certified gaps."""
        return not self.disagreements

    def rows(self) -> list[list[str]]:
        """Return one row of text a method: name, kind, status, value, bound, gap, certificates, seconds."""
        rows = []
        for run in self.runs:
            failed = [certificate.property for certificate in run.certificates if not certificate.holds]
            verdict = (
                ("FAILS: " + ", ".join(failed))
                if failed
                else (f"{len(run.certificates)} hold" if run.found else run.message)
            )
            rows.append(
                [
                    run.method,
                    run.kind,
                    run.status,
                    format_figure(run.value) if run.found else "-",
                    format_figure(run.bound) if run.bound is not None else "-",
                    f"{run.gap:.1e}" if math.isfinite(run.gap) else "-",
                    verdict,
                    f"{run.seconds:.3f}",
                ]
            )
        return rows

    def __repr__(self) -> str:
        runs = [f"{run.method} {format_figure(run.value) if run.found else run.status}" for run in self.runs]
        verdict = "agree" if self.agree else "DISAGREE"
        return f"Comparison({self.problem.name}: {listed(runs) or 'no method applies'}; {verdict})"

    def forecasts(self, users: int = USERS) -> list[str]:
        """Return how good answers will be with so many users, one line for methods that agree on it."""
        by_text: dict[str, list[str]] = {}
        for run in self.runs:
            forecast = run.forecast(users)
            if forecast is not None:
                by_text.setdefault(str(forecast), []).append(run.method)
        return [f"  {', '.join(methods)}: {text}" for text, methods in by_text.items()]

    def __str__(self) -> str:
        return self.text()

    def text(self, users: int = USERS) -> str:
        """Return the table, what fails, who disagrees, and how good answers will be with so many users."""
        header = ["method", "kind", "status", "value", "bound", "gap", "certificates", "seconds"]
        lines = [f"{self.problem.name} ({self.problem.sense})", table(header, self.rows())]
        for run in self.runs:
            lines += [
                f"  {run.method}: {certificate}" for certificate in run.certificates if not certificate.holds
            ]
        lines += [f"  {name}: not applicable, {reason}" for name, reason in self.skipped.items()]
        lines += [f"  DISAGREE: {text}" for text in self.disagreements]
        lines += self.forecasts(users)
        return "\n".join(lines)

    def as_dict(self, model: str | None = None) -> dict[str, Any]:
        """Return the JSON object of ``compare --json`` without the claims."""
        return {
            "model": model,
            "problem": self.problem.name,
            "runs": [run.as_dict(model) for run in self.runs],
            "agree": self.agree,
            "disagreements": list(self.disagreements),
            "skipped": dict(self.skipped),
        }


def compare(problem: Problem, methods: Sequence[str] | None = None) -> Comparison:
    """Run every applicable method on a problem and compare what they find.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str, optional
        Only these methods.

    Returns
    -------
    Comparison
        ``print`` it for a table. Two methods agree when ``|v1 - v2| <= gap1 + gap2 + tau``, with
        each gap the distance of a value from its own proven bound.

    Examples
    --------
    >>> import mechdesign as md
    >>> md.compare(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)).agree
    True
    """
    known = [method.name for method in methods_of(type(problem))]
    for name in methods or ():
        if name not in known:
            raise UnknownNameError(f"{problem.name}: no method '{name}'; {suggestion(name, known)}")
    runs: list[Solution] = []
    skipped: dict[str, str] = {}
    for method in methods_of(type(problem)):
        if methods is not None and method.name not in methods:
            continue
        reason = method.why_not(problem)
        if reason is not None:
            skipped[method.name] = reason
            continue
        runs.append(_run(problem, method))
    return Comparison(problem, tuple(runs), skipped, tuple(disagreements(runs)))


def _run(problem: Problem, method: Method) -> Solution:
    """Run one method; an error of the method itself becomes a run with the status ``failed``."""
    try:
        return solve(problem, method)
    except Exception as error:  # a crash of one method must not take the others with it
        text = str(error) if isinstance(error, MechDesignError) else f"{type(error).__name__}: {error}"
        return Solution(
            problem, method.name, method.kind, "failed", math.nan, None, {}, {}, 0.0, message=text
        )


def rounding_allowance(value: float, terms: int = 64) -> float:
    """Return tau: what summing some terms of this size in double precision may lose."""
    return terms * sys.float_info.epsilon * abs(value)


def disagreements(runs: Sequence[Solution]) -> list[str]:
    """Return one sentence for each contradiction between runs; published ones are not asked.

    Contradictions: different answers about feasibility; values further apart than the two gaps
    allow; a value that is better than another method's proven bound; a method that failed.
    """
    texts = []
    judged = [run for run in runs if run.kind != "published"]
    for run in judged:
        if run.status == "failed":
            texts.append(f"{run.method} failed: {run.message}")
    settled = [run for run in judged if run.status != "failed"]
    texts += [text for run in settled for text in _beyond_its_own_bound(run)]
    for number, first in enumerate(settled):
        for second in settled[number + 1 :]:
            texts += _contradiction(first, second)
    return texts


def _beyond_its_own_bound(run: Solution) -> list[str]:
    sign = 1.0 if run.problem.sense == "max" else -1.0
    if not run.found or run.bound is None:
        return []
    if sign * (run.value - run.bound) <= rounding_allowance(
        max(abs(run.value), run.problem.objective_scale())
    ):
        return []
    return [f"{run.method} finds {run.value!r}, beyond its own bound {run.bound!r}"]


def _contradiction(first: Solution, second: Solution) -> list[str]:
    if first.found != second.found:
        return [f"{first.method} says {first.status}, {second.method} says {second.status}"]
    if not first.found:
        return []
    texts = []
    tau = rounding_allowance(max(abs(first.value), abs(second.value), first.problem.objective_scale()))
    sign = 1.0 if first.problem.sense == "max" else -1.0
    for better, bounded in ((first, second), (second, first)):
        if bounded.bound is not None and sign * (better.value - bounded.bound) > tau:
            texts.append(
                f"{better.method} finds {better.value!r}, beyond {bounded.method}'s bound {bounded.bound!r}"
            )
    optimal = (
        first.status == second.status == "optimal"
        and first.kind != "heuristic"
        and second.kind != "heuristic"
    )
    allowed = sum(run.gap for run in (first, second)) + tau
    if optimal and abs(first.value - second.value) > allowed:
        difference = abs(first.value - second.value)
        texts.append(
            f"{first.method} and {second.method} differ by {difference:.3g}, their gaps allow {allowed:.3g}"
        )
    return texts
