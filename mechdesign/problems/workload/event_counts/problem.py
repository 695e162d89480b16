"""The problem ``event-counts``: the private report that counts rare events in many slots best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.event_bound import EventBound
from mechdesign.audit.event_classes import EventStates
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import Kept, checked, frozen_problem, related, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.core.types import Vector
from mechdesign.core.validation import privacy_epsilon, probability_vector
from mechdesign.mechanisms.events import EventRelease
from mechdesign.mechanisms.events.channel import EventChannel, EventOrbit
from mechdesign.mechanisms.events.release import slot_names
from mechdesign.mechanisms.events.weights import integer_weights_of

Array = NDArray[np.float64]

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
        wanted = f"expected {problem.most + 1} shares, for 0 to {problem.most} events"
        raise ParameterError(field, f"{wanted}, got {len(shares)}", "give one each")
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
class EventCounts(Problem[EventRelease]):
    r"""The epsilon-private report from which the events of every slot are counted with the least variance.

    ::

        minimize    sum_x pi_x sum_y q(y | x) |d_y - x|^2
        over        every channel with  q(y | x) <= e^eps q(y | x')  and vectors d_y of estimates
        subject to  sum_y q(y | x) d_y = x      (the estimate is unbiased for every state)

    A state x says how many events a user has in each of m slots, at most r in all; pi gives each number of
    events its share, spread evenly over its states. Reports single out at most r slots: in each d_y all other
    entries are equal. Permutations of the slots reduce thousands of states to a few dozen classes.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.EventCounts(slots=3, most=1, prior=[0.9, 0.1], epsilon=2.0))
    >>> solution.status, solution.gap < 1e-3 * solution.value
    ('optimal', True)
    """

    name: ClassVar[str] = "event-counts"
    example: ClassVar[Mapping[str, Any]] = {"slots": 4, "most": 2, "prior": [0.9, 0.08, 0.02], "epsilon": 2.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "variance of one report, all slots together"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "the best private report for counts of rare events in many slots"
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

    def among(self) -> str:
        """Return the set of reports among which an optimum is one."""
        most = "one slot" if self.most == 1 else f"{self.most} slots"
        named = "" if self.slots <= self.most + 1 else f" that single out at most {most}"
        return f"all epsilon-private reports{named}, decoded without bias"

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
        return self.channel(variables).error(self.prior)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the largest violations of the row sums, of privacy and of unbiasedness."""
        channel = self.channel(variables)
        power = float(np.exp(self.epsilon))
        excess = [float(orbit.masses.max() - power * orbit.masses.min()) for orbit in channel.orbits]
        return {
            "row_sums": float(np.abs(channel.sums - 1.0).max()),
            "privacy": max(0.0, *excess),
            "bias": float(np.abs(channel.means - self.states.events).max()),
        }

    def mechanism(self, solution: Solution[Any]) -> EventRelease:
        """Return the mechanism with exact integer weights; its decodings are those of the integers."""
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
        judged = self.optimality(solution, deployed - solution.bound, solution.value, figures=figures)
        stored = solution.realisation
        if isinstance(stored, EventBound) and self.proven(stored) < solution.bound:
            judged = Certificate(judged.property, False, False, figures, note="the stored numbers prove less")
        return (*mechanism.certificates(), judged)

    def proven(self, bound: EventBound) -> float:
        """Return the bound that stored prices prove, in outward rounding."""
        if bound.states != self.states or (bound.prior != self.prior).any():
            raise ParameterError("bound", "it is for other users", "solve the problem again")
        return bound.check(self.epsilon)
