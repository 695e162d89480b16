"""The verdict on a claim: what is stated against what was found, by one rule for every relation.

Two numbers count as equal when they are no further apart than the tolerance. A strict relation
(``increasing``, ``largest-at``) asks for more than that, the others (``=``, ``<=``, ``non-decreasing``)
forgive that much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.papers.claims.claim import KINDS, Claim, kind_of, shape_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """Computed values along a sweep: a number at each value of the swept parameter, in the sweep's order."""

    over: str
    points: tuple[Any, ...]
    numbers: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form: parameter, its values, the numbers found there."""
        return {"over": self.over, "points": list(self.points), "numbers": list(self.numbers)}


def judge(claim: Claim, found: Any) -> str:
    """Return ``holds``, ``refuted``, or ``unsettled`` where nothing was found that could be compared.

    Parameters
    ----------
    claim : Claim
    found : number, array, text, truth value or Series
        A Series for a trend.

    Raises
    ------
    ParameterError
        When the stated value is of another kind or shape than the quantity: a mistake of the claim's
        author, not a refutation.

    Examples
    --------
    >>> judge(Claim("value", 0.83, tolerance=1e-3), 0.8304), judge(Claim("value", 0.83, relation="<="), 0.9)
    ('holds', 'refuted')
    >>> judge(Claim("value", relation="increasing"), Series("epsilon", (1, 2, 3), (0.5, 0.7, 0.6)))
    'refuted'
    """
    if isinstance(found, Series):
        numbers = np.asarray(found.numbers, dtype=np.float64)
        if np.isnan(numbers).any():
            return "unsettled"
        return _verdict(_trend_holds(claim, found.points, numbers))
    plain = _plain(found)
    if plain is None:
        return "unsettled"
    stated = _plain(claim.value)
    _check_fit(claim.quantity, stated, plain)
    if kind_of(stated) != "number":
        return _verdict(stated == plain)
    wanted, got = np.asarray(stated, dtype=np.float64), np.asarray(plain, dtype=np.float64)
    if np.isnan(got).any():
        return "unsettled"
    slack = claim.relative_tolerance * np.abs(wanted) if claim.relative_tolerance else claim.tolerance
    return _verdict(_compare(claim.relation, wanted, got, slack))


def _verdict(holds: bool) -> str:
    return "holds" if holds else "refuted"


def _plain(value: Any) -> Any:
    """Return arrays as nested lists and numpy's scalars as Python's."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value


def _check_fit(quantity: str, stated: Any, found: Any) -> None:
    kind, wanted = kind_of(stated), kind_of(found)
    if wanted not in KINDS:
        raise ParameterError(
            "quantity", f"{quantity} is a {wanted} here, which no value can state", "claim another"
        )
    if kind != wanted:
        raise ParameterError("value", f"states a {kind}, but {quantity} is a {wanted}", f"state a {wanted}")
    shape, right = shape_of(stated), shape_of(found)
    if shape != right:
        raise ParameterError("value", f"states {_shape_text(shape)}, but {quantity} is {_shape_text(right)}")


def _shape_text(shape: tuple[int, ...]) -> str:
    if not shape:
        return "a single one"
    return f"a list of {shape[0]}" if len(shape) == 1 else " x ".join(map(str, shape)) + " entries"


def _compare(relation: str, wanted: Array, got: Array, slack: Any) -> bool:
    with np.errstate(invalid="ignore"):  # infinity minus infinity; equal infinities are settled by ==
        near = (wanted == got) | (np.abs(wanted - got) <= slack)
    near &= np.isfinite(wanted) | (wanted == got)  # a relative slack of infinity is none
    if relation == "<=":
        near |= got <= wanted
    if relation == ">=":
        near |= got >= wanted
    return bool(near.all())


def _trend_holds(claim: Claim, points: Sequence[Any], numbers: Array) -> bool:
    slack = claim.tolerance
    if claim.relative_tolerance:
        finite = numbers[np.isfinite(numbers)]
        slack = claim.relative_tolerance * float(np.abs(finite).max(initial=0.0))
    if claim.relation in ("decreasing", "non-increasing", "u-shaped", "smallest-at"):
        numbers = -numbers  # each is the mirror image of its opposite
    if claim.relation in ("increasing", "decreasing"):
        return bool((numbers[1:] > numbers[:-1] + slack).all())
    if claim.relation in ("non-decreasing", "non-increasing"):
        return _never_falls(numbers, slack)
    if claim.relation in ("unimodal", "u-shaped"):
        return _rises_and_falls(numbers, slack)
    place = list(points).index(claim.value)
    others = np.delete(numbers, place)
    return bool((others + slack < numbers[place]).all())


def _never_falls(numbers: Array, slack: float) -> bool:
    """Whether no number is below an earlier one by more than the slack; small steps do not add up."""
    return bool((numbers >= np.maximum.accumulate(numbers) - slack).all())


def _rises_and_falls(numbers: Array, slack: float) -> bool:
    """Whether the numbers do not fall up to the largest nor rise after it, and both ends are below it."""
    peak = int(numbers.argmax())
    return (
        _never_falls(numbers[: peak + 1], slack)
        and _never_falls(numbers[peak:][::-1], slack)
        and bool(max(numbers[0], numbers[-1]) + slack < numbers[peak])
    )
