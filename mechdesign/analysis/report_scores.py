"""Scores of reports: what a mechanism says each report stands for (``mechdesign.collect.report_scores``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mechdesign.collect.base import CollectingMechanism
from mechdesign.collect.report_scores import ReportScores as ReportScores, without_scores
from mechdesign.primitives.oracle import SupportTable


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


def combined(parts: Sequence[ReportScores]) -> ReportScores:
    """Return the scores of several pieces of reports to one question, one after the other."""
    first = parts[0]
    support = first.support
    if isinstance(first.support, SupportTable):
        reads = [part.support.read for part in parts if isinstance(part.support, SupportTable)]
        support = replace(first.support, read=np.concatenate(reads))
        if any(part.is_large for part in parts):
            parts = [part.without_table() for part in parts]
    likelihood = [part.likelihood for part in parts if part.likelihood is not None]
    return replace(
        first,
        values=np.concatenate([part.values for part in parts]),
        information=np.concatenate([part.information for part in parts]),
        likelihood=np.concatenate(likelihood) if len(likelihood) == len(parts) else None,
        support=support,
    )
