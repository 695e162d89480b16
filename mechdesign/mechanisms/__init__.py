"""Mechanisms that run: client, mergeable server, exact audit, JSON."""

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
