"""Least squares with a private covariate: moments of pairs of scores, never an attenuated coefficient.

A covariate that was randomized must not be put into a regression as it was reported: coefficients would
shrink towards 0. But the moments of least squares are averages, and averages are unbiased. Let x be the
private covariate, of categories j, D_ij the row of the design matrix of report i if x = j, y the outcome:

    A = E sum_j 1[x = j] D_ij D_ij', b = E sum_j 1[x = j] D_ij y

The mean of s_ij D_ij D_ij' over reports is A without bias, s the scores of x. Where y is public, s_ij D_ij y
has the mean b; where it is private, the scores of the *pair* of answers are taken. Coefficients are A^-1 b:
their influences are A^-1 (b_i - A_i beta), whose squares are the sandwich. Any formula serves, interactions
of x with public columns too, since D is made for each category in turn. (Van den Hout, Kooiman 2006, for the
likelihood of the same model with a normal y.)

A *number* is no covariate: its least squares need E[x^2], which no mechanism of a mean estimates. Ask for it
in bins. A category whose share is within two standard errors of 0 has no coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.regression import Regression, few_notes, influence_spread
from mechdesign.analysis.report_scores import ReportScores
from mechdesign.analysis.student import StudentLimits
from mechdesign.core.errors import EstimationError, counted

Array = NDArray[np.float64]

CLEAR = 2.0
"""Standard errors from 0 below which a category's share has no coefficient."""


@dataclass(frozen=True, eq=False)
class PrivateDesign:
    """The design matrices of a formula with a private covariate, one for each of its categories.

    Attributes
    ----------
    scores : ReportScores
        Of the private covariate.
    matrices : (k, n, p) array
        The design matrix if everybody had this category.
    names : tuple of str
        Of the columns.
    weights : (n,) array or None
    clusters : (n,) int array or None
    """

    scores: ReportScores
    matrices: Array
    names: tuple[str, ...]
    weights: Array | None = None
    clusters: NDArray[np.int64] | None = None


def fit_private(design: PrivateDesign, products: Array, informative: Array, outcome: str) -> Regression:
    """Return the least squares of an outcome on columns of which one is private.

    Parameters
    ----------
    design : PrivateDesign
    products : (n, k) array
        For each category of the private covariate a number with the mean 1[x = j] y.
    informative : (n,) array
        Weights of these numbers: 0 where a report says nothing about them.
    outcome : str
        What is explained.
    """
    scores, matrices = design.scores, design.matrices
    if scores.likelihood is None or scores.has_mean:
        raise EstimationError(
            "formula",
            f"'{scores.question}' is a private number, whose square no report tells",
            "ask for it in bins, as an ordered question",
        )
    _require_shares(scores)
    own = np.ones(len(scores)) if design.weights is None else design.weights
    first, second = own * scores.information, own * informative
    users = int((second > 0.0).sum())
    size = matrices.shape[2]
    if users <= size:
        raise EstimationError(
            "formula",
            f"{counted(users, 'report')} about both answers for {counted(size, 'column')}",
            "use a survey that asks both of the same people",
        )
    first, second = first / first.sum(), second / second.sum()
    square = np.einsum("nk,kni,knj,n->ij", scores.values, matrices, matrices, first, optimize=True)
    known = np.einsum("nk,kni->ni", products, matrices)
    inverse = _inverse(square, design)
    value = inverse @ (second @ known)
    fitted = matrices @ value  # (k, n)
    pulls = np.einsum("nk,kni,kn->ni", scores.values, matrices, fitted, optimize=True)
    influence = second[:, None] * (known - second @ known) - first[:, None] * (pulls - first @ pulls)
    covariance = inverse @ influence_spread(influence, design.clusters) @ inverse.T
    errors = np.sqrt(np.diag(covariance))
    parts = users if design.clusters is None else int(design.clusters.max()) + 1
    return Regression(
        value,
        errors,
        users,
        design.names,
        "linear",
        outcome,
        covariance,
        size,
        limits=StudentLimits(errors, float(max(1, parts - size))),
        notes=(
            f"'{scores.question}' is private: from unbiased moments of its scores, not attenuated",
            *few_notes(users),
        ),
    )


def _require_shares(scores: ReportScores) -> None:
    """Raise EstimationError where a category is so rare that nothing can be said about it."""
    weight = scores.information / scores.information.sum()
    shares = weight @ scores.values
    errors = np.sqrt(weight**2 @ (scores.values - shares) ** 2)
    rare = shares <= CLEAR * errors
    if rare.any():
        place = int(np.argmax(rare))
        raise EstimationError(
            "formula",
            f"{scores.question} = {scores.names[place]}: its share {shares[place]:.2g} is within "
            f"{CLEAR:g} standard errors of 0",
            "join it with another category, or collect more",
        )


def _inverse(square: Array, design: PrivateDesign) -> Array:
    """Return the inverse of the matrix of moments; refuse one that is not clearly definite.

    Its smallest eigenvalue, of columns scaled to 1, has to be above its own noise.
    """
    scale = np.sqrt(np.maximum(np.diag(square), 1e-300))
    scaled = square / np.outer(scale, scale)
    sizes, directions = np.linalg.eigh(scaled)
    along = design.matrices / scale @ directions[:, 0]  # (k, n)
    weight = design.scores.information / design.scores.information.sum()
    noise = float(np.sqrt(weight**2 @ ((design.scores.values * along.T**2).sum(axis=1) - sizes[0]) ** 2))
    if sizes[0] <= CLEAR * noise or sizes[0] < 1e-10:
        parts = [name for name, part in zip(design.names, directions[:, 0], strict=True) if abs(part) > 0.1]
        raise EstimationError(
            "formula",
            f"the columns {', '.join(parts)} cannot be told apart by these reports",
            "use fewer columns, or collect more",
        )
    return np.asarray(np.linalg.inv(square))
