"""The protocols for histograms, each with exact noise and with that of its paper."""

from __future__ import annotations

from mechdesign.families.shuffle import MURS, PRHR, PUCM, SOLH, HistDump, HistFlip, HistKR, HistMM, HistRR
from mechdesign.families.shuffle.candidates import domain, with_published

FAKES = "its shufflers have to add messages, not only to mix"

KINDS = (
    *with_published("hist-kr", HistKR, "k-ary randomized response: one category a user",
                    "k-ary randomized response with the paper's constants", domain, local=True),
    *with_published("solh", SOLH, "a separate hash function per user and a response on its buckets",
                    "hashing with the paper's constants", domain, local=True),
    *with_published("murs", MURS, "hashing, and one fake message of the shufflers for 100 users",
                    "hashing and fake messages with the paper's constant", domain, local=True,
                    by_name=FAKES),
    *with_published("hist-dump", HistDump, "true categories among uniform dummies",
                    "true categories among dummies with the paper's constants", domain, flexible=True),
    *with_published("hist-mm", HistMM, "presence in every category, small counts taken for 0",
                    "presence in every category with the paper's constants", domain),
    *with_published("hist-rr", HistRR,
                    "attribute fragments: a flipped bit for each category, each shuffled by itself",
                    "attribute fragments with the constants of cnt-rr for half of epsilon", domain),
    *with_published("hist-flip", HistFlip, "flipped indicator vectors, the user's and fakes",
                    "flipped indicator vectors with the paper's constants", domain, flexible=True),
    *with_published("prhr", PRHR, "entries of Hadamard codewords among random ones",
                    "entries of Hadamard codewords with the paper's constants", domain, flexible=True),
    *with_published("pucm", PUCM, "buckets of public hash functions, the least one counts",
                    "buckets of public hash functions with the paper's constants", domain, flexible=True),
)  # fmt: skip
