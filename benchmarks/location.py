"""Places: draws a second, and the best channel of 100 and of 400 places next to planar Laplace noise."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import mechdesign as md
from benchmarks.measure import best_of, shown_seconds
from mechdesign.families.location import LocationMechanism, PlanarLaplace, PlanarLattice
from mechdesign.families.response.parameters import counts, grid
from mechdesign.show.tables import table

TITLE = "Places: planar noise, and the best channel of a grid"

POINTS = 5_000_000

SOHO = """\
00100000000000100000 00000000000000000000 04000000000000200020 00000000000000000000
00000020000031001000 00000100016522020000 00001273025113300000 0000023445628g030000
002c1225288461110000 002257f9hdd851c03010 01243ca1d99077101100 0042651512f163610000
0000010122cg31700000 00100005716614400000 00000003340602950000 00000050332200094000
00100001112001000000 00000000000110000000 00000000010010000000 00000010000002000000
"""
"""Deaths of Snow's map (1854) in 20 by 20 squares, a digit to base 18 each: the model location/soho_grid."""

NOTES = """\
seconds    one run, wall clock; processor seconds beside it, since other programs slow the first down
loss       expected distance, in squares of the grid of 10 by 10
gap        between the loss of what is sampled and the proven bound of every private channel, over the bound
"""


@dataclass(frozen=True)
class Line:
    """One method on one grid."""

    places: int
    method: str
    loss: float
    bound: float | None
    seconds: float
    processor: float


def run(quick: bool) -> None:
    """Print points a second, then one table of channels; 400 places only without ``quick``."""
    _draws(POINTS // 10 if quick else POINTS)
    print(NOTES)
    lines = [line for side in ((6, 10) if quick else (10, 20)) for line in _channels(side)]
    best = {line.places: line.loss for line in lines if line.method == "interior-point"}
    shown = [
        [
            str(line.places),
            line.method,
            f"{line.loss:.4f}",
            f"{line.loss / best[line.places]:.3f}",
            "" if line.bound is None else f"{100.0 * (line.loss - line.bound) / line.bound:.2f} %",
            shown_seconds(line.seconds),
            shown_seconds(line.processor),
        ]
        for line in lines
    ]
    print(table(["places", "method", "loss", "of best", "gap", "seconds", "processor"], shown))


def _draws(count: int) -> None:
    places = np.random.default_rng(0).uniform(0.0, 10.0, (count, 2))
    area = [0.0, 0.0, 10.0, 10.0]
    mechanisms: list[LocationMechanism] = [PlanarLaplace(2.0, 0.05, area), PlanarLattice(2.0, area)]
    rows = []
    for mechanism in mechanisms:
        _, seconds = best_of(lambda chosen=mechanism: chosen.randomize(places), 3)  # type: ignore[misc]
        exact = "exact" if mechanism.audit().exact else "real numbers"
        rows.append([mechanism.type, exact, f"{count / seconds / 1e6:.2f}"])
    print(table(["mechanism", "certificate", "million points a second"], rows))


def problem(side: int) -> md.RandomizedResponse:
    """Return the grid with ``side`` places per side: 20, or 10 by joining squares, or a part of these 10."""
    digits = np.array([int(digit, 18) for digit in SOHO.replace(" ", "").replace("\n", "")]).reshape(20, 20)
    if side == 20:
        found = digits
    else:
        whole = digits.reshape(10, 2, 10, 2).sum(axis=(1, 3))
        start = (10 - side) // 2
        found = whole[start : start + side, start : start + side]
    step = 0.5 if side == 20 else 1.0
    prior = counts(found.ravel(), extra=0.5)
    return md.RandomizedResponse(
        prior=prior, epsilon=0.7, utility="distance-loss", distance=grid(side, side, step)
    )


def _channels(side: int) -> list[Line]:
    stated = problem(side)
    lines = []
    for method in ("interior-point", "planar-remapped", "planar-laplace"):
        options = {"gap": 0.01} if method == "interior-point" else {}
        start, processor = time.perf_counter(), time.process_time()
        solution = md.solve(stated, method, **options)
        spent = time.perf_counter() - start, time.process_time() - processor
        deployed = stated.objective({"channel": solution.mechanism().channel})
        bound = None if solution.bound is None else -solution.bound
        lines.append(Line(side * side, method, -deployed, bound, *spent))
        print(f"  {side} x {side}, {method}: {shown_seconds(spent[0])} s", flush=True)
    return lines
