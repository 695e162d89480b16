"""The mechanism ``online-auction``: slot after slot it buys data, and nobody waits too long."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar, Self

import numpy as np

from mechdesign.collect.base import CollectingMechanism, mechanism_type
from mechdesign.collect.collecting import Operation
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError, MethodError, ParameterError, counted, suggestion
from mechdesign.core.validation import in_range, integer, one_of
from mechdesign.core.values import Forecast
from mechdesign.exact.numbers import rational, text_of
from mechdesign.families.auction.rules import all_rules, amounts, slot_certificates, trial_certificates
from mechdesign.families.auction.season import OWED, Bid, Decision, Season, is_name, price_limits
from mechdesign.families.auction.season_tables import SteppedAuction, auction_operations, waiting_figures
from mechdesign.families.auction.slot_rules import (
    UNIT,
    Slot,
    able_of,
    bid_prices,
    checked_bids,
    checked_positive,
    checked_requirements,
    checked_reserve,
    require_one_each,
    slot_of,
    units_above,
    units_below,
)
from mechdesign.show.figure import Figure


def task_names_of(tasks: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the tasks, checked."""
    names: object = tasks
    if not isinstance(names, (list, tuple)) or not names:
        raise ParameterError("tasks", "expected a list of at least one name")
    for name in names:
        if not isinstance(name, str) or not name or not name.isprintable() or set(name) & set(" ;,"):
            raise ParameterError(
                "tasks", f"{text_of(name)} is not a name", "use a string without spaces, ';' and ','"
            )
    if len(set(names)) != len(names):
        raise ParameterError("tasks", "a name appears twice", "names must differ")
    return tuple(names)


def user_names(bids: Mapping[str, Bid]) -> list[str]:
    """Return the names of the users in order."""
    for name in bids:
        if not is_name(name):
            raise DataError("bids", f"{text_of(name)} is not a name of a user", "give a string")
    if not bids:
        raise DataError("bids", "there are none", "a slot needs users")
    return sorted(bids)


def bids_digest(names: Sequence[str], bids: Mapping[str, Bid], needs: Sequence[int]) -> str:
    """Return a digest of the bids of a slot and of its requirements."""
    rows = [
        [name, float(bids[name].sensing), float(bids[name].privacy), sorted(bids[name].tasks)]
        for name in names
    ]
    text = json.dumps([rows, list(needs)])
    return sha256(text.encode()).hexdigest()


POLICIES = ("online", "static", "forced")
"""With backlogs; without; and without, but who would idle for 1/participation slots wins whatever it asks."""

NOISES = ("laplace", "duchi", "piecewise")
"""Types of the mechanisms that a winner may report a task with."""


class OnlineAuction(SteppedAuction):
    """A reverse auction over many slots, truthful in each, that lets every user win a share of its slots.

    Parameters
    ----------
    tasks : sequence of str
        Names of the tasks.
    requirements : sequence of int
        How many winners each needs when it asks for data.
    epsilon : float
        > 0: at this level every winner perturbs its data; a user costs sensing + privacy * epsilon.
    participation : float
        D in [0, 1): the share of its slots that everybody is to win in the long run.
    tradeoff : float
        gamma > 0: the larger, the cheaper, and the longer the queues.
    reserve : float, optional
        The most that anybody is paid; who asks more is not admitted. Without it, a slot in which somebody is
        essential is not decided.
    periods : sequence of int, optional
        A task asks for data in every so-manieth slot only; 1 by default.
    rule : {"greedy", "milp", "exact", "published"}
        How a slot is decided. The published one is truthful without queues only, and refused with them.
    policy : {"online", "static", "forced"}
        ``static`` ignores backlogs; ``forced`` too, but who would idle for 1/participation slots wins
        whatever it asks, and is paid the reserve price.
    owed : {"reserve", "highest", "median"}
        Up to which price a backlog counts, and so up to which price a share is promised: the reserve price,
        or the highest or the median price that the others asked in the slot before. A user who asks for
        nearly the reserve price slot after slot earns much with the first.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Examples
    --------
    >>> auction = OnlineAuction(["noise"], [1], epsilon=1.0, participation=0.25)
    >>> season = auction.season()
    >>> bids = {"ann": Bid(1.0, 0.5, ("noise",)), "bob": Bid(1.0, 1.0, ("noise",))}
    >>> [auction.step(season, bids).winners for slot in range(5)]
    [('ann',), ('ann',), ('ann',), ('ann',), ('bob',)]
    """

    type: ClassVar[str] = "online-auction"
    exact_alternative = "it pays for tasks, and no device randomizes: there is nothing to build"

    def __init__(
        self,
        tasks: Sequence[str],
        requirements: Sequence[int],
        epsilon: float,
        participation: float = 0.0,
        tradeoff: float = 1.0,
        reserve: float | None = None,
        periods: Sequence[int] | None = None,
        rule: str = "greedy",
        policy: str = "online",
        owed: str = "reserve",
    ) -> None:
        self.tasks = task_names_of(tasks)
        self.requirements = checked_requirements(requirements)
        require_one_each("requirements", self.requirements, len(self.tasks))
        self.epsilon = checked_positive("epsilon", epsilon)
        self.participation = in_range("participation", participation, 0.0, 1.0, high_open=True)
        self.tradeoff = checked_positive("tradeoff", tradeoff)
        self.reserve = checked_reserve(reserve)
        lengths = [1] * len(self.tasks) if periods is None else list(periods)
        require_one_each("periods", lengths, len(self.tasks))
        self.periods = tuple(integer("periods", period, 1) for period in lengths)
        self.rule = all_rules()[one_of("rule", rule, tuple(all_rules()))]
        self.policy = one_of("policy", policy, POLICIES)
        self.owed = one_of("owed", owed, OWED)
        if self.owed != "reserve" and self.policy != "online":
            raise ParameterError(
                "owed", f"policy '{self.policy}' looks at no backlogs", "leave it at 'reserve'"
            )
        if self.policy == "forced" and (self.reserve is None or self.participation == 0):
            raise ParameterError("policy", "'forced' needs a participation and a reserve price", "give both")
        if self.rule.name == "published" and self.policy == "online" and self.participation > 0:
            raise ParameterError("rule", "'published' is not truthful with queues", "take 'greedy'")
        self._place = {name: number for number, name in enumerate(self.tasks)}
        self._exact_epsilon = rational("epsilon", self.epsilon)
        self._most = None if self.reserve is None else units_below(rational("reserve", self.reserve))

    # Running it

    def season(self, name: str | None = None) -> Season:
        """Return the state before the first slot, of a new identity.

        Parameters
        ----------
        name : str, optional
            Its identity; by default it is drawn at random.
        """
        share = rational("participation", self.participation)
        if name is None:
            return Season(self.fingerprint, share)
        if not is_name(name):
            raise ParameterError("season", f"{text_of(name)} is not a name", "give a string")
        return Season(self.fingerprint, share, identity=name)

    def step(
        self,
        season: Season,
        bids: Mapping[str, Bid],
        slot: int | None = None,
        requested: Iterable[str] | None = None,
        requirements: Sequence[int] | None = None,
    ) -> Decision:
        """Decide a slot and take it up in the season.

        Users who are not among the bids have left; those who are new start with an empty queue.

        Parameters
        ----------
        season : Season
        bids : mapping of str to Bid
        slot : int, optional
            Its number, from 1; by default the next one. A slot that was decided already with the same bids
            has the same decision, and changes nothing.
        requested : iterable of str, optional
            The tasks that ask for data; by default by their periods.
        requirements : sequence of int, optional
            Of all tasks, for this slot only.

        Returns
        -------
        Decision
            Of status ``infeasible``, with the reason, where a task lacks users; then nothing has changed.

        Raises
        ------
        MethodError
            When the slot is too large for the rule, which is said before any work; nothing has changed.
        """
        number = season.slot + 1 if slot is None else integer("slot", slot, 1)
        needs = self._needs(number, requested, requirements)
        names = user_names(bids)
        marked = bids_digest(names, bids, needs)
        before = season.decided(number, marked)
        if before is not None:
            return before
        case = self.slot(season, names, bids, needs)
        decision = self._decided(case, number, names, needs, marked)
        if decision.status == "decided":
            season.record(decision, names, case.prices)
        return decision

    def slot(self, season: Season, names: Sequence[str], bids: Mapping[str, Bid], needs: list[int]) -> Slot:
        """Return the slot of these users in integers."""
        rows = checked_bids([[bids[name].sensing, bids[name].privacy] for name in names], names)
        able = able_of([self._numbers(name, bids[name].tasks) for name in names], len(self.tasks))
        zero, forced = Fraction(0), frozenset[int]()
        backlog = [season.backlog(name) if self.policy == "online" else zero for name in names]
        limits = price_limits(season, names, self.owed, self._most)
        if limits is not None:
            weight = rational("tradeoff", self.tradeoff)
            backlog = [min(queue, weight * price) for queue, price in zip(backlog, limits, strict=True)]
        if self.policy == "forced":
            longest = math.ceil(1 / season.share) - 1
            forced = frozenset(place for place, name in enumerate(names) if season.idle(name) >= longest)
        prices = bid_prices(rows, self._exact_epsilon, names)
        return slot_of(
            prices, able, np.array(needs, dtype=np.int64), self.tradeoff, backlog, self.reserve, forced
        )

    def _decided(
        self, slot: Slot, number: int, names: Sequence[str], needs: list[int], marked: str
    ) -> Decision:
        obstacle = slot.obstacle(self.tasks)
        if obstacle:
            return Decision(number, "infeasible", message=obstacle)
        award = self.rule.decide(slot)
        pairs = sorted(zip(award.winners, amounts(award), strict=True))
        winners = [user for user, _ in pairs]
        has = slot.able[winners].sum(axis=0)
        return Decision(
            number,
            "decided",
            tuple(names[user] for user in winners),
            tuple(float(units_above(payment * UNIT) * UNIT) for _, payment in pairs),
            float(slot.value(winners)),
            float(slot.cost(winners)),
            tuple(name for name, need in zip(self.tasks, needs, strict=True) if need),
            tuple(int(count) for count, need in zip(has.tolist(), needs, strict=True) if need),
            marked,
        )

    def _needs(
        self, number: int, requested: Iterable[str] | None, requirements: Sequence[int] | None
    ) -> list[int]:
        amounts = self.requirements if requirements is None else checked_requirements(requirements)
        require_one_each("requirements", amounts, len(self.tasks))
        if requested is None:
            asks = {place for place, period in enumerate(self.periods) if (number - 1) % period == 0}
        else:
            asks = set(self._numbers("the slot", tuple(requested)))
        return [amount if place in asks else 0 for place, amount in enumerate(amounts.tolist())]

    def _numbers(self, who: str, tasks: Sequence[str]) -> list[int]:
        """Return the numbers of the named tasks."""
        if not tasks:
            raise DataError("tasks", f"{who} has none", "name one at least, or leave the user out")
        for name in tasks:
            if name not in self._place:
                raise DataError(
                    "tasks",
                    f"{who} names {text_of(name)}, which is unknown",
                    suggestion(str(name), self.tasks),
                )
        if len(set(tasks)) != len(tasks):
            raise DataError("tasks", f"{who} names a task twice", "name it once")
        return [self._place[name] for name in tasks]

    def randomizer(self, low: float, high: float, noise: str = "laplace") -> CollectingMechanism[Any]:
        """Return the mechanism for one task: it randomizes on a winner's device and estimates on the server.

        Each report spends epsilon: a winner that reports on several tasks spends it for each of them.

        Parameters
        ----------
        low, high : float
            The interval of the values; its length is the zeta of
            :func:`~mechdesign.families.auction.slot_rules.needed`.
        noise : {"laplace", "duchi", "piecewise"}

        Examples
        --------
        >>> auction = OnlineAuction(["noise"], [8], epsilon=1.0)
        >>> device = auction.randomizer(0.0, 1.0)
        >>> estimate = device.estimate(device.randomize([0.5] * 8, rng=1))
        >>> abs(estimate.value - 0.5) < 1.5
        True
        """
        build: Callable[..., CollectingMechanism[Any]] | None = mechanism_type(noise)  # type: ignore[assignment]
        if noise not in NOISES or build is None:
            raise MethodError(
                f"noise '{noise}'", "is a table of variances without a client", "randomize with your own"
            )
        return build(self.epsilon, low, high)

    def operations(self) -> tuple[Operation, ...]:
        return auction_operations(self)

    # What it promises

    def audit_slot(self, season: Season, bids: Mapping[str, Bid]) -> tuple[Certificate, ...]:
        """Return coverage, individual rationality and truthfulness of the next slot, without deciding it."""
        names = user_names(bids)
        slot = self.slot(season, names, bids, self._needs(season.slot + 1, None, None))
        return slot_certificates(slot, self.rule.name)

    def largest_backlog(self, cost: float) -> float:
        """Return an upper bound of the virtual queue of a user who costs at most this much.

        Who has a backlog of gamma * cost wins at once, so it is at most gamma * cost + D. Infinite where
        backlogs do not count, where the others decide up to which price they do, or where the cost is above
        the reserve price.
        """
        if not self._counts_backlogs(cost):
            return math.inf
        money = units_above(rational("cost", cost)) * UNIT
        bound = rational("tradeoff", self.tradeoff) * money + rational("participation", self.participation)
        return float(np.nextafter(float(bound), np.inf))

    def longest_wait(self, cost: float) -> int | None:
        """Return for how many slots in a row such a user may lose at most; None if there is no limit."""
        share = rational("participation", self.participation)
        if share == 0 or not self._counts_backlogs(cost):
            return None
        money = units_above(rational("cost", cost)) * UNIT
        # when it loses for the w-th time in a row, its backlog is at least (w - 1) D and below gamma * cost
        return math.ceil(rational("tradeoff", self.tradeoff) * money / share)

    def _counts_backlogs(self, cost: float) -> bool:
        """Whether a user of this cost wins once its backlog is long enough."""
        always = self.policy == "online" and self.owed == "reserve"
        return always and (self.reserve is None or cost <= self.reserve)

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the rule's certificates on one random slot: coverage, IR, truthfulness."""
        return self._certificates

    @cached_property
    def _certificates(self) -> tuple[Certificate, ...]:
        queues = self.policy == "online" and self.participation > 0
        settings = (self.epsilon, self.tradeoff, self.reserve, queues, len(self.tasks))
        return trial_certificates(self.rule, settings)

    def explained(self) -> tuple[str, ...]:
        if self.participation == 0 or self.policy == "static":
            return super().explained()
        most = "reserve price" if self.owed == "reserve" else f"{self.owed} price that others ask"
        return (
            *super().explained(),
            "Truthful bids are best within one slot. Across slots a user can gain by asking more than its "
            f"cost: it is guaranteed a share of the slots at up to the {most}.",
        )

    def forecast(self, users: int | None = None) -> Forecast | None:
        """Return None: how accurate the averages are is what the requirements say."""
        return None

    def figures(self) -> list[Figure]:
        """Return how long users lose at most, by what they ask for; nothing where nothing bounds that."""
        return waiting_figures(self.longest_wait, self.reserve, self.tradeoff)

    def _figures(self) -> str:
        reserve = "" if self.reserve is None else f", reserve {self.reserve:g}"
        return (
            f"{counted(len(self.tasks), 'task')}, epsilon={self.epsilon:g}, "
            f"participation={self.participation:g}, "
            f"tradeoff={self.tradeoff:g}{reserve}, {self.policy}, {self.rule.name}"
            f"{'' if self.owed == 'reserve' else f', owed up to the {self.owed} price of others'}"
        )

    # The file

    def content(self) -> dict[str, Any]:
        return {
            "tasks": list(self.tasks),
            "requirements": self.requirements.tolist(),
            "epsilon": self.epsilon,
            "participation": self.participation,
            "tradeoff": self.tradeoff,
            "reserve": self.reserve,
            "periods": list(self.periods),
            "rule": self.rule.name,
            "policy": self.policy,
            **({} if self.owed == "reserve" else {"owed": self.owed}),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        return cls(**content)
