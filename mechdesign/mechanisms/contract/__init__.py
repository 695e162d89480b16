"""Contract menus: items of privacy and money, who takes which, and what is owed."""

from mechdesign.mechanisms.contract.average import ContractAverage
from mechdesign.mechanisms.contract.menu import ContractMenu
from mechdesign.mechanisms.contract.terms import Terms

__all__ = ["ContractAverage", "ContractMenu", "Terms"]
