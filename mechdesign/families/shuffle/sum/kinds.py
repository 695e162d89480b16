"""The protocols for sums, with exact noise and, where their papers have constants, with those."""

from __future__ import annotations

from mechdesign.families.shuffle import RSumDSG, RSumKR, RSumPURE, RSumRM, RSumRR
from mechdesign.families.shuffle.candidates import FOR_PURE, Kind, steps, with_published

KINDS = (
    Kind("rsum-kr", RSumKR, "k-ary randomized response: one rounded number a user", steps, local=True),
    Kind("rsum-kr-published", RSumKR, "k-ary randomized response with the paper's constants", steps),
    Kind("rsum-rm", RSumRM, "two or more digits, each a k-ary randomized response", steps, flexible=True),
    Kind("rsum-rm-published", RSumRM, "three digits with the paper's constants", steps),
    *with_published("rsum-rr", RSumRR, "unary bits, each a randomized response",
                    "unary bits with the paper's constants", steps, flexible=True),
    Kind("rsum-dsg", RSumDSG, "discrete Laplace noise in a secure sum by split-mix", steps,
         flexible=True),
    Kind("rsum-pure", RSumPURE, "binary digits with rare noise: delta is 0", steps, flexible=True,
         by_name=FOR_PURE),
)  # fmt: skip
