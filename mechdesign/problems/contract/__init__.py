"""Contracts that buy privacy (REAP): menus of privacy levels and payments."""

from mechdesign.problems.contract.problem import PrivacyContract

PROBLEMS = (PrivacyContract,)

__all__ = ["PROBLEMS", "PrivacyContract"]
