"""The problem ``shuffle-sum``: the sum of numbers in [0, 1], from shuffled messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mechdesign.core.problem import Problem, Sense
from mechdesign.core.validation import integer
from mechdesign.mechanisms.shuffle import Protocol
from mechdesign.mechanisms.shuffle.tasks import MOST_STEPS
from mechdesign.problems.shuffle.candidates import Choosing
from mechdesign.problems.shuffle.sum.kinds import KINDS


@dataclass(frozen=True, repr=False)
class ShuffleSum(Choosing, Problem[Protocol]):
    r"""The protocol that adds up numbers in [0, 1] with the least error, at its worst over all data.

    ::

        minimise    max over data of  sqrt E (sum's estimate - sum)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages, their bits <= max_bits, delta = 0 where pure

    Parameters
    ----------
    users : int
        From 2 to 1e9; their number is public.
    epsilon : float
        From 2**-20 to 40.
    delta : float
        From 1e-30 to below 1.
    protocol : str
        ``"best"``, ``"rsum-kr"``, ``"rsum-rm"``, ``"rsum-rr"``, ``"rsum-dsg"`` or ``"rsum-pure"``.
    precision : int, optional
        The steps from 0 to 1 to which numbers are rounded; chosen for each protocol where it is left out.
    max_messages : int, optional
        The most messages that a user may send.
    honest : float
        In (0, 1]: the fraction of users who follow the protocol, whatever the others do. The error is
        that when all do.
    max_bits : int, optional
        The most bits of all messages of a user.
    pure : bool
        Whether delta has to be 0: only protocols with a proof for that, such as randomized response that is
        private by itself. ``delta`` is then not used up.

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
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "root mean squared error of the sum"
    summary: ClassVar[str] = "protocol that adds up numbers from shuffled messages with the least error"
    compared_with: ClassVar[str] = "the protocols that are built in and fit the limits"
    kinds = KINDS
    share: ClassVar[str] = "mean of the numbers in [0, 1]"

    users: int
    epsilon: float
    delta: float
    protocol: str = "best"
    precision: int | None = None
    max_messages: int | None = None
    honest: float = 1.0
    max_bits: int | None = None
    pure: bool = False

    def __post_init__(self) -> None:
        if self.precision is not None:
            object.__setattr__(self, "precision", integer("precision", self.precision, 1, MOST_STEPS))
        self.check_common()
