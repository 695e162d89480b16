"""Auctions: one slot over the number of users next to the direct reading, VCG payments, and seasons."""

from __future__ import annotations

import numpy as np

import mechdesign as md
from benchmarks.measure import best_of, shown_seconds
from mechdesign.families.auction import greedy
from mechdesign.families.auction.horizon import play
from mechdesign.families.auction.papers import rules as published
from mechdesign.families.auction.slot_rules import Slot
from mechdesign.show.tables import table

TITLE = "Auctions: slots with truthful payments, and seasons"

NOTES = """\
seconds      of winners and all payments of one slot, from whole numbers on
direct       algorithms 5.2 and 5.3 read as they are printed, in rational arithmetic; cubic in the users
requirement  winners that each task needs"""

MOST_DIRECT = 200


def slot(users: int, tasks: int, need: int, seed: int = 1) -> Slot:
    """Return a slot of users who can do half of the tasks or more."""
    rng = np.random.default_rng(seed)
    able = rng.random((users, tasks)) < 0.75
    able[:, 0] |= ~able.any(axis=1)
    prices = tuple(rng.integers(2 << 30, 4 << 30, users).tolist())
    return Slot(prices, able, np.full(tasks, need), 1, (0,) * users, 1 << 30, reserve=4 << 30)


def run(quick: bool) -> None:
    """Print the tables."""
    print(NOTES)
    cases = [(n, 10, n // 10) for n in (50, 100, 200, 400)]
    cases += [] if quick else [(1000, 50, 20), (3000, 50, 20), (10_000, 50, 20), (10_000, 50, 200)]
    rows = [_slot_line(*case) for case in cases]
    print(table(["users", "tasks", "requirement", "winners", "seconds", "direct"], rows), flush=True)
    print("\nVickrey-Clarke-Groves payments by integer programs, and the proof of the optimum")
    rows = [_program_line(n) for n in ((50,) if quick else (50, 100, 200))]
    print(table(["users", "tasks", "winners", "seconds", "status"], rows), flush=True)
    print("\nseasons of 100 users and 10 tasks")
    rows = [_season_line(100, paying) for paying in (False, True)]
    rows += [] if quick else [_season_line(1000, True)]
    print(table(["slots", "payments", "seconds"], rows), flush=True)


def _slot_line(users: int, tasks: int, need: int) -> list[str]:
    case = slot(users, tasks, need)
    award, seconds = best_of(lambda: greedy.award(case), repeats=3)
    direct = "-"
    if users <= MOST_DIRECT:
        direct = shown_seconds(best_of(lambda: published.award(case), repeats=1)[1])
    return [str(users), str(tasks), str(need), str(len(award.winners)), shown_seconds(seconds), direct]


def _program_line(users: int) -> list[str]:
    problem = md.AuctionSlot(
        bids=np.random.default_rng(1).uniform(1.0, 2.0, (users, 2)).tolist(),
        epsilon=1.0,
        tasks=[np.flatnonzero(able).tolist() for able in slot(users, 10, 1).able],
        requirements=[9] * 10,
    )
    solution, seconds = best_of(lambda: md.solve(problem, "milp"), repeats=1)
    winners = str(len(solution.variables["winners"]))
    return [str(users), "10", winners, shown_seconds(seconds), solution.status]


def _season_line(slots: int, paying: bool) -> list[str]:
    problem = md.AuctionHorizon(users=100, tasks=10, slots=slots, epsilon=1.0)
    _, seconds = best_of(lambda: play(problem, "online", paying=paying), repeats=1)
    return [str(slots), "yes" if paying else "no", shown_seconds(seconds)]
