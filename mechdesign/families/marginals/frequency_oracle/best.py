"""The default oracle: of those whose variance is nearly the least, the one with the shortest reports."""

from __future__ import annotations

from mechdesign.core.method import Outcome
from mechdesign.core.values import changed
from mechdesign.families.marginals.frequency_oracle.oracles import KINDS, SHORTEST, kind_of
from mechdesign.families.marginals.frequency_oracle.problem import FrequencyOracle, candidate

WITHIN = 1.0 + 2.0**-40
"""Variances closer than this count as equal; of equally short reports those without a parameter are taken."""

MOST_HASHED = 10**11
"""Users times categories for which a server evaluates hash functions in minutes: with more, local hashing is
not taken for its short reports alone."""


def run(problem: FrequencyOracle) -> Outcome:
    """Take the shortest reports of all oracles, each with its best parameters, within ``max_excess``.

    Where that is not the oracle of least variance, the notes name the latter and what it differs by.
    """
    possible = [outcome for outcome in (candidate(problem, kind) for kind in KINDS) if outcome.variables]
    if not possible:
        return candidate(problem, kind_of(SHORTEST))
    values = {outcome.variables["oracle"]: problem.objective(outcome.variables) for outcome in possible}
    least = _shortest(possible, values, WITHIN * min(values.values()))
    quick = [outcome for outcome in possible if outcome is least or not _is_slow(problem, outcome)]
    most = (WITHIN + problem.max_excess) * min(values.values())
    taken = _shortest(quick, values, most)
    if taken.notes["report_bits"] == least.notes["report_bits"]:
        return least
    names = [outcome.variables["oracle"] for outcome in (taken, least)]
    alternative = {
        "least_variance": names[1],
        "its_report_bits": least.notes["report_bits"],
        "excess": values[names[0]] / values[names[1]] - 1.0,
    }
    return changed(taken, notes={**taken.notes, **alternative})


def _shortest(outcomes: list[Outcome], values: dict[str, float], most: float) -> Outcome:
    """Return the outcome with the shortest reports whose variance is at most ``most``."""
    fitting = [outcome for outcome in outcomes if values[outcome.variables["oracle"]] <= most]
    return min(fitting, key=lambda outcome: (outcome.notes["report_bits"], len(outcome.variables)))


def _is_slow(problem: FrequencyOracle, outcome: Outcome) -> bool:
    """Whether the server needs minutes for the reports of the planned users."""
    hashing = outcome.variables["oracle"] == "local-hashing"
    return hashing and problem.users * problem.categories > MOST_HASHED
