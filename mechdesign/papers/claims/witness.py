"""The witness of a refuted claim: figures that refute it, recorded in the model and found again by ``check``.

A witness is a table. For a number that is stated, ``found`` is the number that was found; for a trend
``points`` are values of the swept parameter and ``found`` the numbers there. For a certificate it names
entries of the certificate: the user who gains and how much, the pair of inputs, the items out of order. For
any other truth value or text, and next to all of these, it names quantities of the solution that show it.

A claim that is not decidable may have the same table: what was found under the reading that is checked, which
has to give the outcome that is recorded.

A recorded number stands for all that round to its digits: 5.07 for those from 5.065 to 5.075. A whole number
and a text are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from mechdesign.core.certificate import format_figure
from mechdesign.core.errors import MechDesignError
from mechdesign.core.solution import Solution
from mechdesign.core.values import encode
from mechdesign.papers.claims.claim import Claim, kind_of
from mechdesign.papers.claims.judge import Series, judge

Figures = Mapping[str, Any]

FOUND = "found"
POINTS = "points"
CERTIFICATE = "certificate."
ROUNDING = 1e-9
"""Half a unit of the last digit is forgiven with this much more, because the comparison also rounds."""


def figures_of(claim: Claim, found: Any, solution: Solution | None) -> Figures:
    """Return the figures that a claim's witness can name: ``found``, entries of its certificate, quantities.

    Parameters
    ----------
    claim : Claim
    found : object
        What was found for it; a Series for a trend.
    solution : Solution or None
        The solution looked at; None for a trend, and where ``found`` alone is wanted.

    Examples
    --------
    >>> from mechdesign.papers.claims.judge import Series
    >>> trend = Claim("value", relation="increasing", verdict="refuted", reason="it falls")
    >>> figures_of(trend, Series("epsilon", (1.0, 2.0), (0.7, 0.6)), None)["found"]
    Series(over='epsilon', points=(1.0, 2.0), numbers=(0.7, 0.6))
    """
    if solution is None:
        return {FOUND: found}
    others = {**solution.notes, **solution.quantities}
    if not claim.quantity.startswith(CERTIFICATE):
        return {FOUND: found, **others}
    name = claim.quantity.removeprefix(CERTIFICATE)
    own = {
        key: value
        for item in solution.certificates
        if item.property == name
        for key, value in {**item.witness, **item.figures}.items()
    }
    return {**own, **{key: value for key, value in others.items() if key not in own}}


def needs_figures(claim: Claim) -> bool:
    """Whether a witness of a claim needs more than what was found: quantities can take long to compute.

    Examples
    --------
    >>> needs_figures(Claim("value", 0.9)), needs_figures(Claim("certificate.privacy", True))
    (False, True)
    """
    if claim.is_trend:
        return False
    return kind_of(claim.value) != "number" or not set(claim.witness) <= {FOUND}


def lost(claim: Claim, figures: Figures) -> str:
    """Return the entries of a recorded witness that were not found again, as half a sentence; empty if none.

    A claim without a witness has none to lose.

    Examples
    --------
    >>> claim = Claim("value", 0.9, verdict="refuted", reason="misprint", witness={"found": 0.83})
    >>> lost(claim, {"found": 0.8304})
    ''
    >>> lost(claim, {"found": 0.8504})
    'its witness states found = 0.83; recomputed 0.8504'
    """
    witness = dict(claim.witness)
    if claim.is_trend and witness:
        return _lost_trend(claim, figures[FOUND])
    for key, recorded in witness.items():
        if key not in figures:
            return f"its witness names '{key}', which is not there; name one of {', '.join(figures)}"
        if not agrees(recorded, figures[key]):
            return f"its witness states {key} = {recorded}; recomputed {encode(figures[key])}"
    return _wrong(claim, figures) if witness else ""


def _wrong(claim: Claim, figures: Figures) -> str:
    """Return the mistake of a witness that has to refute and does not; of others the digits are enough."""
    if claim.expected != "refuted" or refutes(claim):
        return ""
    return f"its witness does not refute it; write {suggested(claim, figures)}"


def _lost_trend(claim: Claim, found: Series) -> str:
    if wrong := _wrong(claim, {FOUND: found}):
        return wrong
    for point, recorded in zip(claim.witness[POINTS], claim.witness[FOUND], strict=True):
        place = _place(point, found.points)
        if place is None:
            return f"its witness names {found.over} = {point}, which is not in the sweep"
        again = found.numbers[place]
        if not agrees(recorded, again):
            return f"its witness states {recorded} at {found.over} = {point}; recomputed {again}"
    return ""


def _place(point: Any, points: Sequence[Any]) -> int | None:
    """Return which point of a sweep is meant: the very one, else one that rounds to it."""
    same = [number for number, other in enumerate(points) if other == point]
    near = [number for number, other in enumerate(points) if _is_written_as(point, other)]
    return next(iter(same + near), None)


def _is_written_as(point: Any, other: Any) -> bool:
    """Whether a point is another one to five digits, as they are suggested; fewer could be any neighbour."""
    if kind_of(point) != "number" or kind_of(other) != "number":
        return False
    return agrees(point, other) and abs(point - other) <= 1e-4 * abs(other)


def refutes(claim: Claim) -> bool:
    """Return whether a claim would be refuted by what its witness records, or has named figures to show it.

    Examples
    --------
    >>> refutes(Claim("value", 0.9, verdict="refuted", reason="misprint", witness={"found": 0.83}))
    True
    >>> refutes(Claim("value", 0.9, verdict="refuted", reason="misprint", witness={"found": 0.9}))
    False
    """
    witness = claim.witness
    if claim.is_trend:
        points, numbers = witness.get(POINTS), witness.get(FOUND)
        if not isinstance(points, (list, tuple)) or not isinstance(numbers, (list, tuple)):
            return False
        if len(points) != len(numbers) or len(points) < 2 or set(map(kind_of, numbers)) != {"number"}:
            return False
        if claim.value is not None and claim.value not in points:
            return False
        series = Series(claim.swept, tuple(points), tuple(map(float, numbers)))
        return judge(claim, series) == "refuted"
    if kind_of(claim.value) != "number":
        return bool(set(witness) - {FOUND})
    try:
        return FOUND in witness and judge(claim, witness[FOUND]) == "refuted"
    except MechDesignError:  # of another kind or shape than the stated value
        return False


def agrees(recorded: Any, found: Any) -> bool:
    """Return whether a found figure rounds to the digits of the recorded one; lists entry by entry.

    Examples
    --------
    >>> agrees(5.07, 5.0713), agrees(5.07, 5.0758), agrees(3, 3.2), agrees([3, 56], [3, 56])
    (True, False, False, True)
    """
    plain = encode(found)
    if isinstance(recorded, (list, tuple)):
        if not isinstance(plain, list) or len(plain) != len(recorded):
            return False
        return all(agrees(one, other) for one, other in zip(recorded, plain, strict=True))
    if isinstance(plain, list) or kind_of(recorded) != kind_of(plain):
        return False
    if kind_of(recorded) != "number":
        return bool(recorded == plain)
    first, second = float(recorded), float(plain)
    if isinstance(recorded, int) or math.isinf(first) or math.isinf(second):
        return first == second
    half = 0.5 * 10.0 ** int(Decimal(repr(first)).as_tuple().exponent)
    return abs(first - second) <= half * (1 + ROUNDING)


def witness_text(witness: Mapping[str, Any], over: str | None = None) -> str:
    """Return a witness as text; ``over`` is the swept parameter of a trend.

    Examples
    --------
    >>> witness_text({"found": 0.71}), witness_text({"points": [1, 2], "found": [0.7, 0.6]}, "epsilon")
    ('found 0.71', 'found 0.7 at epsilon = 1, 0.6 at epsilon = 2')
    """
    if over is not None and POINTS in witness:
        pairs = zip(witness[POINTS], witness[FOUND], strict=True)
        return "found " + ", ".join(
            f"{_shown(number)} at {over} = {_shown(point)}" for point, number in pairs
        )
    texts = [f"{key} {'' if key == FOUND else '= '}{_shown(value)}" for key, value in witness.items()]
    return ", ".join(texts) or "none recorded"


def suggested(claim: Claim, figures: Figures, digits: int = 5) -> str:
    """Return the line that a model file would need: what was found, to ``digits`` digits.

    Examples
    --------
    >>> claim = Claim("value", 0.9, verdict="refuted", reason="misprint")
    >>> suggested(claim, {"found": 0.830412})
    'witness = { found = 0.83041 }'
    """
    found = figures.get(FOUND)
    entries: dict[str, Any]
    if isinstance(found, Series):
        entries = {POINTS: list(found.points), FOUND: list(found.numbers)}
    elif claim.value is not None and kind_of(claim.value) == "number":
        entries = {FOUND: found}
    else:
        entries = {key: value for key, value in figures.items() if key != FOUND}
    texts = [f"{key} = {_toml(value, digits)}" for key, value in entries.items()]
    return f"witness = {{ {', '.join(texts)} }}"


def _toml(value: Any, digits: int) -> str:
    plain = encode(value)
    if isinstance(plain, list):
        return "[" + ", ".join(_toml(entry, digits) for entry in plain) + "]"
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, float):
        return repr(float(f"{plain:.{digits}g}"))
    return str(plain) if isinstance(plain, int) else f'"{plain}"'


def _shown(value: Any) -> str:
    plain = encode(value)
    if isinstance(plain, list):
        return f"[{', '.join(map(_shown, plain))}]"
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return format_figure(plain)
