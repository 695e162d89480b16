"""The audit of a mechanism with a density: the largest log density ratio, for the mathematical mechanism.

Statement. For a family of densities f(y | x), epsilon-LDP is log f(y | x) - log f(y | x') <= epsilon for all
x, x' and almost all y. The caller names inputs and outputs at which the supremum is attained, for instance
the two ends of the range for Laplace, or one point in each piece of a piecewise constant density; the
largest ratio over them is then the supremum.

What it is not: a certificate of the program that draws the reports. Floating-point output reveals the
input through the doubles that can occur at all (Mironov, CCS 2012), so a density audit is never exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.finding import PrivacyFinding
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import double_epsilon, finite_array
from mechdesign.core.values import frozen_value

Array = NDArray[np.float64]

OPERATIONS = 32
"""Roundings, at most, behind a log density; each is off by half a unit in the last place."""

COARSE = 2.0**-30
"""A report whose ratio is known no better than this cannot be judged in double precision, and fails."""

LEAK = (
    "for real numbers; reports in floating point leak through their last bits (Mironov 2012), "
    "for an exact guarantee use duchi, discrete-piecewise or grid-mean"
)


@frozen_value(repr=False)
class DensityAudit(PrivacyFinding):
    """Result of the audit of a density; never exact.

    Attributes
    ----------
    proof : Proof
        The guarantee, and the largest log density ratio. It holds where at every report the ratio is at most
        epsilon, up to the rounding of its own evaluation.
    witness : mapping
        ``input``, ``other``, ``report`` that attain it, or that decide.
    rounding : float
        How far rounding may have moved the ratio at the report that decides.
    """

    rounding: float
    note: str = LEAK

    def _note(self) -> str:
        return self.note


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
        It fails where a log density is NaN or plus infinity, where a report is possible for some inputs
        only, and where log densities are so large that their rounding hides the ratio.

    Raises
    ------
    ParameterError
        When epsilon, an input or an output is not a finite number, or the table has another shape.

    Examples
    --------
    >>> def shifted(x, y):
    ...     return -np.abs(y - x) - np.log(2.0)
    >>> audit = audit_density(shifted, np.array([0.0, 1.0]), np.array([-1.0, 0.5, 2.0]), epsilon=1.0)
    >>> audit.holds, round(audit.true_epsilon, 12)
    (True, 1.0)
    """
    wanted = double_epsilon(epsilon)
    values, reports = finite_array("inputs", inputs, 1), finite_array("outputs", outputs, 1)
    table = np.array(log_density(values[:, None], reports[None, :]), dtype=np.float64)
    if table.shape != (len(values), len(reports)):
        raise ParameterError("log_density", f"gave shape {table.shape}, not {(len(values), len(reports))}")
    ratios, roundings = _ratios(table)
    place = int(np.argmax(ratios - roundings))
    column = np.where(np.isnan(table[:, place]), np.inf, table[:, place])
    witness = {
        "input": float(values[int(np.argmax(column))]),
        "other": float(values[int(np.argmin(column))]),
        "report": float(reports[place]),
    }
    largest, allowed = float(ratios.max()), float(ratios[place] - roundings[place])
    pairs = len(values) * (len(values) - 1)
    if math.isinf(largest):
        proof = Proof(Guarantee(wanted), None, pairs=pairs, exact=False)
    else:
        slack = Fraction(largest) - Fraction(allowed)
        proof = Proof(Guarantee(wanted), largest, pairs=pairs, exact=False, rounding=slack)
    return DensityAudit(proof, witness, float(roundings[place]))


def _ratios(table: Array) -> tuple[Array, Array]:
    """Return the largest log ratio of each report and how far rounding may have moved it.

    The rounding of a report is that of its own log densities. A log density of minus infinity for every
    input is a report that is never made, with ratio 0; whatever else is not finite has an infinite ratio.
    """
    highest, lowest = table.max(axis=0), table.min(axis=0)
    never = highest == -np.inf
    sound = np.isfinite(highest) & np.isfinite(lowest)
    highest, lowest = (np.where(sound, edge, 0.0) for edge in (highest, lowest))
    size = np.maximum(1.0, np.maximum(np.abs(highest), np.abs(lowest)))
    roundings = OPERATIONS * float(np.finfo(np.float64).eps) * size
    sound &= roundings <= COARSE
    ratios = np.where(sound, highest - lowest, np.where(never, 0.0, np.inf))
    return ratios, np.where(sound, roundings, 0.0)
