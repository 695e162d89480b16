"""A lower bound of epsilon from a program that is only run: two answers, many reports, an exact test.

On one half of the reports the attacker picks two answers and a set of reports that tells them apart best. On
the other half it counts that set, and limits by Clopper and Pearson turn the two counts into a proof:

    epsilon >= ln((low - delta) / high)    with the stated confidence,

since Pr[set | x] <= e^epsilon Pr[set | x'] + delta. The pair and the set are chosen before the second half is
looked at, so one test is made, whatever the number of answers. A bound of 0 proves nothing.

Sets of reports can only be counted if reports repeat. Real numbers, or reports with a random part of their
own, do not: where all differ, nothing is tested, and that is an error, not a bound of 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechdesign.audit.empirical import FEWEST, limits
from mechdesign.core.errors import DataError
from mechdesign.core.notebook import TextInNotebooks
from mechdesign.core.validation import in_range, privacy_delta
from mechdesign.exact.exponential import float_down, log_bounds
from mechdesign.exact.numbers import rational

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
        shown = ", ".join(map(repr, self.reports[:SHOWN]))
        more = f" and {len(self.reports) - SHOWN} more" if len(self.reports) > SHOWN else ""
        at = f" at delta {self.delta:g}" if self.delta else ""
        blind = f"\nonly {self.repeated:.2%} of the reports repeat; {ROUND}" if self.is_blind else ""
        often, rarely = round(self.first * self.samples), round(self.second * self.samples)
        return (
            f"epsilon is at least {self.epsilon:.4g}{at} with confidence {self.confidence:g}\n"
            f"witness: answer = {self.answer}, other = {self.other}, reports {shown}{more} "
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
    >>> found = attack_program({name: list(map(str, values)) for name, values in answers.items()})
    >>> 1.0 < found.epsilon < math.log(3)
    True
    """
    slack, level = (
        privacy_delta(delta),
        in_range("confidence", confidence, 0.0, 1.0, low_open=True, high_open=True),
    )
    if len(runs) < 2:
        raise DataError("answers", f"{len(runs)} of at least 2", "name two answers to distinguish")
    short = next((name for name, made in runs.items() if len(made) < 2 * FEWEST), None)
    if short is not None:
        raise DataError(
            f"answer '{short}'", f"{len(runs[short])} reports are too few", f"make at least {2 * FEWEST}"
        )
    halves = {name: len(made) // 2 for name, made in runs.items()}
    trained = {name: Counter(made[: halves[name]]) for name, made in runs.items()}
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
    rest = [report for name, made in runs.items() for report in made[halves[name] :]]
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
    given = np.cumsum([theirs[report] for report in ordered])
    low = (gained - 3.0 * np.sqrt(gained)) / size - delta
    high = (given + 3.0 * np.sqrt(given) + 7.0) / other
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
