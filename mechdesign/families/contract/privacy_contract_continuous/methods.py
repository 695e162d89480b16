"""The methods of ``privacy-contract-continuous``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.contract.privacy_contract_continuous import closed_form, discretized
from mechdesign.families.contract.privacy_contract_continuous.problem import PrivacyContractContinuous

METHODS = (
    Method("closed-form", PrivacyContractContinuous, "analytic",
           "ironed virtual cost theta + H/h (section 4.4 with its signs corrected)", closed_form.run),
    Method("discretized", PrivacyContractContinuous, "numeric",
           "finite problem on a grid of types; converges from above", discretized.run),
)  # fmt: skip
