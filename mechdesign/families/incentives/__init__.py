"""Mechanism design in general: finite direct mechanisms, and screening.

Types, outcomes and payments: the best rule among those under which the truth pays, exactly.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("DirectMechanism", "Screening")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.incentives.direct_mechanism import DirectMechanism as DirectMechanism
    from mechdesign.families.incentives.direct_rule import (
        DirectRule as DirectRule,
        ScreeningMenu as ScreeningMenu,
    )
    from mechdesign.families.incentives.environment import Environment as Environment
    from mechdesign.families.incentives.implementation import implementable as implementable
    from mechdesign.families.incentives.interim import interim_auction as interim_auction
    from mechdesign.families.incentives.screening import Screening as Screening
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "direct_mechanism": "DirectMechanism",
            "direct_rule": "DirectRule ScreeningMenu",
            "environment": "Environment",
            "implementation": "implementable",
            "interim": "interim_auction",
            "screening": "Screening",
        },
    )
