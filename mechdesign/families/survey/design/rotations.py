"""From designs of groups to designs of questions: every member of a group takes each place equally often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.families.survey.design.generation import Column, Mixture
from mechdesign.families.survey.design.information import Ask

Array = NDArray[np.float64]

MOST_DESIGNS = 1 << 14


def rotated(mixture: Mixture, groups: Sequence[Sequence[int]]) -> tuple[list[Column], Array]:
    """Return all rotations of the designs through the groups, each with an even part of the share.

    Raises
    ------
    ParameterError
        When there are more designs than a mechanism file should have.
    """
    found: dict[Column, float] = {}
    for column, share in zip(mixture.columns, mixture.shares.tolist(), strict=True):
        turns = _turns(column, groups)
        if turns > MOST_DESIGNS:
            raise ParameterError(
                "questions", f"their groups need {turns} designs", "ask fewer of the same kind"
            )
        for turn in range(turns):
            one = _turned(column, groups, turn)
            found[one] = found.get(one, 0.0) + share / turns
    return list(found), np.array(list(found.values()))


def _roles(column: Column, group: Sequence[int]) -> list[tuple[int, int] | None]:
    """Return for each member the part that asks it and its set there; those that are asked come first."""
    role: dict[int, tuple[int, int]] = {}
    for number, ask in enumerate(column):
        for position, place in enumerate(ask.places):
            role[place] = (number, ask.sets[position] if ask.sets else 0)
    asked = sorted(role[place] for place in group if place in role)
    return [*asked, *[None] * (len(group) - len(asked))]


def _step(roles: Sequence[tuple[int, int] | None]) -> int:
    """Return how far a turn moves: past all that are asked where they are interchangeable, else by one."""
    asked = [role for role in roles if role is not None]
    return len(asked) if len(set(asked)) == 1 else 1


def _turns(column: Column, groups: Sequence[Sequence[int]]) -> int:
    """Return after how many turns every member of every group has had its part."""
    count = 1
    for group in groups:
        roles = _roles(column, group)
        if len(group) > 1 and any(role is not None for role in roles):
            count = math.lcm(count, len(group) // math.gcd(len(group), _step(roles)))
    return count


def _turned(column: Column, groups: Sequence[Sequence[int]], turn: int) -> Column:
    """Return the design in which the members of each group have moved on."""
    members: list[dict[int, int]] = [{} for _ in column]
    for group in groups:
        roles = _roles(column, group)
        step = _step(roles)
        for position, role in enumerate(roles):
            if role is not None:
                place = group[(position + turn * step) % len(group)]
                members[role[0]][place] = role[1]
    found: list[Ask] = []
    for ask, having in zip(column, members, strict=True):
        places = tuple(sorted(having))
        sets = tuple(having[place] for place in places) if ask.sets else ()
        found.append(replace(ask, places=places, sets=sets))
    return tuple(found)
