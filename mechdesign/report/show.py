"""What ``show`` prints: a problem with its parameters and methods, or a model with its source and claims."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

from mechdesign.catalog.model import Model
from mechdesign.core.describe import Described, default_of, described_parameters
from mechdesign.core.encoding import encode
from mechdesign.core.fields import fields_of
from mechdesign.core.parameters import Generators, parameters_of, signature_text
from mechdesign.core.printable import printable
from mechdesign.core.problem import Problem
from mechdesign.core.solve import methods_of
from mechdesign.core.text import table
from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.papers.claims.check import claim_line
from mechdesign.report.tables import abridged


def problem_text(problem_class: type[Problem], width: int | None = None) -> str:
    """Return what a problem is, a table of its parameters with their meaning, and its methods.

    Examples
    --------
    >>> from mechdesign.problems.mean import MeanChannel
    >>> print(problem_text(MeanChannel, 100).splitlines()[0])
    mean-channel (min): the best mechanism for the mean of a number, by linear programming
    """
    described = described_parameters(problem_class)
    generators: Generators = getattr(problem_class, "generators", {})
    rows = []
    for field in fields_of(problem_class):
        entry = described.get(field.name, Described("", ""))
        meaning = [entry.meaning]
        for name, function in sorted(generators.get(field.name, {}).items()):
            meaning.append(f'Or {{ name = "{name}", {signature_text(function)} }}.')
        default = default_of(field) or "required"
        rows.append([field.name, default, entry.form, " ".join(part for part in meaning if part)])
    methods = [[method.name, method.kind, method.summary] for method in methods_of(problem_class)]
    return "\n\n".join(
        [
            f"{problem_class.name} ({problem_class.sense}): {problem_class.summary}",
            table(["parameter", "default", "form", "meaning"], rows, width),
            table(["method", "kind", "summary"], methods, width),
            "--json prints the JSON Schema of the parameters.",
        ]
    )


MOST_CLAIMS = 20
"""So many claims of a model are shown unless all are asked for."""


def model_text(model: Model, width: int | None = None, most_claims: int | None = None) -> str:
    """Return a model's title, source, statement, parameters, claims and sweep.

    Parameters
    ----------
    model : Model
    width : int, optional
        The longest line.
    most_claims : int, optional
        Only so many claims are shown, and how many more there are; by default all.
    """
    lines = [f"{model.slug}: {model.title}", f"problem: {model.problem.name} ({model.problem.summary})"]
    if model.source:
        lines.append(_filled(f"source: {source_text(model)}", width))
    if model.statement.strip():
        lines += [printable(line) for line in model.statement.strip().splitlines()]
    lines += [f"  {name} = {abridged(value)}" for name, value in parameters_of(model.problem).items()]
    shown = model.claims[:most_claims]
    lines += [_filled(f"  claim: {claim_line(claim)}", width) for claim in shown]
    if len(shown) < len(model.claims):
        rest = len(model.claims) - len(shown)
        lines.append(f"  ... and {rest} more claims; 'mechdesign show {model.slug} --all' shows them")
    lines += [f"  sweep: {name} over {len(values)} values" for name, values in model.sweep.items()]
    lines += [f"  figure: {table.title or model.title}" for table in model.figures]
    return "\n".join(lines)


def source_text(model: Model) -> str:
    """Return authors, year, title and place of a model's source, or what the file says of an unknown one."""
    key = str(model.source.get("cite", ""))
    reference = bibliography().get(key)
    known = [str(reference), f"[{key}]"] if reference else [key]
    rest = [f"{name} {value}" for name, value in model.source.items() if name not in ("cite", "where")]
    return ", ".join(part for part in [" ".join(known), str(model.source.get("where", "")), *rest] if part)


def model_dict(model: Model) -> dict[str, Any]:
    """Return the JSON object of ``show MODEL --json``."""
    reference = bibliography().get(str(model.source.get("cite", "")))
    described: dict[str, Any] = encode(
        {
            "model": model.slug,
            "title": model.title,
            "problem": model.problem.name,
            "source": dict(model.source),
            "reference": None if reference is None else {"kind": reference.kind, **reference.fields},
            "statement": model.statement,
            "parameters": parameters_of(model.problem),
            "claims": [claim.as_dict() for claim in model.claims],
            "sweep": {name: list(values) for name, values in model.sweep.items()},
            "figures": [dataclasses.asdict(table) for table in model.figures],
        }
    )
    return described


def _filled(text: str, width: int | None) -> str:
    if width is None:
        return text
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)
