"""A local mechanism whose reports are shuffled: its own guarantee, and the central one of all reports.

The central guarantee needs three things that no audit of numbers can see: a shuffler that is trusted to mix
the reports and to keep nothing, a stated number of honest reports, and reports without names, times or
addresses. A user who trusts none of that still has the local guarantee.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import About
from mechdesign.collect.base import Mechanism, mechanism_types
from mechdesign.collect.collecting import ANYWAY, Operation, Settings, mark_in, mark_of, require_columns
from mechdesign.collect.recipes import Answer, Recipe, rng_alone
from mechdesign.collect.reporting import CollectingMechanism, Randomizer
from mechdesign.collect.server import damage_refused
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError, option
from mechdesign.core.forecast import Forecast
from mechdesign.core.tables import Block, Source
from mechdesign.core.text import counted
from mechdesign.core.values import Counter, Estimate, PrivacyVerdict
from mechdesign.data.missing import Intake
from mechdesign.exact.randomness import BitSource
from mechdesign.families.shuffle.amplification_bounds import proven
from mechdesign.families.shuffle.promise import Promise

OTHERWISE, TAKE = (
    "a {} is none in which all users draw reports in the same way",
    "take one for categories or means",
)

NEEDS = (
    "a shuffler that is trusted to mix, {honest} honest reports at least, and no names, times or addresses "
    "with them"
)


def known_randomizer(local: CollectingMechanism) -> Randomizer:
    """Return the facts about a mechanism that users run: its true epsilon, and its channel if it is finite.

    Raises
    ------
    ParameterError
        When users do not all run the same randomizer, or it has no epsilon with delta 0.
    """
    if not isinstance(local, CollectingMechanism):
        raise ParameterError("shuffled", OTHERWISE.format(local.type), TAKE)
    audit = local.audit()
    delta = getattr(local, "delta", 0.0) or getattr(audit, "delta", 0.0)
    facts = None if delta > 0.0 or getattr(audit, "metric", False) else local.common_randomizer()
    if facts is not None:
        return facts
    if delta > 0.0:
        raise ParameterError(
            "shuffled", f"the local mechanism has delta = {delta:g}, and the proofs are for 0", "omit it"
        )
    if getattr(audit, "metric", False):
        raise ParameterError("shuffled", "its epsilon is per unit of distance", "build it without a distance")
    raise ParameterError("shuffled", OTHERWISE.format(local.type), TAKE)


class Shuffled(CollectingMechanism):
    """A local mechanism with a guarantee for the shuffled reports of all users.

    Parameters
    ----------
    local : CollectingMechanism
        What every user runs: a mechanism for categories or means, with delta 0.
    promise : Promise
        The least number of users, the central epsilon and delta, and the fraction of honest users.

    Raises
    ------
    ParameterError
        For a mechanism that there is no proof for.
    CertificateError
        When the central guarantee is not proven.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> mechanism = Shuffled(Duchi(4.0), Promise(users=100_000, epsilon=0.5, delta=1e-6))
    >>> mechanism
    Shuffled(epsilon=0.5, delta=1e-06 from 100000 users on, each by Duchi([-1, 1], epsilon=4))
    >>> mechanism.central.holds, mechanism.audit().holds
    (True, True)
    """

    type: ClassVar[str] = "shuffled"

    def __init__(self, local: CollectingMechanism, promise: Promise) -> None:
        self.local, self.promise = local, promise
        self.randomizer = known_randomizer(local)
        self.intake, self.about = local.intake, local.about
        if not self.central.holds:
            raise CertificateError("shuffled", f"not private as stated: {self.central}")

    @cached_property
    def central(self) -> Certificate:
        """The certificate of the shuffled reports of all users."""
        promise = self.promise
        bound, source = proven(promise.honest_users, self.randomizer, promise.epsilon, promise.delta)
        figures = {
            **promise.as_dict(),
            "honest_users": promise.honest_users,
            "local_epsilon": self.randomizer.epsilon,
        }
        holds = bound <= promise.delta
        needs = NEEDS.format(honest=promise.honest_users)
        note = f"proven for {source}; needs {needs}" if holds else f"only delta = {bound:.4g} is proven"
        return Certificate("central_privacy", holds, False, figures, {}, note, proof=promise.proof(bound))

    def certificates(self) -> tuple[Certificate, ...]:
        """Return those of the local mechanism, and that of the shuffled reports."""
        return *self.local.certificates(), self.central

    def audit(self) -> PrivacyVerdict:
        """Return the audit of a user's own reports; ``central`` is that of all reports."""
        return self.local.audit()

    def _figures(self) -> str:
        promise = self.promise
        honest = "" if promise.honest == 1.0 else f", {promise.honest_users} of them honest"
        return (
            f"epsilon={promise.epsilon:g}, delta={promise.delta:g} from "
            f"{counted(promise.users, 'user')} on{honest}, "
            f"each by {self.local!r}"
        )

    # Client and server are those of the local mechanism

    @rng_alone
    def randomize(self, answers: Any, *args: Any, **options: Any) -> NDArray[Any]:
        """Return the reports of the local mechanism, in the users' order: to be shuffled before use."""
        return self.local.randomize(answers, *args, **options)

    def aggregator(self) -> Counter:
        """Return an empty counter of reports."""
        return self.local.aggregator()

    @rng_alone
    def estimate(self, reports: Any, population: bool = False, *args: Any, **options: Any) -> Estimate:
        """Return the estimates of the local mechanism: the order of reports does not matter to it."""
        return self.local.estimate(reports, population, *args, **options)

    def forecast(self, users: int | None = None) -> Forecast | None:
        """Return how good the estimates will be; by default for the users that are promised."""
        return self.local.forecast(self.promise.users if users is None else users)

    def bare_codes(self) -> tuple[tuple[str | None, int], ...]:
        """Return the number of codes that each column takes, as for the local mechanism."""
        return self.local.bare_codes()

    def _is_value(self, text: str) -> bool:
        """Whether a text can be an answer in a data file, for the local mechanism."""
        return self.local._is_value(text)

    def _require_missing(self, rule: str) -> None:
        """Raise ParameterError when the local mechanism has no category for missing values."""
        self.local._require_missing(rule)

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        """Return the mechanism for these columns of a file and their ranges."""
        made = type(self)(self.local.for_data(intake, ranges), self.promise)
        return made.replaced(about=self.about)

    def with_about(self, about: About) -> Self:
        """Return the same with what is said about its survey: reports are those of the local mechanism."""
        return self.replaced(about=about, local=self.local.with_about(about))

    def stream(self) -> str:
        """Return the stream of the local mechanism."""
        return self.local.stream()

    def recipe(self) -> Recipe:
        """Return that of the local mechanism: a shuffler sorts the reports of all users before use."""
        return self.local.recipe()

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return one report of the local mechanism, from the bits of a source."""
        return self.local.draw_recipe(answer, source)

    # Tables

    @property
    def per_user(self) -> int:
        """Number of consecutive rows of reports that are one user's."""
        return int(getattr(self.local, "per_user", 1))

    def operations(self) -> tuple[Operation, ...]:
        """Return the operations of the local mechanism, and ``shuffle`` between them."""
        first, *rest = self.local.operations()
        shuffle = Operation(
            "shuffle",
            "reports of all users in sorted order, without other columns: only how often each was made",
            first.gives,
            first.gives,
            self._shuffle,
            (ANYWAY,),
            several=True,
        )
        return first, shuffle, *rest

    def _shuffle(self, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
        columns: dict[str, NDArray[Any]] = {}
        for source in sources:
            read = self._reports(source)
            if columns and list(columns) != list(read):
                raise DataError(source.name, f"has other columns of reports than {sources[0].name}")
            columns = {
                name: np.concatenate([columns[name], values]) if columns else values
                for name, values in read.items()
            }
        rows, each = len(next(iter(columns.values()))), self.per_user
        if rows % each:
            raise DataError(
                sources[0].name, f"{counted(rows, 'row')}, and {each} are a user's", "omit whole users"
            )
        if rows < self.promise.users * each and not settings["anyway"]:
            raise DataError(
                sources[0].name,
                f"reports of {rows // each} users, and the central guarantee is for {self.promise.users} or "
                "more",
                "add the others' files, or use " + option("anyway", True) + " and keep the local one",
            )
        parts = [values[place::each] for place in range(each) for values in columns.values()]
        order = np.lexsort(parts[::-1])
        settings.count("users shuffled", rows // each)
        places = (order[:, None] * each + np.arange(each)).ravel()
        yield {name: values[places] for name, values in columns.items()}

    def _reports(self, source: Source) -> dict[str, NDArray[Any]]:
        """Return the columns of this mechanism's reports, whole."""
        mark = mark_of(self.local.survey_digest)
        plain = [column.name for column in self.local.operations()[0].gives if not mark_in(column.name)]
        names = [name for name in source.columns if mark_in(name) == mark]
        if not names:
            raise DataError(source.name, f"has no reports of this mechanism: columns that end in {mark}")
        require_columns(source, [*plain, *names])
        blocks = list(source.blocks([*plain, *names]))
        return {name: np.concatenate([np.asarray(block[name]) for block in blocks]) for name in blocks[0]}

    # File

    def content(self) -> dict[str, Any]:
        """Return the guarantee, and the type and content of the local mechanism."""
        local = {"type": self.local.type, "content": self.local.content()}
        return {**self.promise.as_dict(), "local": local}

    @classmethod
    @damage_refused
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the mechanism from plain values; both guarantees are proven again."""
        kind = mechanism_types().get(content["local"]["type"])
        if kind is None or not issubclass(kind, CollectingMechanism):
            raise CertificateError("local", "is not a mechanism that users run")
        local: Mechanism = kind.from_content(content["local"]["content"])
        assert isinstance(local, CollectingMechanism)  # its class is one
        promise = Promise(*(content[name] for name in ("users", "epsilon", "delta", "honest")))
        return cls(local, promise)
