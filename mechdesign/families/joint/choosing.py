"""How strong a penalty, and towards what: by cross-validation over the users.

Four parts of the users are left out in turn. The others' reports give effects, a reference q (even shares, or
the product of their own shares of single attributes) and, for each lambda, the distribution that minimizes
the quadratic form of the penalized likelihood; it is judged by how far it is from the effects of those who
were left out, in their weights. A reference from all users would leak, and make lambda too large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import in_range
from mechdesign.exact.numbers import number_of_text, shown
from mechdesign.families.joint.likelihood import Likelihood
from mechdesign.families.joint.moments import EffectMoments
from mechdesign.solvers.entropic import entropic_least_squares

Array = NDArray[np.float64]

PENALTIES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
LARGEST = {3.0: 1024}
"""Tables with more cells are not tried with these penalties: what they ask for is slow to find."""

CROSS_VALIDATED = "cross-validated"
LEAST_PENALTY, MOST_PENALTY = 1e-9, 1e9

REFERENCES = ("uniform", "product")
FOLDS = 4

ROUGH = 1e-3
"""Largest distance of compared fits from their minimum, in units of the log-likelihood."""

PATIENCE = 2
"""Smaller penalties are not tried after this many in a row that predict worse."""


@dataclass(frozen=True)
class Choice:
    """A penalty and a reference.

    Attributes
    ----------
    penalty : float
        lambda.
    reference : str
        ``"uniform"`` or ``"product"``, of the estimated shares of single attributes.
    """

    penalty: float
    reference: str


def joint_penalty(given: Any) -> float | None:
    """Return lambda; None for cross-validation, which is the default.

    Examples
    --------
    >>> joint_penalty("10"), joint_penalty("cross-validated")
    (10.0, None)
    """
    if given is None or given == CROSS_VALIDATED:
        return None
    number = number_of_text(given) if isinstance(given, str) else given
    if number is None:
        raise ParameterError(
            "penalty", f"{shown(given)} is neither a number nor '{CROSS_VALIDATED}'", "give one of them"
        )
    return in_range("penalty", number, LEAST_PENALTY, MOST_PENALTY)


def reference_of(moments: EffectMoments, mean: Array, name: str) -> Array:
    """Return the reference of a name, from mean coordinates."""
    if name == "uniform":
        cells = moments.model.cells
        return np.full(cells, 1.0 / cells)
    return moments.reference(mean)


def best_penalty(
    model: Likelihood,
    moments: EffectMoments,
    penalties: Sequence[float] | None = None,
    references: Sequence[str] = REFERENCES,
) -> Choice:
    """Return the penalty and the reference that predict users who were left out best.

    Parameters
    ----------
    model : Likelihood
    moments : EffectMoments
        Those of the model.
    penalties : sequence of float, optional
        Falling.
    references : sequence of str

    Examples
    --------
    >>> model = Likelihood(np.array([[1, 0], [0, 1]]), np.array([600, 400]), [2], 0.75, 0.25)
    >>> best_penalty(model, EffectMoments(model), references=["uniform"]).penalty <= 30.0
    True
    """
    if penalties is None:
        penalties = [each for each in PENALTIES if model.cells <= LARGEST.get(each, model.cells)]
    pairs = [(name, penalty) for name in references for penalty in penalties]
    if len(pairs) == 1 or model.users < FOLDS:
        name, penalty = pairs[0]
        return Choice(penalty, name)
    split = []
    for part in _parts(model.counts):
        rest = model.counts - part
        split.append((moments.mean(rest), moments.mean(part), float(rest.sum()) / model.users))
    scores: dict[tuple[str, float], float] = {}
    for name in references:
        for penalty, score in zip(penalties, _path(model, moments, split, penalties, name), strict=False):
            scores[name, penalty] = score
    name, penalty = min(scores, key=lambda pair: scores[pair])
    return Choice(penalty, name)


def _path(
    model: Likelihood,
    moments: EffectMoments,
    split: Sequence[tuple[Array, Array, float]],
    penalties: Sequence[float],
    name: str,
) -> Iterator[float]:
    """Yield for falling penalties how badly the others predict those left out, until it only gets worse."""
    transform, weights = moments.transform, model.users / moments.variance
    references = [reference_of(moments, others, name) for others, _, _ in split]
    starts: list[Array | None] = [None] * len(split)
    best, worse = math.inf, 0
    for penalty in penalties:
        score = 0.0
        for place, (others, own, share) in enumerate(split):
            fit = entropic_least_squares(
                transform,
                others,
                share * weights,
                references[place],
                penalty,
                starts[place],
                math.sqrt(ROUGH / (2.0 * penalty)),
            )
            starts[place] = fit.multipliers
            miss = transform.forward(fit.shares) - own
            score += (1.0 - share) * float(weights @ miss**2)
        yield score
        worse = worse + 1 if score > best else 0
        best = min(best, score)
        if worse == PATIENCE:
            return


def _parts(counts: Array) -> list[Array]:
    """Return how many users with each report fall into each part, drawn without a look at the reports."""
    users = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    part = np.random.default_rng(0).permutation(np.arange(len(users)) % FOLDS)
    return [
        np.bincount(users[part == fold], minlength=len(counts)).astype(np.float64) for fold in range(FOLDS)
    ]
