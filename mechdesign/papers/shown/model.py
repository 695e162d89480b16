"""What ``show`` prints of a model: its source, statement, parameters and claims."""

from __future__ import annotations

import textwrap
from typing import Any

from mechdesign.catalog.load import Model
from mechdesign.core.errors import counted, printable
from mechdesign.core.fields import parameters_of, values_of
from mechdesign.core.values import encode
from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.papers.claims.check import claim_line
from mechdesign.report.tables import cell_text

MOST_CLAIMS = 20
"""Number of claims of a model that are shown unless all are requested."""


def model_text(model: Model, width: int | None = None, most_claims: int | None = None) -> str:
    """Return a model's title, source, statement, parameters, claims and sweep.

    Parameters
    ----------
    model : Model
    width : int, optional
        The longest line.
    most_claims : int, optional
        Largest number of claims shown; a line counts the rest. By default all are shown.
    """
    lines = [f"{model.slug}: {model.title}", f"problem: {model.problem.name} ({model.problem.summary})"]
    if model.source:
        lines.append(_filled(f"source: {source_text(model)}", width))
    if model.statement.strip():
        lines += [printable(line) for line in model.statement.strip().splitlines()]
    lines += [f"  {name} = {cell_text(value)}" for name, value in parameters_of(model.problem).items()]
    text = model.claims[:most_claims]
    lines += [_filled(f"  claim: {claim_line(claim)}", width) for claim in text]
    if len(text) < len(model.claims):
        rest = len(model.claims) - len(text)
        lines.append(f"  ... and {rest} more claims; 'mechdesign show {model.slug} --all' shows them")
    lines += [f"  sweep: {name} over {counted(len(values), 'value')}" for name, values in model.sweep.items()]
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
            "figures": [values_of(table) for table in model.figures],
        }
    )
    return described


def _filled(text: str, width: int | None) -> str:
    if width is None:
        return text
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False)
