"""What collecting mechanisms are made of: clients, mergeable servers, estimates, intervals, tables, JSON."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.collect.base import (
        CollectingMechanism as CollectingMechanism,
        Mechanism as Mechanism,
        load_mechanism as load_mechanism,
    )
    from mechdesign.collect.collector import (
        Aggregator as Aggregator,
        FrequencyMechanism as FrequencyMechanism,
    )
    from mechdesign.collect.estimate import FrequencyEstimate as FrequencyEstimate
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "base": "CollectingMechanism Mechanism load_mechanism",
            "collector": "Aggregator FrequencyMechanism",
            "estimate": "FrequencyEstimate",
        },
    )
