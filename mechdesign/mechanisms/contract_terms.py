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
    bound : float or None
        Proven lower bound of it, with its source.
    bound_source : str
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
    bound: float | None = None
    bound_source: str = ""

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
            "bound": _optional("bound", self.bound),
            "bound_source": str(self.bound_source),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)


TERMS = {field.name: field.name for field in fields(Terms)} | {"cost": "participation_cost"}
"""The key of each term in a file."""


def _optional(field: str, value: Any) -> float | None:
    return None if value is None else in_range(field, value, 0.0, math.inf, high_open=True)
