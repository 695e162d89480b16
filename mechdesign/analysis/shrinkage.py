"""The distribution that one shows: shares nearer to the truth together, and biased one by one.

The unbiased estimate stays the estimate, with its intervals. With many categories most of its values are
noise: for a picture, a ranking or a sum of absolute errors another distribution is nearer to the truth.

**Empirical Bayes.** The estimates are z_j = theta_j + noise of known variance v_j. The shares theta_j are
read as draws of an unknown law on a grid, geometric near 0; the law that makes the z likeliest is a convex
program (Kiefer, Wolfowitz 1956; Koenker, Mizera 2014), whose maximum is certified: with g the mean over j of
N(z_j; t, v_j) / sum_s w_s N(z_j; s, v_j) at the grid's points t, no law has a mean log-likelihood larger by
more than log max g. The posterior means are shown under this law tilted by exp(-t theta), with the t for
which they have the sum 1: shares are known to have it, and the likeliest law alone does not know.

**Cut.** Values that are significant together (Bonferroni) stay, the rest is spread evenly over the others.

**Average**, the default: a of the first and 1 - a of the second, a = k/40 and at most one half. The squared
error of an average is at most the average of both, and less the more they err in different ways: the first
errs by taking a large value for noise, the second by taking a middling one for nothing. Of few categories no
law can be learned, hence a.

**Smooth**, for ordered categories: x_j = exp(g_j) / sum_i exp(g_i), g normal with precision s D'D, D the
differences of first, second or third order, and z normal around x with the known covariance C. Of every order
and strength s the likeliest g is taken, and these distributions are averaged, each with the weight of its
evidence (Laplace's integral over g; Leonard 1978, Kass and Raftery 1995). Third differences draw the fit to a
bell, second ones to an exponential law, first ones to an even one: where reports are few, the noise does not
decide the shape. Polynomials that D does not see have the standard deviation 8 over half the range, a factor
e^8, so that evidences of different orders can be compared. The likeliest g is found by Gauss and Newton from
the strongest prior on; the function is not concave, so that it is a local maximum.

The most frequent categories are not better by any of these: :func:`top` takes the unbiased values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.likelihood_tests import most_likely_shares
from mechdesign.analysis.regression import few_notes
from mechdesign.collect.estimate import FrequencyEstimate, project_to_simplex
from mechdesign.collect.intervals import normal_quantile
from mechdesign.core.errors import MethodError, ParameterError, counted, suggestion
from mechdesign.core.validation import integer
from mechdesign.core.values import json_object
from mechdesign.data.tidy import Columns, Tidy
from mechdesign.families.workload.estimate import QueryEstimate
from mechdesign.show.figure import Bars, Figure, Panel
from mechdesign.show.panels import SHARE, axis_names, interval_figures
from mechdesign.show.tables import table

Array = NDArray[np.float64]

METHODS = ("average", "empirical-bayes", "cut", "smooth")

MANY = 20
"""Categories from which on the average takes one half of empirical Bayes."""

STEEPEST, TILTS = 50.0, 45
"""The tilt of the prior, in standard errors, and the halvings in which it is searched for."""

GRID = 120
"""Points of the prior's grid, besides 0."""

FINEST = 1e-3
"""The smallest point of the grid above 0, in standard errors."""

LEVEL = 0.05
"""Of the values that stay together, in the cut."""

ORDERS = {1: (0.1, 2e-4, 2e2), 2: (1.0, 7e-6, 7.0), 3: (1.0, 4e-7, 0.4)}
"""Of differences: the weight before, the weakest and the strongest prior."""

STRENGTHS = 16
"""Of the prior, for each order."""

WIDE, LEVEL_PRECISION = 8.0, 1e-6
"""Standard deviation of the polynomials without roughness, and the precision of a constant."""

CURVES = 96
"""The most that log shares are made of: of many bins the smoothest."""

STEPS, LONGEST = 60, 3.0
"""Newton's steps, and the largest change of a log share in one of them."""

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
    method : {"average", "empirical-bayes", "cut", "smooth"}
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
            "note": ["; ".join(self.notes)] * len(self.value),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What these shares are not."""
        return (
            "for pictures, rankings and totals: these shares are biased and have no intervals; the estimate "
            "is the unbiased value",
            *few_notes(self.users),
        )

    def figures(self) -> list[Figure]:
        """Return the shown shares next to the unbiased estimates with their intervals."""
        ends = (self.unbiased - 1.96 * self.standard_error, self.unbiased + 1.96 * self.standard_error)
        lead = f"{self.question}: " if self.question else ""
        unbiased = interval_figures(
            f"{lead}unbiased estimates", self.categories, self.unbiased, ends, "category", "share",
            possible=SHARE,
        )  # fmt: skip
        places = np.arange(len(self.value))
        bars = Panel(
            "category",
            "share",
            [Bars(x=places, y=self.value, label="shown share")],
            x_names=axis_names(self.categories),
        )
        caption = f"Bars are shares for pictures ({self.method}): biased one by one, without intervals."
        return [Figure(f"{lead}shown shares", [bars], caption), *unbiased]

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
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return f"{counted(self.users, 'report')}, {self.method}\n{text}{more}{notes}"

    __repr__ = __str__


def shrunk(estimate: FrequencyEstimate | QueryEstimate, method: str | None = None) -> ShownShares:
    """Return shares that are nearer to the truth together than the estimates are.

    Parameters
    ----------
    estimate : FrequencyEstimate or QueryEstimate
        The second holds the shares of the bins of a number.
    method : {"average", "empirical-bayes", "cut", "smooth"}, optional
        Smooth is for ordered categories; it is the default for bins, and the average for answers.

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
    chosen = method or ("smooth" if isinstance(estimate, QueryEstimate) else "average")
    if chosen not in METHODS:
        raise ParameterError("method", f"no method '{chosen}'", suggestion(chosen, METHODS))
    if estimate.users == 0:
        raise MethodError("shrunk", "there are no reports", "count some")
    value, covariance, names = _shares_of(estimate)
    errors = np.sqrt(covariance if covariance.ndim == 1 else np.diag(covariance))
    gap = 0.0
    if len(value) < AT_LEAST:
        shares = project_to_simplex(value)
    elif chosen == "cut":
        shares = _cut(value, errors)
    elif chosen == "smooth":
        shares = _smooth(value, covariance if covariance.ndim == 2 else np.diag(covariance))
    else:
        shares, gap = _empirical_bayes(value, errors)
    if chosen == "average" and len(value) >= AT_LEAST:
        part = 0.5 * min(1.0, len(value) / MANY)
        shares = part * shares + (1.0 - part) * _cut(value, errors)
    return ShownShares(shares, value, errors, names, chosen, gap, estimate.users)


def _shares_of(estimate: FrequencyEstimate | QueryEstimate) -> tuple[Array, Array, tuple[str, ...]]:
    """Return unbiased shares, their covariance or their variances alone, and names."""
    if isinstance(estimate, QueryEstimate):
        names = tuple(map(str, estimate.mechanism.labels.shown()))
        return np.asarray(estimate.shares), estimate.share_covariance(), names
    errors = np.asarray(estimate.standard_error)
    covariance = errors**2 if estimate.covariance is None else np.asarray(estimate.covariance)
    return np.asarray(estimate.value), covariance, tuple(estimate.categories)


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

    def figures(self) -> list[Figure]:
        """Return the pictures of all questions."""
        return [figure for part in self.parts for figure in part.figures()]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {part.question: part.as_json() for part in self.parts}

    def __str__(self) -> str:
        return "\n\n".join(f"{part.question}\n{part}" for part in self.parts)

    __repr__ = __str__


def shown_of(result: Any, method: str | None = None) -> ShownShares | ShownSurvey:
    """Return the shown shares of what ``estimate`` returned: one question, or the questions of a survey.

    Raises
    ------
    MethodError
        Where it holds no shares of categories.
    """
    if isinstance(result, (FrequencyEstimate, QueryEstimate)):
        return shrunk(result, method)
    singles = [
        (one.name, one.estimate)
        for one in getattr(result, "results", ())
        if isinstance(one.estimate, (FrequencyEstimate, QueryEstimate)) and one.estimate.users
    ]
    if not singles:
        raise MethodError("shrunk", "this result holds no shares of categories", "omit --shrunk")
    return ShownSurvey(tuple(replace(shrunk(estimate, method), question=name) for name, estimate in singles))


def top(estimate: FrequencyEstimate, number: int = 10) -> list[tuple[str, float, float]]:
    """Return the most frequent categories by their unbiased values: name, estimate, standard error.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
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
    return _tilted(logs, prior.shares, grid, typical), prior.gap


def _tilted(logs: Array, prior: Array, grid: Array, typical: float) -> Array:
    """Return the posterior means under the prior times exp(-t theta), the t for which their sum is 1.

    The means fall with t: their derivatives are minus the posterior variances. Weights are compared row by
    row by their logarithms: far from 0 all of them would be 0 in doubles.
    """
    inside = prior > 0.0
    places, base = grid[inside], logs[:, inside] + np.log(prior[inside])
    low, high = -STEEPEST, STEEPEST
    means = places[:1]
    for _ in range(TILTS):
        tilt = (low + high) / 2.0
        moved = base - tilt * places / typical
        weight = np.exp(moved - moved.max(axis=1, keepdims=True))
        means = (weight @ places) / weight.sum(axis=1)
        low, high = (tilt, high) if float(means.sum()) > 1.0 else (low, tilt)
    return _to_sum_one(means)


def _cut(value: Array, errors: Array) -> Array:
    """Return the significant values, and the rest spread evenly."""
    large = value > normal_quantile(1.0 - LEVEL / len(value)) * errors
    rest = 1.0 - float(value[large].sum())
    if large.all() or rest <= 0.0:
        return project_to_simplex(np.where(large, value, 0.0))
    return np.where(large, value, rest / float((~large).sum()))


def _smooth(value: Array, covariance: Array) -> Array:
    """Return the average of the smooth distributions of all orders and strengths, by their evidence."""
    size = len(value)
    scale = float(np.trace(covariance)) / size
    # The sum is 1 in any case: how exactly it is known does not matter.
    known = covariance + scale * np.full((size, size), 1.0 / size) + 1e-9 * scale * np.eye(size)
    weight = np.asarray(np.linalg.inv(known), dtype=np.float64)
    evidences: list[float] = []
    fits: list[Array] = []
    for order, (before, weakest, strongest) in ORDERS.items():
        if order >= size:
            continue
        rough, straight = _roughness(size, order)
        basis = _smoothest(rough)
        rough, straight = basis.T @ rough @ basis, basis.T @ straight @ basis
        logs: Array = np.zeros(basis.shape[1])
        for strength in np.geomspace(strongest, weakest, STRENGTHS).tolist():
            precision: Array = strength * rough + straight
            logs, evidence = _likeliest(value, weight, precision, basis, logs)
            evidences.append(evidence + float(np.log(before)))
            fits.append(_softmax(basis @ logs))
    weights = np.exp(np.array(evidences) - max(evidences))
    shares: Array = weights @ np.array(fits) / weights.sum()
    return shares


def _roughness(size: int, order: int) -> tuple[Array, Array]:
    """Return the roughness of log shares as a form, and the precision of the polynomials without any.

    The roughness is the integral of the squared derivative over [0, 1]: it means the same for any bins.
    """
    bends = np.diff(np.eye(size), n=order, axis=0)
    powers, _ = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, size), order, increasing=True))
    wide = powers[:, 1:] @ powers[:, 1:].T / (WIDE**2 * size / 3.0)
    level = LEVEL_PRECISION * np.full((size, size), 1.0 / size)  # a constant changes no share
    return float(size) ** (2 * order - 1) * (bends.T @ bends), wide + level


def _smoothest(rough: Array) -> Array:
    """Return the curves with the least roughness as columns: all of them for few bins."""
    size = len(rough)
    return np.eye(size) if size <= CURVES else np.asarray(np.linalg.eigh(rough)[1][:, :CURVES])


def _likeliest(
    value: Array, weight: Array, precision: Array, basis: Array, start: Array
) -> tuple[Array, float]:
    """Return coefficients of a locally greatest posterior density, and Laplace's log evidence."""

    def loss(place: Array) -> float:
        rest = value - _softmax(basis @ place)
        return float(rest @ weight @ rest + place @ precision @ place) / 2.0

    place, least = start, loss(start)
    for _ in range(STEPS):
        slope, hessian = _slope(value, weight, precision, basis, place)
        step = -np.linalg.solve(hessian, slope)
        length = min(1.0, LONGEST / max(float(np.abs(basis @ step).max()), 1e-300))
        while loss(place + length * step) > least + 1e-4 * length * float(slope @ step) and length > 1e-8:
            length /= 2.0
        before, place = least, place + length * step
        least = loss(place)
        if before - least < 1e-9 * (1.0 + abs(least)):
            break
    hessian = _slope(value, weight, precision, basis, place)[1]
    volume = np.linalg.slogdet(precision)[1] - np.linalg.slogdet(hessian)[1]
    return place, float(volume) / 2.0 - least


def _slope(value: Array, weight: Array, precision: Array, basis: Array, place: Array) -> tuple[Array, Array]:
    """Return the gradient of the loss and its Hessian without the curvature of the shares themselves."""
    shares = _softmax(basis @ place)
    change = shares[:, None] * (basis - shares @ basis)
    slope = precision @ place - change.T @ (weight @ (value - shares))
    return slope, change.T @ weight @ change + precision


def _softmax(logs: Array) -> Array:
    powers = np.exp(logs - logs.max())
    shares: Array = powers / powers.sum()
    return shares


def _to_sum_one(shares: Array) -> Array:
    total = float(shares.sum())
    return shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))
