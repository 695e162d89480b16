"""What models record of their sources: claims, the verdicts on them with witnesses, and the findings."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.papers.claims.check import (
        ClaimResult as ClaimResult,
        ModelCheck as ModelCheck,
        check_model as check_model,
    )
    from mechdesign.papers.claims.claim import Claim as Claim
    from mechdesign.papers.claims.runs import check_models as check_models
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "check": "ClaimResult ModelCheck check_model",
            "claim": "Claim",
            "runs": "check_models",
        },
    )
