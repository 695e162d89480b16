"""Protocols of the shuffle model: clients, a shuffler, an analyzer."""

from mechdesign.mechanisms.shuffle.aut import AUT
from mechdesign.mechanisms.shuffle.base import Protocol
from mechdesign.mechanisms.shuffle.batches import BatchShuffler
from mechdesign.mechanisms.shuffle.cnt_2m import Cnt2M
from mechdesign.mechanisms.shuffle.cnt_bn import CntBN
from mechdesign.mechanisms.shuffle.cnt_pure import CntPURE
from mechdesign.mechanisms.shuffle.cnt_rr import CntRR
from mechdesign.mechanisms.shuffle.cnt_sgm import CntSGM
from mechdesign.mechanisms.shuffle.distinct import DistinctParity
from mechdesign.mechanisms.shuffle.hist_dump import HistDump
from mechdesign.mechanisms.shuffle.hist_flip import HistFlip
from mechdesign.mechanisms.shuffle.hist_kr import HistKR
from mechdesign.mechanisms.shuffle.hist_mm import HistMM
from mechdesign.mechanisms.shuffle.hist_rr import HistRR
from mechdesign.mechanisms.shuffle.murs import MURS
from mechdesign.mechanisms.shuffle.prhr import PRHR
from mechdesign.mechanisms.shuffle.promise import OutOfReachError, Promise
from mechdesign.mechanisms.shuffle.pucm import PUCM
from mechdesign.mechanisms.shuffle.put import PUT
from mechdesign.mechanisms.shuffle.range_tree import RangeTree
from mechdesign.mechanisms.shuffle.rsum_dsg import RSumDSG
from mechdesign.mechanisms.shuffle.rsum_kr import RSumKR
from mechdesign.mechanisms.shuffle.rsum_pure import RSumPURE
from mechdesign.mechanisms.shuffle.rsum_rm import RSumRM
from mechdesign.mechanisms.shuffle.rsum_rr import RSumRR
from mechdesign.mechanisms.shuffle.solh import SOLH
from mechdesign.mechanisms.shuffle.uniformity import UniformityDump

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
