"""Spectrum: seconds and gaps of every method, from two users to two hundred, and a referee."""

from __future__ import annotations

import time

import numpy as np

import mechdesign as md
from benchmarks.measure import shown_seconds
from mechdesign.families.spectrum.channel import scattered_owner, scattered_users
from mechdesign.show.tables import table

TITLE = "Spectrum: allocation of channels"

CASES = (
    ("two users", 2, 12.0, 5.0, ("piecewise", "enumeration", "milp", "greedy", "published")),
    ("five users", 5, 15.0, 4.0, ("enumeration", "milp", "greedy")),
    ("twenty users", 20, 40.0, 4.0, ("cuts", "milp", "greedy")),
    ("200 users in 100 x 100, radius 2.5", 200, 100.0, 2.5, ("cuts", "milp", "greedy")),
    ("200 users in 120 x 120", 200, 120.0, 5.0, ("cuts", "greedy")),
    ("60 users in 34.5 x 34.5", 60, 34.5, 5.0, ("cuts", "greedy")),
    ("100 users in 44.5 x 44.5", 100, 44.5, 5.0, ("cuts", "greedy")),
    ("140 users in 52.7 x 52.7", 140, 52.7, 5.0, ("cuts", "greedy")),
    ("200 users in 63 x 63", 200, 63.0, 5.0, ("cuts", "greedy")),
    ("200 users in 60 x 60", 200, 60.0, 5.0, ("cuts", "greedy")),
    ("200 users in 20 x 20", 200, 20.0, 5.0, ("cuts", "greedy")),
)

NOTES = """\
seconds    of one solution
processor  seconds of the processor; fewer than those of the clock where the machine is busy
value      the owner's utility, computed from the radii
proven     gap to the bound that the method proves, as a part of the value
stated     gap to the bound that the integer solver states
referee    differential evolution (scipy) over radii and L, for two users: shares no code, proves nothing"""


def run(quick: bool) -> None:
    """Print a line for each case and method."""
    print(NOTES)
    for title, users, side, radius, methods in CASES[: 3 if quick else None]:
        secondary = scattered_users(side, users, 1, radius=radius, privacy=0.5, seed=1)
        owner = scattered_owner(side, users, 1, seed=1)
        problem = md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=secondary, primary=owner)
        rows = [line(problem, method) for method in methods]
        if users == 2:
            rows.append(["referee", "-", "-", f"{referee(problem):.6f}", "-", "-"])
        print(f"\n{title}")
        if "cuts" in methods:
            idle = line(md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=secondary), "cuts")
            rows.append(["cuts, idle", *idle[1:]])
        print(table(["method", "seconds", "processor", "value", "proven", "stated"], rows), flush=True)
    print(f"\nten channels, twenty users in 20 x 20: {shown_seconds(map_seconds())} s, exact")


def line(problem: md.SpectrumChannel, method: str) -> list[str]:
    """Return the cells of one method."""
    started = time.process_time()
    solution = md.solve(problem, method)
    processor = time.process_time() - started
    stated = solution.notes.get("stated_gap")
    shown = [
        "-" if gap is None or np.isinf(gap) else f"{gap / abs(solution.value):.2e}"
        for gap in (solution.gap, stated)
    ]
    spent = [shown_seconds(solution.seconds), shown_seconds(processor)]
    return [method, *spent, f"{solution.value:.6f}", *shown]


def map_seconds() -> float:
    """Return the seconds of all channels of one map."""
    total = 0.0
    for channel in range(10):
        users = scattered_users(channel=channel, radius=5.0, privacy=0.5)
        total += md.solve(
            md.SpectrumChannel(
                price=0.1, privacy_cost=2.0, secondary=users, primary=scattered_owner(channel=channel)
            )
        ).seconds
    return total


def referee(problem: md.SpectrumChannel) -> float:
    """Return the best value that differential evolution finds."""
    from scipy.optimize import differential_evolution

    channel = problem.channel

    def loss(x: np.ndarray) -> float:
        radii = np.where(x[:2] > 1e-3, x[:2], 0.0)
        over = radii + x[2] - channel.reach
        excess = max(0.0, float(over[radii > 0].max(initial=0.0)))
        if radii.min() > 0:
            excess += max(0.0, float(radii.sum() - channel.margins[0, 1]))
        return -channel.utility(radii, x[2]) + 1e3 * excess

    bounds = [(0.0, channel.radius[0]), (0.0, channel.radius[1]), (1e-3, channel.most)]
    return -float(differential_evolution(loss, bounds, seed=1, tol=1e-10, maxiter=2000, popsize=30).fun)
