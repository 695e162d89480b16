"""What models record of their sources: claims, the verdicts on them with witnesses, and the findings."""

from mechdesign.core.lazy import found_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.papers.claims.check import ClaimResult, ModelCheck, check_model
    from mechdesign.papers.claims.claim import Claim
    from mechdesign.papers.claims.runs import check_models

__all__ = ["Claim", "ClaimResult", "ModelCheck", "check_model", "check_models"]

_HOMES = {
    "Claim": "claim",
    "ClaimResult": "check",
    "ModelCheck": "check",
    "check_model": "check",
    "check_models": "runs",
}


if not TYPE_CHECKING:  # a type checker would take every unknown name for known
    __getattr__ = found_in(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
