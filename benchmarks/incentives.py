"""Exact optima of direct mechanisms: sizes and seconds, and mechaudit on the same instances if installed.

    python benchmarks/incentives.py
    python benchmarks/incentives.py --large

Not part of the tests. Each line is one run in this process: seconds of the wall clock from the problem to the
checked solution, all deviations audited in fractions.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version

import mechdesign as md
from mechdesign.families.incentives.exact_optimum import exact_optimum
from mechdesign.families.incentives.interim import interim_auction
from mechdesign.families.incentives.program import all_lies

TITLE = "Direct mechanisms: exact optima, seconds"


def auction(values, bidders):
    environment = {"name": "single-item", "types": list(range(1, values + 1)), "agents": bidders}
    return md.DirectMechanism(environment=environment)


def trade(count):
    values = [f"{2 * place + 1}/{2 * count}" for place in range(count)]
    return md.DirectMechanism(
        environment={"name": "bilateral-trade", "seller": values, "buyer": values},
        incentives="bayesian", participation="interim", budget="balanced", goal="welfare",
    )  # fmt: skip


def line(name, value, seconds, how):
    print(f"{name:44s} {value!s:>24s} {seconds:8.2f} s  {how}")


def timed(name, problem, method=None):
    start = time.perf_counter()
    solution = md.solve(problem, method)
    seconds = time.perf_counter() - start
    notes = solution.notes
    line(name, notes.get("exact_value", solution.status), seconds, notes.get("read_from", ""))


def all_rows(name, problem):
    start = time.perf_counter()
    outcome = exact_optimum(problem, all_lies(problem.environment))
    line(name, outcome.notes["exact_value"], time.perf_counter() - start, outcome.notes["read_from"])


def interim(values, bidders):
    start = time.perf_counter()
    numbers = [Fraction(number) for number in range(1, values + 1)]
    found = interim_auction(numbers, [Fraction(1, values)] * values, bidders)
    name = f"Border's rows, {bidders} bidders x {values} values"
    line(name, f"{float(found.revenue):.10g}", time.perf_counter() - start, "a fraction of many digits")


def main():
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--large", action="store_true", help="with 2 bidders x 100 values")
    options = parser.parse_args()
    print(TITLE)
    all_rows("2 bidders x 12 values, every deviation", auction(12, 2))
    for values, bidders in ((40, 2), (10, 3), (7, 4)):
        timed(f"{bidders} bidders x {values} values", auction(values, bidders))
    if options.large:
        timed("2 bidders x 100 values", auction(100, 2))
    timed("trade, 6 x 6 types, bayesian, balanced", trade(6))
    timed("trade, 20 x 20 types, bayesian, balanced", trade(20))
    interim(100, 100)
    many = md.Screening(types=list(range(1, 501)), quantities=list(range(1, 50)), cost=3)
    timed("screening, 500 types x 50 outcomes", many, "exact-lp")
    try:
        print(f"mechaudit {version('mechaudit')} is installed: run its own benchmark on these instances")
    except PackageNotFoundError:
        print("mechaudit is not installed: no peer in this run")


if __name__ == "__main__":
    main()
