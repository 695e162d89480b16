"""What the problems about categories have in common: how many there are, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from mechdesign.collect.labels import Labels
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import frozen_problem, related, whole
from mechdesign.core.problem import Sense
from mechdesign.families.shuffle.candidates import Choosing, ProtocolSetting
from mechdesign.families.shuffle.tasks import MOST_CATEGORIES


def _labels(problem: Categorised, field: str, given: Any) -> tuple[str, ...] | None:
    if not isinstance(given, (list, tuple)):
        raise ParameterError(field, f"expected a list of names, got {given!r}")
    return Labels(problem.categories, tuple(given)).names


@frozen_problem()
class Categorised(Choosing):
    """The tasks about categories."""

    sense: ClassVar[Sense] = "min"

    categories: int = whole("From 2 to 2**20.", low=2, high=MOST_CATEGORIES)
    labels: Sequence[str] | None = related(
        "Names of the categories.", _labels, form="sequence of str", default=None
    )

    @property
    def case(self) -> ProtocolSetting:
        """Requirements that protocols must fit."""
        names = None if self.labels is None else tuple(self.labels)
        return replace(super().case, size=self.categories, labels=names)

    @property
    def setting(self) -> dict[str, Any]:
        """Return the categories and their names."""
        return {"categories": self.categories, "labels": self.labels}
