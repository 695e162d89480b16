"""An environment: agents and their types, outcomes, what each is worth and costs, and a prior, as fractions.

A number is what was written: an integer, a decimal or a quotient in a text, and a double is its shortest
decimal, so that 0.1 in a model file is one tenth. Tables are kept as integers over one denominator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, counted, listed
from mechdesign.core.validation import exact_number
from mechdesign.core.values import changed, frozen_value
from mechdesign.exact.numbers import text_of

Profile = tuple[int, ...]
"""One type for each agent, by number."""

Whole = NDArray[Any]
"""Integers, as int64 or as objects."""

MOST_VARIABLES = 2_000_000
"""Profiles times outcomes and agents; more are refused before any table is made."""


def fraction_amount(field: str, value: Any) -> Fraction:
    """Return a number as the fraction that was written.

    Examples
    --------
    >>> fraction_amount("cost", 0.1), fraction_amount("cost", "1/3"), fraction_amount("cost", 2)
    (Fraction(1, 10), Fraction(1, 3), Fraction(2, 1))
    """
    if type(value) is float:
        value = Decimal(repr(value))
    return exact_number(field, value)


def amounts_of(field: str, values: Any, count: int | None = None) -> tuple[Fraction, ...]:
    """Return a list of numbers as fractions, of the stated length."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        raise ParameterError(field, f"expected a list of numbers, got {text_of(values)}")
    if count is not None and len(values) != count:
        raise ParameterError(field, f"expected {count} entries, got {len(values)}")
    return tuple(fraction_amount(f"{field}[{place}]", value) for place, value in enumerate(values))


def written(value: Fraction) -> Any:
    """Return a fraction as JSON has it: an integer, or a text such as ``"1/3"``.

    Examples
    --------
    >>> written(Fraction(2)), written(Fraction(1, 3))
    (2, '1/3')
    """
    return int(value) if value.denominator == 1 else str(value)


def decimal_name(value: Fraction) -> str:
    """Return a short name of a number: a decimal where it ends, else a quotient.

    Examples
    --------
    >>> decimal_name(Fraction(3, 4)), decimal_name(Fraction(1, 3)), decimal_name(Fraction(5))
    ('0.75', '1/3', '5')
    """
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    number = Decimal(value.numerator) / Decimal(value.denominator)
    return format(number.normalize(), "f") if rest == 1 and Fraction(number) == value else str(value)


def require_size(counts: Sequence[int], outcomes: int) -> None:
    """Raise ParameterError where the variables would be too many, saying how many and what to reduce."""
    profiles = prod(counts)
    size = profiles * (outcomes + len(counts))
    if size > MOST_VARIABLES:
        shape = " x ".join(map(str, counts))
        raise ParameterError(
            "environment",
            f"{shape} types make {profiles} profiles, and {size} variables with {outcomes} outcomes and "
            f"{len(counts)} payments; the limit is {MOST_VARIABLES}",
            "reduce the types of each agent, the agents or the outcomes; "
            "for one item and equal bidders call interim_auction(values, shares, bidders)",
        )


@frozen_value(eq=False, repr=False)
class Environment:
    """Who decides what about which outcomes.

    Parameters
    ----------
    agents : tuple of str
    types : tuple of tuples of str
        Names of the types of each agent, in their order.
    outcomes : tuple of str
    values : tuple
        For each agent an array of fractions: (types, outcomes), or (types of agent 1, ..., of agent n,
        outcomes) where values depend on the types of others.
    cost : tuple of Fraction
        What each outcome costs the designer; negative where it gains.
    prior : array of Fraction
        The probability of each profile, shape (types of agent 1, ..., of agent n).
    outside : tuple of tuples of Fraction
        What each type of each agent has without taking part.
    stated : mapping
        What it was made from, as plain JSON values.

    Examples
    --------
    >>> market = Environment.of(
    ...     types=[[1, 2], [1, 2]], outcomes=["a", "b"],
    ...     value=lambda agent, kind, outcome: kind if outcome == "ab"[agent] else 0)
    >>> market
    Environment(2 agents, 2 x 2 types, 2 outcomes)
    >>> market.values[1].tolist()
    [[Fraction(0, 1), Fraction(1, 1)], [Fraction(0, 1), Fraction(2, 1)]]
    """

    agents: tuple[str, ...]
    types: tuple[tuple[str, ...], ...]
    outcomes: tuple[str, ...]
    values: tuple[Whole, ...]
    cost: tuple[Fraction, ...]
    prior: Whole
    outside: tuple[tuple[Fraction, ...], ...]
    stated: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        types: Sequence[Sequence[Any]],
        outcomes: Sequence[Any],
        value: Callable[[int, Any, Any], Any],
        cost: Callable[[Any], Any] = lambda outcome: 0,
        probability: Callable[[tuple[Any, ...]], Any] | None = None,
        agents: Sequence[str] | None = None,
        outside: Callable[[int, Any], Any] = lambda agent, kind: 0,
    ) -> Environment:
        """Return the environment of functions.

        Parameters
        ----------
        types : sequence of sequences
            Those of each agent, as the functions take them.
        outcomes : sequence
        value : callable
            ``value(agent, type, outcome)``, the agent by number.
        cost : callable
            ``cost(outcome)``.
        probability : callable, optional
            ``probability(profile)`` of a tuple of types; uniform and independent by default.
        agents : sequence of str, optional
        outside : callable
            ``outside(agent, type)``.
        """
        profiles = list(product(*types))
        table: dict[str, Any] = {
            "types": [list(map(shown_name, kinds)) for kinds in types],
            "outcomes": list(map(shown_name, outcomes)),
            "values": [
                [[value(agent, kind, outcome) for outcome in outcomes] for kind in kinds]
                for agent, kinds in enumerate(types)
            ],
            "cost": [cost(outcome) for outcome in outcomes],
            "outside": [[outside(agent, kind) for kind in kinds] for agent, kinds in enumerate(types)],
        }
        if probability is not None:
            table["joint"] = [probability(profile) for profile in profiles]
        if agents is not None:
            table["agents"] = list(agents)
        return environment_of_tables(**table)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Number of types of each agent."""
        return tuple(map(len, self.types))

    @cached_property
    def profiles(self) -> int:
        """Number of profiles."""
        return prod(self.counts)

    @cached_property
    def is_independent(self) -> bool:
        """Whether the types of the agents are independent."""
        return bool((self.prior == outer_product(self.marginals)).all())

    @cached_property
    def marginals(self) -> tuple[Whole, ...]:
        """The probability of each type of each agent."""
        axes = range(len(self.agents))
        return tuple(
            read_only(self.prior.sum(axis=tuple(one for one in axes if one != agent))) for agent in axes
        )

    @cached_property
    def scale(self) -> int:
        """The common denominator of values, costs and outside values."""
        parts = [*self.cost, *(value for row in self.outside for value in row)]
        parts += [value for table in self.values for value in table.reshape(-1).tolist()]
        return lcm(*(part.denominator for part in parts))

    @cached_property
    def prior_scale(self) -> int:
        """The common denominator of the prior."""
        return lcm(*(part.denominator for part in self.prior.reshape(-1).tolist()))

    def by_profile(self, agent: int) -> Whole:
        """Return the values of an agent by profile and outcome, shape (types of each agent, outcomes)."""
        table = self.values[agent]
        if self.is_interdependent(agent):
            return table
        shape = [1] * len(self.agents)
        shape[agent] = self.counts[agent]
        return np.broadcast_to(table.reshape(*shape, -1), (*self.counts, len(self.outcomes)))

    def is_interdependent(self, agent: int) -> bool:
        """Whether the values of an agent depend on the types of others."""
        return bool(self.values[agent].ndim > 2)

    def surplus(self) -> Whole:
        """Return the sum of all values less the cost, by profile and outcome."""
        total = np.zeros((*self.counts, len(self.outcomes)), dtype=object) - np.array(self.cost, dtype=object)
        for agent in range(len(self.agents)):
            total = total + self.by_profile(agent)
        return np.asarray(total)

    def profile_names(self, profile: Profile) -> list[str]:
        """Return the names of the types of a profile."""
        return [names[place] for names, place in zip(self.types, profile, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Return what it was made from."""
        return dict(self.stated)

    def tables(self) -> dict[str, Any]:
        """Return everything in it as plain JSON values, whatever it was made from."""
        return {
            "agents": list(self.agents),
            "types": [list(names) for names in self.types],
            "outcomes": list(self.outcomes),
            "values": [nested_list(table) for table in self.values],
            "cost": [written(value) for value in self.cost],
            "joint": [written(value) for value in self.prior.reshape(-1).tolist()],
            "outside": [[written(value) for value in row] for row in self.outside],
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Environment):
            return NotImplemented
        return self.tables() == other.tables()

    def __hash__(self) -> int:
        return hash((self.agents, self.types, self.outcomes, self.cost))

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.counts))
        agents, outcomes = counted(len(self.agents), "agent"), counted(len(self.outcomes), "outcome")
        return f"Environment({agents}, {shape} types, {outcomes})"


def read_only(table: Whole) -> Whole:
    """Return an array of its own memory that nobody writes to."""
    result = np.array(table)
    result.setflags(write=False)
    return result


def nested_list(table: Whole) -> Any:
    """Return an array of fractions as nested lists of JSON values."""
    if table.ndim == 1:
        return [written(value) for value in table.tolist()]
    return [nested_list(part) for part in table]


def outer_product(rows: Sequence[Whole]) -> Whole:
    """Return the products of independent probabilities by profile.

    Examples
    --------
    >>> half = np.array([Fraction(1, 2), Fraction(1, 2)])
    >>> outer_product([half, half]).tolist()[0]
    [Fraction(1, 4), Fraction(1, 4)]
    """
    result: Whole = np.array(Fraction(1), dtype=object)
    for row in rows:
        result = np.multiply.outer(result, np.array(row, dtype=object))
    return np.asarray(result, dtype=object)


def shown_name(value: Any) -> str:
    """Return the name of a type or an outcome: a text as it is, a number as a short decimal or quotient.

    Examples
    --------
    >>> shown_name("low"), shown_name(0.50), shown_name([1, 2])
    ('low', '0.5', '1 2')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return " ".join(map(shown_name, value))
    try:
        return decimal_name(fraction_amount("name", value))
    except ParameterError:
        return str(value)


def names_of(field: str, values: Any) -> tuple[str, ...]:
    """Return names as texts, each once; numbers are named as they are written."""
    if not isinstance(values, (list, tuple)) or not values:
        raise ParameterError(field, "is empty", "list at least one")
    names = tuple(map(shown_name, values))
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(field, f"duplicate name '{name}'", "use each name once")
        if not name or name != name.strip() or not name.isprintable():
            raise ParameterError(field, f"{text_of(name)} is not a name", "use printable text")
    return names


def environment_of_tables(
    types: Any,
    outcomes: Any,
    values: Any,
    cost: Any = None,
    prior: Any = None,
    joint: Any = None,
    agents: Any = None,
    outside: Any = None,
    stated: Mapping[str, Any] | None = None,
) -> Environment:
    """Return the environment of tables of numbers.

    Parameters
    ----------
    types : list of lists
        The types of each agent: names or numbers.
    outcomes : list
    values : list
        For each agent a row for each of its types and a column for each outcome; or, where values depend on
        the types of others, nested rows by the types of agent 1, 2, and so on.
    cost : list, optional
        Of each outcome; 0 by default.
    prior : list of lists, optional
        The probabilities of the types of each agent, independent; uniform by default.
    joint : list, optional
        The probability of each profile, the type of the last agent changing fastest.
    agents : list of str, optional
    outside : list of lists, optional
        What each type has without taking part; 0 by default.
    """
    if not isinstance(types, (list, tuple)) or not types:
        raise ParameterError("types", "is empty", "give a list of types for each agent")
    kinds = tuple(names_of(f"types[{agent}]", rows) for agent, rows in enumerate(types))
    people = names_of("agents", agents or [f"agent{number}" for number in range(1, len(kinds) + 1)])
    if len(people) != len(kinds):
        raise ParameterError(
            "agents", f"expected {len(kinds)} entries, one per list of types, got {len(people)}"
        )
    results = names_of("outcomes", outcomes)
    counts = tuple(map(len, kinds))
    require_size(counts, len(results))
    if not isinstance(values, (list, tuple)) or len(values) != len(kinds):
        raise ParameterError("values", f"expected {len(kinds)} tables, one per agent")
    tables = tuple(
        _value_table(f"values[{agent}]", table, counts, agent, len(results), kinds[agent])
        for agent, table in enumerate(values)
    )
    costs = amounts_of("cost", [0] * len(results) if cost is None else cost, len(results))
    result = Environment(
        agents=people,
        types=kinds,
        outcomes=results,
        values=tables,
        cost=costs,
        prior=_prior(counts, prior, joint, kinds, people),
        outside=_outside(outside, counts),
        stated={},
    )
    return _with_stated(result, stated)


def _with_stated(environment: Environment, stated: Mapping[str, Any] | None) -> Environment:
    return changed(environment, stated=dict(stated) if stated is not None else environment.tables())


def _value_table(
    field: str, table: Any, counts: tuple[int, ...], agent: int, outcomes: int, names: tuple[str, ...]
) -> Whole:
    """Return the values of an agent as an array, by its types or by profiles."""
    own, full = (counts[agent], outcomes), (*counts, outcomes)
    if not isinstance(table, (list, tuple, np.ndarray)) or not len(table):
        raise ParameterError(field, f"type '{names[0]}' has no values", "give a row for each type")
    is_own = _depth(table) == 2
    if is_own and len(table) < len(names):
        raise ParameterError(field, f"type '{names[len(table)]}' has no values", "give a row for each type")
    shape = own if is_own else full
    entries = _flat(field, table, shape)
    result = np.empty(len(entries), dtype=object)
    result[:] = [fraction_amount(field, entry) for entry in entries]
    return read_only(result.reshape(shape))


def _depth(table: Any) -> int:
    depth = 0
    while isinstance(table, (list, tuple, np.ndarray)) and len(table):
        table, depth = table[0], depth + 1
    return depth


def _flat(field: str, table: Any, shape: tuple[int, ...]) -> list[Any]:
    """Return the entries of nested lists of this shape, or say where the shape differs."""
    if not shape:
        return [table]
    if not isinstance(table, (list, tuple, np.ndarray)) or len(table) != shape[0]:
        count = len(table) if isinstance(table, (list, tuple, np.ndarray)) else 1
        raise ParameterError(field, f"expected {shape[0]} entries, got {count}")
    return [item for place, part in enumerate(table) for item in _flat(f"{field}[{place}]", part, shape[1:])]


def _prior(
    counts: tuple[int, ...], prior: Any, joint: Any, kinds: Sequence[Sequence[str]], people: Sequence[str]
) -> Whole:
    if prior is not None and joint is not None:
        raise ParameterError("prior", "is stated with 'joint'", "state one of them")
    if joint is not None:
        table = np.array(amounts_of("joint", joint, prod(counts)), dtype=object).reshape(counts)
        _require_distribution("joint", table)
    else:
        if prior is None:
            prior = [[Fraction(1, count)] * count for count in counts]
        if not isinstance(prior, (list, tuple)) or len(prior) != len(counts):
            raise ParameterError("prior", f"expected {len(counts)} lists, one per agent")
        rows = []
        for agent, row in enumerate(prior):
            rows.append(np.array(amounts_of(f"prior[{agent}]", row, counts[agent]), dtype=object))
            _require_distribution(f"prior[{agent}]", rows[-1])
        table = outer_product(rows)
    for agent, names in enumerate(kinds):
        axes = tuple(one for one in range(len(counts)) if one != agent)
        for name, share in zip(names, table.sum(axis=axes).tolist(), strict=True):
            if share == 0:
                what = f"type '{name}' of {people[agent]} has probability 0"
                raise ParameterError("prior", what, "leave the type out")
    return read_only(table)


def _require_distribution(field: str, table: Whole) -> None:
    entries = table.reshape(-1).tolist()
    if min(entries) < 0:
        raise ParameterError(field, f"has a negative probability, {min(entries)}", "give numbers >= 0")
    total = sum(entries)
    if total != 1:
        remedy = "write quotients such as 1/3, or correct an entry"
        raise ParameterError(field, f"sums to {decimal_name(total)}, not 1", remedy)


def _outside(outside: Any, counts: tuple[int, ...]) -> tuple[tuple[Fraction, ...], ...]:
    if outside is None:
        return tuple((Fraction(0),) * count for count in counts)
    if not isinstance(outside, (list, tuple)) or len(outside) != len(counts):
        raise ParameterError("outside", f"expected {len(counts)} lists, one per agent")
    return tuple(
        amounts_of(f"outside[{agent}]", row, count)
        for agent, (row, count) in enumerate(zip(outside, counts, strict=True))
    )


def profile_text(environment: Environment, profile: Profile, without: int | None = None) -> str:
    """Return the types of a profile as a text, without those of one agent if stated.

    Examples
    --------
    >>> market = environment_of_tables([["low", "high"]] * 2, ["a"], [[[1], [2]]] * 2)
    >>> profile_text(market, (0, 1)), profile_text(market, (0, 1), without=1)
    ('agent1 low, agent2 high', 'agent1 low')
    """
    names = environment.profile_names(profile)
    parts = [
        f"{agent} {name}"
        for place, (agent, name) in enumerate(zip(environment.agents, names, strict=True))
        if place != without
    ]
    return listed(parts) if len(parts) > 12 else ", ".join(parts)
