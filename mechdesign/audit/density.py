"""The audit of a mechanism with a density: the largest log density ratio, for the mathematical mechanism.

Statement. For a family of densities f(y | x), epsilon-LDP is log f(y | x) - log f(y | x') <= epsilon for all
x, x' and almost all y. The caller names inputs and outputs at which the supremum is attained, for instance
the two ends of the range for Laplace, or one point in each piece of a piecewise constant density; the
largest ratio over them is then the supremum.

What it is not: a certificate of the program that draws the reports. Floating-point output reveals the
input through the doubles that can occur at all (Mironov, CCS 2012), so a density audit is never exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate

Array = NDArray[np.float64]

OPERATIONS = 32
"""Roundings, at most, behind a log density; each is off by half a unit in the last place."""

LEAK = (
    "for real numbers; reports in floating point leak through their last bits (Mironov 2012), "
    "for an exact guarantee use duchi, discrete-piecewise or grid-mean"
)


@dataclass(frozen=True)
class DensityAudit:
    """What the audit of a density found.

    Attributes
    ----------
    epsilon : float
        The wanted epsilon.
    true_epsilon : float
        The largest log density ratio found.
    rounding : float
        How far rounding may have moved it.
    witness : mapping
        ``input``, ``other``, ``report`` that attain it.
    """

    epsilon: float
    true_epsilon: float
    rounding: float
    witness: Mapping[str, Any]

    @property
    def holds(self) -> bool:
        """Whether the ratio is at most epsilon, up to the rounding of its own evaluation."""
        return self.true_epsilon <= self.epsilon + self.rounding

    def certificate(self, note: str = LEAK) -> Certificate:
        """Return the audit as a certificate of the property ``privacy`` that is not exact."""
        figures = {"epsilon": self.epsilon, "true_epsilon": self.true_epsilon}
        return Certificate("privacy", self.holds, False, figures, self.witness, note)

    def __str__(self) -> str:
        return str(self.certificate())


def audit_density(
    log_density: Callable[[Array, Array], Array], inputs: Array, outputs: Array, epsilon: float
) -> DensityAudit:
    """Return the largest log density ratio over the given inputs and outputs.

    Parameters
    ----------
    log_density : callable
        ``log_density(x, y)`` with x of shape (n, 1) and y of shape (1, k) gives an (n, k) array; minus
        infinity where a report is impossible. Atoms may be mixed in, with their log probability.
    inputs, outputs : array
        Where the supremum is attained.
    epsilon : float
        What is wanted.

    Returns
    -------
    DensityAudit

    Examples
    --------
    >>> def shifted(x, y):
    ...     return -np.abs(y - x) - np.log(2.0)
    >>> audit = audit_density(shifted, np.array([0.0, 1.0]), np.array([-1.0, 0.5, 2.0]), epsilon=1.0)
    >>> audit.holds, round(audit.true_epsilon, 12)
    (True, 1.0)
    """
    table = log_density(np.asarray(inputs)[:, None], np.asarray(outputs)[None, :])
    highest, lowest = table.max(axis=0), table.min(axis=0)
    possible = np.isfinite(highest)
    ratios = np.where(possible, highest - np.where(possible, lowest, 0.0), 0.0)
    place = int(np.argmax(ratios))
    witness = {
        "input": float(inputs[int(np.argmax(table[:, place]))]),
        "other": float(inputs[int(np.argmin(table[:, place]))]),
        "report": float(outputs[place]),
    }
    size = max(1.0, float(np.abs(table[np.isfinite(table)]).max(initial=0.0)), abs(epsilon))
    rounding = OPERATIONS * float(np.finfo(np.float64).eps) * size
    return DensityAudit(epsilon, float(ratios[place]), rounding, witness)
