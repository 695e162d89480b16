r"""Regression of a private answer on public columns: least squares on scores, logit, multinomial.

**Least squares.** The score s of a report has the mean of the answer (its indicator, or the number), whatever
else is known of the user. So E[X'(s - X b)] = 0 has the solution of the regression on the answers themselves:
the coefficients are unbiased for the linear projection, only noisier. Errors are HC1: (X'X)^-1 X' diag(e^2) X
(X'X)^-1 n/(n - p); the noise of a report depends on its answer, so that classical errors would be wrong.

**Logit and multinomial.** With L_j = P(report | answer j) up to a factor, x the row of the design matrix and
p = softmax(0, x B_2, .., x B_k), the log-likelihood is sum_i w_i log sum_j L_ij p_ij. With the posterior
r_j = L_j p_j / sum L p its gradient in B_j is x (r_j - p_j), and its Hessian x x' times
(diag r - r r') - (diag p - p p'): the information on the answers less what the reports hide. It is not
concave: Newton's method with a positive multiple of the identity added where the Hessian is not definite,
halved steps, from several starts; the best end is taken. (Maddala 1983, ch. 3, for the model of answers;
Scheers and Dayton 1988 for randomized answers; Louis 1982 for the information.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.report_scores import ReportScores
from mechdesign.analysis.student import NotedEstimate, StudentLimits
from mechdesign.collect.intervals import Limits, NormalLimits
from mechdesign.core.errors import EstimationError, ParameterError, counted, named_option
from mechdesign.show.panels import interval_figures

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]

MOST_STEPS = 200
"""Newton steps of one start."""

FAR = 12.0
"""A linear predictor beyond which an answer is all but certain: for all reports of a category, separation."""

FEW = 30
"""Results that rest on fewer reports get a note."""

SINGULAR = 1e-10
"""Columns whose smallest singular value is below this part of the largest are collinear."""

OUTWARD = 8.0
"""One more search begins at so many times the best coefficients: is it likelier at infinity?"""

MORE_STARTS = 12
"""Further starts where the likelihood is not concave."""

CLOSE = 1e-10
"""The gradient, by the size of a Newton step, at which the search ends."""


@dataclass(frozen=True, repr=False)
class Regression(NotedEstimate):
    """The coefficients of a regression, with their errors.

    Attributes
    ----------
    value, standard_error : (m,) array
        One after the other, category by category for multinomial models.
    users : int
        Reports that it rests on.
    terms : tuple of str
        The name of each coefficient.
    model : {"linear", "logit", "multinomial"}
    outcome : str
    covariance : (m, m) array
    log_likelihood, null_log_likelihood : float or None
        At the coefficients, and at those of a model without columns; None for linear models.
    columns : int
        Of the design matrix.

    Examples
    --------
    >>> from mechdesign.analysis import regress
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> rng = np.random.default_rng(1)
    >>> age = rng.normal(size=20_000)
    >>> answers = (rng.random(20_000) < 1 / (1 + np.exp(1 - 0.8 * age))).astype(int)
    >>> mechanism = KaryResponse.of(2, epsilon=2.0)
    >>> fit = regress(mechanism, mechanism.randomize(answers, rng=2), {"age": age})
    >>> bool(abs(fit["age"][0] - 0.8) < 3 * fit["age"][1])
    True
    """

    thing: ClassVar[str] = "term"
    things: ClassVar[str] = "terms"

    terms: tuple[str, ...]
    model: str
    outcome: str
    covariance: Array
    columns: int
    log_likelihood: float | None = None
    null_log_likelihood: float | None = None
    population: bool = True
    limits: Limits | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()

    def _names(self) -> Sequence[str]:
        return self.terms

    def __getitem__(self, term: str) -> tuple[float, float]:
        """Return a coefficient and its standard error."""
        if term not in self.terms:
            raise ParameterError("term", f"no term {term!r}", f"one of {', '.join(self.terms)}")
        place = self.terms.index(term)
        return float(self.value[place]), float(self.standard_error[place])

    def _beside(self) -> Mapping[str, Any]:
        if self.model == "linear":
            return {}
        return {"odds ratio": [f"{ratio:.4g}" for ratio in self.odds_ratios()]}

    def figures(self) -> list[Figure]:
        """Return the coefficients with their intervals; constants are left out where there are others."""
        others = [place for place, name in enumerate(self.terms) if not name.endswith("Intercept")]
        rows = others or list(range(len(self.terms)))
        names, (low, high) = [self.terms[place] for place in rows], self.interval()
        ends = (low[rows], high[rows])
        title = f"{self.outcome}: {self.model} regression"
        return interval_figures(title, names, self.value[rows], ends, "term", "coefficient", bars=False)

    def odds_ratios(self) -> Array:
        """Return the factor of the odds for one unit of each column."""
        return np.asarray(np.exp(np.minimum(self.value, 700.0)))

    def p_values(self) -> Array:
        """Return the chance of a coefficient at least as far from 0, were it 0 (Wald, normal)."""
        places = np.abs(self.value) / self.standard_error
        return np.array([math.erfc(place / math.sqrt(2.0)) for place in places.tolist()])

    @property
    def ratio_statistic(self) -> float | None:
        """Twice the gain in log-likelihood over the model without columns."""
        if self.log_likelihood is None or self.null_log_likelihood is None:
            return None
        return max(0.0, 2.0 * (self.log_likelihood - self.null_log_likelihood))

    @property
    def freedom(self) -> int:
        """Coefficients beyond those of the model without columns."""
        return len(self.value) - len(self.value) // self.columns

    def ratio_p_value(self) -> float | None:
        """Return the chance of such a likelihood ratio, were all coefficients but the constants 0."""
        statistic = self.ratio_statistic
        if statistic is None or self.freedom == 0:
            return None
        from scipy.special import gammaincc

        return float(gammaincc(self.freedom / 2.0, statistic / 2.0))

    @property
    def aic(self) -> float | None:
        """Akaike's criterion, up to a constant of the reports: for models of the same reports."""
        return None if self.log_likelihood is None else 2.0 * len(self.value) - 2.0 * self.log_likelihood

    def _about(self) -> Mapping[str, Any]:
        return {
            "model": self.model,
            "outcome": self.outcome,
            "terms": list(self.terms),
            "p_values": self.p_values().tolist(),
            "odds_ratios": None if self.model == "linear" else self.odds_ratios().tolist(),
            "log_likelihood": self.log_likelihood,
            "likelihood_ratio": self.ratio_statistic,
            "freedom": self.freedom,
            "likelihood_ratio_p": self.ratio_p_value(),
            "aic": self.aic,
        }


@dataclass(frozen=True, eq=False)
class Covariates:
    """The public side of a regression: columns by name, weights, clusters.

    Attributes
    ----------
    matrix : (n, p) array
    names : tuple of str
    weights : (n,) array or None
    clusters : (n,) int array or None
        Numbers of groups whose reports depend on one another.
    """

    matrix: Array
    names: tuple[str, ...]
    weights: Array | None = None
    clusters: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        require_full_rank(self.matrix, self.names)

    def rows(self, mask: NDArray[np.bool_]) -> Covariates:
        """Return the design of some of the reports."""
        return Covariates(
            self.matrix[mask],
            self.names,
            None if self.weights is None else self.weights[mask],
            None if self.clusters is None else self.clusters[mask],
        )

    @property
    def weight(self) -> Array:
        """The weights, 1 where there are none."""
        return np.ones(len(self.matrix)) if self.weights is None else self.weights

    def spread(self, influence: Array) -> Array:
        """Return the sum of outer products of influences (n, m), summed by cluster, with n/(n - 1)."""
        return influence_spread(influence, self.clusters)


def influence_spread(influence: Array, clusters: NDArray[np.int64] | None) -> Array:
    """Return the sum of outer products of influences (n, m), summed by cluster, with n/(n - 1)."""
    parts = influence
    if clusters is not None:
        count = int(clusters.max()) + 1
        parts = np.zeros((count, influence.shape[1]))
        np.add.at(parts, clusters, influence)
    size = len(parts)
    if size < 2:
        raise EstimationError(
            named_option("cluster"), "one cluster has no spread", "name a column with several values"
        )
    return np.asarray(parts.T @ parts * (size / (size - 1.0)))


def require_full_rank(matrix: Array, names: Sequence[str]) -> None:
    """Raise EstimationError for too few rows, values that are no numbers, or collinear columns."""
    if not np.isfinite(matrix).all():
        worst = names[int(np.argmin(np.isfinite(matrix).all(axis=0)))]
        raise EstimationError(
            "formula", f"column '{worst}' has a missing or infinite value", "fill or drop the row"
        )
    if len(matrix) <= matrix.shape[1]:
        raise EstimationError(
            "formula",
            f"{counted(len(matrix), 'report')} for {counted(matrix.shape[1], 'column')}",
            "use fewer columns, or more reports",
        )
    scale = np.sqrt((matrix**2).sum(axis=0))
    if (scale == 0.0).any():
        raise EstimationError(
            "formula", f"column '{names[int(np.argmin(scale))]}' is 0 in every row", "leave it out"
        )
    _, sizes, right = np.linalg.svd(matrix / scale, full_matrices=False)
    if sizes[-1] <= SINGULAR * sizes[0]:
        involved = [name for name, part in zip(names, right[-1].tolist(), strict=True) if abs(part) > 1e-6]
        raise EstimationError(
            "formula", f"the columns {', '.join(involved)} are collinear", "leave one of them out"
        )


def fit_linear(scores: ReportScores, design: Covariates, category: int | None = None) -> Regression:
    """Return the least squares of the scores on the columns, with HC1 or cluster errors.

    Parameters
    ----------
    scores : ReportScores
    design : Covariates
    category : int, optional
        Of which answer the share is explained; without one the number, of those who answered.
    """
    informative = scores.information > 0.0
    public, matrix = design.rows(informative), design.rows(informative).matrix
    if category is None:
        scores.require_table()
        above, below = scores.ratio()
    else:
        above, below = scores.column(category)[:, None], np.ones(len(scores))
    target, base = above[informative, 0], below[informative]
    weight = public.weight * scores.information[informative]
    inverse = np.linalg.inv(matrix.T @ ((weight * base)[:, None] * matrix))
    value = inverse @ (matrix.T @ (weight * target))
    influence = matrix * (weight * (target - base * (matrix @ value)))[:, None]
    users, size = matrix.shape
    adjusted = (users - 1.0) / (users - size) if public.clusters is None else 1.0
    covariance = inverse @ public.spread(influence) @ inverse * adjusted
    errors = np.sqrt(np.diag(covariance))
    clusters = users if public.clusters is None else int(public.clusters.max()) + 1
    outcome = scores.question or "answer"
    if category is not None:
        outcome = f"{outcome} = {scores.names[category]}"
    return Regression(
        value,
        errors,
        users,
        public.names,
        "linear",
        outcome,
        covariance,
        size,
        limits=StudentLimits(errors, float(max(1, clusters - size))),
        notes=few_notes(users),
    )


def few_notes(users: int) -> tuple[str, ...]:
    """Return the note of results that rest on few reports."""
    if users >= FEW:
        return ()
    return (f"rests on {counted(users, 'report')}: errors and intervals are rough",)


def fit_categories(scores: ReportScores, design: Covariates) -> Regression:
    """Return the most likely logit or multinomial model; the first category is what others compare with."""
    if scores.likelihood is None:
        scores.require_table()
        raise ParameterError(
            "model", "how likely each answer makes these reports is not known", "use the linear model"
        )
    informative = scores.information > 0.0
    public, likelihood = design.rows(informative), scores.likelihood[informative]
    model = MultinomialModel(public.matrix, likelihood, public.weight)
    best, several = model.maximum([model.start_by_scores(scores.values[informative]), model.start_even()])
    null = _without_columns(likelihood, public.weight)
    constant, _ = null.maximum([null.start_even()])
    information = -model.hessian(best)
    covariance, notes = _covariance(model, public, best, information)
    if several:
        notes += ("the likelihood has several maxima; this is the largest that was met: check the model",)
    users, size = public.matrix.shape
    kind = "logit" if likelihood.shape[1] == 2 else "multinomial"
    terms = tuple(
        name if kind == "logit" else f"{category}: {name}"
        for category in scores.answers[1:]
        for name in public.names
    )
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    outcome = scores.question or "answer"
    if kind == "logit":
        outcome = f"{outcome} = {scores.answers[1]}"
    return Regression(
        best.ravel(),
        errors,
        users,
        terms,
        kind,
        outcome,
        covariance,
        size,
        model.value(best),
        null.value(constant),
        limits=NormalLimits(errors),
        notes=(*few_notes(users), *notes),
    )


def _without_columns(likelihood: Array, weights: Array) -> MultinomialModel:
    """Return the model of a constant, in which reports that say the same are one row."""
    rows, place = np.unique(likelihood, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights=weights, minlength=len(rows)).astype(np.float64)
    return MultinomialModel(np.ones((len(rows), 1)), rows, total)


def _covariance(
    model: MultinomialModel, public: Covariates, best: Array, information: Array
) -> tuple[Array, tuple[str, ...]]:
    """Return the covariance of the coefficients, and a note where the likelihood hardly has a maximum."""
    sizes, directions = np.linalg.eigh(information)
    predictor = model.matrix @ best.T
    notes: tuple[str, ...] = ()
    if (np.abs(predictor) > FAR).any() or sizes[0] <= SINGULAR * sizes[-1]:
        notes = (
            "separation: for some values of the columns the reports fit one answer alone; its coefficients "
            "have no finite best value, and errors and ratios of them mean nothing",
        )
    sizes = np.maximum(sizes, SINGULAR * sizes[-1])
    inverse = (directions / sizes) @ directions.T
    if public.weights is None and public.clusters is None:
        return inverse, notes
    return inverse @ public.spread(model.influences(best)) @ inverse, notes


class MultinomialModel:
    """The likelihood of reports for answers with multinomial probabilities given public columns.

    Parameters
    ----------
    matrix : (n, p) array
    likelihood : (n, k) array
    weights : (n,) array
    """

    def __init__(self, matrix: Array, likelihood: Array, weights: Array) -> None:
        self.matrix, self.likelihood, self.weights = matrix, likelihood, weights

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of coefficients, one a category but the first, and columns."""
        return self.likelihood.shape[1] - 1, self.matrix.shape[1]

    def start_even(self) -> Array:
        """Return coefficients 0."""
        return np.zeros(self.shape)

    def start_by_scores(self, scores: Array) -> Array:
        """Return coefficients near those of least squares on the scores: shares moved away from 0 and 1."""
        root = np.sqrt(self.weights)[:, None]
        fitted, *_ = np.linalg.lstsq(root * self.matrix, root * scores, rcond=None)
        shares = np.clip(self.matrix @ fitted, 0.05, 0.95)
        shares /= shares.sum(axis=1, keepdims=True)
        logs = np.log(shares[:, 1:] / shares[:, :1])
        start, *_ = np.linalg.lstsq(root * self.matrix, root * logs, rcond=None)
        return np.asarray(start.T)

    def chances(self, coefficients: Array) -> Array:
        """Return the probability of each answer for each row."""
        logs = np.column_stack([np.zeros(len(self.matrix)), self.matrix @ coefficients.T])
        logs -= logs.max(axis=1, keepdims=True)
        chances = np.exp(logs)
        chances /= chances.sum(axis=1, keepdims=True)
        return chances

    def value(self, coefficients: Array) -> float:
        """Return the log-likelihood."""
        likely = (self.likelihood * self.chances(coefficients)).sum(axis=1)
        return float(self.weights @ np.log(np.maximum(likely, 1e-300)))

    def posterior(self, chances: Array) -> Array:
        """Return the probability of each answer given row and report."""
        joint = self.likelihood * chances
        return np.asarray(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300))

    def influences(self, coefficients: Array) -> Array:
        """Return the gradient of each report, (n, m)."""
        chances = self.chances(coefficients)
        gain = (self.posterior(chances) - chances)[:, 1:] * self.weights[:, None]
        product = gain[:, :, None] * self.matrix[:, None, :]
        return product.reshape(len(self.matrix), -1)

    def gradient(self, coefficients: Array) -> Array:
        """Return the gradient of the log-likelihood, (m,)."""
        chances = self.chances(coefficients)
        gain = (self.posterior(chances) - chances)[:, 1:] * self.weights[:, None]
        return np.asarray((gain.T @ self.matrix).ravel())

    def hessian(self, coefficients: Array) -> Array:
        """Return the second derivatives of the log-likelihood, (m, m)."""
        chances = self.chances(coefficients)
        posterior = self.posterior(chances)
        size, columns = self.shape
        result = np.empty((size, columns, size, columns))
        for one in range(size):
            for two in range(one + 1):
                curve = (
                    chances[:, one + 1] * chances[:, two + 1] - posterior[:, one + 1] * posterior[:, two + 1]
                )
                if one == two:
                    curve = curve + posterior[:, one + 1] - chances[:, one + 1]
                block = (self.matrix * (self.weights * curve)[:, None]).T @ self.matrix
                result[one, :, two, :] = block
                result[two, :, one, :] = block.T
        return result.reshape(size * columns, size * columns)

    def maximum(self, starts: Sequence[Array]) -> tuple[Array, bool]:
        """Return the best of the local maxima that were met, and whether these are several.

        Where the Hessian is not definite at a start, further ones are drawn, the same in every run.
        """
        ends = [self._ascent(start) for start in starts]
        if any(np.linalg.eigvalsh(self.hessian(start))[-1] > 0.0 for start in starts):
            rng = np.random.default_rng(1)
            scale = 1.0 / np.sqrt((self.matrix**2).mean(axis=0))
            ends += [self._ascent(2.0 * rng.normal(size=self.shape) * scale) for _ in range(MORE_STARTS)]
        values = [self.value(end) for end in ends]
        ends.append(self._ascent(OUTWARD * ends[int(np.argmax(values))]))  # is it likelier at infinity?
        values.append(self.value(ends[-1]))
        place = int(np.argmax(values))
        flat = [end for end, value in zip(ends, values, strict=True) if value < values[place] - 1e-3]
        return ends[place], any(np.abs(end).max() < FAR for end in flat)

    def _ascent(self, start: Array) -> Array:
        """Return a local maximum by Newton's method with halved steps."""
        place, value = start, self.value(start)
        for _ in range(MOST_STEPS):
            gradient = self.gradient(place)
            sizes, directions = np.linalg.eigh(-self.hessian(place))
            floor = max(sizes[-1], 1.0) * 1e-9
            step = directions @ ((directions.T @ gradient) / np.maximum(np.abs(sizes), floor))
            if float(gradient @ step) <= CLOSE * CLOSE * len(self.matrix) or np.abs(place).max() > 100.0:
                return place
            length = 1.0
            while length > 1e-12:
                moved = place + length * step.reshape(self.shape)
                reached = self.value(moved)
                if reached > value:
                    break
                length /= 2.0
            else:
                return place
            place, value = moved, reached
        return place
