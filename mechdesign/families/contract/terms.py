"""The terms of a contract menu: what it was designed for and what it promises, as checked numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.fields import fields_of
from mechdesign.core.validation import finite_array, in_range, one_of
from mechdesign.core.values import frozen_value, kept

Array = NDArray[np.float64]


_array = partial(finite_array, dimensions=1)
_finite = partial(in_range, low=0.0, high=math.inf, high_open=True)


@frozen_value(eq=False)
class Terms:
    """Terms of a menu: its design setting and its guarantees, without the items.

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
        is optimal, or they prove nothing: the bound is recomputed from them (``audit.menu_bound``).
    """

    types: Array = kept(_array)
    counts: Array = kept(_array)
    cost: Array = kept(lambda name, value: _array("participation_cost", value))
    budget: float | None = kept(_finite, default=None, optional=True)
    information: str = kept(partial(one_of, known=("incomplete", "complete")), default="incomplete")
    data_range: float = kept(partial(_finite, low_open=True), default=1.0)
    confidence: float = kept(partial(in_range, low=0.0, high=1.0, high_open=True), default=0.9)
    noise: str | Mapping[str, Any] = "laplace"
    objective: str = kept(partial(one_of, known=("error", "payment")), default="error")
    epsilon_min: float = kept(_finite, default=0.0)
    epsilon_max: float | None = kept(_finite, default=None, optional=True)
    prices: Array | None = kept(_array, default=None, optional=True)

    @property
    def highest(self) -> float:
        """The cap of epsilon, infinite where there is none."""
        return math.inf if self.epsilon_max is None else self.epsilon_max


TERMS = {field.name: field.name for field in fields_of(Terms)} | {"cost": "participation_cost"}
"""The key of each term in a file."""
