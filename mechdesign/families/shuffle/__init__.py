"""The shuffle model: how private shuffled reports are, what each needs by itself, and protocols that run.

Protocols of the shuffle model: clients, a shuffler, an analyzer. A protocol is a row: a task, what people
hold and what is estimated (``tasks``); a noise, what hides them and what is proven of it (``noise``); and an
estimator, linear in the counted messages unless the class states another one:

============  ======================================  =======  ========  ================  ==============
module        noise, and what is proven of it         count    sum       histogram         others
============  ======================================  =======  ========  ================  ==============
secure        discrete Laplace noise in split shares  CntSGM   RSumDSG                     PUT
secure        parities, and mixed shares                                                   DistinctParity
dummies       one message among uniform ones          CntBN              HistDump          UniformityDump
dummies       one in each row, among dummies                                               AUT, RangeTree
sketch        rows of public hash functions                              PUCM
sketch        what fits a codeword, among dummies                        PRHR
responses     a blanket of fair coins                          RSumKR    HistKR
responses     responses on buckets, and fakes                            SOLH, MURS
digits        responses, composed                              RSumRM
flips         bits among coins of the others          CntRR    RSumRR    HistRR, HistFlip
presence      two binomial counts                     Cnt2M              HistMM
pure, digits  the largest ratio of a sum's law        CntPURE  RSumPURE
============  ======================================  =======  ========  ================  ==============

Ranges have a file of their own, and so have the tests of uniformity (``uniformity_tests``), for what they
estimate. ``secure`` is one piece of code for counts and sums: a count is a sum of one step that is not
rounded. The digits of ``RSumPURE`` have the noise of ``CntPURE`` each, and ``dummies`` are one calculation
for any number of categories; the coins of ``CntBN`` are that for two. ``CntRR`` and ``HistKR`` of two
categories are proven in different ways, and so are apart. The constants of the papers and the closed forms
of the literature are in ``papers``.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = (
    "ShuffleAmplification",
    "ShuffleCounting",
    "ShuffleDistinct",
    "ShuffleHistogram",
    "ShuffleLocalBudget",
    "ShuffleRange",
    "ShuffleSum",
    "ShuffleUniformity",
)
EXPORTS = ("OutOfReachError", "shuffled")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.shuffle.amplification import ShuffleAmplification as ShuffleAmplification
    from mechdesign.families.shuffle.counts import (
        ShuffleCounting as ShuffleCounting,
        ShuffleDistinct as ShuffleDistinct,
        ShuffleHistogram as ShuffleHistogram,
        ShuffleRange as ShuffleRange,
        ShuffleSum as ShuffleSum,
        ShuffleUniformity as ShuffleUniformity,
    )
    from mechdesign.families.shuffle.digits import RSumPURE as RSumPURE, RSumRM as RSumRM
    from mechdesign.families.shuffle.dummies import CntBN as CntBN, HistDump as HistDump
    from mechdesign.families.shuffle.flips import (
        CntRR as CntRR,
        HistFlip as HistFlip,
        HistRR as HistRR,
        RSumRR as RSumRR,
    )
    from mechdesign.families.shuffle.local_budget import ShuffleLocalBudget as ShuffleLocalBudget
    from mechdesign.families.shuffle.messages import BatchShuffler as BatchShuffler
    from mechdesign.families.shuffle.presence import Cnt2M as Cnt2M, HistMM as HistMM
    from mechdesign.families.shuffle.promise import OutOfReachError as OutOfReachError
    from mechdesign.families.shuffle.protocol import Protocol as Protocol
    from mechdesign.families.shuffle.pure import CntPURE as CntPURE
    from mechdesign.families.shuffle.range_tree import RangeTree as RangeTree
    from mechdesign.families.shuffle.responses import (
        MURS as MURS,
        SOLH as SOLH,
        HistKR as HistKR,
        RSumKR as RSumKR,
    )
    from mechdesign.families.shuffle.secure import (
        CntSGM as CntSGM,
        DistinctParity as DistinctParity,
        RSumDSG as RSumDSG,
    )
    from mechdesign.families.shuffle.shuffled_reports import shuffled as shuffled
    from mechdesign.families.shuffle.sketch import PRHR as PRHR, PUCM as PUCM
    from mechdesign.families.shuffle.uniformity_tests import (
        AUT as AUT,
        PUT as PUT,
        UniformityDump as UniformityDump,
    )
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "amplification": "ShuffleAmplification",
            "protocol": "Protocol",
            "messages": "BatchShuffler",
            "counts": (
                "ShuffleCounting ShuffleDistinct ShuffleHistogram ShuffleRange ShuffleSum ShuffleUniformity"
            ),
            "shuffled_reports": "shuffled",
            "promise": "OutOfReachError",
            "digits": "RSumPURE RSumRM",
            "dummies": "CntBN HistDump",
            "flips": "CntRR HistFlip HistRR RSumRR",
            "local_budget": "ShuffleLocalBudget",
            "presence": "Cnt2M HistMM",
            "pure": "CntPURE",
            "range_tree": "RangeTree",
            "responses": "HistKR MURS RSumKR SOLH",
            "secure": "CntSGM DistinctParity RSumDSG",
            "sketch": "PRHR PUCM",
            "uniformity_tests": "AUT PUT UniformityDump",
        },
    )
