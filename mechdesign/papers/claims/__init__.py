"""What models record of their sources: claims, the verdicts on them with witnesses, and the findings."""

from mechdesign.papers.claims.check import ClaimResult, ModelCheck, check_model
from mechdesign.papers.claims.claim import Claim
from mechdesign.papers.claims.runs import check_models

__all__ = ["Claim", "ClaimResult", "ModelCheck", "check_model", "check_models"]
