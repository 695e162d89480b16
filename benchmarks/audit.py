"""The exact audit of dense channels, from an easy one to those whose every inequality is tight."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import best_of, shown_mib, shown_seconds, weighed
from benchmarks.rivals import RivalUnavailable
from mechdesign.audit import audit_channel
from mechdesign.primitives.finite import to_integers
from mechdesign.show.tables import table

TITLE = "The exact audit of a dense 256 x 256 channel"

Kind: TypeAlias = Literal["random", "k-ary", "two-level", "geometric"]
Notion: TypeAlias = Literal["delta = 0", "delta > 0", "line", "plane"]
Floats: TypeAlias = NDArray[np.float64]

SIZE = 256
TARGET = 5.0
STEP = 0.05
"""Epsilon per unit of distance: over the whole line the ratios reach e^12.75, within 62-bit weights."""


def run(quick: bool) -> None:
    """Print seconds and peak memory for every kind of channel and every notion of privacy."""
    size, limit = (64, 20.0) if quick else (SIZE, 60.0)
    print(
        f"size {size}. random: rows drawn at random; k-ary: one entry a row is e^epsilon times the others;"
        "\ntwo-level: every entry high or low; geometric: neighbours differ by e^epsilon everywhere.\n"
        "line: metric privacy with d = |i - i'|; plane: metric privacy for random points in the unit square."
    )
    rows = []
    for kind in ("random", "k-ary", "two-level", "geometric"):
        for notion in ("delta = 0", "delta > 0", "line", "plane"):
            rows.append([kind, notion, *_cells(size, kind, notion, limit)])
    header = ["channel", "privacy", "seconds", "peak MiB", f"under {TARGET:g} s", "true epsilon"]
    print(table(header, rows), flush=True)


def _cells(size: int, kind: Kind, notion: Notion, limit: float) -> list[str]:
    try:
        (seconds, true_epsilon), peak = weighed(limit, audited, size, kind, notion)
    except RivalUnavailable as error:
        return ["-", "-", "NO", error.reason]
    under = "yes" if seconds < TARGET else "NO"
    return [shown_seconds(seconds), shown_mib(peak), under, f"{true_epsilon:.6g}"]


def audited(size: int, kind: Kind, notion: Notion) -> tuple[float, float]:
    """Return the seconds of an audit and the true epsilon it found."""
    weights = to_integers(channel_of(size, kind))
    distance = distance_of(size, notion)
    epsilon = STEP if kind == "geometric" and notion == "line" else 1.0
    delta = 0.1 if notion == "delta > 0" else 0.0
    if delta:
        epsilon = 0.5
    audit, seconds = best_of(lambda: audit_channel(weights, epsilon, delta, distance), 3)
    return seconds, audit.true_epsilon


def channel_of(size: int, kind: Kind) -> Floats:
    """Return a dense channel in floating point."""
    rng = np.random.default_rng(3)
    if kind == "random":
        channel = 0.5 * rng.dirichlet(np.ones(size), size=size) + 0.5 / size
    elif kind == "k-ary":
        channel = np.ones((size, size)) + (np.e - 1.0) * np.eye(size)
    elif kind == "two-level":
        high = rng.permuted(np.tile(np.arange(size) % 2 == 0, (size, 1)), axis=1)
        channel = np.where(high, np.e, 1.0)
    else:
        channel = np.exp(-STEP * _line(size))
        channel[:, [0, -1]] /= 1.0 - np.exp(-STEP)
    normalised: Floats = channel / channel.sum(axis=1, keepdims=True)
    return normalised


def distance_of(size: int, notion: Notion) -> Floats | None:
    """Return the matrix of distances, None for plain privacy."""
    if notion == "line":
        return _line(size)
    if notion == "plane":
        across, up = np.random.default_rng(4).random((2, size))
        apart: Floats = np.hypot(across[:, None] - across, up[:, None] - up)
        return apart
    return None


def _line(size: int) -> Floats:
    places = np.arange(size, dtype=np.float64)
    steps: Floats = np.abs(places[:, None] - places)
    return steps
