"""What a menu for a density is worth: predicted error, payment, and how many items differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.solution import Solution
from mechdesign.families.contract.privacy_contract_continuous.problem import PrivacyContractContinuous


def quantities(problem: PrivacyContractContinuous, solution: Solution[Any]) -> dict[str, Any]:
    """Return alpha for ``users`` users, the payment per user, the number of items, and eq. (4.35).

    ``surplus_of_highest`` is what the highest type keeps, p - theta eps; the thesis sets it to 0.
    """
    types = np.asarray(solution.variables["types"])
    people = problem.population(types)
    epsilon, payment = (np.asarray(solution.variables[name]) for name in ("epsilon", "payment"))
    factor = math.sqrt(2.0 / ((1.0 - problem.confidence) * problem.users)) * problem.data_range
    return {
        "alpha": factor * math.sqrt(solution.value),
        "payment_per_user": math.fsum(people.counts * payment),
        "items": len(np.unique(epsilon)),
        "surplus_of_highest": float(payment[-1] - types[-1] * epsilon[-1]),
    }
