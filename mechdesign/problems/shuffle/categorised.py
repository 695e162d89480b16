"""What the problems about categories have in common: how many there are, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mechdesign.core.errors import ParameterError
from mechdesign.core.problem import Sense
from mechdesign.core.validation import integer
from mechdesign.mechanisms.labels import Labels
from mechdesign.mechanisms.shuffle.tasks import MOST_CATEGORIES
from mechdesign.problems.shuffle.candidates import Choosing


class Categorised(Choosing):
    """Mixin of the problems with the fields ``categories`` and ``labels``."""

    def check_categories(self, most: int = MOST_CATEGORIES) -> None:
        """Check the number of categories and their names, then what all problems have."""
        values = vars(self)
        size = integer("categories", values["categories"], 2, most)
        object.__setattr__(self, "categories", size)
        given: Any = values["labels"]
        if given is not None:
            if not isinstance(given, (list, tuple)):
                raise ParameterError(f"labels: expected a list of names, got {given!r}")
            object.__setattr__(self, "labels", Labels(size, tuple(given)).names)
        self.check_common()

    @property
    def setting(self) -> dict[str, Any]:
        """Return the categories and their names."""
        values = vars(self)
        return {"categories": values["categories"], "labels": values["labels"]}


@dataclass(frozen=True, repr=False)
class CategoryTask(Categorised):
    """Fields of the tasks beside histograms: the same for all of them."""

    sense: ClassVar[Sense] = "min"

    users: int
    categories: int
    epsilon: float
    delta: float
    protocol: str = "best"
    max_messages: int | None = None
    honest: float = 1.0
    labels: Sequence[str] | None = None
