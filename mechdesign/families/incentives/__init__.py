"""Mechanism design in general: finite direct mechanisms, and screening.

Types, outcomes and payments: the best rule among those under which the truth pays, exactly.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("DirectMechanism", "Screening")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.incentives.direct_mechanism import DirectMechanism as DirectMechanism
    from mechdesign.families.incentives.direct_rule import DirectRule as DirectRule
    from mechdesign.families.incentives.environment import Environment as Environment
    from mechdesign.families.incentives.implementation import implementable as implementable
    from mechdesign.families.incentives.screening import Screening as Screening
    from mechdesign.families.incentives.screening_menu import ScreeningMenu as ScreeningMenu
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "direct_mechanism": "DirectMechanism",
            "direct_rule": "DirectRule",
            "environment": "Environment",
            "implementation": "implementable",
            "screening": "Screening",
            "screening_menu": "ScreeningMenu",
        },
    )
