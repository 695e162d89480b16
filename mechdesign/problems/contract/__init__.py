"""Contracts that buy privacy (REAP): menus of privacy levels and payments."""

from mechdesign.problems.contract.privacy_contract.problem import PrivacyContract
from mechdesign.problems.contract.privacy_contract_continuous.problem import PrivacyContractContinuous

PROBLEMS = (PrivacyContract, PrivacyContractContinuous)

__all__ = ["PROBLEMS", "PrivacyContract", "PrivacyContractContinuous"]
