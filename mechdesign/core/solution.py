"""The noun *solution*: the outcome of a method, with value and residuals recomputed by the problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic

import attrs

from mechdesign.core.certificate import OPTIMALITY, Certificate, format_figure
from mechdesign.core.errors import CertificateError, MechDesignError, MethodError, printable
from mechdesign.core.extensions import extensions
from mechdesign.core.problem import Kind, Problem, Status, companion
from mechdesign.core.values import (
    Forecast,
    MechanismT_co,
    Outlook,
    TextInNotebooks,
    changed,
    encode,
    frozen_value,
)

if TYPE_CHECKING:
    from mechdesign.solvers.sensitivity import PricedSolution, Sensitivity

NEAR = 0.01
"""A part of the value: what is further from a proven bound is said when a mechanism is built."""


class Quantities(Mapping[str, Any]):
    """Named numbers of a solution; one that is a ``functools.partial`` is computed once, when it is read.

    ``others`` computes further ones whose names only the computation tells, where a name is not among these.
    >>> Quantities({"short": 1.0, "long": partial(math.hypot, 3.0, 4.0)})["long"]
    5.0
    """

    def __init__(self, entries: Mapping[str, Any], others: Callable[[], Any] | None = None) -> None:
        self._entries, self._others = dict(entries), others

    def __getitem__(self, name: str) -> Any:
        entry = (self._entries if name in self._entries else self._all())[name]
        if isinstance(entry, partial):
            entry = self._entries[name] = entry()
        return entry

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Any]:
        if self._others is not None:
            self._entries.update(self._others())
            self._others = None
        return self._entries


@frozen_value(repr=False)
class Solution(TextInNotebooks, Generic[MechanismT_co]):
    """The checked result of one method on one problem.

    ``value`` and ``residuals`` are computed by the problem from ``variables``, never taken from a
    solver. ``bound`` is proven by the method (an upper bound when maximising). A solution cannot be made that
    is ``optimal`` without a bound and how it is proven.

    Attributes
    ----------
    problem : Problem
    method : str
    kind : str
        ``analytic``, ``numeric``, ``heuristic`` or ``published``.
    status : str
        ``optimal``, ``feasible``, ``infeasible``, ``unbounded`` or ``failed``.
    value : float
        NaN where there is no solution.
    bound : float or None
    variables, residuals, notes : mapping
    seconds : float
        Wall-clock time of the method.
    solver, bound_source, message : str
    realisation : object
        What the mechanism is built from where the method knows more than the variables say.
    scope : str
        See :class:`~mechdesign.core.problem.Method`; empty for the class that the bounds are for.
    prices : PricedSolution, optional
        The multipliers that prove the bound.
    again : callable, optional
        The same method with the same options, for another problem.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.RandomizedResponse(prior=[0.2, 0.8], epsilon=0.1, delta=0.15))
    >>> print(round(solution.value, 12), solution.status)
    0.83 optimal
    """

    problem: Problem[MechanismT_co]
    method: str
    kind: Kind
    status: Status
    value: float
    bound: float | None
    variables: Mapping[str, Any]
    residuals: Mapping[str, float]
    seconds: float
    solver: str = ""
    bound_source: str = ""
    message: str = ""
    notes: Mapping[str, Any] = attrs.field(factory=dict)
    realisation: Any = None
    scope: str = ""
    prices: PricedSolution | None = None
    again: Callable[[Problem[Any]], Any] | None = None

    def __attrs_post_init__(self) -> None:
        if self.status == "optimal" and not (self.bound_source and math.isfinite(self.gap)):
            raise MethodError(
                self.problem.name,
                f"method '{self.method}' says 'optimal' without a proven bound",
                "give the bound and how it is proven, or the status 'feasible'",
            )

    @property
    def found(self) -> bool:
        """Whether there are variables to look at."""
        return self.status in ("optimal", "feasible")

    @property
    def gap(self) -> float:
        """Distance of the value from the proven bound; infinite where there is no bound."""
        if self.bound is None or not self.found:
            return math.inf
        return abs(self.value - self.bound)

    @property
    def claims_optimality(self) -> bool:
        """Whether the method says that nothing better exists: status ``optimal``, and no heuristic."""
        return self.status == "optimal" and self.kind != "heuristic"

    @cached_property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificates of the problem for these variables; empty where nothing was found.

        Optimality is among them where the method claims it or where a bound happens to prove it. A method
        that claims none has nothing to fail there; ``compare`` judges it by the bounds of the others.
        Each says among which mechanisms it is an optimum; it does not hold where the problem does not say.
        """
        certificates = self.problem.certificates(self) if self.found else ()
        scoped = [self._scoped(item) if item.property == OPTIMALITY else item for item in certificates]
        return tuple(
            item for item in scoped if item.holds or item.property != OPTIMALITY or self.claims_optimality
        )

    def _scoped(self, item: Certificate) -> Certificate:
        among = item.among or self.problem.among()
        if among:
            return changed(item, among=among)
        return changed(item, holds=False, note=f"{self.problem.name} names no set of mechanisms")

    @property
    def broken(self) -> tuple[Certificate, ...]:
        """The certificates that fail: no mechanism is built from a solution that breaks one.

        Examples
        --------
        >>> import mechdesign as md
        >>> problem = md.PrivacyContract(types=[1, 2, 2.1], counts=[100, 1, 100], budget=1000)
        >>> md.solve(problem).broken
        ()
        >>> [certificate.property for certificate in md.solve(problem, method="published").broken]
        ['incentive_compatibility', 'monotonicity']
        """
        return tuple(certificate for certificate in self.certificates if not certificate.holds)

    @cached_property
    def quantities(self) -> Mapping[str, Any]:
        """Further named numbers that claims may refer to, from ``quantities.py`` next to the problem.

        What takes long is computed when it is read (:class:`Quantities`).
        """
        function = companion(type(self.problem), "quantities")
        return function(self.problem, self) if self.found and function is not None else {}

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Worth of the parameters and binding constraints; of an infeasible problem, the conflicting ones.

        The slopes come from the multipliers that prove the bound, and are checked by solving again nearby.

        Examples
        --------
        >>> import mechdesign as md
        >>> solution = md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0), method="lp")
        >>> print(solution.sensitivity["epsilon"])
        epsilon = 1: raising epsilon by 0.1 raises the expected utility by 0.0157
        """
        (module,) = extensions("sensitivity")
        result: Sensitivity = import_module(module).sensitivity(self)
        return result

    def forecast(self, users: int | None = None) -> Forecast | None:
        """Return the expected standard error with this many users; None where nothing is to be estimated.

        None as well for variables that make no mechanism, as some published ones do. By default for the users
        that the problem plans with; where it does not say, the mechanism does.
        """
        if not self.found:
            return None
        users = self.problem.planned_users if users is None else users
        try:
            mechanism: Any = self.mechanism()
        except MechDesignError:
            return None
        try:
            result: Forecast | None = mechanism.forecast() if users is None else mechanism.forecast(users)
        except (CertificateError, MethodError):
            return None
        return result

    def outlook(self, users: int | None = None) -> Outlook | None:
        """Return the forecast before anything is collected, from ``outlook.py`` next to the problem.

        None where the problem has no more to say than :meth:`forecast`. By default for the planned users.

        Raises
        ------
        ParameterError
            Where the reports would tell too little; the remedy names what would help.
        """
        function = companion(type(self.problem), "outlook")
        if function is None or not self.found:
            return None
        result: Outlook = function(self.problem, self, users)
        return result

    def mechanism(self) -> MechanismT_co:
        """Return the mechanism that runs: repaired if necessary, audited, or refused; built once.

        Raises
        ------
        MethodError
            When the status is not ``optimal`` or ``feasible``.
        CertificateError
            When the audit of the mechanism fails.
        """
        if not self.found:
            raise MethodError(
                self.problem.name, f"no mechanism from a solution that is {self.status}: {self.message}"
            )
        built = self._mechanism
        return copy(built) if getattr(built, "moving", ()) else built  # each copy has a state of its own

    @cached_property
    def _mechanism(self) -> MechanismT_co:
        """The mechanism, built once: repairs and audits take their time."""
        return self.problem.mechanism(self)

    def __repr__(self) -> str:
        head = f"Solution({self.problem.name} by {self.method}: {self.status}"
        if not self.found:
            return f"{head}, {self.message})"
        bound = "" if self.bound is None else f", bound {format_figure(self.bound)}"
        return f"{head}, value {format_figure(self.value)}{bound})"

    def __str__(self) -> str:
        head = f"{self.problem.name} by {self.method} ({self.kind}): {self.status}"
        if not self.found:
            return f"{head}; {printable(self.message)}"
        lines = [f"{head}, value {format_figure(self.value)}{self._value_name}{self._distance}"]
        if self.bound is not None:
            lines.append(f"  bound {format_figure(self.bound)} ({self.bound_source}), gap {self.gap:.3g}")
        lines += [f"  {certificate}" for certificate in self.certificates]
        if not self.claims_optimality and not any(item.property == OPTIMALITY for item in self.certificates):
            lines.append("  optimality: not claimed by this method")
        lines += [printable(f"  note: {key} = {format_figure(value)}") for key, value in self.notes.items()]
        lines.append(f"  {self.seconds:.3g} s, {self.solver}")
        return "\n".join(lines)

    @property
    def _distance(self) -> str:
        """How far a value is from the optimum at most, where the method does not claim to have found one."""
        if self.scope:
            return f"; {self.scope}"
        if self.claims_optimality or self.kind == "published" or not self.problem.among():
            return ""
        if any(item.property == OPTIMALITY and item.holds for item in self.certificates):
            return ", proven optimal by its bound"
        if self.bound is None:
            return ", distance from the optimum unknown" if self.kind == "heuristic" else ""
        part = f" ({100.0 * self.gap / abs(self.bound):.2g} %)" if self.bound else ""
        return f", at most {self.gap:.3g}{part} from the optimum"

    @property
    def caution(self) -> str:
        """What to know before this is built: the best of a class, or more than a hundredth from a bound.

        Examples
        --------
        >>> import mechdesign as md
        >>> problem = md.LinearQueries(workload={"name": "prefix", "size": 8}, epsilon=1.0)
        >>> md.solve(problem).caution
        ''
        """
        near = self.bound is None or self.gap <= NEAR * abs(self.value)
        if self.kind == "published" or (near and not self.scope):
            return ""
        return f"{self.problem.value_label()}: {format_figure(self.value)}{self._distance}"

    @property
    def _value_name(self) -> str:
        """Return the value's name in brackets; it is not always the error that a user of the design sees."""
        name = self.problem.value_label()
        return "" if name == Problem.value_name else f" ({name})"

    def as_dict(self, model: str | None = None) -> dict[str, Any]:
        """Return the JSON object of ``solve --json`` (infinity is the string ``"inf"``)."""
        return {
            "model": model,
            "problem": self.problem.name,
            "method": self.method,
            "kind": self.kind,
            "status": self.status,
            "sense": self.problem.sense,
            "value": encode(self.value) if self.found else None,
            "bound": encode(self.bound),
            "claims_optimality": self.claims_optimality,
            "variables": {key: encode(value) for key, value in self.variables.items()},
            "residuals": {key: encode(value) for key, value in self.residuals.items()},
            "certificates": [encode(certificate.as_dict()) for certificate in self.certificates],
            "seconds": self.seconds,
            "solver": self.solver,
            "message": self.message,
            "notes": encode(dict(self.notes)),
            **({"scope": self.scope} if self.scope else {}),
        }
