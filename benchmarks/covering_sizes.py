"""Sizes of the public tables of coverings, and how many of them the constructions meet.

The numbers are upper bounds of C(d, k, l) of the La Jolla Covering Repository (D. M. Gordon, dmgordon.org,
licence CC BY 4.0), for k = 2, 3, 4, blocks of up to 8 and up to 32 points. They are those of its data file
coverings/coverdata.json in github.com/dmgordo/LJCR, as a copy of the sizes gave them in August 2026
(crates/motor-core/dados/ljcr.csv in github.com/jefersondias043-code/Sonho-l-cido), and seven smaller ones
that the site stated in March 2026 (k = 3 with l = 7: d = 18; k = 4 with l = 5: d = 16, 19, 20, 21, 25; k = 4
with l = 7: d = 17). The file is older than the site: for d > 25 the site may state smaller ones by now.
Only sizes are taken from there, no blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from mechdesign.families.marginals.covering_constructions import tables
from mechdesign.show.tables import table

SIZES = {
    (2, 3): "3 4 6 7 11 12 17 19 24 26 33 35 43 46 54 57 67 70 81 85 96 100 113 117 131 136 150 155 171",
    (2, 4): "3 3 5 6 8 9 11 12 13 18 19 20 26 27 31 35 37 39 46 48 50 59 61 63 73 75 78 88",
    (2, 5): "3 3 4 5 6 7 9 10 12 13 15 16 18 19 21 21 27 28 30 30 37 38 40 43 48 50 52",
    (2, 6): "3 3 3 4 6 6 7 7 10 10 12 12 15 16 17 19 21 22 23 24 27 28 30 31 31 38",
    (2, 7): "3 3 3 4 5 6 6 7 8 9 10 11 12 13 13 16 17 18 19 20 22 23 25 26 28",
    (2, 8): "3 3 3 3 4 5 6 6 7 7 9 9 11 11 12 12 13 13 17 17 18 19 20 20",
    (3, 4): (
        "4 6 12 14 25 30 47 57 78 91 124 140 183 207 258 285 352 385 466 510 600 650 763 819 950 1020 "
        "1165 1240"
    ),
    (3, 5): "4 5 8 12 17 20 29 34 43 55 65 68 94 108 133 151 172 187 231 256 260 319 359 413 459 504 568",
    (3, 6): "4 4 7 10 11 15 21 25 31 38 44 48 60 71 77 77 104 116 130 130 167 185 217 225 273 300",
    (3, 7): "4 4 6 8 11 13 15 15 24 27 32 35 45 49 59 65 76 83 94 104 120 132 142 153 165",
    (3, 8): "4 4 5 6 10 11 13 14 18 21 27 28 35 38 40 50 57 64 69 73 86 93 104 106",
    (4, 5): (
        "5 9 20 30 51 66 113 157 229 294 404 491 664 839 1063 1246 1573 1771 2237 2614 3215 3551 4303 "
        "4955 5894 6503 7635"
    ),
    (4, 6): (
        "5 7 12 20 32 41 66 80 117 152 188 236 325 382 484 580 716 784 992 1152 1170 1489 1802 2171 2565 2809"
    ),
    (4, 7): "5 6 10 17 24 30 44 57 76 98 126 151 198 235 252 253 357 440 551 635 793 880 1067 1122 1387",
    (4, 8): "5 5 9 12 18 24 30 30 53 66 84 93 124 152 193 226 263 297 350 426 504 559 615 620",
}
"""By order and block size: the sizes from one point more than a block on."""

MOST = 32


def compared() -> Iterator[tuple[int, int, int, int, int]]:
    """Yield points, order, block size, the blocks of the constructions, and those of the public table."""
    largest = max(block for _, block in SIZES)
    for (order, block), sizes in SIZES.items():
        size = tables(MOST, order, largest)[-1].size
        for points, stated in enumerate(map(int, sizes.split()), block + 1):
            yield points, order, block, int(size[points, block]), stated


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
