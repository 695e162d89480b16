"""The problem ``event-counts``: a private report from which rare events in many slots are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import Kept, checked, frozen_problem, related, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.core.validation import privacy_epsilon, probability_vector
from mechdesign.core.values import Vector, changed
from mechdesign.exact.exponential import float_down
from mechdesign.families.workload.event_bound import EventBound, OneEventBound
from mechdesign.families.workload.event_release import EventRelease, slot_names, state_names
from mechdesign.families.workload.event_states import (
    EventChannel,
    EventOrbit,
    EventStates,
    integer_weights_of,
    listed_states,
)
from mechdesign.families.workload.linear_queries import LinearQueries
from mechdesign.families.workload.patterns import Array
from mechdesign.families.workload.release import WorkloadRelease
from mechdesign.families.workload.workload_bound import WorkloadBound

Bound = EventBound | OneEventBound | WorkloadBound

LIMITS = (0.1, 16.0)
"""Between these epsilons the linear program is solved to the accuracy that its bound needs."""

MOST_STATES = 50_000
LEAST_SHARE = 1e-7


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if epsilon and not LIMITS[0] <= epsilon <= LIMITS[1]:
        raise ParameterError(field, f"{epsilon:g} is outside {LIMITS[0]:g} .. {LIMITS[1]:g}", "set it inside")
    return epsilon


def _prior(problem: EventCounts, field: str, value: Any) -> Array:
    shares = probability_vector(field, value)
    if len(shares) != problem.most + 1:
        expected = f"expected {problem.most + 1} shares, for 0 to {problem.most} events"
        raise ParameterError(field, f"{expected}, got {len(shares)}", "give one each")
    if float(shares.min()) < LEAST_SHARE:
        raise ParameterError(
            field,
            f"the share of users with {int(np.argmin(shares))} events is below {LEAST_SHARE:g}",
            "give every number of events a small positive share",
        )
    return shares


def _labels(problem: EventCounts, field: str, names: Any) -> tuple[str, ...]:
    return slot_names(problem.slots, names)


@frozen_problem(eq=False)
class EventCounts(Problem[EventRelease | WorkloadRelease]):
    r"""The epsilon-private report from which the events of every slot are counted with the least variance.

    ::

        minimize    sum_x pi_x sum_y q(y | x) |d_y - x|^2
        over        every channel with  q(y | x) <= e^eps q(y | x')  and vectors d_y of estimates
        subject to  sum_y q(y | x) d_y = x      (the estimate is unbiased for every state)

    A state x says how many events a user has in each of m slots, at most r in all; pi gives each number of
    events its share, spread evenly over its states. With one event a user (r = 1), with at most r + 1 slots,
    and with at most 20 states the optimum is over all reports. Up to 300 states patterns of states are
    generated; the bound is for all reports, and may be far. Else the optimum is over the reports that single
    out at most r slots, where in each d_y all other entries are equal: the best of its class, and says so.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.EventCounts(slots=9, most=1, prior=[0.9, 0.1], epsilon=0.3))
    >>> solution.status, round(solution.value, 2)  # the best report that singles out one slot: 642.26
    ('optimal', 313.43)
    """

    name: ClassVar[str] = "event-counts"
    example: ClassVar[Mapping[str, Any]] = {"slots": 4, "most": 2, "prior": [0.9, 0.08, 0.02], "epsilon": 2.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "variance of one report, all slots together"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "private counts of rare events in many slots with the least variance"
    compared_with: ClassVar[str] = "all epsilon-private reports, decoded without bias"
    optimal_within: ClassVar[float] = 1e-3
    """A solution is certified optimal when its proven gap is below this part of its value."""

    slots: int = whole("Number m of slots, such as kinds of events times windows of time.", low=2, high=64)
    most: int = whole("Largest number r of events of a user.", low=1, high=3)
    epsilon: float = checked(
        "From 0.1 to 16. With 0 a report contains no information, and the problem is infeasible.",
        _epsilon,
        limits={"minimum": 0, "maximum": LIMITS[1]},
        form="float",
    )
    prior: Kept[Array, Vector] = related(
        "Shares of users with 0, 1, ... r events, all above 0. It shapes the mechanism; the estimates are "
        "unbiased for all data.",
        _prior,
        form="(r + 1,) array",
    )
    labels: Sequence[str] | None = related(
        "Names of the slots, by default their numbers.", _labels, form="sequence of str", default=None
    )

    def __attrs_post_init__(self) -> None:
        if self.states.size > MOST_STATES:
            raise ParameterError(
                "slots",
                f"{counted(self.states.size, 'state')}, more than {MOST_STATES}",
                "give fewer slots or events",
            )

    @cached_property
    def states(self) -> EventStates:
        """The states and their classes."""
        return EventStates(self.slots, self.most)

    @property
    def own_class(self) -> str:
        """The reports that single out few slots, where these are not all reports; empty where they are."""
        if self.slots <= self.most + 1:
            return ""
        return f"reports that single out at most {counted(self.most, 'slot')}"

    @cached_property
    def queries(self) -> LinearQueries:
        """The same as linear queries about the states, one per slot, for reports of any pattern."""
        names = None if self.labels is None else list(self.labels)
        workload = {"name": "events", "slots": self.slots, "most": self.most, "names": names}
        totals = np.array([len(state) for state in listed_states(self.states)])
        shares = self.prior[totals] / np.bincount(totals)[totals]
        return LinearQueries(workload=workload, epsilon=self.epsilon, population=shares)

    def channel(self, variables: Variables) -> EventChannel:
        """Return the channel that variables describe."""
        names = ("named", "decoded", "masses")
        rows = zip(*(variables[name] for name in names), strict=True)
        orbits = [
            EventOrbit(int(named), np.asarray(decoded), np.asarray(masses)) for named, decoded, masses in rows
        ]
        return EventChannel(self.states, tuple(orbits))

    def objective(self, variables: Variables) -> float:
        """Return the mean squared error of one report, all slots together."""
        if "patterns" in variables:
            return self.queries.objective(variables)
        return self.channel(variables).error(self.prior)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the largest violations of the row sums, of privacy and of unbiasedness."""
        if "patterns" in variables:
            return self.queries.residuals(variables)
        channel = self.channel(variables)
        power = float(np.exp(self.epsilon))
        excess = [float(orbit.masses.max() - power * orbit.masses.min()) for orbit in channel.orbits]
        return {
            "row_sums": float(np.abs(channel.sums - 1.0).max()),
            "privacy": max(0.0, *excess),
            "bias": float(np.abs(channel.means - self.states.events).max()),
        }

    def mechanism(self, solution: Solution[Any]) -> EventRelease | WorkloadRelease:
        """Return the mechanism with exact integer weights; its decodings are those of the integers.

        Reports that single out few slots are named by these; others are sets of states.
        """
        if "patterns" in solution.variables:
            bare = self.queries.mechanism(solution)
            names = state_names(self.states, slot_names(self.slots, self.labels))
            return WorkloadRelease(bare.workload, self.epsilon, bare.weights, bare.population, labels=names)
        rounded = integer_weights_of(self.channel(solution.variables), self.epsilon)
        return EventRelease(self.epsilon, rounded.redecoded(self.prior), self.prior, self.labels)

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return privacy, sums and bias of what would run, and optimality; the bound is proven again here."""
        mechanism = solution.mechanism()
        deployed = mechanism.average_error
        figures: dict[str, Any] = {"value": solution.value, "deployed_value": deployed}
        if solution.bound is None:
            return (*mechanism.certificates(), self.optimality(solution, unproven=figures))
        figures |= {"bound": solution.bound, "gap": solution.gap}
        left = deployed - solution.bound
        judged = self.optimality(solution, left, solution.value, figures=figures)
        if solution.scope:
            judged = changed(judged, among=f"all epsilon-private {self.own_class}, without bias")
        stored = solution.realisation
        if isinstance(stored, Bound) and self.proven(stored) < solution.bound:
            judged = Certificate(judged.property, False, False, figures, note="the stored numbers prove less")
        return (*mechanism.certificates(), judged)

    def proven(self, bound: Bound) -> float:
        """Return the bound that stored prices prove, in outward rounding."""
        if isinstance(bound, WorkloadBound):
            return self.queries.proven(bound)
        if isinstance(bound, OneEventBound):
            return self._proven_for_one(bound)
        if bound.states.slots != self.slots or (np.asarray(bound.prior) != self.prior).any():
            raise ParameterError("bound", "it is for other users", "solve the problem again")
        return bound.check(self.epsilon)

    def _proven_for_one(self, bound: OneEventBound) -> float:
        """Return what the error of users with at most one event proves: it is a part of the whole error."""
        if bound.slots != self.slots or list(bound.prior) != self.prior[:2].tolist():
            raise ParameterError("bound", "it is for other users", "solve the problem again")
        part = bound.check(self.epsilon)
        if self.most == 1:
            return part
        shares = [Fraction(share) for share in self.prior.tolist()]
        return float_down(Fraction(max(part, 0.0)) * (shares[0] + shares[1]) / sum(shares))
