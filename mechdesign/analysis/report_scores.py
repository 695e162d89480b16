"""Scores of reports: what a mechanism says each report stands for (``mechdesign.collect.report_scores``)."""

from __future__ import annotations

from typing import Any

from mechdesign.collect.base import CollectingMechanism
from mechdesign.collect.report_scores import (
    ReportScores as ReportScores,
    combined as combined,
    without_scores,
)


def scores_of(mechanism: Any, reports: Any) -> tuple[ReportScores, ...]:
    """Return the scores of reports, one entry for each question.

    Parameters
    ----------
    mechanism : Mechanism
        One that collects, with a linear estimate.
    reports : array
        As ``estimate`` takes them.

    Raises
    ------
    MethodError
        Where an estimate is no average of scores, or the table would be too large.
    DataError
        For an impossible report, naming its row.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> (scores,) = scores_of(KaryResponse.of(2, 1.0, labels=["no", "yes"]), ["yes", "no"])
    >>> scores.values.round(3)
    array([[-0.582,  1.582],
           [ 1.582, -0.582]])
    """
    if not isinstance(mechanism, CollectingMechanism):
        raise without_scores(mechanism.type)
    return mechanism.report_scores(reports)
