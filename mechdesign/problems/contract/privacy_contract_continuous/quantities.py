"""What a menu for a density is worth: predicted error, payment, and how many items differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mechdesign.core.problem import Candidate
from mechdesign.problems.contract.privacy_contract_continuous.problem import PrivacyContractContinuous


def quantities(problem: PrivacyContractContinuous, solution: Candidate) -> dict[str, Any]:
    """Return alpha for ``users`` users, the payment per user, and the number of items."""
    people = problem.population(np.asarray(solution.variables["types"]))
    factor = math.sqrt(2.0 / ((1.0 - problem.confidence) * problem.users)) * problem.data_range
    return {
        "alpha": factor * math.sqrt(solution.value),
        "payment_per_user": math.fsum(people.counts * np.asarray(solution.variables["payment"])),
        "items": len(np.unique(np.asarray(solution.variables["epsilon"]))),
    }
