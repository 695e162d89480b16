"""The page of a mechanism: what it does to an answer, what it promises, how many users it needs.

A certificate of privacy in words that need no formula.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from mechdesign.collect.base import CollectingMechanism, Mechanism
from mechdesign.collect.collecting import Operation
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import NORMAL, margin_text, printable
from mechdesign.core.values import Forecast
from mechdesign.export.disclosure import CERTAIN, WEAK, at_most, levels, one_in
from mechdesign.report.page.render import markup, rendered
from mechdesign.show.draw import svg
from mechdesign.show.figure import Figure

MOST_USERS = 10**12
"""More people than are alive: an error that needs more users cannot be reached."""

LARGEST_OF_SHARE = 0.2
"""An error of a share, which lies between 0 and 1, that nobody would want."""


def privacy_in_words(mechanism: Mechanism, certificates: Sequence[Certificate]) -> list[str]:
    """Return the guarantee of the certificate of privacy, in sentences; empty where there is none.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> duchi = Duchi(1.0)
    >>> print(privacy_in_words(duchi, duchi.certificates())[1])
    Someone who thinks two answers equally likely is at most 73.2% sure of one after seeing the report.
    """
    privacy = next((item for item in certificates if item.property == "privacy"), None)
    if privacy is None:
        return []
    if not privacy.holds:
        return ["The privacy guarantee FAILS. Do not use this mechanism."]
    figures = privacy.figures
    epsilon, delta = levels(privacy)
    sentences = [_subject(mechanism)]
    if epsilon is None:
        pass
    elif delta:
        sentences.append(
            "The probability that a report has some property, given one answer, is at most "
            f"{_factor(epsilon)} times (e to the power epsilon = {epsilon:.6g}) its probability given any "
            f"other answer, plus {delta:.3g} (delta)."
        )
        sentences.append(
            "Someone who thinks two answers equally likely guesses the right one after seeing the report "
            f"with a probability of {at_most(epsilon, delta)}. Delta is the probability that this protection "
            f"is missing: for one respondent in {one_in(delta)} a report may reveal the answer completely."
        )
        if math.isinf(float(figures.get("true_epsilon", 0.0))):
            sentences.append(
                "Here this happens: some reports are possible for one answer and not for another."
            )
    elif privacy.metric:
        sentences.append(
            "Close answers are protected more than distant answers. A report changes the odds between two "
            f"answers at distance d by a factor of at most {_factor(epsilon)} to the power d. At distance 1, "
            f"someone who thinks both equally likely is {at_most(epsilon)} sure of one after seeing "
            "the report."
        )
    else:
        sentences.append(
            "Someone who thinks two answers equally likely is "
            f"{at_most(epsilon)} sure of one after seeing the report."
        )
        sentences.append(
            f"In general a report changes the odds between any two answers by a factor of at most "
            f"{_factor(epsilon)} (e to the power epsilon = {epsilon:.6g}), whatever else an observer knows."
        )
    if figures.get("reports", 1) != 1 and "one_report" in figures:
        alone = float(figures.get("report_epsilon", figures["one_report"]))
        sentences.append(
            f"This holds for all {figures['reports']} reports of one respondent together. One report "
            f"alone changes the odds by a factor of at most {_factor(alone)}."
        )
    if epsilon is not None and not privacy.metric and epsilon > WEAK:
        certain = "This does not protect anybody: a report can show the answer with practical certainty."
        sentences.append(certain if epsilon > CERTAIN else "This protection is weak.")
    sentences.append(_how(privacy))
    return sentences


def limits_in_words(mechanism: Mechanism) -> list[str]:
    """Return the limits of the guarantee, as sentences."""
    limits = [
        "The fact that a respondent takes part is not hidden.",
        "Reports add up. If a respondent is asked again, by this mechanism or another, the epsilons add up.",
        "The guarantee is for the report alone. If a device sends anything else, such as an address, the "
        "guarantee does not cover it.",
    ]
    if _is_shuffled(mechanism):
        limits.append(
            "The messages must pass a shuffler that does not cooperate with the server, and at least as many "
            "users as planned must be honest."
        )
    return limits


def error_rows(mechanism: Mechanism) -> list[dict[str, str]]:
    """Return rows of how many users are needed for a standard error, by the mechanism's own forecasts.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> error_rows(Duchi(1.0))[0]
    {'error': '0.2', 'margin': '±0.39', 'users': '118'}
    """
    forecast = mechanism.forecast()
    if forecast is None or not forecast.possible or not forecast.largest or _is_shuffled(mechanism):
        return []
    rough = forecast.largest * math.sqrt(forecast.users)  # errors fall with the root of the users
    rows = []
    largest = rough / 10.0  # the first takes a hundred users or more
    if forecast.quantity in ("frequencies", "marginals"):
        largest = min(largest, LARGEST_OF_SHARE)
    for error in _round_errors(largest):
        users = forecast_users(mechanism, error)
        if users is not None:
            margin = margin_text(NORMAL * error, forecast.is_of_shares)
            rows.append({"error": f"{error:.3g}", "margin": margin, "users": f"{users:,}"})
    return rows


def _round_errors(largest: float) -> list[float]:
    """Return seven errors of one digit, 5, 2 or 1, from the first that is not above this one.

    >>> _round_errors(0.07)
    [0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005]
    """
    power = math.floor(math.log10(largest))
    errors = [float(f"{digit}e{power - step}") for step in range(4) for digit in (5, 2, 1)]
    return [error for error in errors if error <= largest][:7]


def forecast_users(mechanism: Mechanism, error: float) -> int | None:
    """Return the least number of users whose forecast's largest error is at most this; None if none is."""

    def good(users: int) -> bool:
        forecast: Forecast | None = mechanism.forecast(users)
        return bool(forecast and forecast.possible and forecast.largest and forecast.largest <= error)

    high = 2
    while not good(high):
        high *= 4
        if high > MOST_USERS:
            return None
    low = 1
    while high - low > max(1, high // 1000):  # to a tenth of a percent
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _subject(mechanism: Mechanism) -> str:
    if _is_shuffled(mechanism):
        return (
            "Every user's device adds noise, and the shuffled messages of all users together protect each of "
            "them. A user whose messages can be distinguished from the others is not protected."
        )
    if isinstance(mechanism, CollectingMechanism):
        return (
            "The respondent's device randomizes the answer before anything leaves it. The answer itself is "
            "not sent."
        )
    return "Noise is added before anything is published."


def _is_shuffled(mechanism: Mechanism) -> bool:
    return any(operation.name == "shuffle" for operation in mechanism.operations())


def _how(privacy: Certificate) -> str:
    if privacy.exact:
        return (
            "This was checked in exact arithmetic when this page was made, on the same integers that the "
            "reports are drawn from."
        )
    return f"This is proven for exact numbers, not for the computer's rounded numbers: {privacy.note}."


def _factor(epsilon: float) -> str:
    """Return e^epsilon to four digits, rounded up."""
    if epsilon > 700.0:
        return "any number"
    return f"{Context(prec=4, rounding=ROUND_CEILING).create_decimal(Decimal(epsilon).exp()).normalize():g}"


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
        rows=error_rows(mechanism),
        certificates=certificate_rows(certificates),
        figures=figure_values(_figures(mechanism)),
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


Draw = Callable[[Figure, bool], str]
"""Returns a figure as SVG text, narrow or not."""


def figure_values(figures: Sequence[Figure], narrow: bool = False, draw: Draw = svg) -> list[dict[str, Any]]:
    """Return pictures for a page, with what screen readers say; narrow ones are legible on phones."""
    return [
        {"picture": markup(draw(figure, narrow)), "title": figure.title, "caption": figure.caption}
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
