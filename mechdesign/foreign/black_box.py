"""A lower bound of epsilon from a program that is only run: two answers, many reports, an exact test.

On one half of the reports the attacker picks two answers and a set of reports that tells them apart best. On
the other half it counts that set, and limits by Clopper and Pearson turn the two counts into a proof:

    epsilon >= ln((low - delta) / high)    with the stated confidence,

since Pr[set | x] <= e^epsilon Pr[set | x'] + delta. The pair and the set are chosen before the second half is
looked at, so one test is made, whatever the number of answers. A bound of 0 proves nothing.

Sets of reports can only be counted if reports repeat. Real numbers, or reports with a random part of their
own, do not: where all differ, nothing is tested, and that is an error, not a bound of 0.

Audit by attack: samples of what an implementation lets through prove that its delta is not smaller.

The attacker picks, on one half of the samples, the set of outcomes that tells two neighbouring inputs apart
best, and counts it on the other half. Limits by Clopper and Pearson turn the counts into a proof, up to a
stated chance of error: a small bound proves nothing, a large one convicts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import binomial_mass
from mechdesign.core.errors import DataError, ParameterError, counted
from mechdesign.core.validation import double_epsilon, in_range, privacy_delta
from mechdesign.core.values import TextInNotebooks, decimal_context
from mechdesign.exact.numbers import rational, text_of, wholes
from mechdesign.exact.randomness import DIGITS as LOG_DIGITS, float_down

Outcomes = NDArray[np.int64]

FEWEST = 10
"""Fewer samples of an input are refused."""

LARGEST = 700.0
"""A larger epsilon is replaced by this one, for which no samples prove any delta either."""

MOST_DISTINCT = 10_000
"""Outcomes with more different values are attacked by half lines of each column alone."""


def log_bounds(ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Return rational bounds of ln(ratio) for a ratio >= 1, closer than 48 digits; both 0 for ratio 1.

    Examples
    --------
    >>> low, high = log_bounds(Fraction(3))
    >>> low < high, float(low), 0 < high - low < Fraction(1, 10**48)
    (True, 1.0986122886681098, True)
    """
    exact = rational("ratio", ratio)
    if exact < 1:
        raise ParameterError("ratio", f"{text_of(ratio)} is below 1", "give the larger probability first")
    if exact == 1:
        return Fraction(0), Fraction(0)
    down, up = decimal_context(LOG_DIGITS, ROUND_FLOOR), decimal_context(LOG_DIGITS, ROUND_CEILING)
    top, bottom = Decimal(exact.numerator), Decimal(exact.denominator)
    low = down.next_minus(down.ln(down.divide(top, bottom)))
    high = up.next_plus(up.ln(up.divide(top, bottom)))
    return max(Fraction(0), Fraction(low)), Fraction(high)


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
    >>> same, flipped = rng.random(5000) < 0.9, rng.random(5000) < 0.1
    >>> result = attack(same.astype(int), flipped.astype(int), epsilon=1.0)
    >>> 0.5 < result.delta < 0.9 - np.e * 0.1, result.event
    (True, 'at most 0 in column 0')
    """
    one, other = _table("first", first), _table("second", second)
    if one.shape[1] != other.shape[1]:
        raise DataError("attack", f"outcomes of {one.shape[1]} and {other.shape[1]} columns", "give the same")
    level = in_range("confidence", confidence, 0.0, 1.0, low_open=True, high_open=True)
    exponential = math.exp(min(double_epsilon(epsilon), LARGEST))
    bounds = [
        _one_way(top, bottom, exponential, (1.0 - level) / 4.0)
        for top, bottom in ((one, other), (other, one))
    ]
    delta, event, high, low, samples = max(bounds, key=lambda result: result[0])
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


SHOWN = 5

BLIND = 0.5
"""A smaller share of repeated reports is remarked on."""

ROUND = "round the reports, or name their parts that matter, so that they repeat"


@dataclass(frozen=True)
class BlackBox(TextInNotebooks):
    """Bound that runs of a program have proven.

    Attributes
    ----------
    epsilon : float
        With the stated confidence the true epsilon is at least this; 0 proves nothing.
    delta, confidence : float
    answer, other : str
        The answers that were told apart, the one that is likelier to make the reports first.
    reports : tuple of str
        The set of reports.
    first, second : float
        The share of the runs of the two answers in which the set was seen.
    samples : int
        Reports of each of the two answers that were counted.
    repeated : float
        Share of the counted reports, of all answers, that were also seen before. Of the others nothing is
        known; where this share is small, a small bound is due to that.
    """

    epsilon: float
    delta: float
    confidence: float
    answer: str
    other: str
    reports: tuple[str, ...]
    first: float
    second: float
    samples: int
    repeated: float = 1.0

    @property
    def is_blind(self) -> bool:
        """Whether most reports did not repeat, so that a small bound means nothing at all."""
        return self.repeated < BLIND

    def refutes(self, epsilon: float | Fraction) -> bool:
        """Whether a stated epsilon is refuted with the stated confidence."""
        return self.epsilon > epsilon

    def __str__(self) -> str:
        text = ", ".join(map(repr, self.reports[:SHOWN]))
        more = f" and {len(self.reports) - SHOWN} more" if len(self.reports) > SHOWN else ""
        at = f" at delta {self.delta:g}" if self.delta else ""
        blind = f"\nonly {self.repeated:.2%} of the reports repeat; {ROUND}" if self.is_blind else ""
        often, rarely = round(self.first * self.samples), round(self.second * self.samples)
        return (
            f"epsilon is at least {self.epsilon:.4g}{at} with confidence {self.confidence:g}\n"
            f"witness: answer = {self.answer}, other = {self.other}, reports {text}{more} "
            f"in {often} and {rarely} of {self.samples} runs each{blind}"
        )


def attack_program(
    runs: Mapping[str, Sequence[str]], delta: float = 0.0, confidence: float = 0.999
) -> BlackBox:
    """Return a lower bound of epsilon from independent reports of each answer.

    Parameters
    ----------
    runs : mapping
        Answer -> its reports; at least two answers.
    delta : float
        In [0, 1); the bound is that of epsilon at this delta.
    confidence : float
        In (0, 1).

    Raises
    ------
    DataError
        For one answer only, fewer than 20 reports of an answer, or reports that all differ.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> answers = {"no": rng.random(20_000) < 0.25, "yes": rng.random(20_000) < 0.75}
    >>> result = attack_program({name: list(map(str, values)) for name, values in answers.items()})
    >>> 1.0 < result.epsilon < math.log(3)
    True
    """
    slack, level = (
        privacy_delta(delta),
        in_range("confidence", confidence, 0.0, 1.0, low_open=True, high_open=True),
    )
    if len(runs) < 2:
        raise DataError("answers", f"{len(runs)} of at least 2", "name two answers to distinguish")
    short = next((name for name, reports in runs.items() if len(reports) < 2 * FEWEST), None)
    if short is not None:
        raise DataError(
            f"answer '{short}'", f"{len(runs[short])} reports are too few", f"make at least {2 * FEWEST}"
        )
    halves = {name: len(reports) // 2 for name, reports in runs.items()}
    trained = {name: Counter(reports[: halves[name]]) for name, reports in runs.items()}
    repeated = _repeat_share(runs, halves, trained)
    best, pick = -math.inf, None
    for first in runs:
        for second in runs:
            if first != second:
                gain, chosen = _best_set(
                    trained[first], trained[second], halves[first], halves[second], slack
                )
                if gain > best:
                    best, pick = gain, (first, second, chosen)
    assert pick is not None
    return _proof(runs, halves, pick, slack, level, repeated)


def _repeat_share(
    runs: Mapping[str, Sequence[str]], halves: Mapping[str, int], trained: Mapping[str, Counter[str]]
) -> float:
    """Return the share of the reports of the second halves that occur in a first half; refuse 0."""
    known: set[str] = set().union(*trained.values())
    rest = [report for name, reports in runs.items() for report in reports[halves[name] :]]
    share = sum(report in known for report in rest) / len(rest)
    if share == 0.0:
        are_different = sum(map(len, trained.values())) == sum(halves.values())
        which = "all differ" if are_different else "of the second half of the runs are new"
        raise DataError("reports", f"{which}, so nothing can be counted", ROUND)
    return share


def _best_set(
    ours: Counter[str], theirs: Counter[str], size: int, other: int, delta: float
) -> tuple[float, frozenset[str]]:
    """Return the set of reports, by decreasing ratio, whose cautious bound of epsilon is largest."""
    ordered = sorted(ours, key=lambda report: (-(ours[report] / (theirs[report] + 1.0)), report))
    gained = np.cumsum([ours[report] for report in ordered])
    counts = np.cumsum([theirs[report] for report in ordered])
    low = (gained - 3.0 * np.sqrt(gained)) / size - delta
    high = (counts + 3.0 * np.sqrt(counts) + 7.0) / other
    gains = np.where(low > 0.0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
    place = int(np.argmax(gains))
    return float(gains[place]), frozenset(ordered[: place + 1])


def _proof(
    runs: Mapping[str, Sequence[str]],
    halves: Mapping[str, int],
    pick: tuple[str, str, frozenset[str]],
    delta: float,
    confidence: float,
    repeated: float,
) -> BlackBox:
    """Count the set on the other half and bound epsilon; each of two limits errs with half of the rest."""
    first, second, chosen = pick
    hits, misses = (
        np.array([report in chosen for report in runs[name][halves[name] :]], dtype=np.bool_)
        for name in (first, second)
    )
    tail = (1.0 - confidence) / 2.0
    low, high = limits(hits, tail)[0], limits(misses, tail)[1]
    gained = rational("low", low) - Fraction(delta)
    ratio = gained / Fraction(high)
    epsilon = float_down(log_bounds(ratio)[0]) if ratio > 1 else 0.0
    return BlackBox(
        epsilon,
        delta,
        confidence,
        first,
        second,
        tuple(sorted(chosen)),
        float(hits.mean()),
        float(misses.mean()),
        min(len(hits), len(misses)),
        repeated,
    )
