"""Mechanisms that run: client, mergeable server, exact audit, JSON."""

from mechdesign.core.lazy import found_in

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    __getattr__ = found_in(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
