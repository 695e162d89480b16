"""The multipliers of event counts: what epsilon is worth, from the prices that prove the bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechdesign.core.prices import Binding
from mechdesign.families.workload.event_counts.program import EventMaster, class_rows


@dataclass(frozen=True, eq=False)
class EventPrices:
    """The last master program of a solution, with the epsilon that it was solved for.

    The masses of a report are L (1 + (e^eps - 1) t) with t in [0, 1] for each class of states. L, t, the
    decodings and the prices are kept when epsilon moves. Only equations have prices: privacy is in the form.
    """

    master: EventMaster
    epsilon: float

    def lagrangian(self, problem: Any) -> float | None:
        """Return the Lagrangian at another epsilon; None for other users."""
        prices = self.master.prices
        states, prior = prices.states, prices.prior
        if problem.states != states or (problem.prior != prior).any():
            return None
        shares = states.shares(prior)
        each = np.concatenate([prices.sums, prices.unbiased])
        limits = np.concatenate([np.ones(len(states.kinds)), states.events])
        terms = [float(each @ limits), -float(shares @ states.squares)]
        growth = math.expm1(problem.epsilon) / math.expm1(self.epsilon)
        for orbit in self.master.orbits:
            earned, rows = class_rows(states, shares, (orbit.named, orbit.decoded))
            least = float(orbit.masses.min())
            terms.append(-float((earned + each @ rows) @ (least + growth * (orbit.masses - least))))
        return math.fsum(terms)

    def binding(self) -> list[Binding]:
        """Return nothing: the equations always hold, and privacy is in the form of the masses."""
        return []
