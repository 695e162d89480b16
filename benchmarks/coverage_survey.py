"""Coverage of the intervals of a survey: shares, cross tables, cumulative shares, means and means by group.

See :mod:`benchmarks.coverage`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage_cases import Counting, Covered
from mechdesign.families.marginals.sets import ProductSet, SetResponse
from mechdesign.families.mean import DiscretePiecewise
from mechdesign.families.survey import Question, Questions, Request, SetPart, SurveyMechanism, TablePart
from mechdesign.families.survey.parts import NumberPart
from mechdesign.families.survey.survey import best_part
from mechdesign.primitives.kary import KaryResponse

ASKED = Questions(
    [
        Question("a", labels=("no", "yes")),
        Question("b", "ordered", labels=("low", "middle", "high")),
        Question("c", "number", low=0.0, high=10.0),
    ]
)
WANTED = (Request("table", (0, 1)), Request("group means", (0, 2), 2))

FEWEST = 300
"""With fewer users some group has no users, and some design no reports."""

Rows = dict[str, NDArray[np.float64]]


@cache
def survey_of(epsilon: float) -> SurveyMechanism:
    """Return a survey whose designs tell each result in several ways, in unequal shares."""
    half = epsilon / 2.0
    designs = [
        [best_part(ASKED, 1, half), NumberPart(ASKED, 2, DiscretePiecewise(half, 0.0, 10.0))],
        [TablePart(ASKED, [0, 1], KaryResponse.of(6, epsilon))],
        [TablePart(ASKED, [0, 2], KaryResponse.of(4, epsilon))],
        [SetPart(ASKED, [0, 1], SetResponse.of([2, 3], epsilon, ProductSet([1, 2]), tables=()))],
    ]
    return SurveyMechanism(ASKED, epsilon, designs, [3, 2, 4, 1], WANTED)


def answers(users: int) -> Iterator[tuple[str, Rows]]:
    """Yield what users hold."""
    even = np.arange(users)
    yield "even", {"a": even % 2, "b": even // 2 % 3, "c": even % 11}
    rare = {"a": (even < users // 10).astype(int), "b": np.where(even % 10 == 0, 2, 0)}
    yield "a tenth", {**rare, "c": np.where(even % 5 == 0, 10.0, 1.0)}


def truths(rows: Rows) -> dict[str, NDArray[np.float64]]:
    """Return the true results of :func:`survey_of`."""
    a, b, c = (rows[name] for name in "abc")
    shares = {
        "a": np.bincount(a.astype(int), minlength=2) / len(a),
        "b": np.bincount(b.astype(int), minlength=3) / len(b),
        "a x b": np.bincount((3 * a + b).astype(int), minlength=6) / len(a),
    }
    groups = np.array([c[a == group].mean() for group in (0, 1)])
    cumulative = np.cumsum(shares["b"])[:-1]
    return {**shares, "up to b": cumulative, "c": np.array([c.mean()]), "c by a": groups}


def survey(epsilon: float, users: int, repetitions: int, rng: np.random.Generator) -> list[Covered]:
    """Return the coverage of all results, for the users at hand and, of a draw, for the population."""
    found: list[Covered] = []
    for name in ("even", "a tenth") if users >= FEWEST else ():
        for population in (False, True):
            found += survey_case(epsilon, users, name, population, repetitions, rng)
    return found


def survey_case(
    epsilon: float, users: int, name: str, population: bool, repetitions: int, rng: np.random.Generator
) -> list[Covered]:
    """Return the coverage of all results for one kind of data and of truth, quantiles included."""
    mechanism, rows = survey_of(epsilon), dict(answers(users))[name]
    right = truths(rows)
    kind = f"{name}, {'population' if population else 'users'}"
    counts = {key: Counting(f"{key}, {kind}", truth) for key, truth in right.items()}
    median = int(np.argmax(np.append(right["up to b"], 1.0) >= 0.5))
    reached = 0
    for _ in range(repetitions):
        drawn = rng.integers(users, size=users) if population else np.arange(users)
        given = {key: column[drawn] for key, column in rows.items()}
        given["a"] = np.array(ASKED[0].labels)[given["a"].astype(int)]
        given["b"] = np.array(ASKED[1].labels)[given["b"].astype(int)]
        results = mechanism.estimate(mechanism.randomize(given, rng=rng), population=population)
        for key in ("a", "b", "a x b", "c", "c by a"):
            counts[key].add_estimate(results[key])
        ordered = results.result("b")
        assert ordered.cumulative is not None
        assert ordered.quantiles is not None
        counts["up to b"].add_estimate(ordered.cumulative)
        low, high = (
            ASKED[1].labels.index(ends[1]) for ends in (ordered.quantiles.low, ordered.quantiles.high)
        )
        reached += low <= median <= high
    found = [item for counting in counts.values() for item in counting.found()]
    return [*found, Covered(f"median of b, {kind}", reached, repetitions)]
