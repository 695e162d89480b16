"""The problem ``shuffle-histogram``: how many users hold each category, from shuffled messages.

``HISTOGRAM_KINDS`` lists its protocols, each with exact noise and with that of its paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from mechdesign.core.fields import frozen_problem, whole
from mechdesign.families.shuffle import (
    MURS,
    PRHR,
    PUCM,
    SOLH,
    HistDump,
    HistFlip,
    HistKR,
    HistMM,
    HistRR,
)
from mechdesign.families.shuffle.candidates import domain, with_published
from mechdesign.families.shuffle.choosing import Categorised, LocallyLimited, protocol_field, protocol_methods
from mechdesign.families.shuffle.sketch import MOST_SEED

FAKES = "its shufflers have to add messages, not only to mix"

HISTOGRAM_KINDS = (
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


@frozen_problem()
class ShuffleHistogram(Categorised, LocallyLimited):
    r"""The protocol that counts the users of each category with the least error of an empty one.

    ::

        minimize    sqrt E (estimate - 0)^2  of a category that no user holds; the worst over all counts where
                    small counts are taken for 0
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages, their bits <= max_bits, delta = 0 where pure,
                    a user's own messages local_cap-private

    Notes
    -----
    Source: the survey's section 4.2; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.ShuffleHistogram(users=100_000, categories=50, epsilon=1.0, delta=1e-6, max_messages=1)
    >>> solution = md.solve(problem)
    >>> solution.variables["protocol"], round(solution.value, 1)
    ('hist-kr', 6.7)
    """

    name: ClassVar[str] = "shuffle-histogram"
    example: ClassVar[Mapping[str, Any]] = {"users": 10000, "categories": 20, "epsilon": 1.0, "delta": 1e-06}
    value_name: ClassVar[str] = "root mean squared error of a count"
    summary: ClassVar[str] = "protocol that counts categories from shuffled messages with the least error"
    kinds = HISTOGRAM_KINDS
    share: ClassVar[str] = "share of a category"

    protocol: str = protocol_field(
        '``"best"``, ``"hist-kr"``, ``"solh"``, ``"murs"`` (only by name: its shufflers add '
        'messages), ``"hist-dump"``, ``"hist-mm"``, ``"hist-rr"``, ``"hist-flip"``, ``"prhr"`` or '
        '``"pucm"``.',
        HISTOGRAM_KINDS,
    )
    seed: int | None = whole(
        "From 0 to 2**62, of the public hash functions of ``pucm``. By default every mechanism that "
        "is built draws its own: the error is that over their draw. Give one only for a repeatable "
        "build.",
        low=0,
        high=MOST_SEED,
        default=None,
    )

    @property
    def drawn(self) -> dict[str, Any]:
        """The seed, where it was given."""
        return {} if self.seed is None else {"seed": self.seed}
