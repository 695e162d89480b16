"""The protocols that count, each with exact noise and with that of its paper."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import Cnt2M, CntBN, CntPURE, CntRR, CntSGM
from mechdesign.problems.shuffle.candidates import FOR_PURE, Kind

KINDS = (
    Kind(
        "cnt-rr",
        CntRR,
        lambda case: CntRR.calibrated(case.promise, local_cap=case.local_cap),
        "randomized response: one bit a user",
        local=True,
    ),
    Kind(
        "cnt-rr-published",
        CntRR,
        lambda case: CntRR.published(case.promise, local_cap=case.local_cap),
        "randomized response with the paper's constants",
        local=True,
    ),
    Kind(
        "cnt-2m",
        Cnt2M,
        lambda case: Cnt2M.calibrated(case.promise),
        "presence: up to two messages a user, 0 counted as 0",
    ),
    Kind(
        "cnt-2m-published",
        Cnt2M,
        lambda case: Cnt2M.published(case.promise),
        "presence with the paper's constants",
    ),
    Kind(
        "cnt-bn",
        CntBN,
        lambda case: CntBN.calibrated(case.promise, case.max_messages),
        "true bits among fair coins",
        flexible=True,
    ),
    Kind(
        "cnt-bn-published",
        CntBN,
        lambda case: CntBN.published(case.promise, case.max_messages),
        "true bits among fair coins with the paper's constants",
        flexible=True,
    ),
    Kind(
        "cnt-sgm",
        CntSGM,
        lambda case: CntSGM.calibrated(case.promise, case.max_messages),
        "discrete Laplace noise in a secure sum by split-mix",
        flexible=True,
    ),
    Kind(
        "cnt-pure",
        CntPURE,
        lambda case: CntPURE.calibrated(case.promise, case.max_messages),
        "bits with rare noise about the middle: delta is 0",
        local=True,
        flexible=True,
        by_name=FOR_PURE,
    ),
)
