"""The page of models: statement, methods side by side, certificates, claims with verdicts, pictures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mechdesign.catalog.figures import model_figures
from mechdesign.catalog.load import Model
from mechdesign.catalog.shipped import models
from mechdesign.catalog.sweeping import run_resumed, run_sweep
from mechdesign.core.certificate import Certificate, format_figure
from mechdesign.core.errors import printable
from mechdesign.core.fields import parameters_of
from mechdesign.core.solution import Solution
from mechdesign.papers.claims.check import ClaimResult, ModelCheck, check_model
from mechdesign.papers.claims.claim import MISPRINT, NOT_EVALUATED, UNCHECKED, UNDECIDED
from mechdesign.papers.claims.runs import is_settled
from mechdesign.papers.shown.model import source_text
from mechdesign.report.compare import Comparison
from mechdesign.report.page.render import marked_up, markup, rendered
from mechdesign.report.tables import cell_text
from mechdesign.show.draw import svg
from mechdesign.show.figure import Figure, design_figures
from mechdesign.solvers.sensitivity import sensitivity
from mechdesign.work.cache import key_of
from mechdesign.work.parallel import Task, Watcher

PAGE_VERDICTS = {UNDECIDED: "undecided", UNCHECKED: "open", NOT_EVALUATED: "open"}
"""What the verdicts are called in the styles of the page."""

WORTH_SECONDS = 1.0
"""For how long a model is solved again nearby, for what its parameters are worth."""

MOST_BINDING = 3
"""Binding constraints on the page of a model."""


@dataclass(frozen=True)
class ModelResult:
    """All that the page shows of a model: its check, and its figures."""

    check: ModelCheck
    figures: tuple[Figure, ...]
    worth: tuple[str, ...] = ()


def model_result(model: Model) -> ModelResult:
    """Check a model and make its figures, those of its sweep and those of its design.

    Examples
    --------
    >>> from mechdesign.catalog import load_model
    >>> result = model_result(load_model("response/zhou2019_survey"))
    >>> result.check.passed, len(result.figures) > 0
    (True, True)
    """
    check = check_model(model)
    _ = check.problems  # certificates are computed on demand; this is where there is time for it
    figures = model_figures(model, list(run_sweep(model)) if model.sweep else None, check.comparison.runs)
    preferred = next((run for run in check.comparison.runs if run.found and run.kind != "published"), None)
    if preferred is not None:
        figures = [*figures, *design_figures(model.problem, preferred)]
    return ModelResult(check, tuple(figures), _worth(preferred))


def _worth(solution: Solution | None) -> tuple[str, ...]:
    """Return sentences on the worth of parameters, and the most expensive constraints."""
    if solution is None:
        return ()
    found = sensitivity(solution, WORTH_SECONDS)
    known = [worth for worth in found.worths if worth.slope is not None or worth.sides]
    return (*map(str, known), *(f"binding: {item}" for item in found.binding[:MOST_BINDING]))


def model_results(
    models: Sequence[Model], jobs: int | None = None, fresh: bool = False, watcher: Watcher | None = None
) -> list[ModelResult]:
    """Return the results of models, several at a time, those of earlier runs kept; see ``check_models``."""
    tasks = [Task(model.slug, key_of("report", model), model_result, (model,), _is_final) for model in models]
    return run_resumed(tasks, jobs, fresh, watcher, alone=0.0)


def _is_final(result: ModelResult) -> bool:
    return is_settled(result.check)


def models_page(results: Sequence[ModelResult], version: str, settings: Sequence[str] = ()) -> str:
    """Return the page as HTML text.

    Parameters
    ----------
    results : sequence of ModelResult
    version : str
        Of the toolkit.
    settings : sequence of str
        Parameters that were set otherwise than in the files, ``NAME=VALUE``: the commands also set them.

    Raises
    ------
    MissingPackageError
        Without jinja2, latex2mathml or matplotlib; ``mechdesign[report]`` has all of them.

    Examples
    --------
    >>> from mechdesign.catalog import load_model
    >>> page = models_page([model_result(load_model("response/zhou2019_survey"))], "0.1.0")
    >>> page.startswith("<!doctype html>"), "<math" in page, "<svg" in page
    (True, True, True)
    """
    entries = [_entry(result, number, settings) for number, result in enumerate(results, 1)]
    claims = [claim for result in results for claim in result.check.claims]
    certificates = [
        certificate
        for result in results
        for run in result.check.comparison.runs
        for certificate in run.certificates
    ]
    return rendered(
        "models.html",
        entries=entries,
        families=sorted({entry["family"] for entry in entries}),
        version=version,
        counts={
            "models": len(entries),
            "runs": sum(len(result.check.comparison.runs) for result in results),
            "claims": len(claims),
            "refuted": sum(claim.verdict == "refuted" for claim in claims),
            "misprints": sum(claim.verdict == MISPRINT for claim in claims),
            "undecided": sum(claim.verdict == UNDECIDED for claim in claims),
            "certificates": len(certificates),
            "failing": sum(not certificate.holds for certificate in certificates),
            "unexpected": sum(
                not certificate.holds and certificate.property not in result.check.recorded_failures(run)
                for result in results
                for run in result.check.comparison.runs
                for certificate in run.certificates
            ),
            "problems": sum(len(result.check.problems) for result in results),
        },
    )


def _entry(result: ModelResult, number: int, settings: Sequence[str]) -> dict[str, Any]:
    check, model = result.check, result.check.model
    verdicts = [claim.verdict for claim in check.claims]
    words = ("refuted", MISPRINT, "holds", UNDECIDED)
    refuted, misprints, holding, undecided = (verdicts.count(word) for word in words)
    said = [
        model.slug,
        model.title,
        model.problem.name,
        source_text(model),
        *(c.remark for c in check.claims),
    ]
    place = "".join(letter if letter.isalnum() else "-" for letter in model.slug)
    # Files of one's own may differ in other letters only, or be named twice.
    name = place if model.slug in models() else f"{place}-{number}"
    best = best_run(check.comparison)
    return {
        "slug": printable(model.slug),
        "id": name,
        "family": printable(model.family) or "own",
        "title": model.title,
        "problem": model.problem.name,
        "summary": model.problem.summary,
        "sense": model.problem.sense,
        "source": source_text(model) if model.source else "",
        "statement": markup(marked_up(model.statement.strip())),
        "parameters": [(name, cell_text(value)) for name, value in parameters_of(model.problem).items()],
        "worth": [printable(text) for text in result.worth],
        "best": "" if best is None else _praise(check.comparison, best),
        "runs": [_run(check, run, run is best) for run in check.comparison.runs],
        "skipped": [(name, printable(reason)) for name, reason in check.comparison.skipped.items()],
        "agreement": check.comparison.agreement,
        "claims": [_claim(claim, number, name) for number, claim in enumerate(check.claims, 1)],
        "holding": holding,
        "refuted": refuted,
        "misprints": misprints,
        "undecided": undecided,
        "verdicts": " ".join(
            word
            for word, there in (
                ("refuted", refuted > 0),
                ("misprint", misprints > 0),
                ("undecided", undecided > 0),
                ("holds", refuted == misprints == undecided == 0 and holding > 0),
                ("failing", any(not c.holds for run in check.comparison.runs for c in run.certificates)),
                ("problem", not check.passed),
            )
            if there
        ),
        "problems": [printable(text) for text in check.problems],
        "figures": [_drawn(figure) for figure in result.figures],
        "commands": _commands(model, settings),
        "words": " ".join(said).lower(),
    }


def best_run(comparison: Comparison) -> Solution | None:
    """Return the run whose design is to be taken; None where methods disagree, or none has a design.

    That is the first that claims an optimum, or else the one of the best value, among those whose privacy is
    proven for the very numbers that run if there are any. No published formula, and none that fails.

    Examples
    --------
    >>> import mechdesign as md
    >>> best_run(md.compare(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0))).method
    'closed-form'
    """
    found = [
        run
        for run in (comparison.judged if comparison.agree else ())
        if run.found and all(certificate.holds for certificate in run.certificates)
    ]
    optimal = next((run for run in found if run.claims_optimality), None)
    if optimal is not None or not found:
        return optimal
    exact = [run for run in found if any(c.property == "privacy" and c.exact for c in run.certificates)]
    return (max if comparison.problem.sense == "max" else min)(exact or found, key=lambda run: run.value)


def _praise(comparison: Comparison, run: Solution) -> str:
    """Return in a sentence how good the best run is proven to be."""
    value, gap = _number(run.value), comparison.gap_to_best_bound(run)
    if gap is None:
        return f"Best of these: {value}, by {run.method}. No bound is proven."
    if gap <= 0.0:
        return f"Best: {value}, by {run.method}, which meets the proven bound."
    return f"Best: {value}, by {run.method}. Nothing is better by more than {gap:.2g}, which is proven."


def _commands(model: Model, settings: Sequence[str]) -> list[str]:
    """Return the commands that show the model again, as a shell takes them."""
    words = ["check", "solve", *(["sweep"] if model.sweep else [])]
    ending = "".join(f" --set {shlex.quote(setting)}" for setting in settings)
    return [printable(f"mechdesign {word} {shlex.quote(model.slug)}{ending}") for word in words]


def _drawn(figure: Figure) -> dict[str, Any]:
    return {"picture": markup(svg(figure)), "title": figure.title, "caption": figure.caption}


def _run(check: ModelCheck, run: Solution, best: bool) -> dict[str, Any]:
    recorded = check.recorded_failures(run)
    beyond = None if run.claims_optimality else check.comparison.gap_to_best_bound(run)
    return {
        "method": run.method,
        "best": best,
        "kind": run.kind,
        "status": run.status,
        "value": _number(run.value) if run.found else "",
        "bound": _number(run.bound),
        "gap": "" if run.bound is None or not run.found else f"{run.gap:.2g}",
        "beyond": "" if beyond is None else f"{beyond:.2g}",
        "seconds": f"{run.seconds:.2g}",
        "message": printable(run.message),
        "source": printable(run.bound_source),
        "certificates": [_certificate(item, item.property in recorded) for item in run.certificates],
    }


def _certificate(certificate: Certificate, recorded: bool) -> dict[str, Any]:
    verdict = "holds" if certificate.holds else "does not hold, as recorded" if recorded else "FAILS"
    return {
        "property": certificate.property.replace("_", " "),
        "holds": certificate.holds,
        "verdict": verdict + (" (exact)" if certificate.exact else ""),
        "figures": _pairs(certificate.figures),
        "witness": _pairs(certificate.witness),
        "note": printable(certificate.note),
    }


def _pairs(values: Any) -> str:
    return printable(
        ", ".join(f"{key.replace('_', ' ')} = {_shortened(value)}" for key, value in values.items())
    )


def _shortened(value: Any) -> str:
    text = format_figure(value)
    return (
        text
        if len(text) <= 60
        else cell_text(value)
        if isinstance(value, (list, tuple))
        else text[:57] + "..."
    )


def _claim(result: ClaimResult, number: int, model: str) -> dict[str, Any]:
    claim = result.claim
    return {
        "number": number,
        "id": f"{model}-claim-{number}",
        "subject": printable(result.subject.replace("_", " ").replace("certificate.", "certificate of ")),
        "stated": printable(result.stated),
        "where": printable(claim.where),
        "origin": claim.origin,
        "found": printable(result.shown),
        "verdict": PAGE_VERDICTS.get(result.verdict, result.verdict),
        "words": result.verdict_words,
        "expected": result.as_expected,
        "reason": markup(marked_up(result.remark)) if result.remark else "",
        "readings": [printable(str(each)) for each in claim.reading_records],
    }


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.8g}"
