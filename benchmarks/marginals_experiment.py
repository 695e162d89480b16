"""The experiments of Zhang (2019), section 3.4, on a folder of users' data.

    python -m benchmarks.marginals_experiment FOLDER --figure 3.4 --data retail --users 262144

Sums of squared errors of random marginals, with mean and standard deviation over the repetitions. Figures:
3.4 (binary data), 3.5 (categorical data), 3.7 (size and number of views), 3.8 (views for another order, and
the curator; 3.8-orders is its second row), 3.9 (marginals of 2 to 10 attributes).

"FC+" is FC brought to the nearest tables, "FT literal" asks for what the thesis counts.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.marginals_data import BINARY, CATEGORICAL, People, read
from benchmarks.marginals_methods import Method, Setting, make, released, views_of
from mechdesign.families.marginals.papers.rivals import true_marginal
from mechdesign.show.tables import table
from mechdesign.work.bars import progress

MARGINALS = 50
FEWER = 4
"""The factor by which settings with more than 16 attributes, or order 6, have fewer repetitions."""

Errors = dict[str, list[float]]

Row = tuple[str, str, str, float, str, str]
COLUMNS = ("figure", "setting", "curve", "x", "error", "deviation")
"""Of the file of results: a point of a curve a line."""


def rows_of(figure: str, setting: str, curve: str, x: float, errors: list[float] | None) -> list[Row]:
    """Return the line of a point; none where nothing was measured."""
    if errors is None:
        return []
    mean, spread = cell(errors).rstrip(")").split(" (")
    return [(figure, setting, curve, x, mean, spread)]


def measure(
    people: People,
    order: int,
    methods: Sequence[Method],
    repetitions: int,
    rng: np.random.Generator,
    label: str,
) -> Errors:
    """Return the mean squared error of random marginals by each answer, one number a repetition."""
    attributes, found = len(people.sizes), Errors()
    for _ in progress(range(repetitions), repetitions, label):
        wanted = random_marginals(attributes, order, rng)
        truth = {one: true_marginal(people.codes, people.sizes, one) for one in wanted}
        for method in methods:
            for name, answer in method.collect(people.codes, rng).items():
                errors = [float(((answer(one) - truth[one]) ** 2).sum()) for one in wanted]
                found.setdefault(name, []).append(float(np.mean(errors)))
    return found


def random_marginals(attributes: int, order: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return random sets of attributes: 50, or all where there are fewer."""
    if attributes <= 12:
        every = list(combinations(range(attributes), order))
        picked = rng.permutation(len(every))[:MARGINALS]
        return [every[place] for place in picked]
    drawn = (rng.choice(attributes, order, replace=False) for _ in range(MARGINALS))
    return [tuple(sorted(int(item) for item in one)) for one in drawn]


def compare(
    people: People,
    order: int,
    names: Iterable[str],
    epsilons: Sequence[float],
    repetitions: int,
    rng: np.random.Generator,
) -> list[Errors]:
    """Print a table, one row an answer, one column an epsilon, and return its columns."""
    columns: list[Errors] = []
    refusals: dict[str, str] = {}
    for epsilon in epsilons:
        setting = Setting(people.sizes, order, len(people.codes), epsilon)
        made = {name: make(name, setting) for name in names}
        refusals |= {name: reason for name, reason in made.items() if isinstance(reason, str)}
        methods = [method for method in made.values() if isinstance(method, Method)]
        columns.append(measure(people, order, methods, repetitions, rng, f"epsilon {epsilon:g}"))
    show(columns, [f"{epsilon:g}" for epsilon in epsilons])
    for reason in refusals.values():
        print(f"  {reason}")
    return columns


def show(columns: Sequence[Errors], header: Sequence[str], what: str = "SSE") -> None:
    """Print mean and standard deviation by answer and column."""
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [[name, *(cell(column.get(name)) for column in columns)] for name in names]
    print(table([what, *header], rows), flush=True)


def cell(errors: list[float] | None) -> str:
    """Return mean and standard deviation in short."""
    if errors is None:
        return "-"
    spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else float("nan")
    return f"{np.mean(errors):.3g} ({spread:.1g})"


def fewer(people: People, order: int, repetitions: int) -> int:
    """Return how many repetitions a setting gets."""
    large = len(people.sizes) > 16 or order > 3
    return max(2, repetitions // FEWER) if large else repetitions


def settings(options: argparse.Namespace, every: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Return the numbers of attributes and orders that are asked for: all, or one."""
    return [tuple(options.setting)] if options.setting else every


def figure_4(options: argparse.Namespace, rng: np.random.Generator) -> list[Row]:
    """Binary data: all methods, d in 8, 16, 32 and k in 3, 6, 8."""
    rows: list[Row] = []
    for name in options.data or BINARY:
        everybody = read(options.folder, name)
        for attributes, order in settings(options, ((8, 3), (16, 3), (32, 3), (16, 6), (32, 6), (32, 8))):
            if attributes > len(everybody.sizes):
                continue
            people = everybody.first(attributes).sampled(options.users, rng)
            count = fewer(people, order, options.repetitions)
            print(f"\n{name}: d = {attributes}, k = {order}, n = {options.users}, {count} repetitions")
            names = ["CALM", "FC", "AM", "FT", "Uni"]
            names += ["FT literal"] if attributes == 8 else []
            names += ["EM"] if order == 3 and attributes <= 16 else []
            columns = compare(people, order, names, options.epsilons, count, rng)
            setting = f"d = {attributes}; k = {order}"
            for curve in dict.fromkeys(name for column in columns for name in column):
                for epsilon, column in zip(options.epsilons, columns, strict=True):
                    rows += rows_of("3.4", setting, curve, epsilon, column.get(curve))
    return rows


def figure_5(options: argparse.Namespace, rng: np.random.Generator) -> list[Row]:
    """Categorical data: all methods and BE."""
    for name in options.data or CATEGORICAL:
        everybody = read(options.folder, name)
        for attributes, order in settings(options, ((8, 3), (12, 3), (8, 6))):
            people = everybody.first(attributes).sampled(options.users, rng)
            count = fewer(people, order, options.repetitions)
            sizes = " x ".join(str(size) for size in people.sizes)
            print(f"\n{name}: {sizes}, k = {order}, n = {options.users}, {count} repetitions")
            names = ["CALM", "FC", "AM", "FT", "Uni"]
            names += ["BE"] if order == 3 else []  # with six attributes its tables of bits take too long
            names += ["FT literal"] if order == 3 and attributes == 8 else []
            compare(people, order, names, options.epsilons, count, rng)
    return []


def random_views(
    attributes: int, size: int, count: int, rng: np.random.Generator
) -> list[tuple[int, ...]] | None:
    """Return ``count`` different views of a size that hold every attribute; None if there are none."""
    every = list(combinations(range(attributes), size))
    if count > len(every) or count * size < attributes:
        return None
    while True:
        chosen = [every[place] for place in rng.permutation(len(every))[:count]]
        if len({item for view in chosen for item in view}) == attributes:
            return chosen


def figure_7(options: argparse.Namespace, rng: np.random.Generator) -> list[Row]:
    """Views of any size and number for d = 8, k = 3; then size against epsilon with 28 views."""
    rows: list[Row] = []
    for name in options.data or ("retail", "msnbc"):
        people = read(options.folder, name).first(8).sampled(options.users, rng)
        chosen = views_of(people.sizes, 3, options.users, 0.6)
        print(f"\n{name}: d = 8, k = 3, n = {options.users}, epsilon 0.6; algorithm 3.1: ", end="")
        print(f"{len(chosen)} views of {len(chosen[0])}, {options.repetitions} repetitions")
        counts, lines = (1, 4, 8, 16, 28, 56, 70), []
        for size in range(1, 9):
            found = [grid_errors(people, 0.6, size, count, options.repetitions, rng) for count in counts]
            lines.append([str(size), *map(cell, found)])
            for count, errors in zip(counts, found, strict=True):
                rows += rows_of("3.7", "views (epsilon = 0.6)", f"l = {size}", count, errors)
        print(table(["l", *(f"m = {count}" for count in counts)], lines), flush=True)
        lines = []
        for size in (2, 3, 4, 5):
            found = [
                grid_errors(people, epsilon, size, 28, options.repetitions, rng)
                for epsilon in options.epsilons
            ]
            lines.append([str(size), *map(cell, found)])
            for epsilon, errors in zip(options.epsilons, found, strict=True):
                rows += rows_of("3.7", "epsilon (28 views)", f"l = {size}", epsilon, errors)
        lines.append(["3.1", *(sizes_of(people, options.users, epsilon) for epsilon in options.epsilons)])
        print(table(["l", *(f"epsilon {epsilon:g}" for epsilon in options.epsilons)], lines), flush=True)
    return rows


def grid_errors(
    people: People, epsilon: float, size: int, count: int, repetitions: int, rng: np.random.Generator
) -> list[float] | None:
    """Return the errors with random views of a size and a number, other ones each time."""
    errors = []
    for _ in range(repetitions):
        views = random_views(len(people.sizes), size, count, rng)
        if views is None:
            return None
        setting = Setting(people.sizes, 3, len(people.codes), epsilon)
        errors += measure(people, 3, [released(setting, views)], 1, rng, "views")["CALM"]
    return errors


def sizes_of(people: People, users: int, epsilon: float) -> str:
    """Return number and size of the views that algorithm 3.1 takes."""
    views = views_of(people.sizes, 3, users, epsilon)
    return f"{len(views)} of {len(views[0])}"


def figure_8(options: argparse.Namespace, rng: np.random.Generator) -> list[Row]:
    """Views that were chosen for another order k', and the curator, for d = 16."""
    for name in options.data or ("retail",):
        people = read(options.folder, name).first(16).sampled(options.users, rng)
        for order in (3, 6, 8):
            count = max(2, options.repetitions // FEWER)
            print(f"\n{name}: d = 16, k = {order}, n = {options.users}, {count} repetitions")
            columns = []
            for epsilon in options.epsilons:
                setting = Setting(people.sizes, order, options.users, epsilon)
                methods = []
                for other in (3, 6, 8):
                    views = views_of(people.sizes, other, options.users, epsilon)
                    methods.append(released(setting, views, f"k' = {other}"))
                curator = make("PriView", setting)
                assert isinstance(curator, Method)
                columns.append(
                    measure(people, order, [*methods, curator], count, rng, f"epsilon {epsilon:g}")
                )
            show(columns, [f"{epsilon:g}" for epsilon in options.epsilons])
    return []


def figure_8_orders(options: argparse.Namespace, rng: np.random.Generator) -> list[Row]:
    """The second row of 3.8: marginals of an order from the views for every other one, k' from 2 to 16."""
    rows: list[Row] = []
    for name in options.data or ("retail",):
        people = read(options.folder, name).first(16).sampled(options.users, rng)
        for order in (3, 6, 8):
            for epsilon in options.epsilons:
                by_views = orders_by_views(people, options.users, epsilon, range(2, 17))
                count = max(2, options.repetitions // FEWER)
                found = views_errors(people, order, epsilon, list(by_views), count, rng)
                print(f"\n{name}: k = {order}, epsilon {epsilon:g}, n = {options.users}, {count} repetitions")
                lines = []
                for (views, others), errors in zip(by_views.items(), found, strict=True):
                    shown = f"{others[0]} to {others[-1]}" if len(others) > 1 else str(others[0])
                    lines.append([shown, f"{len(views)} of {len(views[0])}", cell(errors)])
                    for other in others:
                        rows += rows_of("3.8", f"k = {order}", f"epsilon = {epsilon:g}", other, errors)
                print(table(["k'", "views", "SSE"], lines), flush=True)
    return rows


def figure_9(options: argparse.Namespace, rng: np.random.Generator) -> list[Row]:
    """Marginals of 2 to 10 attributes, d = 16: views for k' = 3 against those for k' = k."""
    rows: list[Row] = []
    for name in options.data or ("retail",):
        people = read(options.folder, name).first(16).sampled(options.users, rng)
        for epsilon in options.epsilons:
            count, lines = max(2, options.repetitions // FEWER), []
            three = chosen_views(people, 3, options.users, epsilon)
            for order in range(2, 11):
                own = chosen_views(people, order, options.users, epsilon)
                found = views_errors(people, order, epsilon, list(dict.fromkeys([three, own])), count, rng)
                lines.append(
                    [
                        str(order),
                        *(f"{len(one)} of {len(one[0])}" for one in (three, own)),
                        cell(found[0]),
                        cell(found[-1]),
                    ]
                )
                for curve, errors in (("k' = 3", found[0]), ("k' = k", found[-1])):
                    rows += rows_of("3.9", f"epsilon = {epsilon:g}", curve, order, errors)
            print(f"\n{name}: d = 16, epsilon {epsilon:g}, n = {options.users}, {count} repetitions")
            print(
                table(["k", "views, k' = 3", "views, k' = k", "SSE, k' = 3", "SSE, k' = k"], lines),
                flush=True,
            )
    return rows


ChosenViews = tuple[tuple[int, ...], ...]


def chosen_views(people: People, order: int, users: int, epsilon: float) -> ChosenViews:
    """Return the views that algorithm 3.1 takes for an order."""
    return tuple(tuple(view) for view in views_of(people.sizes, order, users, epsilon))


def orders_by_views(
    people: People, users: int, epsilon: float, orders: Iterable[int]
) -> dict[ChosenViews, list[int]]:
    """Return the orders that have the same views together: what is the same is measured once."""
    found: dict[ChosenViews, list[int]] = {}
    for order in orders:
        found.setdefault(chosen_views(people, order, users, epsilon), []).append(order)
    return found


def views_errors(
    people: People,
    order: int,
    epsilon: float,
    choices: Sequence[ChosenViews],
    repetitions: int,
    rng: np.random.Generator,
) -> list[list[float]]:
    """Return the errors of the same random marginals by each choice of views."""
    setting = Setting(people.sizes, order, len(people.codes), epsilon)
    methods = [released(setting, views, str(place)) for place, views in enumerate(choices)]
    found = measure(people, order, methods, repetitions, rng, f"k = {order}, epsilon {epsilon:g}")
    return [found[str(place)] for place in range(len(choices))]


FIGURES = {
    "3.4": figure_4,
    "3.5": figure_5,
    "3.7": figure_7,
    "3.8": figure_8,
    "3.8-orders": figure_8_orders,
    "3.9": figure_9,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments and print the tables of a figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the data are")
    parser.add_argument("--figure", choices=FIGURES, required=True)
    parser.add_argument("--data", action="append", help="a data set; all that the figure is for by default")
    parser.add_argument("--setting", type=int, nargs=2, metavar=("D", "K"), help="one of a figure's settings")
    parser.add_argument("--users", type=int, default=1 << 18)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.2, 0.6, 1.0, 1.4, 2.0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=2019)
    parser.add_argument(
        "--append", type=Path, help="a CSV file to add the points to (3.4, 3.7, 3.8-orders, 3.9)"
    )
    options = parser.parse_args(arguments)
    rows = FIGURES[options.figure](options, np.random.default_rng(options.seed))
    if options.append:
        is_new = not options.append.exists()
        with options.append.open("a", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows([COLUMNS] * is_new + rows)


if __name__ == "__main__":
    main()
