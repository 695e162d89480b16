"""Protocols of the shuffle model: clients, a shuffler, an analyzer.

A protocol is a task, what people hold and what is estimated (``tasks``), and a noise, what hides them
(``noise``). A file has one kind of noise with the proof of what it hides, and the protocols that use it:

============================================  =======  ========  ================  ==============
noise, and what is proven of it               count    sum       histogram         others
============================================  =======  ========  ================  ==============
``secure``: discrete Laplace in split shares  CntSGM   RSumDSG                     PUT
``dummies``: one message among uniform ones   CntBN              HistDump          UniformityDump
``rows``: one in each row, among dummies                                           AUT, RangeTree
``sketch``: rows of public hash functions                        PUCM
``codewords``: what fits one, among dummies                      PRHR
``responses``: a blanket of fair coins                 RSumKR    HistKR
``digits``: responses, composed                        RSumRM
``hashing``: responses on buckets, and fakes                     SOLH, MURS
``flips``: bits among coins of the others     CntRR    RSumRR
``vectors``: two bits, or fakes alone                            HistRR, HistFlip
``presence``: two binomial counts             Cnt2M              HistMM
``pure``: the largest ratio of a sum's law    CntPURE  RSumPURE
``parity``: parities, and mixed shares                                             DistinctParity
============================================  =======  ========  ================  ==============

Ranges have a file of their own, and so have the tests of uniformity (``uniformity_tests``,
``uniformity_bits``), for what they estimate. ``secure`` is one piece of code for counts and sums: a count is
a sum of one step that is not rounded. The digits of ``RSumPURE`` have the noise of ``CntPURE`` each, and
``dummies`` are one calculation for any number of categories; the coins of ``CntBN`` are that for two.
``CntRR`` and ``HistKR`` of two categories are proven in different ways, and so are apart.
"""

from mechdesign.mechanisms.shuffle.base import Protocol
from mechdesign.mechanisms.shuffle.batches import BatchShuffler
from mechdesign.mechanisms.shuffle.codewords import PRHR
from mechdesign.mechanisms.shuffle.digits import RSumRM
from mechdesign.mechanisms.shuffle.dummies import CntBN, HistDump
from mechdesign.mechanisms.shuffle.flips import CntRR, RSumRR
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
from mechdesign.mechanisms.shuffle.uniformity_bits import AUT, PUT
from mechdesign.mechanisms.shuffle.uniformity_tests import UniformityDump
from mechdesign.mechanisms.shuffle.vectors import HistFlip, HistRR

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
