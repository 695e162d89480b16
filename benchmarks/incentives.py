"""Direct mechanisms: exact optima next to mechaudit, the same instances in one run.

Seconds of processor time, so that a busy machine does not decide. Here they are from the problem to the
checked solution: HiGHS, the optimum and its dual as fractions, and every deviation audited in fractions. For
mechaudit they are from the tables to its solution: compiling, HiGHS, and its audit within tolerances.
Importing is in neither.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mechdesign as md
from benchmarks.rivals import RivalUnavailable, isolated, mechaudit_optimum
from mechdesign.families.incentives import interim_auction
from mechdesign.families.incentives.exact_optimum import exact_optimum
from mechdesign.families.incentives.program import all_lies
from mechdesign.show.tables import table

TITLE = "Direct mechanisms: exact optima, next to mechaudit"

HEADER = ["instance", "variables", "optimum", "here", "goal", "mechaudit", "mechaudit/here", "its error"]
LIMIT = 900.0
"""Seconds of the wall clock that mechaudit may take."""

DOMINANT, BAYESIAN = ("DSIC", "ExPostIR"), ("BIC", "InterimIR", "StrongBudgetBalance")


@dataclass(frozen=True)
class Instance:
    """A problem, what solves it here, the seconds that are the goal, and mechaudit's words for it."""

    name: str
    problem: Any
    method: str | None
    goal: float
    objective: str = "ExpectedRevenue"
    requirements: tuple[str, ...] = DOMINANT
    environment: Any = None


def auction(values: int, bidders: int) -> md.DirectMechanism:
    """Return the sale of one item to equal bidders with values 1, ..., k."""
    environment = {"name": "single-item", "types": list(range(1, values + 1)), "agents": bidders}
    return md.DirectMechanism(environment=environment)


def trade(count: int) -> md.DirectMechanism:
    """Return the bargain of Myerson and Satterthwaite with this many costs and values."""
    values = [f"{2 * place + 1}/{2 * count}" for place in range(count)]
    return md.DirectMechanism(
        environment={"name": "bilateral-trade", "seller": values, "buyer": values},
        incentives="bayesian",
        participation="interim",
        budget="balanced",
        goal="welfare",
    )


def instances(quick: bool) -> Iterator[Instance]:
    """Yield the instances, the large ones last."""
    yield Instance("2 bidders x 12 values, all deviations", auction(12, 2), None, 2.0)
    for values, bidders in ((40, 2), (10, 3), (7, 4)):
        yield Instance(f"{bidders} bidders x {values} values", auction(values, bidders), "exact-lp", 2.0)
    welfare = "ExpectedSocialWelfare"
    for count in (6, 12) if quick else (6, 20):
        name = f"trade, {count} x {count} types"
        yield Instance(name, trade(count), "exact-lp", 2.0, welfare, BAYESIAN)
    types, quantities = (100, 20) if quick else (500, 50)
    menu = md.Screening(types=list(range(1, types + 1)), quantities=list(range(1, quantities)), cost=3)
    name, environment = f"screening, {types} types x {quantities} outcomes", menu.environment(menu.quantities)
    yield Instance(name, menu, "exact-lp", 30.0, environment=environment)
    if not quick:
        yield Instance("2 bidders x 100 values", auction(100, 2), "exact-lp", 10.0)
        yield Instance("the same, by orbits", auction(100, 2), "symmetric", 10.0)
        yield Instance("3 bidders x 30 values, by orbits", auction(30, 3), "symmetric", 60.0)


def run(quick: bool) -> None:
    """Print one table of seconds and ratios."""
    rows = [row_of(instance) for instance in instances(quick)]
    print(table(HEADER, [*rows, border_row()]), flush=True)


def row_of(instance: Instance) -> list[str]:
    """Return the row of an instance."""
    start = time.process_time()
    if instance.method is None:
        notes = exact_optimum(instance.problem, all_lies(instance.problem.environment)).notes
    else:
        notes = md.solve(instance.problem, instance.method).notes
    seconds = time.process_time() - start
    environment = instance.environment or instance.problem.environment
    variables = environment.profiles * (len(environment.outcomes) + len(environment.agents))
    exact = Fraction(notes["exact_value"])
    first = [instance.name, str(variables), short(exact), f"{seconds:.2f} s", f"{instance.goal:g} s"]
    try:
        peer = isolated(
            LIMIT, mechaudit_optimum, environment.tables(), instance.objective, instance.requirements
        )
    except RivalUnavailable as error:
        return [*first, error.reason.removeprefix("mechaudit: "), "-", "-"]
    apart = abs(peer.value - float(exact))
    return [*first, f"{peer.seconds:.2f} s", f"{peer.seconds / seconds:.1f}", f"{apart:.0e}"]


def border_row() -> list[str]:
    """Return the row of Border's rows, which have no counterpart there."""
    start = time.process_time()
    revenue = interim_auction(list(range(1, 101)), ["1/100"] * 100, 100).revenue
    seconds = time.process_time() - start
    return [
        "100 bidders x 100 values, Border",
        "200",
        short(revenue),
        f"{seconds:.2f} s",
        "2 s",
        "-",
        "-",
        "-",
    ]


def short(value: Fraction) -> str:
    """Return a fraction, or its beginning in decimals where it is long."""
    return str(value) if len(str(value)) <= 16 else f"{float(value):.9f}..."
