"""Is an answer independent of a public group? A likelihood ratio with a certified maximum, Wald, bootstrap.

The chance of a report is sum_j L_j p_j for the shares p of the answers: concave in p, so that its maximum is
certified. With g_j the mean of L_ij / sum_l L_il p_l over reports, no other shares have a mean
log-likelihood above that of p by more than log max g (Jensen). Twice the gain of separate shares over common
ones is compared with chi-square of (groups - 1)(k - 1) degrees. Where a share of a maximum is 0 that law
does not hold, and reports are drawn anew under the common shares instead (parametric bootstrap).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.asking import ReportTable
from mechdesign.analysis.report_scores import scores_of
from mechdesign.core.errors import EstimationError, ParameterError, counted, named_option
from mechdesign.core.values import json_object
from mechdesign.solvers.least_squares import nonnegative_quadratic

Array = NDArray[np.float64]

CLOSE = 1e-9
"""The mean log-likelihood is to be within this of its maximum."""

GOOD = 1e-6
"""The largest gap that is handed out, by which a report may fall short where doubles end."""

ROUNDS = 500
"""Newton steps at most."""

HOPELESS = 1e-9
"""Shares under which a report is less likely than this, next to the least that it is at the maximum."""

SINGULAR = 1e-9
"""Variances below this part of the largest are 0."""

EMPTY = 1e-7
"""A share below this is on the boundary."""

CLEAR = 1e-3
"""A p-value of chi-square below this is clear: on the boundary statistics are smaller than that law says."""

DRAWS = 999
"""Of the bootstrap."""


@dataclass(frozen=True)
class SharesMaximum:
    """Most likely shares, with a proof.

    Attributes
    ----------
    shares : (k,) array
    log_likelihood : float
        Of all reports.
    gap : float
        No other shares have a log-likelihood above it by more than this.
    """

    shares: Array
    log_likelihood: float
    gap: float


def most_likely_shares(likelihood: Array, weights: Array | None = None) -> SharesMaximum:
    """Return the shares of the answers that make the reports likeliest.

    Parameters
    ----------
    likelihood : (n, k) array
        The chance of each report for each answer, up to a factor of the report.
    weights : (n,) array, optional
        How often each row occurs.

    Examples
    --------
    >>> found = most_likely_shares(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([60.0, 40.0]))
    >>> found.shares.round(6), found.gap < 1e-6
    (array([0.7, 0.3]), True)
    """
    rows, place = np.unique(likelihood, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=weights, minlength=len(rows)).astype(np.float64)
    users, size = float(counts.sum()), likelihood.shape[1]
    share = np.full(size, 1.0 / size)
    for _ in range(ROUNDS):
        chances = rows @ share
        ratios = (counts / users / chances) @ rows
        gap = math.log(max(float(ratios.max()), 1.0))
        if gap <= CLOSE:
            break
        share = _step(rows, counts / users, share, ratios)
    if gap > GOOD:
        raise EstimationError("likelihood", f"its maximum is known to {gap:.2g} a report only", "report this")
    value = float(counts @ np.log(np.maximum(rows @ share, 1e-300)))
    return SharesMaximum(share, value, users * gap)


def _step(rows: Array, parts: Array, share: Array, ratios: Array) -> Array:
    """Return better shares: Newton's for the mean of -log sum_j L_j p_j plus the sum of p, over p >= 0."""
    scaled = rows * (np.sqrt(parts) / (rows @ share))[:, None]
    hessian = scaled.T @ scaled
    target = nonnegative_quadratic(hessian, 1.0 - ratios - hessian @ share)
    best = np.zeros(len(share))  # the answer whose share gains most: better where it lost what a report needs
    best[int(np.argmax(ratios))] = 1.0
    for aim in (target, best):
        moved = _towards(rows, parts, share, aim)
        if moved is not None:
            return moved
    return share * ratios / float(share @ ratios)  # a step of EM never makes it worse


def _towards(rows: Array, parts: Array, share: Array, target: Array) -> Array | None:
    """Return better shares on the way to others, as far as halving a step finds some."""
    before = _objective(rows, parts, share)
    length = 1.0
    while length > 1e-6:
        moved = np.maximum(share + length * (target - share), 0.0)
        total = float(moved.sum())
        if total > 0.0 and _objective(rows, parts, moved / total) < before:
            return np.asarray(moved / total)
        length /= 2.0
    return None


def _objective(rows: Array, parts: Array, share: Array) -> float:
    """Return the mean of -log sum_j L_j p_j; infinity for shares under which a report is next to impossible.

    At the maximum no report is less likely than its part times its largest chance: ratios are at most 1.
    """
    chances = rows @ share
    if (chances < HOPELESS * parts * rows.max(axis=1)).any():
        return math.inf
    return -float(parts @ np.log(np.maximum(chances, 1e-300)))


@dataclass(frozen=True, repr=False)
class IndependenceTest:
    """Whether an answer depends on a public group.

    Attributes
    ----------
    question, column : str
    groups : tuple of str
    statistic : float
        Twice the gain in log-likelihood of separate shares; known to ``gap``.
    gap : float
    freedom : int
    p_value : float
        By chi-square, or by the bootstrap.
    draws : int
        Of the bootstrap; 0 for chi-square.
    wald : float
        The statistic of the unbiased differences.
    wald_p_value : float
    users : int
    notes : tuple of str
    """

    question: str
    column: str
    groups: tuple[str, ...]
    statistic: float
    gap: float
    freedom: int
    p_value: float
    draws: int
    wald: float
    wald_p_value: float
    users: int
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return json_object({**vars(self), "groups": list(self.groups), "notes": list(self.notes)})

    def __str__(self) -> str:
        law = (
            f"bootstrap of {self.draws} draws"
            if self.draws
            else f"chi-square, {counted(self.freedom, 'degree')}"
        )
        answer = f"'{self.question}'" if self.question else "the answer"
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return (
            f"Is {answer} independent of {self.column} ({len(self.groups)} groups, "
            f"{counted(self.users, 'report')})?\n"
            f"likelihood ratio  {self.statistic:.4g} (exact to {self.gap:.1g})  "
            f"p = {self.p_value:.4g}  ({law})\n"
            f"Wald              {self.wald:.4g}  p = {self.wald_p_value:.4g}{notes}"
        )

    __repr__ = __str__


def independence(
    answers: ReportTable, column: str, question: str = "", draws: int | None = None, seed: int = 1
) -> IndependenceTest:
    """Return a test of whether an answer is independent of a public column.

    Parameters
    ----------
    answers : ReportTable
    column : str
    question : str, optional
        Of a survey.
    draws : int, optional
        Of the bootstrap: by default 999 where a share of a maximum is 0 and chi-square is not clear, else
        none.
    seed : int
        Of the bootstrap.

    Examples
    --------
    >>> from mechdesign.analysis.asking import answers_of
    >>> from mechdesign.collect.kary import KaryResponse
    >>> mechanism = KaryResponse.of(2, 2.0)
    >>> reports = mechanism.randomize([0, 1] * 2000 + [0] * 4000, rng=1)
    >>> answers = answers_of(mechanism, reports, {"ward": ["a"] * 4000 + ["b"] * 4000})
    >>> independence(answers, "ward").p_value < 1e-9
    True
    """
    scores = answers.question(question)
    if scores.likelihood is None:
        scores.require_table()
        raise ParameterError(
            named_option("question"), f"'{scores.question}' is a number", "compare its means by group"
        )
    texts = answers.column(column, named_option("by")).astype(str)
    names = tuple(sorted(set(texts.tolist())))
    if len(names) < 2:
        raise EstimationError(
            named_option("by"), f"'{column}' has one value", "name a column with several groups"
        )
    informative = scores.information > 0.0
    groups = [texts == name for name in names]
    empty = [name for name, group in zip(names, groups, strict=True) if not (group & informative).any()]
    if empty:
        raise EstimationError(
            "by", f"no report of the group '{empty[0]}' says anything", "join it with another"
        )
    statistic, gap, common, boundary = _ratio(scores.likelihood, groups, informative)
    freedom = (len(names) - 1) * (scores.likelihood.shape[1] - 1)
    doubtful = boundary and _chi_square(freedom, statistic) > CLEAR
    number = (DRAWS if doubtful else 0) if draws is None else draws
    notes: tuple[str, ...] = ()
    if number:
        chance = _bootstrap(answers, scores.question, groups, common, statistic, number, seed)
    else:
        chance = _chi_square(freedom, statistic)
    if boundary:
        law = "the p-value is at most this" if not number else "so reports were drawn anew"
        notes = (f"a share of a maximum is 0: the chi-square law does not hold there; {law}",)
    wald = _wald(answers, column, question)
    users = int(informative.sum())
    return IndependenceTest(
        scores.question,
        column,
        names,
        statistic,
        gap,
        freedom,
        chance,
        number,
        wald,
        _chi_square(freedom, wald),
        users,
        notes,
    )


def _chi_square(freedom: int, statistic: float) -> float:
    from scipy.special import gammaincc

    return float(gammaincc(freedom / 2.0, statistic / 2.0))


def _ratio(
    likelihood: Array, groups: list[NDArray[np.bool_]], informative: NDArray[np.bool_]
) -> tuple[float, float, Array, bool]:
    """Return the statistic, how exactly it is known, the common shares, and whether one share is 0."""
    common = most_likely_shares(likelihood[informative])
    apart = [most_likely_shares(likelihood[group & informative]) for group in groups]
    gain = sum(one.log_likelihood for one in apart) - common.log_likelihood
    gap = 2.0 * max(common.gap, sum(one.gap for one in apart))
    boundary = any(float(one.shares.min()) < EMPTY for one in (common, *apart))
    return max(0.0, 2.0 * gain), gap, common.shares, boundary


def _wald(answers: ReportTable, column: str, question: str) -> float:
    """Return the quadratic form of the groups' unbiased shares in the inverse of their covariance.

    The covariance of a group in which it is singular is that of all reports together.
    """
    scores = answers.question(question)
    texts = answers.column(column, "by").astype(str)
    values, inverses = [], []
    size = scores.values.shape[1]
    informative = scores.information > 0.0
    every = scores.values[informative][:, : size - 1]
    pooled = np.atleast_2d(np.cov(every, rowvar=False, aweights=scores.information[informative], ddof=0))
    for name in sorted(set(texts.tolist())):
        inside = (texts == name) & informative
        weight = scores.information[inside] / scores.information[inside].sum()
        rows = scores.values[inside][:, : size - 1]
        mean = weight @ rows
        centred = (rows - mean) * weight[:, None]
        spread = centred.T @ centred
        if _rank(spread) < _rank(pooled):  # its reports are too much alike to tell how they vary
            spread = pooled * float(weight @ weight)
        values.append(mean)
        inverses.append(np.linalg.pinv(spread))
    total = np.linalg.pinv(np.sum(inverses, axis=0))
    middle = total @ np.sum(
        [inverse @ value for inverse, value in zip(inverses, values, strict=True)], axis=0
    )
    return float(
        sum(
            (value - middle) @ inverse @ (value - middle)
            for value, inverse in zip(values, inverses, strict=True)
        )
    )


def _rank(matrix: Array) -> int:
    sizes = np.linalg.eigvalsh(matrix)
    return int((sizes > SINGULAR * sizes[-1]).sum()) if sizes[-1] > 0.0 else 0


def _bootstrap(
    answers: ReportTable,
    question: str,
    groups: list[NDArray[np.bool_]],
    shares: Array,
    statistic: float,
    draws: int,
    seed: int,
) -> float:
    """Return the part of statistics at least as large, of reports drawn under the common shares."""
    rng, mechanism = np.random.default_rng(seed), answers.mechanism
    users, larger = len(answers.reports), 0
    chances = np.maximum(shares, 0.0) / np.maximum(shares, 0.0).sum()
    for _ in range(draws):
        codes = rng.choice(len(chances), size=users, p=chances)
        reports = mechanism.randomize(_simulated(mechanism, question, codes), rng=rng)
        scores = next(one for one in scores_of(mechanism, reports) if one.question == question)
        assert scores.likelihood is not None
        informative = scores.information > 0.0
        if all((group & informative).any() for group in groups):
            larger += _ratio(scores.likelihood, groups, informative)[0] >= statistic * (1.0 - 1e-9)
    return (larger + 1.0) / (draws + 1.0)


def _simulated(mechanism: Any, question: str, codes: NDArray[np.int64]) -> Any:
    """Return answers with these codes to one question; to the others of a survey the same for everybody.

    Reports about a question do not depend on the answers to the others.
    """
    if not hasattr(mechanism, "questions"):
        return mechanism.labels.decode(codes)
    users = len(codes)
    return {
        one.name: (
            np.array(one.categories, dtype=object)[codes]
            if one.name == question
            else np.full(users, one.domain.low if one.is_mean else one.categories[0], dtype=object)
        )
        for one in mechanism.questions.all
    }
