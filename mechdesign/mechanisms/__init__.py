"""Mechanisms that run: client, mergeable server, exact audit, JSON."""

from mechdesign.core.lazy import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.mechanisms.base import (
        Mechanism as Mechanism,
        load_mechanism as load_mechanism,
    )
    from mechdesign.mechanisms.contract import (
        ContractAverage as ContractAverage,
        ContractMenu as ContractMenu,
    )
    from mechdesign.mechanisms.finite import FiniteChannel as FiniteChannel
    from mechdesign.mechanisms.frequencies import FrequencyMechanism as FrequencyMechanism
    from mechdesign.mechanisms.frequency_estimate import FrequencyEstimate as FrequencyEstimate
    from mechdesign.mechanisms.kary import KaryChannel as KaryChannel, KaryResponse as KaryResponse
    from mechdesign.mechanisms.repair import PrivacyTarget as PrivacyTarget, make_private as make_private
    from mechdesign.mechanisms.report_counts import Aggregator as Aggregator
    from mechdesign.mechanisms.reporting import CollectingMechanism as CollectingMechanism
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "base": "Mechanism load_mechanism",
            "contract": "ContractAverage ContractMenu",
            "finite": "FiniteChannel",
            "frequencies": "FrequencyMechanism",
            "frequency_estimate": "FrequencyEstimate",
            "kary": "KaryChannel KaryResponse",
            "repair": "PrivacyTarget make_private",
            "report_counts": "Aggregator",
            "reporting": "CollectingMechanism",
        },
    )
