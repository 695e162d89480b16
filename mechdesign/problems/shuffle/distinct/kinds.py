"""The protocols that tell how many categories are held by anybody."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import DistinctParity
from mechdesign.problems.shuffle.candidates import Kind
from mechdesign.problems.shuffle.settings import categories

KINDS = (
    Kind(
        "distinct-parity",
        DistinctParity,
        "noisy parities, a bit of every user for every category",
        categories,
        flexible=True,
    ),
)
