"""The problem ``shuffle-histogram``: how many users hold each category, from shuffled messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mechdesign.core.problem import Problem, Sense
from mechdesign.core.validation import integer
from mechdesign.mechanisms.shuffle import Protocol
from mechdesign.mechanisms.shuffle.sketch import MOST_SEED
from mechdesign.problems.shuffle.categorised import Categorised
from mechdesign.problems.shuffle.histogram.kinds import KINDS


@dataclass(frozen=True, repr=False)
class ShuffleHistogram(Categorised, Problem[Protocol]):
    r"""The protocol that counts the users of each category with the least error of an empty one.

    ::

        minimise    sqrt E (estimate - 0)^2  of a category that nobody holds; the worst over all counts where
                    small counts are taken for 0
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages, their bits <= max_bits, delta = 0 where pure,
                    a user's own messages local_cap-private

    Parameters
    ----------
    users : int
        From 2 to 1e9; their number is public.
    categories : int
        From 2 to 2**20.
    epsilon : float
        From 2**-20 to 40.
    delta : float
        From 1e-30 to below 1.
    protocol : str
        ``"best"``, ``"hist-kr"``, ``"solh"``, ``"murs"`` (only by name: its shufflers add messages),
        ``"hist-dump"``,
        ``"hist-mm"``, ``"hist-rr"``, ``"hist-flip"``, ``"prhr"`` or ``"pucm"``.
    max_messages : int, optional
        The most messages that a user may send.
    honest : float
        In (0, 1]: the fraction of users who follow the protocol, whatever the others do. The error is
        that when all do.
    local_cap : float, optional
        The largest epsilon of a user's messages before they are shuffled.
    labels : sequence of str, optional
        Names of the categories.
    max_bits : int, optional
        The most bits of all messages of a user.
    pure : bool
        Whether delta has to be 0: only protocols with a proof for that, such as randomized response that is
        private by itself. ``delta`` is then not used up.
    seed : int, optional
        From 0 to 2**62, of the public hash functions of ``pucm``. By default every mechanism that is built
        draws its own: the error is that over their draw. Give one only for a repeatable build.

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
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "root mean squared error of a count"
    summary: ClassVar[str] = "protocol that counts categories from shuffled messages with the least error"
    compared_with: ClassVar[str] = "the protocols that are built in and fit the limits"
    kinds = KINDS
    share: ClassVar[str] = "share of a category"

    users: int
    categories: int
    epsilon: float
    delta: float
    protocol: str = "best"
    max_messages: int | None = None
    honest: float = 1.0
    local_cap: float | None = None
    labels: Sequence[str] | None = None
    max_bits: int | None = None
    pure: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        self.check_categories()
        if self.seed is not None:
            object.__setattr__(self, "seed", integer("seed", self.seed, 0, MOST_SEED))
