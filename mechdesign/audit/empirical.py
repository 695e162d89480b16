"""Audit by attack: samples of what an implementation lets through prove that its delta is not smaller.

The attacker picks, on one half of the samples, the set of outcomes that tells two neighbouring inputs apart
best, and counts it on the other half. Limits by Clopper and Pearson turn the counts into a proof, up to a
stated chance of error: a small bound proves nothing, a large one convicts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import binomial_mass
from mechdesign.core.errors import DataError
from mechdesign.core.text import counted
from mechdesign.core.validation import double_epsilon, in_range
from mechdesign.exact.numbers import wholes

Outcomes = NDArray[np.int64]

FEWEST = 10
"""Fewer samples of an input are refused."""

LARGEST = 700.0
"""A larger epsilon is replaced by this one, for which no samples prove any delta either."""

MOST_DISTINCT = 10_000
"""Outcomes with more different values are attacked by half lines of each column alone."""


@dataclass(frozen=True)
class Attack:
    """Lower bound of epsilon that an attack has proven.

    Attributes
    ----------
    delta : float
        With the stated confidence the true delta at ``epsilon`` is at least this; 0 proves nothing.
    epsilon, confidence : float
    event : str
        The outcomes that tell the inputs apart.
    first, second : float
        How often the event was seen under the two inputs, the likelier one first.
    samples : int
        Of each input, counted after the event was chosen.
    """

    delta: float
    epsilon: float
    confidence: float
    event: str
    first: float
    second: float
    samples: int

    def convicts(self, delta: float) -> bool:
        """Whether a promised delta is refuted with the stated confidence."""
        return self.delta > delta

    def __str__(self) -> str:
        return (
            f"delta at epsilon {self.epsilon:g} is at least {self.delta:.4g} with confidence "
            f"{self.confidence:g}: {self.event} in {self.first:.4g} and {self.second:.4g} of {self.samples} "
            "samples each"
        )


def attack(first: Any, second: Any, epsilon: float, confidence: float = 0.999) -> Attack:
    """Return a lower bound of delta from samples of the outcomes under two neighbouring inputs.

    Parameters
    ----------
    first, second : (n,) or (n, k) int arrays
        Outcomes of independent runs, such as the counts of each message after the shuffler.
    epsilon : float
        That is promised.
    confidence : float
        In (0, 1).

    Raises
    ------
    DataError
        For fewer than 10 samples of an input, or outcomes of different width.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> kept, flipped = rng.random(5000) < 0.9, rng.random(5000) < 0.1
    >>> found = attack(kept.astype(int), flipped.astype(int), epsilon=1.0)
    >>> 0.5 < found.delta < 0.9 - np.e * 0.1, found.event
    (True, 'at most 0 in column 0')
    """
    one, other = _table("first", first), _table("second", second)
    if one.shape[1] != other.shape[1]:
        raise DataError("attack", f"outcomes of {one.shape[1]} and {other.shape[1]} columns", "give the same")
    level = in_range("confidence", confidence, 0.0, 1.0, low_open=True, high_open=True)
    exponential = math.exp(min(double_epsilon(epsilon), LARGEST))
    found = [
        _one_way(top, bottom, exponential, (1.0 - level) / 4.0)
        for top, bottom in ((one, other), (other, one))
    ]
    delta, event, high, low, samples = max(found, key=lambda result: result[0])
    return Attack(delta, float(epsilon), level, event, high, low, samples)


def _table(name: str, samples: Any) -> Outcomes:
    array = np.asarray(samples)
    table = wholes(name, array.reshape(-1, 1) if array.ndim == 1 else array, 2)
    if len(table) < FEWEST:
        raise DataError(name, f"{len(table)} samples are too few for an attack", f"give at least {FEWEST}")
    return table


def _one_way(
    top: Outcomes, bottom: Outcomes, exponential: float, tail: float
) -> tuple[float, str, float, float, int]:
    """Return the bound for Pr[event; top] - e^epsilon Pr[event; bottom]; each limit errs with ``tail``."""
    (train, test), (base, check) = (np.array_split(part, 2) for part in (top, bottom))
    events = [_half_line(train, base, column, exponential) for column in range(train.shape[1])]
    distinct, codes = np.unique(np.concatenate([train, base]), axis=0, return_inverse=True)
    if len(distinct) <= MOST_DISTINCT:
        events.append(_likely(distinct, codes.ravel(), len(train), exponential))
    _, event, contains = max(events, key=lambda item: item[0])
    hits, misses = contains(test), contains(check)
    low, high = limits(hits, tail)[0], limits(misses, tail)[1]
    bound = max(0.0, low - exponential * high)
    return bound, event, float(hits.mean()), float(misses.mean()), min(len(hits), len(misses))


def _half_line(train: Outcomes, base: Outcomes, column: int, exponential: float) -> tuple[float, str, Any]:
    """Return the best half line of a column, upwards or downwards."""
    best: tuple[float, str, Any] = (-math.inf, "", None)
    for sign, word in ((1, "at least"), (-1, "at most")):
        ours, theirs = np.sort(sign * train[:, column]), np.sort(sign * base[:, column])
        edges = np.unique(ours)
        above = 1.0 - np.searchsorted(ours, edges) / len(ours)
        rest = 1.0 - np.searchsorted(theirs, edges) / len(theirs)
        gains = above - exponential * rest
        place = int(np.argmax(gains))
        edge = int(edges[place])

        def contains(outcomes: Outcomes, sign: int = sign, edge: int = edge) -> NDArray[np.bool_]:
            return np.asarray(sign * outcomes[:, column] >= edge)

        if gains[place] > best[0]:
            best = (float(gains[place]), f"{word} {sign * edge} in column {column}", contains)
    return best


def _likely(
    distinct: Outcomes, codes: NDArray[np.int64], size: int, exponential: float
) -> tuple[float, str, Any]:
    """Return the set of outcomes that were likelier by more than e^epsilon."""
    ours = np.bincount(codes[:size], minlength=len(distinct)) / size
    theirs = np.bincount(codes[size:], minlength=len(distinct)) / max(1, len(codes) - size)
    chosen = distinct[ours > exponential * theirs]
    gain = float(np.maximum(ours - exponential * theirs, 0.0).sum())
    known = {row.tobytes() for row in np.ascontiguousarray(chosen)}

    def contains(outcomes: Outcomes) -> NDArray[np.bool_]:
        rows = np.ascontiguousarray(outcomes)
        return np.fromiter((row.tobytes() in known for row in rows), dtype=np.bool_, count=len(rows))

    text = (
        f"outcome {chosen[0].tolist()}" if len(chosen) == 1 else f"one of {counted(len(chosen), 'outcome')}"
    )
    return gain / (1.0 + math.sqrt(len(chosen) / size)), text, contains


def limits(hits: NDArray[np.bool_], tail: float) -> tuple[float, float]:
    """Return the limits of Clopper and Pearson for the probability of an event, rounded outwards."""
    count, total = int(hits.sum()), len(hits)
    low = 0.0 if count == 0 else _edge(lambda chance: _at_least(count, total, chance) <= tail)
    high = (
        1.0 if count == total else 1.0 - _edge(lambda chance: _at_least(total - count, total, chance) <= tail)
    )
    return low, high


def _at_least(count: int, total: int, chance: float) -> float:
    """Return an upper bound of the probability of at least this many of all."""
    law = binomial_mass(total, Fraction(chance))
    return float(law.upper()[max(0, count - law.low) :].sum()) + law.tail


def _edge(holds: Callable[[float], bool]) -> float:
    """Return a number of [0, 1] up to which a condition holds, to 30 binary digits."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
