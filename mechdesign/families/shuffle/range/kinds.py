"""The protocols that tell how many users hold a category from one to another, for all pairs."""

from __future__ import annotations

from mechdesign.families.shuffle import RangeTree
from mechdesign.families.shuffle.candidates import Kind, domain

KINDS = (
    Kind(
        "range-tree",
        RangeTree,
        "the nodes of a binary tree, one of each level",
        domain,
        flexible=True,
    ),
)
