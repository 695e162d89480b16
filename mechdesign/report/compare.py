"""``compare``: every method on one problem, side by side, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.core.certificate import OPTIMALITY, format_figure
from mechdesign.core.errors import MechDesignError, UnknownNameError, failure_text, listed, suggestion
from mechdesign.core.problem import Method, Problem
from mechdesign.core.solution import Solution
from mechdesign.core.values import encode
from mechdesign.data.tidy import Columns, Tidy
from mechdesign.exact.numbers import rounding_allowance
from mechdesign.show.panels import interval_figures
from mechdesign.show.tables import html_table, table
from mechdesign.solvers.solve import find_method, methods_of, reason_against, solve

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

COLUMNS = ("method", "kind", "status", "value", "bound", "gap", "gap to best", "certificates", "seconds")
"""Columns of a comparison.

``gap`` is to the bound of the run; ``gap to best``, where no optimality is claimed, to the best bound.
"""

LINE = 120
"""The longest line of a comparison's table."""


@dataclass(frozen=True, repr=False)
class Comparison(Tidy):
    """Runs of all methods on one problem, the reasons of those that do not apply, and disagreements.

    ``print`` shows a table, ``to_frame()`` gives a data frame with numbers, ``md.plot`` draws values beside
    bounds; it is iterable, and ``comparison["linear-program"]`` is the run of a method.

    Attributes
    ----------
    problem : Problem
    runs : tuple of Solution
        One a method that applies, in order of preference.
    skipped : mapping
        From the names of the other methods to why they do not apply.
    disagreements : tuple of str
        A sentence each; empty where all methods agree within their gaps.
    """

    problem: Problem
    runs: tuple[Solution, ...]
    skipped: Mapping[str, str]
    disagreements: tuple[str, ...]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, method: str) -> Solution:
        """Return the run of a method."""
        for run in self.runs:
            if run.method == method:
                return run
        if method in self.skipped:
            raise UnknownNameError(method, f"does not apply: {self.skipped[method]}", "take another method")
        hint = suggestion(method, [run.method for run in self.runs])
        raise UnknownNameError(self.problem.name, f"no run of '{method}'", hint)

    def tidy(self, level: float = 0.95) -> Columns:
        """Return one row a run: method, kind, status, value, bound, gaps, what its certificates say."""
        gaps = [None if run.claims_optimality else self.gap_to_best_bound(run) for run in self.runs]
        return {
            "method": [run.method for run in self.runs],
            "kind": [run.kind for run in self.runs],
            "status": [run.status for run in self.runs],
            "value": [float(run.value) if run.found else None for run in self.runs],
            "bound": [None if run.bound is None else float(run.bound) for run in self.runs],
            "gap": [float(run.gap) if math.isfinite(run.gap) else None for run in self.runs],
            "gap_to_best": gaps,
            "certificates": [verdict_on_certificates(run) for run in self.runs],
            "class": [run.scope for run in self.runs],
            "seconds": [run.seconds for run in self.runs],
        }

    def figures(self) -> list[Figure]:
        """Return the values of all runs beside their bounds."""
        runs = [run for run in self.runs if run.found]
        if not runs:
            return []
        values = [float(run.value) for run in runs]
        bounds = [float(run.value if run.bound is None else run.bound) for run in runs]
        low = [min(pair) for pair in zip(values, bounds, strict=True)]
        high = [max(pair) for pair in zip(values, bounds, strict=True)]
        names = [run.method for run in runs]
        title = f"{self.problem.name}: values of all methods, and how far their bounds are"
        return interval_figures(
            title, names, np.array(values), (np.array(low), np.array(high)), "method", "value"
        )

    @property
    def failures(self) -> tuple[str, ...]:
        """Which methods gave no answer, and why; published ones are not asked."""
        failed = [run for run in self.runs if run.kind != "published" and run.status == "failed"]
        return tuple(f"{run.method}: {run.message}" for run in failed)

    @property
    def agree(self) -> bool:
        """Whether all methods agree within their certified gaps."""
        return not self.disagreements

    @property
    def judged(self) -> tuple[Solution, ...]:
        """The runs that are asked for agreement: all but published formulas and methods that failed."""
        return tuple(run for run in self.runs if run.kind != "published" and run.status != "failed")

    @property
    def agreement(self) -> str:
        """``yes``, ``NO``, or that there was only one method, or none, to ask."""
        if self.disagreements:
            return "NO"
        return {0: "no method", 1: "one method"}.get(len(self.judged), "yes")

    @property
    def best_bound(self) -> float | None:
        """The tightest bound that a judged run has proven; None where there is none."""
        bounds = [run.bound for run in self.judged if run.found and run.bound is not None and not run.scope]
        if not bounds:
            return None
        return min(bounds) if self.problem.sense == "max" else max(bounds)

    def gap_to_best_bound(self, run: Solution) -> float | None:
        """Return by how much a run falls short of the best bound; negative where it is beyond it.

        That is how a run without a claim of optimality is judged. A published formula that is beyond the
        bound breaks a constraint.
        """
        if self.best_bound is None or not run.found or run.scope:
            return None
        bound = self.best_bound
        return bound - run.value if self.problem.sense == "max" else run.value - bound

    @property
    def by_scope(self) -> dict[str, tuple[Solution, ...]]:
        """The runs by the class of mechanisms that they choose from, the one that bounds are for first.

        A value may be beyond a bound that is for another class: the two never stand in one table.
        """
        scopes = dict.fromkeys(["", *(run.scope for run in self.runs)])
        groups = {scope: tuple(run for run in self.runs if run.scope == scope) for scope in scopes}
        return {scope: runs for scope, runs in groups.items() if runs}

    def rows(self, scope: str = "") -> list[list[str]]:
        """Return one row of text a method that chooses from this class, in the order of ``COLUMNS``."""
        return [
            [
                run.method,
                run.kind,
                run.status,
                format_figure(run.value) if run.found else "-",
                format_figure(run.bound) if run.bound is not None else "-",
                f"{run.gap:.1e}" if math.isfinite(run.gap) else "-",
                self._to_best(run),
                verdict_on_certificates(run),
                f"{run.seconds:.3f}",
            ]
            for run in self.by_scope.get(scope, ())
        ]

    def _to_best(self, run: Solution) -> str:
        gap = None if run.claims_optimality else self.gap_to_best_bound(run)
        return "-" if gap is None else f"{gap:.1e}"

    def __repr__(self) -> str:
        runs = [f"{run.method} {format_figure(run.value) if run.found else run.status}" for run in self.runs]
        verdict = "agree" if self.agree else "DISAGREE"
        return f"Comparison({self.problem.name}: {listed(runs) or 'no method applies'}; {verdict})"

    def forecasts(self, users: int | None = None) -> list[str]:
        """Return the expected standard error with this many users, one line for methods that agree on it."""
        by_text: dict[str, list[str]] = {}
        for run in self.runs:
            forecast = run.forecast(users)
            if forecast is not None:
                by_text.setdefault(str(forecast), []).append(run.method)
        return [f"  {', '.join(methods)}: {text}" for text, methods in by_text.items()]

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        title, remarks = (
            f"{self.problem.name} ({self.problem.sense})",
            [line.strip() for line in self._remarks()],
        )
        scopes = list(self.by_scope)
        tables = [html_table(_heading(title, scope), COLUMNS, self.rows(scope), []) for scope in scopes[:-1]]
        last = scopes[-1] if scopes else ""
        return "".join([*tables, html_table(_heading(title, last), COLUMNS, self.rows(last), remarks)])

    def text(self, users: int | None = None) -> str:
        """Return the table, what fails, who disagrees, and the expected errors with ``users`` users."""
        title, lines = f"{self.problem.name} ({self.problem.sense})", list[str]()
        for scope in self.by_scope or ("",):
            lines += [_heading(title, scope), self._table(scope)]
        return "\n".join([*lines, *self._remarks(users)])

    def _table(self, scope: str) -> str:
        """Return the table of the runs that choose from one class."""
        rows, header = self.rows(scope), list(COLUMNS)
        judged = [run.found and not run.claims_optimality for run in self.by_scope.get(scope, ())]
        if scope or not any(judged):  # then nobody needs the column
            place = header.index("gap to best")
            header, rows = _without(header, place), [_without(row, place) for row in rows]
        return table(header, rows, LINE)

    def _remarks(self, users: int | None = None) -> list[str]:
        """Return the remarks under the table, a line each."""
        lines: list[str] = []
        for run in self.runs:
            lines += [
                f"  {run.method}: {certificate}" for certificate in run.certificates if not certificate.holds
            ]
            if run.found and not run.claims_optimality:
                lines.append(f"  {run.method}: {self._unclaimed(run)}")
        lines += [f"  {name}: not applicable, {reason}" for name, reason in self.skipped.items()]
        lines += [f"  FAILED: {text}" for text in self.failures]
        lines += [f"  DISAGREE: {text}" for text in self.disagreements]
        return lines + self.forecasts(users)

    def _unclaimed(self, run: Solution) -> str:
        if run.scope:
            return f"optimality is not claimed; {run.scope}"
        proven = any(item.property == OPTIMALITY and item.holds for item in run.certificates)
        if proven and run.status == "optimal":
            return "proven optimal by its bound"
        gap = self.gap_to_best_bound(run)
        if gap is None:
            return "optimality is not claimed, and no method has a bound to compare it with"
        bound = format_figure(self.best_bound)
        return f"optimality is not claimed; gap {gap + 0.0:.3g} to the best proven bound {bound}"

    def as_dict(self, model: str | None = None) -> dict[str, Any]:
        """Return the JSON object of ``compare --json`` without the claims."""
        return {
            "model": model,
            "problem": self.problem.name,
            "runs": [
                {**run.as_dict(model), "gap_to_best_bound": encode(self.gap_to_best_bound(run))}
                for run in self.runs
            ],
            "best_bound": encode(self.best_bound),
            "agree": self.agree,
            "methods_judged": len(self.judged),
            "disagreements": list(self.disagreements),
            "failures": list(self.failures),
            "skipped": dict(self.skipped),
        }


def compare(problem: Problem, methods: Sequence[str | Method] | None = None) -> Comparison:
    """Run every applicable method on a problem and compare what they find.

    Parameters
    ----------
    problem : Problem
    methods : sequence of str or Method, optional
        Only these methods: by their names, or some of your own.

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
    runs: list[Solution] = []
    skipped: dict[str, str] = {}
    for method in _chosen(problem, methods):
        reason = reason_against(method, problem)
        if reason is not None:
            skipped[method.name] = reason
            continue
        runs.append(_run(problem, method))
    return Comparison(problem, tuple(runs), skipped, tuple(disagreements(runs)))


def _chosen(problem: Problem[Any], methods: Sequence[str | Method] | None) -> list[Method]:
    """Return the methods of these names, in order of preference, then those that were given themselves."""
    known = methods_of(type(problem))
    if methods is None:
        return list(known)
    names = [find_method(problem, method).name for method in methods if isinstance(method, str)]
    own = [method for method in methods if isinstance(method, Method)]
    return [method for method in known if method.name in names] + own


def _run(problem: Problem, method: Method) -> Solution:
    """Run one method; an error becomes a run with the status ``failed``, and the others go on."""
    try:
        return solve(problem, method)
    except Exception as error:
        text = str(error) if isinstance(error, MechDesignError) else failure_text(error)
        return Solution(
            problem, method.name, method.kind, "failed", math.nan, None, {}, {}, 0.0, message=text
        )


def verdict_on_certificates(run: Solution) -> str:
    """Return in a few words how the certificates of a run came out."""
    if not run.found:
        return run.message
    failed = [certificate.property for certificate in run.certificates if not certificate.holds]
    return "FAILS: " + ", ".join(failed) if failed else f"{len(run.certificates)} hold"


def _heading(title: str, scope: str) -> str:
    """Return what stands above a table: the problem, or which other mechanisms are compared."""
    return f"of another class, not judged by the bounds above: {scope}" if scope else title


def _without(cells: Sequence[str], place: int) -> list[str]:
    return [*cells[:place], *cells[place + 1 :]]


def disagreements(runs: Sequence[Solution]) -> list[str]:
    """Return one sentence for each contradiction between runs; published ones are not asked.

    Contradictions: different answers about feasibility; values further apart than the two gaps
    allow; a value that is better than another method's proven bound. A method that failed says nothing.
    """
    settled = [run for run in runs if run.kind != "published" and run.status != "failed"]
    texts = [text for run in settled for text in _beyond_its_own_bound(run)]
    for number, first in enumerate(settled):
        for second in settled[number + 1 :]:
            if first.scope == second.scope:  # bounds and values of other mechanisms contradict nothing
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
        return [f"{first.method} has status {first.status}, {second.method} has status {second.status}"]
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
