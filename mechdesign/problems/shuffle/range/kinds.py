"""The protocols that tell how many users hold a category from one to another, for all pairs."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import RangeTree
from mechdesign.problems.shuffle.candidates import Kind
from mechdesign.problems.shuffle.settings import categories

KINDS = (
    Kind(
        "range-tree",
        RangeTree,
        "the nodes of a binary tree, one of each level",
        categories,
        flexible=True,
    ),
)
