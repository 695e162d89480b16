"""The client of a workload in integers: what is asked, and how a report is drawn."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

from mechdesign.collect.domain import Domain
from mechdesign.collect.labels import Codes
from mechdesign.collect.recipes import Answer, AskedNumber, Recipe, Steps
from mechdesign.collect.report_counts import ReportMechanism
from mechdesign.exact.randomness import BitSource
from mechdesign.families.workload.estimate import QueryEstimate
from mechdesign.families.workload.orbits import OrbitWeights
from mechdesign.families.workload.weights import PatternWeights


class PatternClient(ReportMechanism[QueryEstimate]):
    """Texts of a workload for the author of its client; with a range a number is asked, for its bin."""

    weights: PatternWeights | OrbitWeights
    domain: Domain | None

    def _client_steps(self) -> Steps:
        """Return how a report is drawn, as plain values; ``bins``: the answer is a number of a range."""
        return {**self.weights.client_steps(), "bins": self.domain is not None}

    def recipe(self) -> Recipe:
        """Return how a client draws a report of one answer, or of one number of the range."""
        found = super().recipe()
        if self.domain is None:
            return found
        return replace(found, inputs=(AskedNumber(found.inputs[0].name, self.domain.low, self.domain.high),))

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return the number of one report, from the bits of a source."""
        return int(self.draw(self._codes([answer]), source)[0])

    @abstractmethod
    def _codes(self, answers: Any, clip: bool = False) -> Codes:
        """Return the number of the type of each answer."""
