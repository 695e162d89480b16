"""Named environments: nobody writes tables by hand for an auction, a bargain, a public good or a vote.

``environment = { name = "single-item", types = [1, 2, 3], agents = 2 }`` in a model file, or a mapping with
these keys in Python. ``types`` is one list for all agents, or a list for each.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, factorial
from pathlib import Path
from typing import Any

from mechdesign.core.errors import ModelFileError, ParameterError, UnknownNameError, suggestion, unread
from mechdesign.core.fields import call_named
from mechdesign.core.validation import integer
from mechdesign.core.values import changed, encode
from mechdesign.exact.numbers import text_of
from mechdesign.families.incentives.environment import (
    Environment,
    decimal_name,
    environment_of_tables,
    fraction_amount,
    require_size,
)
from mechdesign.work.files import read_text

MOST_AGENTS = 12
"""Of a named environment: two types each make 4,096 profiles."""

MOST_CANDIDATES = 5
"""Of a vote: 120 rankings an agent."""

LARGEST_TABLE = 1 << 24
"""Bytes of a CSV file of values."""

Kinds = list[list[Fraction]]


def _kinds(types: Any, agents: Any, least: int = 1) -> Kinds:
    """Return the types of each agent as numbers: one list for all, or a list for each."""
    if not isinstance(types, (list, tuple)) or not types:
        raise ParameterError("types", "is empty", "give a list of numbers")
    nested = isinstance(types[0], (list, tuple))
    if nested and agents is not None and len(types) != agents:
        raise ParameterError("types", f"expected {agents} lists, one per agent, got {len(types)}")
    count = len(types) if nested else integer("agents", 1 if agents is None else agents, least, MOST_AGENTS)
    rows = types if nested else [types] * count
    return [[fraction_amount(f"types[{agent}]", value) for value in row] for agent, row in enumerate(rows)]


def _distribution(prior: Any, count: int) -> Any:
    """Return the prior of each agent: one list of probabilities for all, or a list for each."""
    if prior is None or not isinstance(prior, (list, tuple)) or not prior:
        return prior
    return prior if isinstance(prior[0], (list, tuple)) else [prior] * count


def _allocation(
    kinds: Kinds,
    names: Sequence[str],
    outcomes: Sequence[str],
    receives: Sequence[Sequence[int]],
    cost: Sequence[Any],
    prior: Any,
    joint: Any,
    sign: int = 1,
) -> Environment:
    """Return an environment in which a type is worth itself where the agent is among the receivers."""
    require_size([len(row) for row in kinds], len(outcomes))
    return environment_of_tables(
        types=[[decimal_name(value) for value in row] for row in kinds],
        outcomes=list(outcomes),
        values=[
            [[sign * value if agent in winners else Fraction(0) for winners in receives] for value in row]
            for agent, row in enumerate(kinds)
        ],
        cost=list(cost),
        prior=_distribution(prior, len(kinds)),
        joint=joint,
        agents=list(names),
    )


def single_item(
    types: Any, agents: Any = None, prior: Any = None, joint: Any = None, worth: Any = 0
) -> Environment:
    """Return one item, which goes to one bidder or stays with the seller, to whom it is worth ``worth``."""
    kinds = _kinds(types, agents)
    names = [f"bidder{number}" for number in range(1, len(kinds) + 1)]
    receives: list[list[int]] = [[], *([agent] for agent in range(len(kinds)))]
    cost = [0, *[worth] * len(kinds)]
    return _allocation(kinds, names, ["unsold", *names], receives, cost, prior, joint)


def multi_unit(
    types: Any, units: Any, agents: Any = None, prior: Any = None, joint: Any = None, worth: Any = 0
) -> Environment:
    """Return equal units; each bidder can use one; a unit that stays is ``worth`` to the seller."""
    kinds = _kinds(types, agents)
    number = integer("units", units, 1, MOST_AGENTS)
    names = [f"bidder{place}" for place in range(1, len(kinds) + 1)]
    most = min(number, len(kinds))
    require_size([len(row) for row in kinds], sum(comb(len(kinds), size) for size in range(most + 1)))
    receives = [
        list(winners) for size in range(most + 1) for winners in combinations(range(len(kinds)), size)
    ]
    outcomes = ["+".join(names[agent] for agent in winners) or "unsold" for winners in receives]
    each = fraction_amount("worth", worth)
    cost = [each * len(winners) for winners in receives]
    return _allocation(kinds, names, outcomes, receives, cost, prior, joint)


def bilateral_trade(seller: Any, buyer: Any, prior: Any = None, joint: Any = None) -> Environment:
    """Return one item of a seller, who has a cost of giving it up, and a buyer with a value for it."""
    costs, worths = _kinds(seller, 1)[0], _kinds(buyer, 1)[0]
    return environment_of_tables(
        types=[[decimal_name(value) for value in row] for row in (costs, worths)],
        outcomes=["keep", "trade"],
        values=[[[0, -value] for value in costs], [[0, value] for value in worths]],
        prior=_distribution(prior, 2),
        joint=joint,
        agents=["seller", "buyer"],
    )


def public_good(
    types: Any, cost: Any, agents: Any = None, prior: Any = None, joint: Any = None
) -> Environment:
    """Return a good that all use or nobody does, at a cost."""
    kinds = _kinds(types, agents)
    names = [f"agent{number}" for number in range(1, len(kinds) + 1)]
    everyone = list(range(len(kinds)))
    return _allocation(kinds, names, ["none", "built"], [[], everyone], [0, cost], prior, joint)


def procurement(
    types: Any, worth: Any, agents: Any = None, prior: Any = None, joint: Any = None
) -> Environment:
    """Return one task for one supplier, whose type is its cost; ``worth`` is the designer's value."""
    kinds = _kinds(types, agents)
    names = [f"supplier{number}" for number in range(1, len(kinds) + 1)]
    receives: list[list[int]] = [[], *([agent] for agent in range(len(kinds)))]
    gain = -fraction_amount("worth", worth)
    cost = [0, *[gain] * len(kinds)]
    return _allocation(kinds, names, ["none", *names], receives, cost, prior, joint, sign=-1)


def two_goods(types: Any, prior: Any = None, extra: Any = 0) -> Environment:
    """Return one buyer of two goods; types are pairs of values, and both are worth ``extra`` more."""
    if not isinstance(types, (list, tuple)) or not types:
        raise ParameterError("types", "is empty", "give pairs of values")
    pairs = []
    for place, pair in enumerate(types):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ParameterError(f"types[{place}]", f"{text_of(pair)} is not a pair", "give two values")
        pairs.append([fraction_amount(f"types[{place}]", value) for value in pair])
    bonus = fraction_amount("extra", extra)
    return environment_of_tables(
        types=[[" ".join(map(decimal_name, pair)) for pair in pairs]],
        outcomes=["none", "first", "second", "both"],
        values=[[[0, one, two, one + two + bonus] for one, two in pairs]],
        prior=_distribution(prior, 1),
        agents=["buyer"],
    )


def facility(
    places: Any, agents: Any = None, peaks: Any = None, prior: Any = None, joint: Any = None
) -> Environment:
    """Return a facility at one of the places on a line; an agent loses the distance from its own peak."""
    spots = _kinds(places, 1)[0]
    kinds = _kinds(spots if peaks is None else peaks, agents)
    require_size([len(row) for row in kinds], len(spots))
    return environment_of_tables(
        types=[[decimal_name(value) for value in row] for row in kinds],
        outcomes=[f"at {decimal_name(spot)}" for spot in spots],
        values=[[[-abs(value - spot) for spot in spots] for value in row] for row in kinds],
        prior=_distribution(prior, len(kinds)),
        joint=joint,
    )


def voting(
    candidates: Any, agents: Any = None, points: Any = None, prior: Any = None, joint: Any = None
) -> Environment:
    """Return a vote: types are rankings, worth ``points`` by place (by default m - 1, ..., 0)."""
    if isinstance(candidates, (list, tuple)):
        names = [str(name) for name in candidates]
    else:
        names = [chr(ord("a") + place) for place in range(integer("candidates", candidates, 2, 26))]
    if not 2 <= len(names) <= MOST_CANDIDATES:
        what = f"{len(names)} candidates have {factorial(min(len(names), 26))} rankings"
        raise ParameterError("candidates", what, f"give 2 to {MOST_CANDIDATES}")
    voters = integer("agents", 2 if agents is None else agents, 1, MOST_AGENTS)
    worth = [len(names) - 1 - place for place in range(len(names))] if points is None else list(points)
    if len(worth) != len(names):
        raise ParameterError("points", f"expected {len(names)} entries, one per place, got {len(worth)}")
    rankings = list(permutations(range(len(names))))
    require_size([len(rankings)] * voters, len(names))
    rows = [[worth[ranking.index(place)] for place in range(len(names))] for ranking in rankings]
    return environment_of_tables(
        types=[[">".join(names[place] for place in ranking) for ranking in rankings]] * voters,
        outcomes=names,
        values=[rows] * voters,
        prior=_distribution(prior, voters),
        joint=joint,
        agents=[f"voter{number}" for number in range(1, voters + 1)],
    )


def assignment(types: Any, agents: Any = None, prior: Any = None, joint: Any = None) -> Environment:
    """Return an assignment: each agent gets one object; types are lists of values of them."""
    if not isinstance(types, (list, tuple)) or not types or not isinstance(types[0], (list, tuple)):
        raise ParameterError("types", "expected lists of values, one per object", "write [[1, 0], [0, 1]]")
    objects = len(types[0])
    people = integer("agents", objects if agents is None else agents, 1, objects)
    kinds = [
        [fraction_amount(f"types[{place}]", value) for value in row]
        for place, row in enumerate(types)
        if len(row) == objects or _refused_row(place, objects, len(row))
    ]
    orders = list(permutations(range(objects), people))
    require_size([len(kinds)] * people, len(orders))
    return environment_of_tables(
        types=[[" ".join(map(decimal_name, row)) for row in kinds]] * people,
        outcomes=[" ".join(f"{place + 1}" for place in order) for order in orders],
        values=[[[row[order[agent]] for order in orders] for row in kinds] for agent in range(people)],
        prior=_distribution(prior, people),
        joint=joint,
    )


def _refused_row(place: int, expected: int, count: int) -> bool:
    raise ParameterError(f"types[{place}]", f"expected {expected} entries, one per object, got {count}")


def tables_in_files(values: str, prior: Any = None, joint: Any = None, cost: Any = None) -> Environment:
    """Return own tables: a CSV file with the columns agent, type and one for each outcome.

    With a column ``probability`` in it, that is the prior of the agent's types.
    """
    header, lines = _lines_of(values)
    outcomes = [name for name in header[2:] if name != "probability"]
    names: dict[str, list[str]] = {}
    worth: dict[str, list[list[Fraction]]] = {}
    shares: dict[str, list[Fraction]] = {}
    for number, row in lines:
        place = f"{values}: line {number}"
        if len(row) != len(header):
            raise ModelFileError(place, f"expected {len(header)} cells, got {len(row)}")
        cells = dict(zip(header, row, strict=True))
        names.setdefault(cells["agent"], []).append(cells["type"])
        numbers = {name: _cell(place, name, cells[name]) for name in header[2:]}
        worth.setdefault(cells["agent"], []).append([numbers[name] for name in outcomes])
        shares.setdefault(cells["agent"], []).append(numbers.get("probability", Fraction(0)))
    if "probability" in header and prior is None and joint is None:
        prior = list(shares.values())
    return environment_of_tables(
        types=list(names.values()),
        outcomes=outcomes,
        values=list(worth.values()),
        cost=cost,
        prior=prior,
        joint=joint,
        agents=list(names),
    )


def _lines_of(path: Any) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the header of a CSV file of values, and each further row with its line."""
    if not isinstance(path, (str, Path)):
        raise ParameterError("values", f"expected the path of a CSV file, got {text_of(path)}")
    try:
        text = read_text(path, LARGEST_TABLE, ModelFileError)
    except OSError as error:
        raise ModelFileError(path, unread(error), "check the path") from None
    reader = csv.reader(text.removeprefix("\ufeff").splitlines(keepends=True), skipinitialspace=True)
    rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    header = rows[0][1] if rows else []
    if header[:2] != ["agent", "type"] or len(header) < 3:
        what = "its first line is not 'agent,type,' and the outcomes"
        raise ModelFileError(path, what, "write for instance agent,type,unsold,sold")
    for name in header:
        if header.count(name) > 1:
            raise ModelFileError(path, f"duplicate column '{name}'", "use each name once")
    lines = [(number, row) for number, row in rows[1:] if any(row)]
    if not lines:
        raise ModelFileError(path, "has a header and no rows", "give one row per type of each agent")
    return header, lines


def _cell(place: str, name: str, text: str) -> Fraction:
    """Return the number in a cell, or say in which line and column there is none."""
    try:
        return fraction_amount(name, text)
    except ParameterError:
        what = f"column '{name}': {text_of(text)} is not a number"
        raise ModelFileError(place, what, "write a decimal or a quotient, such as 0.5 or 1/3") from None


def own_tables(
    types: Any,
    outcomes: Any,
    values: Any,
    cost: Any = None,
    prior: Any = None,
    joint: Any = None,
    agents: Any = None,
    outside: Any = None,
) -> Environment:
    """Return own tables: types and values of each agent; see ``environment_of_tables``."""
    return environment_of_tables(types, outcomes, values, cost, prior, joint, agents, outside)


NAMED: Mapping[str, Callable[..., Environment]] = {
    "single-item": single_item,
    "multi-unit": multi_unit,
    "bilateral-trade": bilateral_trade,
    "public-good": public_good,
    "procurement": procurement,
    "two-goods": two_goods,
    "facility": facility,
    "voting": voting,
    "assignment": assignment,
    "tables": own_tables,
    "csv": tables_in_files,
}
"""The environments by name."""


def environment_of(field: str, value: Any) -> Environment:
    """Return the environment of a table ``{name = ..., ...}``; without a name it holds own tables.

    Examples
    --------
    >>> environment_of("environment", {"name": "single-item", "types": [1, 2, 3], "agents": 2})
    Environment(2 agents, 3 x 3 types, 3 outcomes)
    """
    if isinstance(value, Environment):
        return value
    if isinstance(value, (str, Path)) or not isinstance(value, Mapping):
        raise ParameterError(
            field,
            f"expected a table with a name, got {text_of(value)}",
            'write { name = "single-item", types = [1, 2, 3], agents = 2 }',
        )
    name = str(value.get("name", "tables"))
    if name not in NAMED:
        raise UnknownNameError(field, f"no environment '{name}'", suggestion(name, NAMED))
    arguments = {word: entry for word, entry in value.items() if word != "name"}
    environment: Environment = call_named(f"{field}: '{name}'", NAMED[name], arguments)
    if name == "csv":
        return environment  # its content, wherever the file goes
    result: Environment = changed(environment, stated=encode(plain_numbers({"name": name, **arguments})))
    return result


def plain_numbers(value: Any) -> Any:
    """Return what was stated with fractions as texts, so that a file has them exactly."""
    if isinstance(value, Mapping):
        return {key: plain_numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_numbers(item) for item in value]
    return str(value) if isinstance(value, Fraction) else value


def product_types(first: Sequence[Any], second: Sequence[Any]) -> list[list[Any]]:
    """Return all pairs of a value of the first and one of the second good.

    Examples
    --------
    >>> product_types([1, 2], [1, 3])
    [[1, 1], [1, 3], [2, 1], [2, 3]]
    """
    return [list(pair) for pair in product(first, second)]
