"""The protocols that count, each with exact noise and with that of its paper."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import Cnt2M, CntBN, CntPURE, CntRR, CntSGM
from mechdesign.problems.shuffle.candidates import FOR_PURE, Kind

KINDS = (
    Kind("cnt-rr", CntRR, "randomized response: one bit a user", local=True),
    Kind("cnt-rr-published", CntRR, "randomized response with the paper's constants", local=True),
    Kind("cnt-2m", Cnt2M, "presence: up to two messages a user, 0 counted as 0"),
    Kind("cnt-2m-published", Cnt2M, "presence with the paper's constants"),
    Kind("cnt-bn", CntBN, "true bits among fair coins", flexible=True),
    Kind("cnt-bn-published", CntBN, "true bits among fair coins with the paper's constants", flexible=True),
    Kind("cnt-sgm", CntSGM, "discrete Laplace noise in a secure sum by split-mix", flexible=True),
    Kind(
        "cnt-pure",
        CntPURE,
        "bits with rare noise about the middle: delta is 0",
        local=True,
        flexible=True,
        by_name=FOR_PURE,
    ),
)
