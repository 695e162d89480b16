"""The protocols that tell how many users hold a category from one to another, for all pairs."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import RangeTree
from mechdesign.problems.shuffle.candidates import Kind

KINDS = (
    Kind(
        "range-tree",
        RangeTree,
        lambda case: RangeTree.calibrated(case.promise, case.size, case.max_messages, case.labels),
        "the nodes of a binary tree, one of each level",
        flexible=True,
    ),
)
