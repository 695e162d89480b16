"""The local mechanism for a central guarantee: any problem with an epsilon, solved with the local one.

The epsilon of the problem is read as what the *shuffled* reports have to keep. A local epsilon that is
proven to be enough for any randomizer is where the search begins; the channel that is then found is often
enough with more, as its own bound is smaller, so that the largest local epsilon is sought whose own optimal
mechanism passes. Nothing is assumed about how the optimal mechanisms depend on epsilon: the one that is
returned has passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mechdesign.collect.base import CollectingMechanism, Randomizer
from mechdesign.core.certificate import Certificate, format_figure
from mechdesign.core.errors import CertificateError, MechDesignError, MethodError, ParameterError
from mechdesign.core.fields import fields_of
from mechdesign.core.parameters import replace_parameters
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.core.solve import solve
from mechdesign.core.text import encode
from mechdesign.core.values import changed
from mechdesign.families.shuffle.amplification_bounds import MARGIN, MOST_INPUTS, largest_local
from mechdesign.families.shuffle.judge import bracket
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.shuffled_reports import Shuffled

LARGEST = 40.0
"""Larger local epsilons are not looked at."""

PRECISION = 1e-3
"""To which part of it the local epsilon of a channel of its own is sought: each step solves the problem."""


@dataclass(frozen=True, repr=False)
class ShuffledDesign:
    """A local mechanism for a central guarantee; ``print`` it for the certificates and the gain.

    Attributes
    ----------
    solution : Solution
        Of the problem with the local epsilon.
    unshuffled : Solution
        Of the problem as it was given, the same guarantee without a shuffler; it may be infeasible.
    promise : Promise
        What the shuffled reports keep, of how many users.
    any_epsilon : float
        The local epsilon that is proven to be enough for any randomizer.
    """

    solution: Solution
    unshuffled: Solution
    promise: Promise
    any_epsilon: float
    _mechanism: Shuffled

    @property
    def local_epsilon(self) -> float:
        """The epsilon of a user's own reports."""
        return float(vars(self.solution.problem)["epsilon"])

    def mechanism(self) -> Shuffled:
        """Return the mechanism that runs, with both guarantees."""
        return self._mechanism

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Those of the mechanism, local and central privacy among them, and what the solution adds."""
        certificates = self._mechanism.certificates()
        known = {certificate.property for certificate in certificates}
        return (*certificates, *(item for item in self.solution.certificates if item.property not in known))

    @cached_property
    def gain(self) -> Mapping[str, float]:
        """Gain from the shuffler, in numbers.

        ``local_epsilon``, the problem's ``value`` with the shuffler and ``value_unshuffled`` without; where
        something is estimated, the largest standard error with the promised users, ``error`` and
        ``error_unshuffled``, and the users that would be needed without a shuffler for the same error, as a
        multiple: ``users_ratio``. Without a solution for the local guarantee only the first two.
        """
        figures = {"local_epsilon": self.local_epsilon, "value": self.solution.value}
        if not self.unshuffled.found or self.unshuffled.broken:
            return figures
        figures["value_unshuffled"] = self.unshuffled.value
        with_, without = self._error(self._mechanism), self._error(self.unshuffled.mechanism())
        if with_ is not None and without is not None:
            figures |= {"error": with_, "error_unshuffled": without, "users_ratio": (without / with_) ** 2}
        return figures

    def _error(self, mechanism: CollectingMechanism) -> float | None:
        forecast = mechanism.forecast(self.promise.users)
        return None if forecast is None or not forecast.largest else forecast.largest

    def __repr__(self) -> str:
        return f"ShuffledDesign({self._mechanism!r})"

    def gain_lines(self) -> list[str]:
        """Return the gain in words."""
        texts = {name: format_figure(value) for name, value in self.gain.items()}
        lines = [
            f"local epsilon {texts['local_epsilon']}, of any randomizer {format_figure(self.any_epsilon)}",
            f"value {texts['value']}, without a shuffler {texts.get('value_unshuffled', 'there is none')}",
        ]
        if "error" in texts:
            lines.append(
                f"largest standard error {texts['error']}, without a shuffler {texts['error_unshuffled']}: "
                f"equivalent to {self.gain['users_ratio']:.4g} times as many users"
            )
        return lines

    def __str__(self) -> str:
        head = f"{self.solution.problem.name} by {self.solution.method}, for shuffled reports"
        return "\n  ".join([head, *self.gain_lines(), *map(str, self.certificates)])

    def as_json(self) -> dict[str, Any]:
        """Return the guarantee, the gain and the certificates as plain values."""
        return {
            **self.promise.as_dict(),
            "any_epsilon": self.any_epsilon,
            "gain": encode(dict(self.gain)),
            "certificates": [encode(certificate.as_dict()) for certificate in self.certificates],
        }


def shuffled(
    problem: Problem,
    users: int,
    delta: float,
    honest: float = 1.0,
    method: str | None = None,
    refine: bool = True,
) -> ShuffledDesign:
    """Find the local mechanism for a guarantee that the shuffled reports of all users have to keep.

    Parameters
    ----------
    problem : Problem
        Any problem with an ``epsilon`` whose mechanism all users share: randomized response, channels for
        means, frequency oracles, marginal views. Its epsilon is read as the central one.
    users : int
        How many there are at least, from 2 to 10^9.
    delta : float
        Of the central guarantee.
    honest : float
        In (0, 1]: the fraction of users who follow the protocol, whatever the others do.
    method : str, optional
        The problem's method.
    refine : bool
        Whether to look for a larger local epsilon that the channel's own bound allows; each of some ten
        steps solves the problem.

    Returns
    -------
    ShuffledDesign

    Raises
    ------
    ParameterError
        For a problem without a single epsilon, and for a mechanism that there is no proof for.
    MethodError
        When the problem has no solution with the local epsilon that is proven.

    Notes
    -----
    The guarantee needs a shuffler that is trusted to mix, the promised number of honest reports, and reports
    without identifiers; docs/families/shuffle.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> survey = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.5)
    >>> design = md.shuffled(survey, users=100_000, delta=1e-6)
    >>> round(design.any_epsilon, 2), round(design.local_epsilon, 2), round(design.gain["value"], 4)
    (6.6, 7.0, 0.9991)
    >>> print(design.mechanism().central.property, design.mechanism().central.holds)
    central_privacy True
    """
    promise = Promise(users, _central(problem), delta, honest)
    plain = solve(problem, method)
    any_epsilon = min(largest_local(promise.honest_users, promise.epsilon, promise.delta), LARGEST)
    design = _passing(problem, any_epsilon, promise, method)
    if design is None:
        raise MethodError(problem.name, f"nothing passes at local epsilon {any_epsilon:g}")
    if refine and _has_more(design[1].randomizer):
        design = _refined(problem, any_epsilon, promise, method, design)
    return ShuffledDesign(design[0], plain, promise, any_epsilon, design[1])


Passing = tuple[Solution, Shuffled]


def _central(problem: Problem) -> float:
    """Return the epsilon of the problem."""
    if not isinstance(problem, Problem):
        raise ParameterError(
            "shuffled", f"expected a problem, got {type(problem).__name__}", "of a model take its .problem"
        )
    fields = {field.name for field in fields_of(problem)}
    if "epsilon" not in fields:
        raise ParameterError("shuffled", f"{problem.name} has no epsilon of a user's report to choose")
    if "protocol" in fields:
        raise ParameterError("shuffled", f"{problem.name} is about shuffled messages already", "solve it")
    if getattr(problem, "delta", 0.0):
        raise ParameterError(
            f"shuffled: {problem.name}",
            "its delta is of each report, and the proofs are for 0",
            "omit it and give that of the shuffled reports",
        )
    return float(vars(problem)["epsilon"])


def _solved(problem: Problem, method: str | None) -> Solution:
    solution = solve(problem, method)
    if not solution.found:
        raise MethodError(f"{problem.name}: {solution.status}", solution.message)
    if solution.broken:
        raise MethodError(f"{problem.name}: not built", solution.broken[0])
    return solution


def _passing(problem: Problem, local: float, promise: Promise, method: str | None) -> Passing | None:
    """Return the solution with a local epsilon and its mechanism; None where it does not keep the promise."""
    solution = _solved(replace_parameters(problem, {"epsilon": local}), method)
    stricter = changed(promise, delta=promise.delta * (1.0 - MARGIN))
    mechanism = solution.mechanism()
    try:
        Shuffled(mechanism, stricter)
    except CertificateError:
        return None
    return solution, Shuffled(mechanism, promise)


def _has_more(randomizer: Randomizer) -> bool:
    """Return whether there is a bound of its own for the randomizer."""
    return randomizer.size >= 2 or 2 <= len(randomizer.rows) <= MOST_INPUTS


def _refined(problem: Problem, low: float, promise: Promise, method: str | None, first: Passing) -> Passing:
    """Return the passing solution with the largest local epsilon that bisection finds."""
    passed: dict[float, Passing] = {low: first}

    def enough(local: float) -> bool:
        try:
            passing = passed.get(local) or _passing(problem, local, promise, method)
        except MechDesignError:  # beyond what the problem allows
            return False
        if passing is not None:
            passed[local] = passing
        return passing is not None

    bracket(enough, low, LARGEST, low * 1.02, PRECISION)
    return passed[max(passed)]
