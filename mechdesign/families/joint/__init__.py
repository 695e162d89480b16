"""Joint distributions of several attributes: how to ask for them, and what the reports say.

Joint distributions of several attributes from one-hot reports.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("JointCollection", "JointDistribution")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.joint.client import PermanentResponse as PermanentResponse
    from mechdesign.families.joint.collection import JointCollection as JointCollection
    from mechdesign.families.joint.distribution import JointDistribution as JointDistribution
    from mechdesign.families.joint.estimate import JointEstimate as JointEstimate, JointTable as JointTable
    from mechdesign.families.joint.likelihood import (
        Likelihood as Likelihood,
        LikelihoodMaximum as LikelihoodMaximum,
        judged as judged,
        most_likely as most_likely,
    )
    from mechdesign.families.joint.response import (
        JointResponse as JointResponse,
        PatternCounts as PatternCounts,
    )
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "client": "PermanentResponse",
            "collection": "JointCollection",
            "distribution": "JointDistribution",
            "estimate": "JointEstimate JointTable",
            "likelihood": "Likelihood LikelihoodMaximum judged most_likely",
            "response": "JointResponse PatternCounts",
        },
    )
