"""What mechanisms of several categorical attributes share: how they are fitted to the columns of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from mechdesign.collect.attributes import Attributes
from mechdesign.collect.reporting import CollectingMechanism
from mechdesign.core.errors import ParameterError
from mechdesign.core.types import EstimateT_co
from mechdesign.data.intake import MISSING_CATEGORY, Intake


class AttributeMechanism(CollectingMechanism[EstimateT_co]):
    """A mechanism that users report several categorical attributes to.

    Class attributes
    ----------------
    subject : str
        What takes no numbers, in the error for a range.
    """

    attributes: Attributes
    subject: ClassVar[str]

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        """Return the mechanism for columns of a file, which become the attributes' names."""
        if ranges:
            raise ParameterError("range", f"{self.subject} no numbers", "omit it")
        self._require_missing(intake.missing)
        if not intake.columns:
            return self.replaced(intake=intake)
        if len(intake.columns) != self.attributes.count:
            given, wanted = len(intake.columns), self.attributes.count
            raise ParameterError("columns", f"{given} names for {wanted} attributes", "name one each")
        content = self.content()
        content["attributes"]["names"] = list(intake.columns)
        return type(self).from_content(content).replaced(intake=intake, about=self.about)

    def bare_codes(self) -> tuple[tuple[str | None, int], ...]:
        """Return the name of each attribute, if it has one, and how many codes it takes; 0 for names."""
        names = self.attributes.names or (None,) * self.attributes.count
        sizes = [labels.size if labels.names is None else 0 for labels in self.attributes.labels]
        return tuple(zip(names, sizes, strict=True))

    def _require_missing(self, rule: str) -> None:
        """Raise ParameterError when missing values are to be a category that no attribute has."""
        known = any(MISSING_CATEGORY in (labels.names or ()) for labels in self.attributes.labels)
        if rule == "category" and not known:
            raise ParameterError(
                "missing",
                f"no attribute has a category '{MISSING_CATEGORY}'",
                "build with that label, or drop such rows",
            )
