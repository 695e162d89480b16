"""The terms of a contract menu: what it was designed for and what it promises, as checked numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.validation import choice, finite_array, in_range

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Terms:
    """What a menu was designed for and what it promises; everything but the items.

    Attributes
    ----------
    types, counts, cost : (k,) array
        Types increasing, users of each, participation cost of each.
    budget : float or None
    information : {"incomplete", "complete"}
    data_range, confidence : float
    noise : str or mapping
    objective : {"error", "payment"}
        What was minimised.
    epsilon_min, epsilon_max : float
        The limits that every epsilon had to keep; no cap is None.
    prices : (k,) array or None
        Shadow price of a unit of epsilon for each type; 0 for types that do not buy. They prove that the menu
        is optimal, or they prove nothing: the bound is computed from them anew (``audit.menu_bound``).
    """

    types: Array
    counts: Array
    cost: Array
    budget: float | None = None
    information: str = "incomplete"
    data_range: float = 1.0
    confidence: float = 0.9
    noise: str | Mapping[str, Any] = "laplace"
    objective: str = "error"
    epsilon_min: float = 0.0
    epsilon_max: float | None = None
    prices: Array | None = None

    def __post_init__(self) -> None:
        positive = {"low_open": True, "high_open": True}
        checked = {
            "types": finite_array("types", self.types, 1),
            "counts": finite_array("counts", self.counts, 1),
            "cost": finite_array("participation_cost", self.cost, 1),
            "budget": _optional("budget", self.budget),
            "information": choice("information", self.information, ("incomplete", "complete")),
            "data_range": in_range("data_range", self.data_range, 0.0, math.inf, **positive),
            "confidence": in_range("confidence", self.confidence, 0.0, 1.0, high_open=True),
            "objective": choice("objective", self.objective, ("error", "payment")),
            "epsilon_min": in_range("epsilon_min", self.epsilon_min, 0.0, math.inf, high_open=True),
            "epsilon_max": _optional("epsilon_max", self.epsilon_max),
            "prices": None if self.prices is None else finite_array("prices", self.prices, 1),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    @property
    def highest(self) -> float:
        """The cap of epsilon, infinite where there is none."""
        return math.inf if self.epsilon_max is None else self.epsilon_max


TERMS = {field.name: field.name for field in fields(Terms)} | {"cost": "participation_cost"}
"""The key of each term in a file."""


def _optional(field: str, value: Any) -> float | None:
    return None if value is None else in_range(field, value, 0.0, math.inf, high_open=True)
