"""The protocols for histograms, each with exact noise and with that of its paper."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import MURS, PRHR, PUCM, SOLH, HistDump, HistFlip, HistKR, HistMM, HistRR
from mechdesign.problems.shuffle.candidates import Kind
from mechdesign.problems.shuffle.settings import categories

KINDS = (
    Kind("hist-kr", HistKR, "k-ary randomized response: one category a user", categories, local=True),
    Kind(
        "hist-kr-published",
        HistKR,
        "k-ary randomized response with the paper's constants",
        categories,
        local=True,
    ),
    Kind(
        "solh",
        SOLH,
        "a separate hash function per user and a response on its buckets",
        categories,
        local=True,
    ),
    Kind("solh-published", SOLH, "hashing with the paper's constants", categories, local=True),
    Kind(
        "murs",
        MURS,
        "hashing, and one fake message of the shufflers for 100 users",
        categories,
        local=True,
        by_name="its shufflers have to add messages, not only to mix",
    ),
    Kind(
        "murs-published",
        MURS,
        "hashing and fake messages with the paper's constant",
        categories,
        local=True,
        by_name="its shufflers have to add messages, not only to mix",
    ),
    Kind("hist-dump", HistDump, "true categories among uniform dummies", categories, flexible=True),
    Kind(
        "hist-dump-published",
        HistDump,
        "true categories among dummies with the paper's constants",
        categories,
        flexible=True,
    ),
    Kind("hist-mm", HistMM, "presence in every category, small counts taken for 0", categories),
    Kind("hist-mm-published", HistMM, "presence in every category with the paper's constants", categories),
    Kind(
        "hist-rr",
        HistRR,
        "attribute fragments: a flipped bit for each category, each shuffled by itself",
        categories,
    ),
    Kind(
        "hist-rr-published",
        HistRR,
        "attribute fragments with the constants of cnt-rr for half of epsilon",
        categories,
    ),
    Kind(
        "hist-flip",
        HistFlip,
        "flipped indicator vectors, the user's and fakes",
        categories,
        flexible=True,
    ),
    Kind(
        "hist-flip-published",
        HistFlip,
        "flipped indicator vectors with the paper's constants",
        categories,
        flexible=True,
    ),
    Kind("prhr", PRHR, "entries of Hadamard codewords among random ones", categories, flexible=True),
    Kind(
        "prhr-published",
        PRHR,
        "entries of Hadamard codewords with the paper's constants",
        categories,
        flexible=True,
    ),
    Kind("pucm", PUCM, "buckets of public hash functions, the least one counts", categories, flexible=True),
    Kind(
        "pucm-published",
        PUCM,
        "buckets of public hash functions with the paper's constants",
        categories,
        flexible=True,
    ),
)
