"""The distribution that one shows: shares nearer to the truth together, and biased one by one.

The unbiased estimate stays the estimate, with its intervals. With many categories most of its values are
noise: for a picture, a ranking or a sum of absolute errors another distribution is nearer to the truth.

**Empirical Bayes.** The estimates are z_j = theta_j + noise of known variance v_j. The shares theta_j are
read as draws of an unknown law on a grid, geometric near 0; the law that makes the z likeliest is a convex
program (Kiefer, Wolfowitz 1956; Koenker, Mizera 2014), whose maximum is certified: with g the mean over j of
N(z_j; t, v_j) / sum_s w_s N(z_j; s, v_j) at the grid's points t, no law has a mean log-likelihood larger by
more than log max g. The posterior means, scaled to the sum 1, are shown.

**Cut.** Values that are significant together (Bonferroni) stay, the rest is spread evenly over the others.

**Smooth**, for ordered categories: (z - x)' C^-1 (z - x) + s |D x|^2 over the simplex, D the second
differences, with s where Mallows' C_p of the unconstrained fit is least.

The most frequent categories are not better by any of these: :func:`top` takes the unbiased values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.likelihood_tests import most_likely_shares
from mechdesign.collect.estimate import FrequencyEstimate, project_to_simplex
from mechdesign.collect.intervals import normal_quantile
from mechdesign.core.errors import MethodError, ParameterError, counted, suggestion
from mechdesign.core.validation import integer
from mechdesign.core.values import json_object
from mechdesign.data.tidy import Columns, Tidy
from mechdesign.show.tables import table

Array = NDArray[np.float64]

METHODS = ("empirical-bayes", "cut", "smooth")

GRID = 120
"""Points of the prior's grid, besides 0."""

FINEST = 1e-3
"""The smallest point of the grid above 0, in standard errors."""

LEVEL = 0.05
"""Of the values that stay together, in the cut."""

PENALTIES = 60

AT_LEAST = 3
"""Categories for which there is anything to share."""


@dataclass(frozen=True, repr=False)
class ShownShares(Tidy):
    """A distribution for pictures: in the simplex, nearer to the truth in total, biased one by one.

    Attributes
    ----------
    value : (k,) array
        They sum to 1.
    unbiased, standard_error : (k,) array
        The estimate that they were made of.
    categories : tuple of str
    method : {"empirical-bayes", "cut", "smooth"}
    gap : float
        Of the prior: no other one on the grid has a log-likelihood above it by more; 0 for other methods.
    users : int
    question : str
    """

    value: Array
    unbiased: Array
    standard_error: Array
    categories: tuple[str, ...]
    method: str
    gap: float
    users: int
    question: str = ""

    def tidy(self, level: float = 0.95) -> Columns:
        nothing: list[Any] = [None] * len(self.value)
        return {
            "question": [self.question] * len(self.value),
            "category": list(self.categories),
            "estimate": self.unbiased.tolist(),
            "standard_error": self.standard_error.tolist(),
            "low": nothing,
            "high": nothing,
            "shown": self.value.tolist(),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What these shares are not."""
        return (
            "for pictures, rankings and totals: these shares are biased and have no intervals; the estimate "
            "is the unbiased value",
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return json_object({**vars(self), "categories": list(self.categories), "notes": list(self.notes)})

    def __str__(self) -> str:
        rows = [
            [name, f"{share:.5f}", f"{value:.5f}", f"{error:.2g}"]
            for name, share, value, error in zip(
                self.categories, self.value, self.unbiased, self.standard_error, strict=True
            )
        ]
        more = f"\n... and {len(rows) - 60} more" if len(rows) > 60 else ""
        text = table(["category", "shown", "estimate", "std error"], rows[:60])
        return f"{counted(self.users, 'report')}, {self.method}\n{text}{more}\nnote: {self.notes[0]}"

    __repr__ = __str__


def shrunk(estimate: FrequencyEstimate, method: str = "empirical-bayes") -> ShownShares:
    """Return shares that are nearer to the truth together than the estimates are.

    Parameters
    ----------
    estimate : FrequencyEstimate
    method : {"empirical-bayes", "cut", "smooth"}
        Smooth is for ordered categories.

    Examples
    --------
    >>> from mechdesign.families.marginals.oracles import SubsetSelection
    >>> oracle = SubsetSelection.of(100, 1.0, size=26)
    >>> truth = 1 / np.arange(1, 101); truth /= truth.sum()
    >>> answers = np.random.default_rng(1).choice(100, 20_000, p=truth)
    >>> shown = shrunk(oracle.estimate(oracle.randomize(answers, rng=1)))
    >>> projected = project_to_simplex(shown.unbiased)
    >>> bool(((shown.value - truth) ** 2).sum() < 0.8 * ((projected - truth) ** 2).sum())
    True
    """
    if method not in METHODS:
        raise ParameterError("method", f"no method '{method}'", suggestion(method, METHODS))
    value, errors = np.asarray(estimate.value), np.asarray(estimate.standard_error)
    if estimate.users == 0:
        raise MethodError("shrunk", "there are no reports", "count some")
    gap = 0.0
    if len(value) < AT_LEAST:
        shares = project_to_simplex(value)
    elif method == "cut":
        shares = _cut(value, errors)
    elif method == "smooth":
        shares = _smooth(value, _covariance(estimate))
    else:
        shares, gap = _empirical_bayes(value, errors)
    return ShownShares(shares, value, errors, tuple(estimate.categories), method, gap, estimate.users)


@dataclass(frozen=True, repr=False)
class ShownSurvey(Tidy):
    """The shown shares of the questions of a survey; numbers have none."""

    parts: tuple[ShownShares, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What these shares are not."""
        return self.parts[0].notes

    def tidy(self, level: float = 0.95) -> Columns:
        tables = [part.tidy(level) for part in self.parts]
        return {name: [value for one in tables for value in one[name]] for name in tables[0]}

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {part.question: part.as_json() for part in self.parts}

    def __str__(self) -> str:
        return "\n\n".join(f"{part.question}\n{part}" for part in self.parts)

    __repr__ = __str__


def shown_of(result: Any, method: str) -> ShownShares | ShownSurvey:
    """Return the shown shares of what ``estimate`` returned: one question, or the questions of a survey.

    Raises
    ------
    MethodError
        Where it holds no shares of categories.
    """
    if isinstance(result, FrequencyEstimate):
        return shrunk(result, method)
    singles = [
        (one.name, one.estimate)
        for one in getattr(result, "results", ())
        if isinstance(one.estimate, FrequencyEstimate) and one.estimate.users
    ]
    if not singles:
        raise MethodError("shrunk", "this result holds no shares of categories", "omit --shrunk")
    return ShownSurvey(tuple(replace(shrunk(estimate, method), question=name) for name, estimate in singles))


def top(estimate: FrequencyEstimate, number: int = 10) -> list[tuple[str, float, float]]:
    """Return the most frequent categories by their unbiased values: name, estimate, standard error.

    Examples
    --------
    >>> from mechdesign.collect.kary import KaryResponse
    >>> top(KaryResponse.of(3, 9.0, labels=["a", "b", "c"]).estimate(["b"] * 60 + ["a"] * 40), 1)[0][0]
    'b'
    """
    count = integer("number", number, 1)
    order = np.argsort(-estimate.value, kind="stable")[:count].tolist()
    return [
        (estimate.categories[place], float(estimate.value[place]), float(estimate.standard_error[place]))
        for place in order
    ]


def _empirical_bayes(value: Array, errors: Array) -> tuple[Array, float]:
    """Return posterior means under the likeliest prior, scaled to the sum 1, and the prior's gap."""
    typical = float(np.median(errors))
    highest = max(float(value.max()), typical)
    grid = np.concatenate([[0.0], np.geomspace(FINEST * typical, highest, GRID)])
    logs = -0.5 * ((value[:, None] - grid) / errors[:, None]) ** 2
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    prior = most_likely_shares(likelihood)
    weight = likelihood * prior.shares
    means = (weight @ grid) / weight.sum(axis=1)
    total = float(means.sum())
    if total <= 0.0:
        return project_to_simplex(value), prior.gap
    return means / total, prior.gap


def _cut(value: Array, errors: Array) -> Array:
    """Return the significant values, and the rest spread evenly."""
    large = value > normal_quantile(1.0 - LEVEL / len(value)) * errors
    rest = 1.0 - float(value[large].sum())
    if large.all() or rest <= 0.0:
        return project_to_simplex(np.where(large, value, 0.0))
    return np.where(large, value, rest / float((~large).sum()))


def _covariance(estimate: FrequencyEstimate) -> Array:
    """Return the covariance of the estimates; of independent ones where it is not known."""
    if estimate.covariance is not None:
        return np.asarray(estimate.covariance)
    return np.diag(np.asarray(estimate.standard_error) ** 2)


def _smooth(value: Array, covariance: Array) -> Array:
    """Return penalized least squares over the simplex, the penalty by Mallows' C_p."""
    from mechdesign.solvers.least_squares import nonnegative_quadratic

    size = len(value)
    scale = float(np.trace(covariance)) / size
    weight = np.linalg.inv(covariance + 1e-9 * scale * np.eye(size))
    bends = np.diff(np.eye(size), n=2, axis=0)
    curve = bends.T @ bends
    best, least = 0.0, np.inf
    for penalty in np.geomspace(1e-3 / scale, 1e6 / scale, PENALTIES).tolist():
        hat = np.linalg.solve(weight + penalty * curve, weight)
        rest = value - hat @ value
        score = float(rest @ weight @ rest) + 2.0 * float(np.trace(hat))
        if score < least:
            best, least = penalty, score
    heavy = 1e6 * float(np.trace(weight)) / size  # the sum is 1, up to what it is divided by
    hessian = weight + best * curve + heavy
    return _to_sum_one(nonnegative_quadratic(hessian, -(weight @ value) - heavy))


def _to_sum_one(shares: Array) -> Array:
    total = float(shares.sum())
    return shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))
