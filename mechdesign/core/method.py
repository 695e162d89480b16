"""The noun *method*: a named algorithm for one class of problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs

from mechdesign.core.problem import Problem
from mechdesign.core.values import frozen_value

if TYPE_CHECKING:
    from mechdesign.core.prices import PricedSolution

Kind = Literal["analytic", "numeric", "heuristic", "published"]
Status = Literal["optimal", "feasible", "infeasible", "unbounded", "failed"]


@frozen_value()
class Outcome:
    """Result of a method; :func:`mechdesign.solve` turns it into a checked Solution.

    Parameters
    ----------
    status : str
        ``"optimal"``, ``"feasible"`` (no optimality claimed), ``"infeasible"``, ``"unbounded"`` or
        ``"failed"``. Without a bound that proves it, ``"optimal"`` becomes ``"feasible"``.
    variables : mapping
        The problem's variables by their stable names; empty when there is no solution.
    bound : float or None
        A proven bound on the optimum: an upper one when maximising, a lower one when minimising.
    bound_source : str
        How the bound is proven, in a few words.
    solver : str
        Name of the solver or ``"closed form"``.
    message : str
        For ``infeasible``, ``unbounded`` and ``failed``: the reason, and what would help.
    notes : mapping
        Further figures, for instance the utility given up by a repair.
    realisation : object, optional
        An exact or structured form of the variables that the mechanism is built from instead of them.
    prices : PricedSolution, optional
        The multipliers that prove the bound, for :attr:`Solution.sensitivity`.
    scope : str
        Where it depends on the problem that a method chooses from another class; see :class:`Method`.
    """

    status: Status
    variables: Mapping[str, Any] = attrs.field(factory=dict)
    bound: float | None = None
    bound_source: str = ""
    solver: str = ""
    message: str = ""
    notes: Mapping[str, Any] = attrs.field(factory=dict)
    realisation: Any = None
    prices: PricedSolution | None = None
    scope: str = ""


@frozen_value()
class Method:
    """A named algorithm for one class of problems.

    Parameters
    ----------
    name : str
        Stable name, used by ``solve(problem, method=name)`` and on the command line.
    problem : type
        The class of problems it solves.
    kind : {"analytic", "numeric", "heuristic", "published"}
        ``published`` reproduces a printed formula that is not right; it is never chosen by default
        and never counts when methods are compared for agreement.
    summary : str
        One line for listings.
    run : callable
        ``run(problem, **options) -> Outcome``.
    why_not : callable
        ``why_not(problem)`` is None where the method applies, else one sentence that says why it does not.
    defers : callable
        ``defers(problem)`` is whether it is not the default, although it applies, as long as another method
        does: where those after it find more in about the same time.
    scope : str
        For a method that chooses from another class of mechanisms than the one that the bounds of the
        problem's methods are for: which. Its value is shown beside theirs and not judged by their bounds.
    """

    name: str
    problem: type[Problem]
    kind: Kind
    summary: str
    run: Callable[..., Outcome]
    why_not: Callable[[Any], str | None] = lambda problem: None
    scope: str = ""
    defers: Callable[[Any], bool] = lambda problem: False
