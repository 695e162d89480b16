"""Contracts that buy privacy (REAP): menus of privacy levels and payments.

Contract menus: items of privacy and money, who takes which, and what is owed.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("PrivacyContract", "PrivacyContractContinuous")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.contract.menu import ContractMenu as ContractMenu, Terms as Terms
    from mechdesign.families.contract.menu_tables import ContractAverage as ContractAverage
    from mechdesign.families.contract.privacy_contract import PrivacyContract as PrivacyContract
    from mechdesign.families.contract.privacy_contract_continuous import (
        PrivacyContractContinuous as PrivacyContractContinuous,
    )
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "menu_tables": "ContractAverage",
            "menu": "ContractMenu Terms",
            "privacy_contract": "PrivacyContract",
            "privacy_contract_continuous": "PrivacyContractContinuous",
        },
    )
