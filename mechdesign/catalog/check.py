"""Check a model: every method, their agreement, the certificates, and the claims of the source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechdesign.catalog.model import Claim, Model
from mechdesign.core.certificate import format_figure
from mechdesign.core.compare import Comparison, compare
from mechdesign.core.encoding import encode
from mechdesign.core.errors import MechDesignError, UnknownNameError, suggestion
from mechdesign.core.forecast import USERS
from mechdesign.core.parameters import replace_parameters
from mechdesign.core.solution import Solution
from mechdesign.core.solve import solve


@dataclass(frozen=True)
class ClaimResult:
    """What was found for a claim; the verdict is ``holds``, ``refuted`` or, unsolved, ``unsettled``."""

    claim: Claim
    found: Any
    verdict: str

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the recorded one."""
        return self.verdict == self.claim.verdict

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of a claim in ``compare --json``."""
        return {
            "quantity": self.claim.quantity,
            "stated": encode(self.claim.value),
            "found": encode(self.found),
            "verdict": self.verdict,
            "as_expected": self.as_expected,
            "origin": self.claim.origin,
            "at": encode(dict(self.claim.at)),
            "method": self.claim.method,
            "reason": self.claim.reason,
        }

    def __str__(self) -> str:
        at = f" at {_short(dict(self.claim.at))}" if self.claim.at else ""
        whose = f" by {self.claim.method}" if self.claim.method else ""
        mark = "" if self.as_expected else f"  <-- recorded as {self.claim.verdict}"
        where = f" ({self.claim.where})" if self.claim.where else ""
        reason = f"; {self.claim.reason}" if self.verdict == "refuted" and self.claim.reason else ""
        text = (
            f"{self.claim.quantity}{whose}{at}: {self.claim.origin} states {_short(self.claim.value)}{where}"
        )
        return f"{text}, found {_short(self.found)}: {self.verdict}{reason}{mark}"


@dataclass(frozen=True)
class ModelCheck:
    """The comparison of all methods on a model and the verdicts on its claims."""

    model: Model
    comparison: Comparison
    claims: tuple[ClaimResult, ...]

    @property
    def problems(self) -> list[str]:
        """What is not as it should be, one sentence each; empty when all is well."""
        texts = [f"disagreement: {text}" for text in self.comparison.disagreements]
        for run in self.comparison.runs:
            if run.kind != "published":
                failed = [certificate for certificate in run.certificates if not certificate.holds]
                if run.kind == "heuristic":  # it promises privacy, not optimality
                    failed = [certificate for certificate in failed if certificate.property != "optimality"]
                known = self._known_failures(run.method)
                texts += [
                    f"certificate of {run.method}: {certificate}"
                    for certificate in failed
                    if f"certificate.{certificate.property}" not in known
                ]
        if not self.comparison.runs:
            texts.append("no method was run")
        texts += [f"claim: {result}" for result in self.claims if not result.as_expected]
        return texts

    def _known_failures(self, method: str) -> set[str]:
        """Return the certificates that the model itself says fail, by a claim with the value false."""
        return {
            claim.quantity
            for claim in self.model.claims
            if claim.value is False and not claim.at and claim.method in (None, method)
        }

    @property
    def passed(self) -> bool:
        """Whether methods agree, certificates hold and every verdict is the recorded one."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``compare --json``."""
        return {
            **self.comparison.as_dict(self.model.slug),
            "claims": [result.as_dict() for result in self.claims],
        }

    def __str__(self) -> str:
        return self.text()

    def text(self, users: int = USERS) -> str:
        """Return the comparison and the claims, with forecasts for so many users."""
        lines = [f"{self.model.slug}: {self.model.title}", self.comparison.text(users)]
        lines += [f"  claim {result}" for result in self.claims]
        return "\n".join(lines)


def check_model(model: Model) -> ModelCheck:
    """Run every method on a model's problem and check the claims.

    Examples
    --------
    >>> from mechdesign.catalog import load_model
    >>> check_model(load_model("response/zhou2019_survey")).passed
    True
    """
    comparison = compare(model.problem, model.methods or None)
    cache: dict[str, Solution] = {}
    results = []
    for number, claim in enumerate(model.claims):
        try:
            results.append(_check(model, comparison, claim, cache))
        except MechDesignError as error:
            raise type(error)(f"{model.slug}: [claim {number + 1}] {error}") from None
    return ModelCheck(model, comparison, tuple(results))


def _check(model: Model, comparison: Comparison, claim: Claim, cache: dict[str, Solution]) -> ClaimResult:
    solution = _solution_for(model, comparison, claim, cache)
    if not solution.found and claim.quantity != "status":
        return ClaimResult(claim, solution.message, "unsettled")
    found = quantity_of(solution, claim.quantity)
    return ClaimResult(claim, found, "holds" if agrees(claim.value, found, claim.tolerance) else "refuted")


def _solution_for(model: Model, comparison: Comparison, claim: Claim, cache: dict[str, Solution]) -> Solution:
    if not claim.at:
        for run in comparison.runs:
            if run.method == claim.method or (claim.method is None and run.kind != "published"):
                return run
    key = repr((sorted(claim.at.items(), key=lambda item: item[0]), claim.method))
    if key not in cache:
        problem = replace_parameters(model.problem, claim.at) if claim.at else model.problem
        cache[key] = solve(problem, claim.method)
    return cache[key]


def quantity_of(solution: Solution, name: str) -> Any:
    """Return a named quantity of a solution: value, bound, gap, status, variable, certificate or others.

    Raises
    ------
    UnknownNameError
        With the closest names.
    """
    simple = {
        "value": solution.value,
        "bound": solution.bound,
        "gap": solution.gap,
        "status": solution.status,
    }
    certificates: Mapping[str, Any] = {
        f"certificate.{item.property}": item.holds for item in solution.certificates
    }
    known = {**simple, **solution.notes, **solution.quantities, **solution.variables, **certificates}
    if name not in known:
        raise UnknownNameError(f"quantity: no '{name}'; {suggestion(name, known)}")
    return known[name]


def agrees(stated: Any, found: Any, tolerance: float) -> bool:
    """Whether found is stated, numbers and arrays within an absolute tolerance.

    Examples
    --------
    >>> agrees([0.5, 0.5], np.array([0.5, 0.5000001]), 1e-6), agrees("inf", float("inf"), 0.0)
    (True, True)
    """
    if isinstance(stated, bool) or isinstance(found, (bool, np.bool_)):
        both = isinstance(stated, bool) and isinstance(found, (bool, np.bool_))
        return both and bool(found) is stated
    if stated in ("inf", "-inf"):
        stated = float(stated)
    if isinstance(stated, str) or isinstance(found, str) or found is None:
        return bool(stated == found)
    try:
        wanted, got = np.asarray(stated, dtype=np.float64), np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):  # ragged, or not numbers
        return False
    if wanted.shape != got.shape:
        return False
    same = wanted == got  # also settles equal infinities
    with np.errstate(invalid="ignore"):
        return bool((same | (np.abs(wanted - got) <= tolerance)).all())


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_short(item)}" for key, item in value.items())
    if (
        isinstance(value, (int, float, np.generic))
        and not isinstance(value, bool)
        and not math.isnan(float(value))
    ):
        return format_figure(float(value))
    plain = encode(value)
    text = str([_short(item) for item in plain]).replace("'", "") if isinstance(plain, list) else str(plain)
    return text if len(text) <= 100 else text[:97] + "..."
