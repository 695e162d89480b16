"""Is an answer the same in all groups, or in two waves? A likelihood ratio with a certified maximum, Wald.

The chance of a report is sum_j L_j p_j for the shares p of the answers: concave in p, so that its maximum is
certified. With g_j the mean of L_ij / sum_l L_il p_l over reports, no other shares have a mean
log-likelihood above that of p by more than log max g (Jensen). Twice the gain of separate shares over common
ones is compared with chi-square of (groups - 1)(k - 1) degrees. Where a share of a maximum is 0 that law
does not hold, and in groups of few reports it is far: there reports are drawn anew under the common shares
instead (parametric bootstrap).

Two waves are two groups whose mechanisms may differ. Where the same people answered both, the covariance of
the two means is that of the scores of a person's two reports: fresh noise is independent, so that it is the
covariance of the answers. The likelihood ratio takes the waves for independent, hence Wald's test is the one
for panels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.asking import ReportTable, panel_covariance
from mechdesign.analysis.regression import FEW
from mechdesign.analysis.report_scores import ReportScores
from mechdesign.core.errors import EstimationError, ParameterError, counted, listed, named_option
from mechdesign.core.values import json_object
from mechdesign.data.tidy import Columns, Tidy
from mechdesign.families.survey import SurveyMechanism
from mechdesign.show.figure import Figure
from mechdesign.show.panels import SHARE, interval_figures
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
    mean = _Mean.of(rows, counts / users)
    share = np.full(size, 1.0 / size)
    for _ in range(ROUNDS):
        chances = rows @ share
        ratios = (counts / users / chances) @ rows
        gap = math.log(max(float(ratios.max()), 1.0))
        if gap <= CLOSE:
            break
        better = _step(mean, share, ratios)
        if better is None and gap <= GOOD:
            break  # doubles do not tell better shares from these
        share = share * ratios / float(share @ ratios) if better is None else better  # EM's is never worse
    if gap > GOOD:
        raise EstimationError("likelihood", f"its maximum is known to {gap:.2g} a report only", "report this")
    value = float(counts @ np.log(np.maximum(rows @ share, 1e-300)))
    return SharesMaximum(share, value, users * gap)


@dataclass(frozen=True, eq=False)
class _Mean:
    """The mean of -log sum_j L_j p_j over the reports, as a function of the shares p.

    Attributes
    ----------
    rows : (n, k) array
        L, one row for each report that differs.
    parts : (n,) array
        Their parts of all reports.
    least : (n,) array
        Chances below which a report is next to impossible. At the maximum no report is less likely than its
        part times its largest chance, as ratios are at most 1.
    """

    rows: Array
    parts: Array
    least: Array

    @classmethod
    def of(cls, rows: Array, parts: Array) -> _Mean:
        return cls(rows, parts, HOPELESS * parts * rows.max(axis=1))

    def at(self, share: Array) -> float:
        """Return the mean; infinity for shares under which a report is next to impossible."""
        chances = self.rows @ share
        if (chances < self.least).any():
            return math.inf
        return -float(self.parts @ np.log(np.maximum(chances, 1e-300)))


def _step(mean: _Mean, share: Array, ratios: Array) -> Array | None:
    """Return better shares, or None: Newton's for the mean plus the sum of p, over p >= 0."""
    scaled = mean.rows * (np.sqrt(mean.parts) / (mean.rows @ share))[:, None]
    hessian = scaled.T @ scaled
    target = nonnegative_quadratic(hessian, 1.0 - ratios - hessian @ share)
    best = np.zeros(len(share))  # the answer whose share gains most: better where it lost what a report needs
    best[int(np.argmax(ratios))] = 1.0
    for aim in (target, best):
        moved = _towards(mean, share, aim)
        if moved is not None:
            return moved
    return None


def _towards(mean: _Mean, share: Array, target: Array) -> Array | None:
    """Return better shares on the way to others, as far as halving a step finds some."""
    before = mean.at(share)
    length = 1.0
    while length > 1e-6:
        moved = np.maximum(share + length * (target - share), 0.0)
        total = float(moved.sum())
        if total > 0.0 and mean.at(moved / total) < before:
            return np.asarray(moved / total)
        length /= 2.0
    return None


@dataclass(frozen=True, eq=False)
class Sample:
    """The reports of a group, or of a wave, that say something about a question.

    Attributes
    ----------
    name : str
    values, likelihood : (n, k) array
    weights : (n,) array
        Their information.
    """

    name: str
    values: Array
    likelihood: Array
    weights: Array

    def __len__(self) -> int:
        return len(self.values)

    def mean(self) -> Array:
        """Return the unbiased shares."""
        return np.asarray(self.weights @ self.values / self.weights.sum())

    def influence(self) -> Array:
        """Return what each report adds to the mean, (n, k)."""
        part = self.weights / self.weights.sum()
        return np.asarray((self.values - self.mean()) * part[:, None])


def sample_of(scores: ReportScores, name: str, mask: NDArray[np.bool_] | None = None) -> Sample:
    """Return the reports of a group.

    Raises
    ------
    EstimationError
        Where none of them says anything.
    """
    likelihood = _likelihood(scores)
    inside = scores.information > 0.0
    if mask is not None:
        inside = inside & mask
    if not inside.any():
        raise EstimationError("by", f"no report of the group '{name}' says anything", "join it with another")
    return Sample(name, scores.values[inside], likelihood[inside], scores.information[inside])


def _likelihood(scores: ReportScores) -> Array:
    if scores.likelihood is None:
        scores.require_table()
        kind, remedy = "is a number", "compare its means by group"
        if not scores.is_number:
            kind, remedy = "is no single answer whose likelihoods are known", "compare its shares by group"
        raise ParameterError(named_option("question"), f"'{scores.question}' {kind}", remedy)
    return scores.likelihood


@dataclass(frozen=True, repr=False)
class IndependenceTest(Tidy):
    """Whether an answer depends on a public group, or differs between waves.

    Attributes
    ----------
    question, column : str
        For waves the column is ``wave``.
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
    shares, standard_errors : (groups, k) array
        The unbiased shares that are compared.
    categories : tuple of str
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
    shares: Array = field(default_factory=lambda: np.zeros((0, 0)))
    standard_errors: Array = field(default_factory=lambda: np.zeros((0, 0)))
    categories: tuple[str, ...] = ()

    def tidy(self, level: float = 0.95) -> Columns:
        """Return a row for each statistic."""
        nothing: list[Any] = [None, None]
        return {
            "question": [self.question] * 2,
            "category": ["likelihood ratio", "Wald"],
            "estimate": [self.statistic, self.wald],
            "standard_error": nothing,
            "low": nothing,
            "high": nothing,
            "freedom": [self.freedom] * 2,
            "p": [self.p_value, self.wald_p_value],
            "law": [f"bootstrap of {self.draws}" if self.draws else "chi-square", "chi-square"],
            "note": ["; ".join(self.notes)] * 2,
        }

    def figures(self) -> list[Figure]:
        """Return the shares that are compared, with normal intervals, a picture for each category."""
        ends = (self.shares - 1.96 * self.standard_errors, self.shares + 1.96 * self.standard_errors)
        first = 1 if len(self.categories) == 2 else 0  # of two categories one says all
        pictures = []
        for place in range(first, len(self.categories)):
            low, high = (end[:, place] for end in ends)
            pictures += interval_figures(
                f"{self.categories[place]} by {self.column}", self.groups, self.shares[:, place], (low, high),
                self.column, "estimate", possible=SHARE,
            )  # fmt: skip
        return pictures

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        tuples = {name: list(getattr(self, name)) for name in ("groups", "notes", "categories")}
        return json_object({**vars(self), **tuples})

    def __str__(self) -> str:
        law = (
            f"bootstrap of {self.draws} draws"
            if self.draws
            else f"chi-square, {counted(self.freedom, 'degree')}"
        )
        answer = f"'{self.question}'" if self.question else "the answer"
        asks = f"Is {answer} independent of {self.column} ({len(self.groups)} groups"
        if self.column == WAVE:
            asks = f"Is {answer} the same in both waves ({listed(list(self.groups))}"
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return (
            f"{asks}, {counted(self.users, 'report')})?\n"
            f"likelihood ratio  {self.statistic:.4g} (exact to {self.gap:.1g})  "
            f"p = {self.p_value:.4g}  ({law})\n"
            f"Wald              {self.wald:.4g}  p = {self.wald_p_value:.4g}{notes}"
        )

    __repr__ = __str__


WAVE = "wave"
"""The column of a test of waves."""


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
        Of the bootstrap: by default 999 where a share of a maximum is 0 and chi-square is not clear, or a
        group has fewer than 30 reports; else none.
    seed : int
        Of the bootstrap.

    Examples
    --------
    >>> from mechdesign.analysis.asking import answers_of
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> mechanism = KaryResponse.of(2, 2.0)
    >>> reports = mechanism.randomize([0, 1] * 2000 + [0] * 4000, rng=1)
    >>> answers = answers_of(mechanism, reports, {"ward": ["a"] * 4000 + ["b"] * 4000})
    >>> independence(answers, "ward").p_value < 1e-9
    True
    """
    scores = answers.question(question)
    texts = answers.column(column, named_option("by")).astype(str)
    names = tuple(sorted(set(texts.tolist())))
    if len(names) < 2:
        raise EstimationError(
            named_option("by"), f"'{column}' has one value", "name a column with several groups"
        )
    masks = [texts == name for name in names]
    samples = [sample_of(scores, name, mask) for name, mask in zip(names, masks, strict=True)]
    pooled = sample_of(scores, column)

    def redraw(shares: Array, rng: np.random.Generator) -> list[Array] | None:
        fresh = _redrawn(answers, scores.question, shares, rng)
        inside = [mask & (fresh.information > 0.0) for mask in masks]
        return [_likelihood(fresh)[mask] for mask in inside] if all(map(np.any, inside)) else None

    return _tested(scores, column, samples, _wald(samples, pooled), redraw, draws, seed)


def equal_waves(
    first: ReportTable,
    second: ReportTable,
    question: str = "",
    identifier: str | None = None,
    draws: int | None = None,
    seed: int = 1,
    names: tuple[str, str] = ("first", "second"),
) -> IndependenceTest:
    """Return a test of whether the shares of an answer are the same in two waves.

    Parameters
    ----------
    first, second : ReportTable
        The mechanisms may differ, the categories may not.
    question : str, optional
        Of a survey.
    identifier : str, optional
        The public column that says who sent a report, where the same people answered both.
    draws, seed : int, optional
        See :func:`independence`.
    names : tuple of str
        Of the waves.

    Examples
    --------
    >>> from mechdesign.analysis.asking import answers_of
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> before, after = KaryResponse.of(2, 2.0), KaryResponse.of(2, 1.0)
    >>> one = answers_of(before, before.randomize([0, 1] * 2000, rng=1))
    >>> two = answers_of(after, after.randomize([0, 0, 0, 1] * 2000, rng=2))
    >>> equal_waves(one, two).p_value < 1e-9
    True
    """
    tables = (first, second)
    scores = [table.question(question) for table in tables]
    if scores[0].names != scores[1].names:
        raise ParameterError(
            "waves", "the question has other categories in the second wave", "compare waves of one question"
        )
    samples = [sample_of(one, name) for one, name in zip(scores, names, strict=True)]
    covariance, pairs = None, 0
    if identifier is not None:
        covariance, pairs = panel_covariance(first, second, question, identifier)

    def redraw(shares: Array, rng: np.random.Generator) -> list[Array] | None:
        every = [
            _redrawn(table, one.question, shares, rng) for table, one in zip(tables, scores, strict=True)
        ]
        return [_likelihood(fresh)[fresh.information > 0.0] for fresh in every]

    result = _tested(scores[0], WAVE, samples, _change_wald(samples, covariance), redraw, draws, seed)
    if covariance is None:
        return result
    note = (
        f"{counted(pairs, 'user')} answered both waves: Wald uses their covariance; the likelihood "
        "ratio takes the waves for independent"
    )
    return replace(result, notes=(*result.notes, note))


def _tested(
    scores: ReportScores,
    column: str,
    samples: Sequence[Sample],
    wald: float,
    redraw: Callable[[Array, np.random.Generator], list[Array] | None],
    draws: int | None,
    seed: int,
) -> IndependenceTest:
    statistic, gap, common, boundary = _ratio([sample.likelihood for sample in samples])
    freedom = (len(samples) - 1) * (samples[0].likelihood.shape[1] - 1)
    few = [sample.name for sample in samples if len(sample) < FEW]
    doubtful = bool(few) or (boundary and _chi_square(freedom, statistic) > CLEAR)
    number = (DRAWS if doubtful else 0) if draws is None else draws
    notes: tuple[str, ...] = ()
    if number:
        chance = _bootstrap(redraw, common, statistic, number, seed)
    else:
        chance = _chi_square(freedom, statistic)
    if boundary:
        law = "the p-value is at most this" if not number else "so reports were drawn anew"
        notes = (f"a share of a maximum is 0: the chi-square law does not hold there; {law}",)
    if few:
        advice = "take the likelihood ratio" if number else "chi-square is rough"
        notes += (f"fewer than {FEW} reports in {', '.join(few[:5])}: Wald's test is rough; {advice}",)
    spreads = [sample.influence() for sample in samples]
    return IndependenceTest(
        scores.question,
        column,
        tuple(sample.name for sample in samples),
        statistic,
        gap,
        freedom,
        chance,
        number,
        wald,
        _chi_square(freedom, wald),
        sum(map(len, samples)),
        notes,
        np.array([sample.mean() for sample in samples]),
        np.array([np.sqrt((spread**2).sum(axis=0)) for spread in spreads]),
        scores.names,
    )


def _chi_square(freedom: int, statistic: float) -> float:
    from scipy.special import gammaincc

    return float(gammaincc(freedom / 2.0, statistic / 2.0))


def _ratio(likelihoods: Sequence[Array]) -> tuple[float, float, Array, bool]:
    """Return the statistic, how exactly it is known, the common shares, and whether one share is 0."""
    common = most_likely_shares(np.concatenate(likelihoods))
    apart = [most_likely_shares(likelihood) for likelihood in likelihoods]
    gain = sum(one.log_likelihood for one in apart) - common.log_likelihood
    gap = 2.0 * max(common.gap, sum(one.gap for one in apart))
    boundary = any(float(one.shares.min()) < EMPTY for one in (common, *apart))
    return max(0.0, 2.0 * gain), gap, common.shares, boundary


def _wald(samples: Sequence[Sample], pooled: Sample) -> float:
    """Return the quadratic form of the groups' unbiased shares in the inverse of their covariance.

    The covariance of a group in which it is singular is that of all reports together.
    """
    size = pooled.values.shape[1] - 1
    every = np.atleast_2d(np.cov(pooled.values[:, :size], rowvar=False, aweights=pooled.weights, ddof=0))
    values, inverses = [], []
    for sample in samples:
        centred = sample.influence()[:, :size]
        spread = centred.T @ centred
        part = sample.weights / sample.weights.sum()
        usual = every * float(part @ part)
        scale = float(np.linalg.eigvalsh(usual)[-1])
        if _rank(spread, scale) < _rank(usual, scale):  # its reports are too much alike to tell how they vary
            spread = usual
        values.append(sample.mean()[:size])
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


def _change_wald(samples: Sequence[Sample], covariance: Array | None) -> float:
    """Return the quadratic form of the change in the inverse of its covariance."""
    size = samples[0].values.shape[1] - 1
    change = (samples[1].mean() - samples[0].mean())[:size]
    spread = np.zeros((size, size))
    for sample in samples:
        centred = sample.influence()[:, :size]
        spread += centred.T @ centred
    if covariance is not None:
        inner = covariance[:size, :size]
        spread = spread - inner - inner.T
    return float(change @ np.linalg.pinv(spread, hermitian=True) @ change)


def _rank(matrix: Array, scale: float) -> int:
    """Return the number of variances that are not 0 next to the usual ones."""
    return int((np.linalg.eigvalsh(matrix) > SINGULAR * scale).sum()) if scale > 0.0 else 0


def _bootstrap(
    redraw: Callable[[Array, np.random.Generator], list[Array] | None],
    shares: Array,
    statistic: float,
    draws: int,
    seed: int,
) -> float:
    """Return the part of statistics at least as large, of reports drawn under the common shares."""
    rng, larger = np.random.default_rng(seed), 0
    chances = np.maximum(shares, 0.0) / np.maximum(shares, 0.0).sum()
    for _ in range(draws):
        likelihoods = redraw(chances, rng)
        if likelihoods is not None:
            larger += _ratio(likelihoods)[0] >= statistic * (1.0 - 1e-9)
    return (larger + 1.0) / (draws + 1.0)


def _redrawn(answers: ReportTable, question: str, shares: Array, rng: np.random.Generator) -> ReportScores:
    """Return the scores of as many reports, drawn of answers with these shares."""
    mechanism = answers.mechanism
    codes = rng.choice(len(shares), size=len(answers.reports), p=shares)
    reports = mechanism.randomize(_simulated(mechanism, question, codes), rng=rng)
    every: tuple[ReportScores, ...] = mechanism.report_scores(reports)
    return next(one for one in every if one.question == question)


def _simulated(mechanism: Any, question: str, codes: NDArray[np.int64]) -> Any:
    """Return answers with these codes to one question; to the others of a survey the same for everybody.

    Reports about a question do not depend on the answers to the others.
    """
    if not isinstance(mechanism, SurveyMechanism):
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
