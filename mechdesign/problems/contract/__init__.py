"""Contracts that buy privacy (REAP): menus of privacy levels and payments."""

from mechdesign.problems.contract.continuous import PrivacyContractContinuous
from mechdesign.problems.contract.problem import PrivacyContract

PROBLEMS = (PrivacyContract, PrivacyContractContinuous)

__all__ = ["PROBLEMS", "PrivacyContract", "PrivacyContractContinuous"]
