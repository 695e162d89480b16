"""The protocols that tell how many categories are held by anybody."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import DistinctParity
from mechdesign.problems.shuffle.candidates import Kind

KINDS = (
    Kind(
        "distinct-parity",
        DistinctParity,
        lambda case: DistinctParity.calibrated(case.promise, case.size, case.max_messages, case.labels),
        "noisy parities, a bit of every user for every category",
        flexible=True,
    ),
)
