"""The protocols that tell whether the categories of users are uniform."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import UniformityDump
from mechdesign.problems.shuffle.candidates import Kind

KINDS = (
    Kind(
        "uniformity-dump",
        UniformityDump,
        lambda case: UniformityDump.calibrated(
            case.promise, case.size, case.max_messages, case.labels, case.error
        ),
        "collisions among true categories and uniform dummies",
        flexible=True,
    ),
)
