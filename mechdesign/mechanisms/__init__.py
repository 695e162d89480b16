"""Mechanisms that run: client, mergeable server, exact audit, JSON."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mechdesign.mechanisms.base import CollectingMechanism, Mechanism, load_mechanism
    from mechdesign.mechanisms.contract import ContractAverage, ContractMenu
    from mechdesign.mechanisms.finite import FiniteChannel
    from mechdesign.mechanisms.frequencies import Aggregator, FrequencyEstimate, FrequencyMechanism
    from mechdesign.mechanisms.kary import KaryChannel, KaryResponse
    from mechdesign.mechanisms.repair import PrivacyTarget, make_private

__all__ = [
    "Aggregator",
    "CollectingMechanism",
    "ContractAverage",
    "ContractMenu",
    "FiniteChannel",
    "FrequencyEstimate",
    "FrequencyMechanism",
    "KaryChannel",
    "KaryResponse",
    "Mechanism",
    "PrivacyTarget",
    "load_mechanism",
    "make_private",
]

_HOMES = {
    "Aggregator": "frequencies",
    "CollectingMechanism": "base",
    "ContractAverage": "contract",
    "ContractMenu": "contract",
    "FiniteChannel": "finite",
    "FrequencyEstimate": "frequencies",
    "FrequencyMechanism": "frequencies",
    "KaryChannel": "kary",
    "KaryResponse": "kary",
    "Mechanism": "base",
    "PrivacyTarget": "repair",
    "load_mechanism": "base",
    "make_private": "repair",
}


if not TYPE_CHECKING:  # a type checker would take every unknown name for known

    def __getattr__(name: str) -> "Any":
        """Find a name on first use: a command imports the mechanisms that it needs."""
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
