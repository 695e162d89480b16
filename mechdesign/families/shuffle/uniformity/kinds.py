"""The protocols that tell whether the categories of users are uniform."""

from __future__ import annotations

from mechdesign.families.shuffle import AUT, PUT, UniformityDump
from mechdesign.families.shuffle.candidates import Kind, tested_domain

MANY = "a user sends messages for every category, for next to no gain"

KINDS = (
    Kind(
        "uniformity-dump",
        UniformityDump,
        "collisions among true categories and uniform dummies",
        tested_domain,
        flexible=True,
    ),
    Kind("aut", AUT, "a bit for each category, among fair coins", tested_domain, flexible=True, by_name=MANY),
    Kind(
        "put",
        PUT,
        "a bit for each category with discrete Laplace noise, in shares",
        tested_domain,
        by_name=MANY,
    ),
)
