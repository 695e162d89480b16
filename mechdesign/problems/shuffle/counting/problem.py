"""The problem ``shuffle-counting``: how many users hold a 1, from shuffled messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mechdesign.core.problem import Problem, Sense
from mechdesign.core.validation import in_range
from mechdesign.mechanisms.shuffle import Protocol
from mechdesign.mechanisms.shuffle.tasks import CountProtocol
from mechdesign.problems.shuffle.candidates import Choosing
from mechdesign.problems.shuffle.counting.kinds import KINDS


@dataclass(frozen=True, repr=False)
class ShuffleCounting(Choosing, Problem[Protocol]):
    r"""The protocol that counts ones with the least error, at its worst or with a known share of ones.

    ::

        minimise    max over data of  sqrt E (count's estimate - count)^2
        over        the protocols of the list, each with the least noise that its divergence is proven for
        subject to  (epsilon, delta) for the shuffled messages of any honest users,
                    messages of a user <= max_messages, their bits <= max_bits, delta = 0 where pure,
                    a user's own messages local_cap-private

    Parameters
    ----------
    users : int
        From 2 to 1e9; their number is public.
    epsilon : float
        From 2**-20 to 40.
    delta : float
        From 1e-30 to below 1.
    protocol : str
        ``"best"``, ``"cnt-rr"``, ``"cnt-2m"``, ``"cnt-bn"``, ``"cnt-sgm"`` or ``"cnt-pure"``.
    max_messages : int, optional
        The most messages that a user may send.
    honest : float
        In (0, 1]: the fraction of users who follow the protocol, whatever the others do. The error is
        that when all do.
    local_cap : float, optional
        The largest epsilon of a user's messages before they are shuffled.
    max_bits : int, optional
        The most bits of all messages of a user.
    pure : bool
        Whether delta has to be 0: only protocols with a proof for that, such as randomized response that is
        private by itself. ``delta`` is then not used up.
    ones : float, optional
        The share of users who hold 1, where it is known: the error is then that for such data.

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
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "root mean squared error of the count"
    summary: ClassVar[str] = "protocol that counts ones from shuffled messages with the least error"
    compared_with: ClassVar[str] = "the protocols that are built in and fit the limits"
    kinds = KINDS
    share: ClassVar[str] = "share of the users who hold 1"

    users: int
    epsilon: float
    delta: float
    protocol: str = "best"
    max_messages: int | None = None
    honest: float = 1.0
    local_cap: float | None = None
    max_bits: int | None = None
    pure: bool = False
    ones: float | None = None

    def __post_init__(self) -> None:
        if self.ones is not None:
            object.__setattr__(self, "ones", in_range("ones", self.ones, 0.0, 1.0))
        self.check_common()

    def error_of(self, protocol: Protocol) -> float:
        """Return the error at its worst over all data, or with so many ones."""
        if self.ones is None or not isinstance(protocol, CountProtocol):
            return protocol.rmse
        return protocol.rmse_at(self.ones)

    def messages_of(self, protocol: Protocol) -> float:
        """Return the expected messages of a user, at their largest or with so many ones."""
        if self.ones is None or not isinstance(protocol, CountProtocol):
            return protocol.mean_messages
        return protocol.messages_at(self.ones)
