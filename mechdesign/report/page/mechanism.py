"""The page of a mechanism: what it does to an answer, what it promises, how many users it needs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.collect.collecting import Operation
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import printable
from mechdesign.report.page.render import markup, rendered
from mechdesign.report.page.words import limits_in_words, privacy_in_words, wanted_errors
from mechdesign.show.draw import svg
from mechdesign.show.figure import Figure


def mechanism_page(mechanism: Mechanism, name: str, version: str) -> str:
    """Return the page as HTML text.

    Parameters
    ----------
    mechanism : Mechanism
        Audited again for the page.
    name : str
        The file it is in, for the commands.
    version : str
        Of the toolkit.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> page = mechanism_page(Duchi(1.0), "ages.json", "0.1.0")
    >>> "at most 73.2% sure" in page, "mechdesign estimate ages.json" in page
    (True, True)
    """
    certificates = mechanism.certificates()
    about = mechanism.about
    forecast = mechanism.forecast(about.users) if about.users else mechanism.forecast()
    file = printable(os.path.basename(name))
    return rendered(
        "mechanism.html",
        heading=printable(about.heading) or file,
        title=printable(about.title) if about.question else "",
        name=file,
        type=mechanism.type.replace("-", " "),
        shown=printable(repr(mechanism)),
        explained=[printable(text) for text in mechanism.explained()],
        promises=privacy_in_words(mechanism, certificates),
        limits=limits_in_words(mechanism),
        forecast=None if forecast is None else printable(forecast),
        quantity="" if forecast is None else forecast.quantity,
        rows=wanted_errors(mechanism),
        certificates=certificate_rows(certificates),
        figures=drawn_figures(_figures(mechanism)),
        commands=[_command(operation, name) for operation in mechanism.operations()],
        audit=f"mechdesign audit {shlex.quote(name)}",
        columns=[printable(column) for column in mechanism.data_columns],
        fingerprint=mechanism.fingerprint,
        identity=mechanism.about.id,
        version=version,
    )


def _figures(mechanism: Mechanism) -> list[Figure]:
    result: list[Figure] = mechanism.figures() if hasattr(mechanism, "figures") else []
    return result


def drawn_figures(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """Return pictures for a page, with what screen readers say."""
    return [
        {"picture": markup(svg(figure)), "title": figure.title, "caption": figure.caption}
        for figure in figures
    ]


def certificate_rows(certificates: Sequence[Certificate]) -> list[dict[str, Any]]:
    """Return the rows of a table of certificates."""
    return [
        {
            "property": item.property.replace("_", " "),
            "holds": item.holds,
            "verdict": ("holds" if item.holds else "FAILS") + (" (exact)" if item.exact else ""),
            "text": printable(str(item)).partition("; ")[2],
        }
        for item in certificates
    ]


def _command(operation: Operation, name: str) -> dict[str, str]:
    own = ("randomize", "estimate")
    start = f"mechdesign {operation.name} {shlex.quote(name)}"
    if operation.name not in own:
        start = f"mechdesign run {shlex.quote(name)} {operation.name}"
    words = [start]
    words += ["INPUT.csv"] if operation.takes else []
    words += ["--state STATE.json"] if any(option.name == "state" for option in operation.options) else []
    words += ["-o OUTPUT.csv"] if operation.gives else []
    return {"text": " ".join(words), "summary": operation.summary}
