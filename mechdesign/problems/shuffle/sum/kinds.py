"""The protocols for sums, with exact noise and, where their papers have constants, with those."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import RSumDSG, RSumKR, RSumPURE, RSumRM, RSumRR
from mechdesign.problems.shuffle.candidates import FOR_PURE, Kind

KINDS = (
    Kind(
        "rsum-kr",
        RSumKR,
        lambda case: RSumKR.calibrated(case.promise, case.size, local_cap=case.local_cap),
        "k-ary randomized response: one rounded number a user",
        local=True,
    ),
    Kind(
        "rsum-kr-published",
        RSumKR,
        lambda case: RSumKR.published(case.promise, case.size),
        "k-ary randomized response with the paper's constants",
    ),
    Kind(
        "rsum-rm",
        RSumRM,
        lambda case: RSumRM.calibrated(case.promise, case.size, case.max_messages),
        "two or more digits, each a k-ary randomized response",
        flexible=True,
    ),
    Kind(
        "rsum-rm-published",
        RSumRM,
        lambda case: RSumRM.published(case.promise, case.size, case.max_messages),
        "three digits with the paper's constants",
    ),
    Kind(
        "rsum-rr",
        RSumRR,
        lambda case: RSumRR.calibrated(case.promise, case.size, case.max_messages),
        "unary bits, each a randomized response",
        flexible=True,
    ),
    Kind(
        "rsum-rr-published",
        RSumRR,
        lambda case: RSumRR.published(case.promise, case.size, case.max_messages),
        "unary bits with the paper's constants",
        flexible=True,
    ),
    Kind(
        "rsum-dsg",
        RSumDSG,
        lambda case: RSumDSG.calibrated(case.promise, case.size, case.max_messages),
        "discrete Laplace noise in a secure sum by split-mix",
        flexible=True,
    ),
    Kind(
        "rsum-pure",
        RSumPURE,
        lambda case: RSumPURE.calibrated(case.promise, case.size, case.max_messages),
        "binary digits with rare noise: delta is 0",
        flexible=True,
        by_name=FOR_PURE,
    ),
)
