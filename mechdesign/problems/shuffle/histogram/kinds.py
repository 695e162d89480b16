"""The protocols for histograms, each with exact noise and with that of its paper."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import MURS, PRHR, PUCM, SOLH, HistDump, HistFlip, HistKR, HistMM, HistRR
from mechdesign.problems.shuffle.candidates import Kind

KINDS = (
    Kind(
        "hist-kr",
        HistKR,
        lambda case: HistKR.calibrated(case.promise, case.size, labels=case.labels, local_cap=case.local_cap),
        "k-ary randomized response: one category a user",
        local=True,
    ),
    Kind(
        "hist-kr-published",
        HistKR,
        lambda case: HistKR.published(case.promise, case.size, labels=case.labels, local_cap=case.local_cap),
        "k-ary randomized response with the paper's constants",
        local=True,
    ),
    Kind(
        "solh",
        SOLH,
        lambda case: SOLH.calibrated(case.promise, case.size, labels=case.labels, local_cap=case.local_cap),
        "a hash function of one's own and a response on its buckets",
        local=True,
    ),
    Kind(
        "solh-published",
        SOLH,
        lambda case: SOLH.published(case.promise, case.size, labels=case.labels, local_cap=case.local_cap),
        "hashing with the paper's constants",
        local=True,
    ),
    Kind(
        "murs",
        MURS,
        lambda case: MURS.calibrated(case.promise, case.size, labels=case.labels, local_cap=case.local_cap),
        "hashing, and one fake message of the shufflers for 100 users",
        local=True,
        by_name="its shufflers have to add messages, not only to mix",
    ),
    Kind(
        "murs-published",
        MURS,
        lambda case: MURS.published(case.promise, case.size, labels=case.labels, local_cap=case.local_cap),
        "hashing and fake messages with the paper's constant",
        local=True,
        by_name="its shufflers have to add messages, not only to mix",
    ),
    Kind(
        "hist-dump",
        HistDump,
        lambda case: HistDump.calibrated(case.promise, case.size, case.max_messages, case.labels),
        "true categories among uniform dummies",
        flexible=True,
    ),
    Kind(
        "hist-dump-published",
        HistDump,
        lambda case: HistDump.published(case.promise, case.size, case.max_messages, case.labels),
        "true categories among dummies with the paper's constants",
        flexible=True,
    ),
    Kind(
        "hist-mm",
        HistMM,
        lambda case: HistMM.calibrated(case.promise, case.size, labels=case.labels),
        "presence in every category, small counts taken for 0",
    ),
    Kind(
        "hist-mm-published",
        HistMM,
        lambda case: HistMM.published(case.promise, case.size, labels=case.labels),
        "presence in every category with the paper's constants",
    ),
    Kind(
        "hist-rr",
        HistRR,
        lambda case: HistRR.calibrated(case.promise, case.size, case.max_messages, case.labels),
        "attribute fragments: a flipped bit for each category, each shuffled by itself",
    ),
    Kind(
        "hist-rr-published",
        HistRR,
        lambda case: HistRR.published(case.promise, case.size, case.max_messages, case.labels),
        "attribute fragments with the constants of cnt-rr for half of epsilon",
    ),
    Kind(
        "hist-flip",
        HistFlip,
        lambda case: HistFlip.calibrated(case.promise, case.size, case.max_messages, case.labels),
        "flipped indicator vectors, the own one and fakes",
        flexible=True,
    ),
    Kind(
        "hist-flip-published",
        HistFlip,
        lambda case: HistFlip.published(case.promise, case.size, case.max_messages, case.labels),
        "flipped indicator vectors with the paper's constants",
        flexible=True,
    ),
    Kind(
        "prhr",
        PRHR,
        lambda case: PRHR.calibrated(case.promise, case.size, case.max_messages, case.labels),
        "entries of Hadamard codewords among random ones",
        flexible=True,
    ),
    Kind(
        "prhr-published",
        PRHR,
        lambda case: PRHR.published(case.promise, case.size, case.max_messages, case.labels),
        "entries of Hadamard codewords with the paper's constants",
        flexible=True,
    ),
    Kind(
        "pucm",
        PUCM,
        lambda case: PUCM.calibrated(case.promise, case.size, case.max_messages, case.labels),
        "buckets of public hash functions, the least one counts",
        flexible=True,
    ),
    Kind(
        "pucm-published",
        PUCM,
        lambda case: PUCM.published(case.promise, case.size, case.max_messages, case.labels),
        "buckets of public hash functions with the paper's constants",
        flexible=True,
    ),
)
