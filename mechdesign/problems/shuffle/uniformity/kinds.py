"""The protocols that tell whether the categories of users are uniform."""

from __future__ import annotations

from mechdesign.mechanisms.shuffle import AUT, PUT, UniformityDump
from mechdesign.problems.shuffle.candidates import Kind

MANY = "a user sends messages for every category, for next to no gain"

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
    Kind(
        "aut",
        AUT,
        lambda case: AUT.calibrated(case.promise, case.size, case.max_messages, case.labels, case.error),
        "a bit for each category, among fair coins",
        flexible=True,
        by_name=MANY,
    ),
    Kind(
        "put",
        PUT,
        lambda case: PUT.calibrated(case.promise, case.size, case.max_messages, case.labels, case.error),
        "a bit for each category with discrete Laplace noise, in shares",
        by_name=MANY,
    ),
)
