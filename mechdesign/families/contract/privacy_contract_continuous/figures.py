"""Pictures of a contract: epsilon and payment over the types (figures 4.4 and 4.5), and the menu."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.contract.menu_tables import menu_figures
from mechdesign.families.contract.privacy_contract_continuous.problem import PrivacyContractContinuous
from mechdesign.show.figure import Figure


def figures(problem: PrivacyContractContinuous, solution: Solution[Any]) -> list[Figure]:
    """Return the items and what each type chooses."""
    names = ("types", "epsilon", "payment")
    types, epsilon, payment = (np.asarray(solution.variables[name], dtype=np.float64) for name in names)
    items = np.unique(np.column_stack([epsilon, payment])[epsilon > 0], axis=0)
    return menu_figures(items, types, epsilon, payment) if len(items) else []
