"""Sizes of the public tables of coverings, and how many of them the constructions meet.

The numbers are upper bounds of C(d, k, l) as the La Jolla Covering Repository (dmgordon.org) stated them in
March 2026, for d up to 25, k = 3 with l = 4 .. 7 and k = 4 with l = 5 .. 7. Only sizes are taken from there,
no blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from mechdesign.core.text import table
from mechdesign.problems.marginals.covering_design.plan import tables

SIZES = {
    (3, 4): (7, "12 14 25 30 47 57 78 91 124 140 183 207 258 285 352 385 466 510 600"),
    (3, 5): (7, "5 8 12 17 20 29 34 43 55 65 68 94 108 133 151 172 187 231 256"),
    (3, 6): (7, "4 4 7 10 11 15 21 25 31 38 44 48 60 71 77 77 104 116 130"),
    (3, 7): (8, "4 4 6 8 11 13 15 15 24 27 32 35 45 49 59 65 76 83"),
    (4, 5): (7, "9 20 30 51 66 113 157 229 294 404 491 664 839 1063 1246 1573 1771 2237 2614"),
    (4, 6): (7, "5 7 12 20 32 41 66 80 117 152 188 236 325 382 484 580 716 784 992"),
    (4, 7): (8, "5 6 10 17 24 30 44 57 76 98 126 151 198 235 252 253 357 440"),
}
"""By order and block size: the first number of points, and the sizes from there on."""

MOST = max(first + len(sizes.split()) - 1 for first, sizes in SIZES.values())


def compared() -> Iterator[tuple[int, int, int, int, int]]:
    """Yield points, order, block size, the blocks of the constructions, and those of the public table."""
    for (order, block), (first, sizes) in SIZES.items():
        for points, stated in enumerate(map(int, sizes.split()), first):
            made = int(tables(MOST, order, block)[-1].size[points, block])
            yield points, order, block, made, stated


def shown() -> str:
    """Return a line for each order and block size, and how many sizes are met."""
    lines = list(compared())
    rows = []
    for order, block in SIZES:
        mine = [line for line in lines if line[1:3] == (order, block)]
        larger = [f"{points}: {made} ({stated})" for points, _, _, made, stated in mine if made > stated]
        rows.append([str(order), str(block), f"{len(mine) - len(larger)} of {len(mine)}", "; ".join(larger)])
    met = sum(made <= stated for *_, made, stated in lines)
    text = table(["order", "block", "met", "larger: points, blocks here (there)"], rows)
    return f"{text}\n{met} of {len(lines)} sizes of the public tables are met by constructions alone"
