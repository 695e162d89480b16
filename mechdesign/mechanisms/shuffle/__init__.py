"""Protocols of the shuffle model: clients, a shuffler, an analyzer."""

from mechdesign.mechanisms.shuffle.base import Protocol
from mechdesign.mechanisms.shuffle.batches import BatchShuffler
from mechdesign.mechanisms.shuffle.codewords import PRHR
from mechdesign.mechanisms.shuffle.digits import RSumRM
from mechdesign.mechanisms.shuffle.dummies import CntBN, HistDump
from mechdesign.mechanisms.shuffle.flips import CntRR, HistRR, RSumRR
from mechdesign.mechanisms.shuffle.hashing import MURS, SOLH
from mechdesign.mechanisms.shuffle.parity import DistinctParity
from mechdesign.mechanisms.shuffle.presence import Cnt2M, HistMM
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise
from mechdesign.mechanisms.shuffle.pure import CntPURE
from mechdesign.mechanisms.shuffle.pure_digits import RSumPURE
from mechdesign.mechanisms.shuffle.range_tree import RangeTree
from mechdesign.mechanisms.shuffle.responses import HistKR, RSumKR
from mechdesign.mechanisms.shuffle.secure import CntSGM, RSumDSG
from mechdesign.mechanisms.shuffle.sketch import PUCM
from mechdesign.mechanisms.shuffle.uniformity_tests import AUT, PUT, UniformityDump
from mechdesign.mechanisms.shuffle.vectors import HistFlip

__all__ = [
    "AUT",
    "MURS",
    "PRHR",
    "PUCM",
    "PUT",
    "SOLH",
    "BatchShuffler",
    "Cnt2M",
    "CntBN",
    "CntPURE",
    "CntRR",
    "CntSGM",
    "DistinctParity",
    "HistDump",
    "HistFlip",
    "HistKR",
    "HistMM",
    "HistRR",
    "OutOfReachError",
    "Promise",
    "Protocol",
    "RSumDSG",
    "RSumKR",
    "RSumPURE",
    "RSumRM",
    "RSumRR",
    "RangeTree",
    "UniformityDump",
]
