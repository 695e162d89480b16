"""The protocols that count, with exact noise and, where their papers have constants, with those."""

from __future__ import annotations

from mechdesign.families.shuffle import Cnt2M, CntBN, CntPURE, CntRR, CntSGM
from mechdesign.families.shuffle.candidates import FOR_PURE, Kind, with_published

KINDS = (
    *with_published("cnt-rr", CntRR, "randomized response: one bit a user",
                    "randomized response with the paper's constants", local=True),
    *with_published("cnt-2m", Cnt2M, "presence: up to two messages a user, 0 counted as 0",
                    "presence with the paper's constants"),
    *with_published("cnt-bn", CntBN, "true bits among fair coins",
                    "true bits among fair coins with the paper's constants", flexible=True),
    Kind("cnt-sgm", CntSGM, "discrete Laplace noise in a secure sum by split-mix", flexible=True),
    Kind("cnt-pure", CntPURE, "bits with rare noise about the middle: delta is 0", local=True, flexible=True,
         by_name=FOR_PURE),
)  # fmt: skip
