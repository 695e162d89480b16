"""The methods of ``privacy-contract-continuous``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.contract.privacy_contract_continuous.closed_form import solve_closed_form
from mechdesign.families.contract.privacy_contract_continuous.discretized import solve_discretized
from mechdesign.families.contract.privacy_contract_continuous.problem import PrivacyContractContinuous

METHODS = (
    Method("closed-form", PrivacyContractContinuous, "analytic",
           "ironed virtual cost theta + H/h (section 4.4 with its signs corrected)", solve_closed_form),
    Method("discretized", PrivacyContractContinuous, "numeric",
           "finite problem on a grid of types; converges from above", solve_discretized),
)  # fmt: skip
