"""The data of the demonstration: made up by the generator below, and shipped as CSV files next to it.

Nobody was asked. The shares are of the order that surveys find; the answers depend on each other, because two
groups of people give them with different probabilities. ``python -m mechdesign.report.demo.data`` writes the
files again; a test compares them with what the generator gives.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

FOLDER = Path(__file__).resolve().parent / "data"
SEED = 1
PEOPLE, SELLERS, BIDDERS = 6000, 300, 40

DRINKING = ("never", "yearly", "monthly", "weekly", "daily")
GROUPS = (
    # share of the people, shares of DRINKING, mean age, and shares of yes to each question of HABITS
    (0.7, (0.60, 0.20, 0.10, 0.07, 0.03), 52.0, (0.12, 0.90, 0.80, 0.55, 0.60)),
    (0.3, (0.35, 0.25, 0.20, 0.14, 0.06), 34.0, (0.40, 0.60, 0.55, 0.35, 0.25)),
)
HABITS = ("smokes", "insured", "drives", "exercises", "parent")
AGES = (18, 90)

Rows = list[list[Any]]


def _people(random: Random) -> Rows:
    """Return the header and a row a person: how often it drinks alone, its age, five habits."""
    rows: Rows = [["drinks_alone", "age", *HABITS]]
    for _ in range(PEOPLE):
        _, drinking, mean_age, habits = GROUPS[_drawn(random, [group[0] for group in GROUPS])]
        age = min(max(round(random.gauss(mean_age, 14.0)), AGES[0]), AGES[1])
        answers = ["yes" if random.random() < share else "no" for share in habits]
        rows.append([DRINKING[_drawn(random, drinking)], age, *answers])
    return rows


def sellers(random: Random) -> Rows:
    """Return the header and a row a seller of data: the price of one unit of epsilon, a third of each."""
    prices = [1.0 + number % 3 for number in range(SELLERS)]
    random.shuffle(prices)
    return [["price"], *([price] for price in prices)]


def bids(random: Random) -> Rows:
    """Return the header and a row a bidder: what taking part costs it, and what a unit of epsilon does."""
    rows: Rows = [["user", "sensing", "privacy", "tasks"]]
    for number in range(BIDDERS):
        costs = [round(random.uniform(1.0, 2.0), 3) for _ in range(2)]
        rows.append([f"user{number}", *costs, "0"])
    return rows


def queries(_: Random) -> Rows:
    """Return the header and the queries of the two users of the model ``spectrum/occupied_overlap``."""
    return [
        ["user", "channel", "x", "y", "radius", "privacy", "epsilon"],
        ["user0", "channel", -7.0, -8.0, 4.0, 0.5, 0.4],
        ["user1", "channel", 0.0, -9.0, 3.0, 0.5, 0.4],
    ]


GENERATORS = {"people": _people, "sellers": sellers, "bids": bids, "queries": queries}


def data_file(name: str) -> Path:
    """Return the path of a shipped table.

    Examples
    --------
    >>> data_file("people").is_file()
    True
    """
    return FOLDER / f"{name}.csv"


def write_all(folder: Path = FOLDER) -> None:
    """Write every table that the generator makes into a folder."""
    for name, generator in GENERATORS.items():
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows(generator(Random(SEED)))


def _drawn(random: Random, shares: Sequence[float]) -> int:
    """Return a number from 0, drawn with these probabilities."""
    point, total = random.random(), 0.0
    for number, share in enumerate(shares):
        total += share
        if point < total:
            return number
    return len(shares) - 1


if __name__ == "__main__":
    write_all()
