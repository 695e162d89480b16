"""k-ary response over the states, with its best unbiased decoding: what is deployed, for comparison."""

from __future__ import annotations

import math

import numpy as np

from mechdesign.core.method import Outcome
from mechdesign.families.workload.event_counts.orbits import NOTHING, channel_variables
from mechdesign.families.workload.event_counts.problem import EventCounts
from mechdesign.families.workload.events.channel import EventChannel, EventOrbit


def kary_response(problem: EventCounts) -> Outcome:
    """Report the user's state e^eps times as often as each other one."""
    if problem.epsilon == 0.0:
        return Outcome(status="infeasible", solver="formula", message=NOTHING)
    states, power = problem.states, math.exp(problem.epsilon)
    other = 1.0 / (power + states.size - 1.0)
    orbits = []
    for kind, count in zip(states.kinds, states.counts, strict=True):
        classes = states.classes(len(kind))
        own = [
            tuple(held) == kind and not rest  # named in any order where numbers of events are equal
            for held, rest in zip(classes.named.tolist(), classes.rests, strict=True)
        ]
        masses = count * other * np.where(own, power, 1.0)
        orbits.append(EventOrbit(len(kind), np.zeros(len(kind) + 1), masses))
    channel = EventChannel(states, tuple(orbits)).redecoded(problem.prior)
    return Outcome(
        status="feasible",
        variables=channel_variables(channel),
        solver="formula",
        notes={"states": states.size},
    )


def why_not_kary(problem: EventCounts) -> str | None:
    """Return why its reports cannot be decoded here, or None."""
    if problem.slots <= problem.most:
        return "a state can fill all slots, but a report leaves at least one out; give more slots than events"
    return None
