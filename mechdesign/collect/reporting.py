"""Mechanisms that collect: devices make reports, a server counts them and estimates."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Generic

from numpy.typing import NDArray

from mechdesign.collect.base import Mechanism
from mechdesign.collect.recipes import rng_alone
from mechdesign.core.errors import EstimationError
from mechdesign.core.values import Counter, EstimateT_co, Forecast, PrivacyVerdict

Row = tuple[Fraction, ...]


@dataclass(frozen=True)
class Randomizer:
    """Facts about the local randomizer that all users run.

    Attributes
    ----------
    epsilon : float
        Its local epsilon, with delta 0.
    size : int
        k where its reports are those of a k-ary response with this epsilon, else 0.
    rows : tuple of tuples of Fraction
        Of a finite channel: Pr[report | input], a row an input; mixtures of rows are allowed as well.
    """

    epsilon: float
    size: int = 0
    rows: tuple[Row, ...] = ()


class CollectingMechanism(Mechanism, Generic[EstimateT_co]):
    """A mechanism that collects: users' devices randomize, a server estimates.

    It is generic in what its server estimates, such as ``CollectingMechanism[MeanEstimate]``.
    """

    users_alike: ClassVar[bool] = False
    """Whether all users with the same value draw their reports with the same probabilities."""

    @abstractmethod
    def audit(self) -> PrivacyVerdict:
        """Return the result of the privacy audit of the numbers that the mechanism samples from."""

    @abstractmethod
    def randomize(self, answers: Any, *args: Any, **options: Any) -> NDArray[Any]:
        """Return the reports for users' values; without ``rng`` from the operating system's generator."""

    @abstractmethod
    def aggregator(self) -> Counter[EstimateT_co]:
        """Return an empty counter of reports; counters of several servers can be merged in any order."""

    @rng_alone
    def estimate(self, reports: Any, population: bool = False) -> EstimateT_co:
        """Return unbiased estimates with standard errors from the reports of all users.

        Parameters
        ----------
        reports : array
            What :meth:`randomize` returned, of all users, or the texts of a table.
        population : bool
            Whether to estimate for the population from which the users are a random sample.

        Raises
        ------
        EstimationError
            When the reports do not determine the estimate; the error names the answers that it cannot
            separate.
        DataError
            When there are no reports, or a report that no answer can produce.
        """
        counter = self.aggregator()
        counter.update(reports)
        return counter.estimate(population)

    def common_randomizer(self) -> Randomizer | None:
        """Return the facts about the randomizer that all users run, from which shuffling amplifies privacy.

        None unless ``users_alike``; else its true epsilon, and what is known besides in classes derived.
        """
        if not self.users_alike:
            return None
        return Randomizer(self.audit().true_epsilon)

    def require_estimable(self) -> None:
        """Raise EstimationError when the forecast shows that its reports do not allow a useful estimate."""
        prospect = self._prospect
        if prospect is not None and not prospect.possible:
            raise EstimationError(
                str(prospect), remedy="collect with another mechanism, or on purpose", switch="anyway"
            )

    @cached_property
    def _prospect(self) -> Forecast | None:
        """The forecast for the planned number of users; kept, because a client needs it for every answer."""
        return self.forecast()
