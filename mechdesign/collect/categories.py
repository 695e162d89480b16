"""What mechanisms of categories have in common: can anything be estimated, and missing answers."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from mechdesign.collect.door import on_table
from mechdesign.collect.generator import rng_alone
from mechdesign.collect.labels import Codes, Labels
from mechdesign.collect.reporting import CollectingMechanism
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.forecast import USERS, Forecast
from mechdesign.core.tables import Values
from mechdesign.core.types import EstimateT_co
from mechdesign.data.frames import is_table
from mechdesign.data.intake import MISSING_CATEGORY
from mechdesign.exact.randomness import BitSource, Rng

if TYPE_CHECKING:
    from mechdesign.collect.recipes import Answer, Recipe, Steps


class CategoryMechanism(CollectingMechanism[EstimateT_co]):
    """A mechanism for answers that are categories."""

    users_alike: ClassVar[bool] = True
    labels: Labels

    @abstractmethod
    def forecast(self, users: int = USERS) -> Forecast:
        """Return whether frequencies can be estimated, and the standard error with this many users."""

    @rng_alone
    def randomize(self, answers: Any, rng: Rng = None, anyway: bool = False) -> NDArray[Any]:
        """Return one report for each answer.

        Parameters
        ----------
        answers : array of labels or numbers
        rng : None, int or numpy Generator
            None, the default, draws from the operating system; give a seed only in simulations.
        anyway : bool
            Whether to collect although no frequencies can be estimated from the reports.

        Returns
        -------
        array
            Labels where the mechanism has names for its reports, else as it draws them.

        Raises
        ------
        DataError
            For an answer that is not a category, naming its row.
        EstimationError
            When no frequencies can be estimated from the reports, unless ``anyway``.
        """
        if is_table(answers):
            return on_table(self, "randomize", answers, rng=rng, anyway=anyway)
        if not anyway:
            self.require_estimable()
        return self._named(self.draw(self.labels.encode(answers), self.source(rng)))

    def _named(self, reports: Any) -> NDArray[Any]:
        """Return reports by the names that they have."""
        named: NDArray[Any] = reports
        return named

    def draw(self, codes: Codes, source: BitSource) -> Any:
        """Return a report for the number of each answer, where a client draws it so."""
        raise _no_recipe(self.type)

    def written(self, reports: Any) -> Values:
        """Return reports as they stand in a table."""
        raise _no_recipe(self.type)

    def _client_steps(self) -> Steps:
        """Return how a report is drawn for the number of an answer, as plain values."""
        raise _no_recipe(self.type)

    def recipe(self) -> Recipe:
        """Return how a client draws a report of one answer."""
        from mechdesign.collect.collecting import marked
        from mechdesign.collect.recipes import AskedChoice, Recipe

        name = self.data_columns[0] if self.data_columns else None
        column = marked(name or "answer", self.survey_digest)
        return Recipe((AskedChoice.of(self.labels, name),), (column,), self._client_steps())

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return one report as a plain value, from the bits of a source."""
        from mechdesign.collect.recipes import plain_report

        return plain_report(self.written(self.draw(self.labels.encode([answer]), source)))

    def bare_codes(self) -> tuple[tuple[str | None, int], ...]:
        """Return the number of codes that its column takes; 0 where answers have names."""
        return ((None, self.labels.size if self.labels.names is None else 0),)

    def _is_value(self, text: str) -> bool:
        """Whether a text is one of the categories."""
        return text in self.labels.shown()

    def _require_missing(self, rule: str) -> None:
        """Raise ParameterError when missing answers are to be a category and no label is theirs."""
        if rule == "category" and MISSING_CATEGORY not in (self.labels.names or ()):
            raise ParameterError(
                "missing", f"no category '{MISSING_CATEGORY}'", "build with that label, or drop such rows"
            )


def _no_recipe(kind: str) -> MethodError:
    from mechdesign.collect.recipes import no_recipe

    return no_recipe(kind)
