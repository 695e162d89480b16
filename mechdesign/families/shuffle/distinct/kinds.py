"""The protocols that tell how many categories are held by anybody."""

from __future__ import annotations

from mechdesign.families.shuffle import DistinctParity
from mechdesign.families.shuffle.candidates import Kind, domain

KINDS = (
    Kind(
        "distinct-parity",
        DistinctParity,
        "noisy parities, a bit of every user for every category",
        domain,
        flexible=True,
    ),
)
