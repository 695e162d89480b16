"""Problems of counts from shuffled messages, each with a table of its protocols.

Counts of ones, of numbers in [0, 1] (a sum), of every category and of ranges of categories; how many
categories are held by anybody; whether categories are uniform. Protocols have exact noise and, where their
papers have constants, those as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from mechdesign.core.fields import frozen_problem, real, whole
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.choosing import (
    FOR_PURE,
    Categorised,
    Kind,
    Limited,
    LocallyLimited,
    ProtocolSetting,
    protocol_field,
    protocol_methods,
    with_published,
)
from mechdesign.families.shuffle.digits import RSumPURE, RSumRM
from mechdesign.families.shuffle.dummies import CntBN, HistDump
from mechdesign.families.shuffle.flips import CntRR, HistFlip, HistRR, RSumRR
from mechdesign.families.shuffle.presence import Cnt2M, HistMM
from mechdesign.families.shuffle.protocol import Protocol
from mechdesign.families.shuffle.pure import CntPURE
from mechdesign.families.shuffle.range_tree import MOST_CATEGORIES, RangeTree
from mechdesign.families.shuffle.responses import MURS, SOLH, HistKR, RSumKR
from mechdesign.families.shuffle.secure import CntSGM, DistinctParity, RSumDSG
from mechdesign.families.shuffle.sketch import MOST_SEED, PRHR, PUCM
from mechdesign.families.shuffle.tasks import MOST_STEPS, CountProtocol
from mechdesign.families.shuffle.uniformity_tests import AUT, ERROR, LEAST_ERROR, PUT, UniformityDump

COUNT_KINDS = (
    *with_published("cnt-rr", CntRR, "randomized response: one bit a user",
                    "randomized response with the paper's constants", local=True),
    *with_published("cnt-2m", Cnt2M, "presence: up to two messages a user, 0 counted as 0",
                    "presence with the paper's constants"),
    *with_published("cnt-bn", CntBN, "true bits among fair coins",
                    "true bits among fair coins with the paper's constants", flexible=True),
    Kind("cnt-sgm", CntSGM, "discrete Laplace noise in a secure sum by split-mix", flexible=True),
    Kind("cnt-pure", CntPURE, "bits with rare noise about the middle: delta is 0", local=True,
         flexible=True, by_name=FOR_PURE),
)  # fmt: skip


UNSTATED = "it is a choice among protocols, whose parameters are found where a proven delta fits"
"""Why no program states these problems."""


@frozen_problem()
class ShuffleCounting(LocallyLimited):
    r"""The protocol that counts ones with the least error, at its worst or with a known share of ones.

    ::

        minimize    max over data of  sqrt E (count's estimate - count)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages, their bits <= max_bits, delta = 0 where pure,
                    a user's own messages local_cap-private

    Notes
    -----
    Source: the survey's section 4.1; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.ShuffleCounting(users=10_000, epsilon=1.0, delta=1e-6))
    >>> solution.variables["protocol"], round(solution.value, 2)
    ('cnt-sgm', 1.36)
    >>> single = md.solve(md.ShuffleCounting(users=10_000, epsilon=1.0, delta=1e-6, max_messages=1))
    >>> single.variables["protocol"], round(single.value, 2)
    ('cnt-rr', 5.86)
    """

    name: ClassVar[str] = "shuffle-counting"
    example: ClassVar[Mapping[str, Any]] = {"users": 10000, "epsilon": 1.0, "delta": 1e-06}
    value_name: ClassVar[str] = "root mean squared error of the count"
    unstated: ClassVar[str] = UNSTATED
    summary: ClassVar[str] = "protocol that counts ones from shuffled messages with the least error"
    kinds = COUNT_KINDS
    share: ClassVar[str] = "share of the users who hold 1"

    protocol: str = protocol_field(
        '``"best"``, ``"cnt-rr"``, ``"cnt-2m"``, ``"cnt-bn"``, ``"cnt-sgm"`` or ``"cnt-pure"``.', COUNT_KINDS
    )
    ones: float | None = real(
        "The share of users who hold 1, where it is known: the error is then that for such data.",
        low=0.0,
        high=1.0,
        default=None,
    )

    def error_of(self, protocol: Protocol) -> float:
        if self.ones is None or not isinstance(protocol, CountProtocol):
            return protocol.rmse
        return protocol.rmse_at(self.ones)

    def messages_of(self, protocol: Protocol) -> float:
        if self.ones is None or not isinstance(protocol, CountProtocol):
            return protocol.mean_messages
        return protocol.messages_at(self.ones)


SUM_KINDS = (
    Kind("rsum-kr", RSumKR, "k-ary randomized response: one rounded number a user", local=True),
    Kind("rsum-kr-published", RSumKR, "k-ary randomized response with the paper's constants"),
    Kind("rsum-rm", RSumRM, "two or more digits, each a k-ary randomized response", flexible=True),
    Kind("rsum-rm-published", RSumRM, "three digits with the paper's constants"),
    *with_published("rsum-rr", RSumRR, "unary bits, each a randomized response",
                    "unary bits with the paper's constants", flexible=True),
    Kind("rsum-dsg", RSumDSG, "discrete Laplace noise in a secure sum by split-mix", flexible=True),
    Kind("rsum-pure", RSumPURE, "binary digits with rare noise: delta is 0", flexible=True,
         by_name=FOR_PURE),
)  # fmt: skip


@frozen_problem()
class ShuffleSum(Limited):
    r"""The protocol that adds up numbers in [0, 1] with the least error, at its worst over all data.

    ::

        minimize    max over data of  sqrt E (sum's estimate - sum)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages, their bits <= max_bits, delta = 0 where pure

    Notes
    -----
    Source: the survey's section 4.3; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.ShuffleSum(users=100_000, epsilon=1.0, delta=1e-6))
    >>> solution.variables["protocol"], round(solution.value, 2)
    ('rsum-dsg', 1.5)
    """

    name: ClassVar[str] = "shuffle-sum"
    example: ClassVar[Mapping[str, Any]] = {"users": 1000, "epsilon": 1.0, "delta": 1e-06}
    value_name: ClassVar[str] = "root mean squared error of the sum"
    unstated: ClassVar[str] = UNSTATED
    summary: ClassVar[str] = "protocol that adds up numbers from shuffled messages with the least error"
    kinds = SUM_KINDS
    share: ClassVar[str] = "mean of the numbers in [0, 1]"

    protocol: str = protocol_field(
        '``"best"``, ``"rsum-kr"``, ``"rsum-rm"``, ``"rsum-rr"``, ``"rsum-dsg"`` or ``"rsum-pure"``.',
        SUM_KINDS,
    )
    precision: int | None = whole(
        "The steps from 0 to 1 to which numbers are rounded; chosen for each protocol where it is left out.",
        low=1,
        high=MOST_STEPS,
        default=None,
    )

    @property
    def case(self) -> ProtocolSetting:
        return replace(super().case, setting=(("precision", self.precision or 0),))


FAKES = "its shufflers have to add messages, not only to mix"

HISTOGRAM_KINDS = (
    *with_published("hist-kr", HistKR, "k-ary randomized response: one category a user",
                    "k-ary randomized response with the paper's constants", local=True),
    *with_published("solh", SOLH, "a separate hash function per user and a response on its buckets",
                    "hashing with the paper's constants", local=True),
    *with_published("murs", MURS, "hashing, and one fake message of the shufflers for 100 users",
                    "hashing and fake messages with the paper's constant", local=True, by_name=FAKES),
    *with_published("hist-dump", HistDump, "true categories among uniform dummies",
                    "true categories among dummies with the paper's constants", flexible=True),
    *with_published("hist-mm", HistMM, "presence in every category, small counts taken for 0",
                    "presence in every category with the paper's constants"),
    *with_published("hist-rr", HistRR,
                    "attribute fragments: a flipped bit for each category, each shuffled by itself",
                    "attribute fragments with the constants of cnt-rr for half of epsilon"),
    *with_published("hist-flip", HistFlip, "flipped indicator vectors, the user's and fakes",
                    "flipped indicator vectors with the paper's constants", flexible=True),
    *with_published("prhr", PRHR, "entries of Hadamard codewords among random ones",
                    "entries of Hadamard codewords with the paper's constants", flexible=True),
    *with_published("pucm", PUCM, "buckets of public hash functions, the least one counts",
                    "buckets of public hash functions with the paper's constants", flexible=True),
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
    unstated: ClassVar[str] = UNSTATED
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
    def public_parameters(self) -> dict[str, Any]:
        return {} if self.seed is None else {"seed": self.seed}


RANGE_KINDS = (
    Kind("range-tree", RangeTree, "the nodes of a binary tree, one of each level", flexible=True),
)  # fmt: skip


@frozen_problem()
class ShuffleRange(Categorised):
    r"""The protocol that counts the users of every range of categories with the least error of the worst one.

    ::

        minimize    max over ranges and data of  sqrt E (estimate - count of the range)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages

    Notes
    -----
    Source: the survey, other tasks; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.ShuffleRange(users=10_000, categories=64, epsilon=1.0, delta=1e-6)
    >>> solution = md.solve(problem)
    >>> solution.variables["protocol"], round(solution.value, 1), round(solution.quantities["messages"], 2)
    ('range-tree', 46.5, 8.75)
    """

    name: ClassVar[str] = "shuffle-range"
    example: ClassVar[Mapping[str, Any]] = {"users": 10000, "categories": 64, "epsilon": 1.0, "delta": 1e-06}
    value_name: ClassVar[str] = "root mean squared error of a range"
    unstated: ClassVar[str] = UNSTATED
    summary: ClassVar[str] = (
        "protocol that counts the users of all ranges from shuffled messages with the least error"
    )
    kinds = RANGE_KINDS
    share: ClassVar[str] = "share of the users in a range"

    protocol: str = protocol_field('``"best"`` or ``"range-tree"``.', RANGE_KINDS)
    categories: int = whole("From 2 to 2**16, in their order.", low=2, high=MOST_CATEGORIES)


DISTINCT_KINDS = (
    Kind("distinct-parity", DistinctParity, "noisy parities, a bit of every user for every category",
         flexible=True),
)  # fmt: skip


@frozen_problem()
class ShuffleDistinct(Categorised):
    r"""The protocol that counts the categories that anybody holds with the least error, over all data.

    ::

        minimize    max over data of  sqrt E (estimate - number of categories held)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages

    Notes
    -----
    Source: the survey, other tasks; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.ShuffleDistinct(users=1000, categories=50, epsilon=1.0, delta=1e-6)
    >>> solution = md.solve(problem)
    >>> solution.variables["protocol"], round(solution.value, 1), solution.quantities["most_messages"]
    ('distinct-parity', 15.3, 300)
    """

    name: ClassVar[str] = "shuffle-distinct"
    example: ClassVar[Mapping[str, Any]] = {"users": 1000, "categories": 50, "epsilon": 1.0, "delta": 1e-06}
    value_name: ClassVar[str] = "root mean squared error of the number of categories"
    unstated: ClassVar[str] = UNSTATED
    summary: ClassVar[str] = (
        "protocol that counts distinct categories from shuffled messages with the least error"
    )
    kinds = DISTINCT_KINDS

    protocol: str = protocol_field('``"best"`` or ``"distinct-parity"``.', DISTINCT_KINDS)

    def planned_error(self, solution: Solution[Any]) -> tuple[float, str, str]:
        return solution.value / self.categories, "root mean squared error", "share of the categories"


MANY = "a user sends messages for every category, for next to no gain"

UNIFORMITY_KINDS = (
    Kind("uniformity-dump", UniformityDump, "collisions among true categories and uniform dummies",
         flexible=True),
    Kind("aut", AUT, "a bit for each category, among fair coins", flexible=True, by_name=MANY),
    Kind("put", PUT, "a bit for each category with discrete Laplace noise, in shares", by_name=MANY),
)  # fmt: skip


@frozen_problem()
class ShuffleUniformity(Categorised):
    r"""The protocol that tells uniform categories from those at the least distance, with few wrong answers.

    ::

        minimize    the distance from uniform, in total variation, found with a chance of at least 1 - error
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages

    Notes
    -----
    Source: the survey, other tasks; docs/families/shuffle_protocols.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.ShuffleUniformity(users=100_000, categories=100, epsilon=1.0, delta=1e-6)
    >>> solution = md.solve(problem)
    >>> solution.variables["protocol"], round(solution.value, 3)
    ('uniformity-dump', 0.032)
    """

    name: ClassVar[str] = "shuffle-uniformity"
    example: ClassVar[Mapping[str, Any]] = {
        "users": 100000,
        "categories": 100,
        "epsilon": 1.0,
        "delta": 1e-06,
    }
    value_name: ClassVar[str] = "least distance from uniform that is surely found"
    unstated: ClassVar[str] = UNSTATED
    summary: ClassVar[str] = (
        "protocol that tests uniform categories from shuffled messages with the least distance"
    )
    kinds = UNIFORMITY_KINDS

    protocol: str = protocol_field(
        '``"best"``, ``"uniformity-dump"``; by name only, for their many messages, ``"aut"`` and ``"put"``.',
        UNIFORMITY_KINDS,
    )
    error: float = real(
        "From 1e-9 to below 1/2: the largest probability of rejecting uniform categories, "
        "and of missing that distance.",
        low=LEAST_ERROR,
        high=0.5,
        high_open=True,
        default=ERROR,
    )

    @property
    def setting(self) -> dict[str, Any]:
        return {**super().setting, "error": self.error}

    def planned_error(self, solution: Solution[Any]) -> tuple[float, str, str]:
        return solution.value, "distance from uniform that is surely found", "total variation"


METHODS = tuple(
    method
    for problem in (
        ShuffleCounting,
        ShuffleSum,
        ShuffleHistogram,
        ShuffleRange,
        ShuffleDistinct,
        ShuffleUniformity,
    )
    for method in protocol_methods(problem)
)
"""For each problem the best protocol, then each of its kinds."""
