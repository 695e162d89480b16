"""The mechanism ``contract-menu``: its terms, who takes which item, the items' randomizers, and the audit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import CollectingMechanism
from mechdesign.collect.collecting import Operation
from mechdesign.collect.kernel import rng_alone
from mechdesign.core.certificate import WITHIN, Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError, counted
from mechdesign.core.fields import fields_of
from mechdesign.core.problem import Problem, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import finite_array, in_range, integer, one_of, user_count
from mechdesign.core.values import Forecast, encode, frozen_value, value_field
from mechdesign.data.intake import array_of
from mechdesign.exact.randomness import Rng, float_down
from mechdesign.families.contract.allocation import EpsilonLimits
from mechdesign.families.contract.incentives import Sellers, audit_menu, least_menu_error, least_payment
from mechdesign.families.contract.menu_tables import (
    ContractAverage,
    SoldItems,
    items_in_words,
    menu_figures,
    menu_operations,
    report_operations,
)
from mechdesign.families.contract.noise import NumberNoise, noise_of, randomizer

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]


_array = partial(finite_array, dimensions=1)
_finite = partial(in_range, low=0.0, high=math.inf, high_open=True)


@frozen_value(eq=False)
class Terms:
    """Terms of a menu: its design setting and its guarantees, without the items.

    Attributes
    ----------
    types, counts, cost : (k,) array
        Types increasing, users of each, participation cost of each.
    budget : float or None
    information : {"incomplete", "complete"}
    data_range, confidence : float
    noise : str or mapping
    objective : {"error", "payment"}
        What was minimised.
    epsilon_min, epsilon_max : float
        The limits that every epsilon had to keep; no cap is None.
    prices : (k,) array or None
        Shadow price of a unit of epsilon for each type; 0 for types that do not buy. They prove that the menu
        is optimal, or they prove nothing: the bound is recomputed from them (``menu_bound``).
    """

    types: Array = value_field(_array)
    counts: Array = value_field(_array)
    cost: Array = value_field(lambda name, value: _array("participation_cost", value))
    budget: float | None = value_field(_finite, default=None, optional=True)
    information: str = value_field(partial(one_of, known=("incomplete", "complete")), default="incomplete")
    data_range: float = value_field(partial(_finite, low_open=True), default=1.0)
    confidence: float = value_field(partial(in_range, low=0.0, high=1.0, high_open=True), default=0.9)
    noise: str | Mapping[str, Any] = "laplace"
    objective: str = value_field(partial(one_of, known=("error", "payment")), default="error")
    epsilon_min: float = value_field(_finite, default=0.0)
    epsilon_max: float | None = value_field(_finite, default=None, optional=True)
    prices: Array | None = value_field(_array, default=None, optional=True)

    @property
    def highest(self) -> float:
        """The cap of epsilon, infinite where there is none."""
        return math.inf if self.epsilon_max is None else self.epsilon_max


TERMS = {field.name: field.name for field in fields_of(Terms)} | {"cost": "participation_cost"}
"""The key of each term in a file."""


Items = NDArray[np.int64]


NOT_BUYING = -1
"""The item number of a user who stays out."""


class ContractMenu(SoldItems):
    """A menu of (epsilon, payment) items that pays exactly what it promises.

    Parameters
    ----------
    epsilon, payment : (k,) array
        The item meant for each type; (0, 0) for types that are not to buy.
    terms : Terms

    Raises
    ------
    CertificateError
        When IR, IC or the budget fails on the very numbers, naming the worst case.

    Examples
    --------
    >>> import mechdesign as md
    >>> menu = md.solve(md.PrivacyContract(types=[1, 2, 3], counts=[100, 100, 100], budget=1000)).mechanism()
    >>> menu.items.round(4)
    array([[1.6655, 3.7943],
           [1.1548, 3.2836],
           [0.974 , 2.922 ]])
    >>> menu.choose([0.5, 1.0, 1.7, 2.0, 3.0, 3.1])
    array([ 0,  0,  1,  1,  2, -1])
    >>> print(menu.statement())
    with probability at least 0.9 the average of 300 reports is within 0.2193 of the users' true average
    """

    type: ClassVar[str] = "contract-menu"
    exact_alternative = "it collects no reports: build 'duchi' with the epsilon of the item that was chosen"

    terms: Terms

    def __init__(self, epsilon: Any, payment: Any, terms: Terms) -> None:
        self.terms = terms
        self.epsilon = finite_array("epsilon", epsilon, 1)
        self.payment = finite_array("payment", payment, 1)
        self.noise = noise_of(terms.noise)
        _require(terms, self.epsilon, self.payment)
        for certificate in self._incentives:
            if not certificate.holds and certificate.property != "monotonicity":
                raise CertificateError("contract menu", certificate)

    def explained(self) -> tuple[str, ...]:
        return *super().explained(), *items_in_words(self.items)

    # The items

    @cached_property
    def items(self) -> Array:
        """The distinct items as rows (epsilon, payment), largest epsilon first."""
        bought = np.unique(np.column_stack([self.epsilon, self.payment])[self.epsilon > 0], axis=0)[::-1]
        bought.setflags(write=False)
        return bought

    @cached_property
    def item_of_type(self) -> Items:
        """The item number of each type; -1 for types that do not buy."""
        buys = self.epsilon > 0
        rows = np.column_stack([self.epsilon, self.payment])[buys]
        # by epsilon and payment: with known types equal epsilons may be paid differently
        distinct, number = np.unique(rows, axis=0, return_inverse=True)
        place = np.full(len(self.epsilon), NOT_BUYING, dtype=np.int64)
        place[buys] = len(distinct) - 1 - number.ravel()
        return place

    def choose(self, theta: Any) -> Items:
        """Return the number of the best item for each theta, -1 for those who stay out.

        Ties go to the larger epsilon: a designed type takes its own item. The comparison is exact:
        theta prefers item j to j + 1 when theta <= (p_j - p_{j+1}) / (eps_j - eps_{j+1}), a rational number.

        Parameters
        ----------
        theta : (n,) numbers
            Privacy preferences > 0, also such as the menu was not designed for.

        Returns
        -------
        (n,) int array
        """
        people = np.atleast_1d(finite_array("theta", np.atleast_1d(theta), 1))
        if (people <= 0).any():
            raise DataError(
                "theta",
                f"entry {int(np.argmax(people <= 0))} is not positive",
                "a privacy preference is a price above 0",
            )
        places = np.minimum(np.searchsorted(self.terms.types, people), len(self.terms.types) - 1)
        if self.terms.information == "complete":
            known = self.terms.types[places] == people
            if not known.all():
                stranger = people[int(np.argmin(known))]
                raise DataError(
                    "theta",
                    f"{stranger:g} is not a type of this menu, which assigns items to known types",
                    "redesign it",
                )
            return self.item_of_type[places]
        chosen = np.searchsorted(self._switches, people).astype(np.int64)
        costs, which = np.unique(self.terms.cost[places], return_inverse=True)
        last = np.array(
            [
                [float_down((pay - cost) / level) for cost in map(Fraction, costs.tolist())]
                for level, pay in self._exact
            ]
        )
        return np.where(people <= last[chosen, which], chosen, NOT_BUYING)

    @cached_property
    def _exact(self) -> list[tuple[Fraction, Fraction]]:
        return [(Fraction(level), Fraction(pay)) for level, pay in self.items.tolist()]

    @cached_property
    def _switches(self) -> Array:
        """The largest float theta that still prefers each item to the next one."""
        pairs = zip(self._exact, self._exact[1:], strict=False)
        return np.array([float_down((p0 - p1) / (e0 - e1)) for (e0, p0), (e1, p1) in pairs], dtype=np.float64)

    def utility(self, theta: float, item: int) -> float:
        """Return payment - theta epsilon of an item, before any participation cost."""
        level, pay = self._exact[integer("item", item, 0, len(self.items) - 1)]
        return float(pay - Fraction(theta) * level)

    def payments(self, chosen: Any) -> Array:
        """Return the payments for chosen item numbers; 0 for users who stay out."""
        numbers = self._checked_items(chosen)
        return np.where(numbers == NOT_BUYING, 0.0, self.items[numbers, 1])

    def _checked_items(self, chosen: Any) -> Items:
        numbers = array_of(chosen, "items")
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            raise DataError("items", "expected a list of item numbers, as choose returns them")
        if ((numbers < NOT_BUYING) | (numbers >= len(self.items))).any():
            raise DataError(
                "items", f"a number is outside -1 ... {len(self.items) - 1}", "use what choose returns"
            )
        return numbers.astype(np.int64)

    # Running it

    def operations(self) -> tuple[Operation, ...]:
        return *menu_operations(self), *report_operations(self)

    @rng_alone
    def randomize(self, answers: Any, chosen: Any, low: float = 0.0, rng: Rng = None) -> Array:
        """Return one report for each buyer, private at the epsilon of the chosen item.

        Parameters
        ----------
        answers : (n,) numbers
            In [low, low + data_range].
        chosen : (n,) int array
            Item numbers; users who stay out (-1) make no report and are left out of the result.
        low : float
            Lower end of the data.
        rng : int or numpy Generator, optional
            For repeatable simulations; the system's generator by default.

        Returns
        -------
        array
            Unbiased reports of the buyers, in their order.
        """
        numbers = self._checked_items(chosen)
        data = finite_array("answers", answers, 1)
        if len(data) != len(numbers):
            raise DataError(
                "answers",
                f"has {counted(len(data), 'entry')} for {counted(len(numbers), 'item')}",
                "give one each",
            )
        half = self.terms.data_range / 2.0
        if ((data < low) | (data > low + 2.0 * half)).any():
            raise DataError(
                "answers", f"reach outside [{low:g}, {low + 2.0 * half:g}]", "clip them, or give low"
            )
        buys = numbers != NOT_BUYING
        centred = np.clip((data[buys] - low - half) / half, -1.0, 1.0)
        levels = self.items[numbers[buys], 0]
        return low + half + half * self.noise.randomize(centred, levels, self.seeded(rng))

    def randomizer(self, item: int, low: float = 0.0) -> CollectingMechanism[Any]:
        """Return the local randomizer of one item as a mechanism of its own, for its buyers' devices."""
        level = float(self.items[integer("item", item, 0, len(self.items) - 1), 0])
        return randomizer(self.noise.name, level, low, low + self.terms.data_range)

    @rng_alone
    def estimate(self, reports: Any, chosen: Any) -> ContractAverage:
        """Return the average of the buyers' reports with its error."""
        numbers = self._checked_items(chosen)
        numbers = numbers[numbers != NOT_BUYING]
        received = finite_array("reports", reports, 1)
        if len(received) != len(numbers):
            raise DataError(
                "reports", f"{len(received)} for {counted(len(numbers), 'buyer')}", "give one each"
            )
        loss = self.noise.loss(self.items[:, 0])[numbers]
        error = math.sqrt(2.0 * math.fsum(loss)) * self.terms.data_range / len(received)
        alpha = error / math.sqrt(1.0 - self.terms.confidence)
        return ContractAverage(
            math.fsum(received) / len(received), error, alpha, self.terms.confidence, len(received)
        )

    # What it promises

    @property
    def total_payment(self) -> float:
        """Payment of all designed users together."""
        return math.fsum(self.terms.counts * self.payment)

    @cached_property
    def variances(self) -> Array:
        """The largest variance of a report of each item, in the units of the data."""
        return self.noise.variance(self.items[:, 0]) * (self.terms.data_range / 2.0) ** 2

    @cached_property
    def error(self) -> float:
        """The sum of counts loss(epsilon) over the buyers, times (users / buyers)^2."""
        buys, counts = self.epsilon > 0, self.terms.counts
        total = math.fsum(counts[buys] * self.noise.loss(self.epsilon[buys]))
        return total if buys.all() else total * (float(counts.sum()) / float(counts[buys].sum())) ** 2

    def alpha(self, confidence: float | None = None) -> float:
        """Return the error that the average of the reports keeps with this probability, eq. (4.1)."""
        level = self.terms.confidence
        if confidence is not None:
            level = in_range("confidence", confidence, 0.0, 1.0, high_open=True)
        part = self.terms.data_range / float(self.terms.counts.sum())
        return math.sqrt(2.0 * self.error / (1.0 - level)) * part

    def forecast(self, users: int | None = None) -> Forecast:
        """Return the largest standard error of the buyers' average, for ``users`` users of the same types.

        By default for the users it was designed for.
        """
        designed = float(self.terms.counts.sum())
        count = max(1, round(designed)) if users is None else user_count(users)
        part = self.terms.data_range / math.sqrt(designed * count)
        largest = math.sqrt(2.0 * self.error) * part
        return Forecast("average of the reports", count, possible=True, largest=largest, of="the average")

    def statement(self) -> str:
        """Return the guarantee on accuracy in one sentence."""
        buyers = float(self.terms.counts[self.epsilon > 0].sum())
        return (
            f"with probability at least {self.terms.confidence:g} the average of {buyers:g} reports "
            f"is within {self.alpha():.4g} of the users' true average"
        )

    @cached_property
    def _incentives(self) -> tuple[Certificate, ...]:
        terms = self.terms
        return audit_menu(
            terms.types, terms.counts, self.epsilon, self.payment, terms.budget, terms.cost, terms.information
        )

    def certificates(self) -> tuple[Certificate, ...]:
        optimal = self._optimality
        return self._incentives if optimal is None else (*self._incentives, optimal)

    @cached_property
    def _optimality(self) -> Certificate | None:
        """The proof that no menu for these buyers is better, or None where the prices prove nothing."""
        terms, buys = self.terms, self.epsilon > 0
        if terms.prices is None or (terms.objective == "error" and terms.budget is None):
            return None
        sellers = Sellers(
            terms.types[buys],
            terms.counts[buys],
            terms.cost[buys],
            terms.information,
            terms.noise,
            terms.epsilon_min,
            terms.highest,
        )
        if terms.objective == "error":
            value = self.error
            share = (float(terms.counts.sum()) / float(terms.counts[buys].sum())) ** 2
            bound = share * least_menu_error(sellers, terms.prices[buys], terms.budget or 0.0)
        else:
            value = self.total_payment
            allowed = math.fsum(terms.counts[buys] * self.noise.loss(self.epsilon[buys]))
            bound = least_payment(sellers, terms.prices[buys], allowed)
        if value - bound > WITHIN * value:
            return None
        figures = {"value": value, "bound": bound, "gap": value - bound}
        what = "error" if terms.objective == "error" else "payment"
        whose = "all users" if buys.all() else "exactly these types"
        note = f"least {what} when {whose} buy, by weak duality with the prices of the menu"
        conditions = "IR and IC" if terms.information == "incomplete" else "IR, types being known"
        return Certificate("optimality", True, False, figures, {}, note, f"all menus that keep {conditions}")

    def figures(self) -> list[Figure]:
        return menu_figures(np.asarray(self.terms.types, dtype=np.float64), self.epsilon, self.payment)

    def _figures(self) -> str:
        level = self.items[:, 0]
        prices = f"epsilon {level.min():.6g} to {level.max():.6g}, payments {self.payment.max():.6g} at most"
        return f"{counted(len(self.items), 'item')}, {prices}, {self.noise.name} noise"

    def __str__(self) -> str:
        items = counted(len(self.items), "item")
        lines = [f"contract menu with {items}, {self.noise.name} noise; {self.statement()}"]
        lines += [f"  epsilon {level:.6g} for {pay:.6g}" for level, pay in self.items[:20]]
        lines += ["  ..."] if len(self.items) > 20 else []
        return "\n".join(lines + [f"  {certificate}" for certificate in self.certificates()])

    def content(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon.tolist(),
            "payment": self.payment.tolist(),
        } | {key: encode(getattr(self.terms, field)) for field, key in TERMS.items()}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        terms = Terms(**{field: content[key] for field, key in TERMS.items()})
        return cls(content["epsilon"], content["payment"], terms)


class MenuProblem(Problem[ContractMenu]):
    """A problem whose solution is a menu: its noise, the limits of epsilon, and the terms of the menu."""

    data_range: float
    confidence: float
    noise: str | Mapping[str, Any]
    epsilon_min: float
    epsilon_max: float | None

    @cached_property
    def noise_model(self) -> NumberNoise:
        """The noise as an object."""
        return noise_of(self.noise)

    @property
    def limits(self) -> EpsilonLimits:
        """Floor and cap of epsilon, those of the noise included."""
        noise = self.noise_model
        high = math.inf if self.epsilon_max is None else self.epsilon_max
        return EpsilonLimits(max(self.epsilon_min, noise.lowest), min(high, noise.highest))

    def require_limits(self) -> None:
        """Raise ParameterError where the cap is below the floor."""
        if self.limits.low > self.limits.high:
            raise ParameterError(
                "epsilon_max",
                f"{self.limits.high:g} is below the floor {self.limits.low:g}",
                "raise it or lower epsilon_min",
            )

    def menu(self, variables: Variables, **terms: Any) -> ContractMenu:
        """Return the menu of a solution; refused when its exact audit fails."""
        shared = Terms(
            data_range=self.data_range,
            confidence=self.confidence,
            noise=self.noise,
            epsilon_min=self.limits.low,
            epsilon_max=None if self.limits.high == math.inf else self.limits.high,
            **terms,
        )
        return ContractMenu(variables["epsilon"], variables["payment"], shared)


def figures(problem: MenuProblem, solution: Solution[Any]) -> list[Figure]:
    """Return the items and what each type chooses."""
    names = ("types", "epsilon", "payment")
    return menu_figures(*(np.asarray(solution.variables[name], dtype=np.float64) for name in names))


def _require(terms: Terms, epsilon: Array, payment: Array) -> None:
    """Raise ParameterError unless the menu is a menu: lengths, signs, increasing types, somebody who buys."""
    for field, array in (
        ("counts", terms.counts),
        ("participation_cost", terms.cost),
        ("epsilon", epsilon),
        ("payment", payment),
        ("prices", np.zeros_like(epsilon) if terms.prices is None else terms.prices),
    ):
        if len(array) != len(terms.types):
            raise ParameterError(
                field,
                f"has {counted(len(array), 'entry')} for {counted(len(terms.types), 'type')}",
                "give one per type",
            )
        if (array < 0).any():
            raise ParameterError(field, f"entry {int(np.argmax(array < 0))} is negative")
    if terms.types[0] <= 0 or (np.diff(terms.types) <= 0).any():
        raise ParameterError("types", "are not positive and strictly increasing", "sort and merge them")
    if (terms.counts <= 0).any() or not (epsilon > 0).any():
        raise ParameterError("counts", "every type needs users, and at least one type has to buy")
    bought = epsilon[epsilon > 0]
    if bought.min() < terms.epsilon_min or bought.max() > terms.highest:
        raise ParameterError(
            "epsilon", f"reaches outside [{terms.epsilon_min:g}, {terms.highest:g}], the limits of the menu"
        )
    if ((epsilon == 0) & (payment != 0)).any():
        raise ParameterError("payment", "is not zero for a type that does not buy")
