"""The rivals of the release by views as one mechanism: a file, a client, a server and commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import composed
from mechdesign.collect.base import Mechanism, mechanism_type
from mechdesign.collect.codec import Codes
from mechdesign.collect.collecting import Operation
from mechdesign.core.certificate import Certificate, PrivacyFinding
from mechdesign.core.errors import CertificateError, MechDesignError, ParameterError
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import integer, one_of, privacy_epsilon, user_count
from mechdesign.core.values import USERS, Forecast, changed, frozen_value
from mechdesign.exact.randomness import BitSource
from mechdesign.families.marginals.oracles import UnaryEncoding
from mechdesign.families.marginals.oracles.best import KINDS
from mechdesign.families.marginals.papers.rivals.answers import RivalMarginals
from mechdesign.families.marginals.papers.rivals.base import (
    CellOracle,
    Learned,
    Rival,
    extreme_marginals,
    spaced,
)
from mechdesign.families.marginals.papers.rivals.collection import (
    GROUP,
    REPORT,
    CollectedRival,
    Drawn,
    ProductCollection,
    RivalCounts,
    SplitCollection,
    rival_operations,
)
from mechdesign.families.marginals.papers.rivals.encoded import BinaryEncoded
from mechdesign.families.marginals.papers.rivals.expectation import ExpectationMaximization
from mechdesign.families.marginals.papers.rivals.fourier import FourierCoefficients
from mechdesign.families.marginals.papers.rivals.tables import AllMarginals, FullContingency
from mechdesign.primitives.attributes import Attributes
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import Oracle

NAMES = ("FC", "AM", "FT", "EM", "BE")
"""The rivals that collect locally. Uni collects nothing; PriView needs a curator who sees the data."""


class MarginalRival(CollectedRival):
    """Collect marginals without views: the full table, all tables, coefficients, or attribute by attribute.

    Parameters
    ----------
    attributes : Attributes
    rival : Rival
        One of FC, AM, FT, EM and BE, for attributes of these sizes.
    users : int, optional
        How many are planned; ten thousand by default.

    Examples
    --------
    >>> mechanism = MarginalRival.of("FT", [2, 2, 3], epsilon=4.0, order=2)
    >>> reports = mechanism.randomize([[0, 0, 2], [1, 1, 0]] * 5000, rng=1)
    >>> estimate = mechanism.estimate(reports).marginal([0, 1])
    >>> bool(abs(estimate.value[0, 0] - 0.5) < 5 * estimate.standard_error)
    True
    """

    type: ClassVar[str] = "marginal-rival"
    exact_alternative = "it is for comparisons only: build 'marginal-release'"
    subject: ClassVar[str] = "tables of attributes take"

    def __init__(self, attributes: Attributes, rival: Rival, users: int | None = None) -> None:
        if not isinstance(attributes, Attributes):
            raise ParameterError("attributes", f"expected Attributes, got a {type(attributes).__name__}")
        if rival.setting.sizes != attributes.sizes:
            raise ParameterError("rival", "is for attributes of other sizes")
        self.attributes, self.rival = attributes, rival
        self.users = None if users is None else user_count(users)
        self.epsilon = rival.setting.epsilon
        self.collection = collection_of(rival)

    @classmethod
    def of(
        cls,
        rival: str,
        sizes: Sequence[int] | Attributes,
        epsilon: float,
        order: int,
        names: Sequence[str] | None = None,
        labels: Sequence[Sequence[str] | None] | None = None,
        users: int | None = None,
        views: Sequence[Sequence[int]] | None = None,
    ) -> Self:
        """Return the rival of this name, with the oracles of the thesis's rule.

        Parameters
        ----------
        rival : {"FC", "AM", "FT", "EM", "BE"}
        sizes : sequence of int, or Attributes
        epsilon : float
        order : int
            Number of attributes of each requested marginal.
        names, labels : optional
            Of the attributes and their values.
        users : int, optional
        views : sequence of sequences of int
            For BE only: sets of bits, by their numbers in the encoding.
        """
        attributes = sizes if isinstance(sizes, Attributes) else Attributes(sizes, names, labels)
        return cls(attributes, rival_by_name(rival, attributes.sizes, epsilon, order, views), users)

    # Client

    def _reports_of(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return one report per user: records with the fields ``group`` and ``report``."""
        pieces = list(self.draw(codes, source))
        groups = np.concatenate([np.zeros(0, dtype=np.int64), *(part for part, _ in pieces)])
        reports = np.concatenate([part for _, part in pieces]) if pieces else np.zeros(0, dtype=np.int64)
        records = np.zeros(len(groups), dtype=[(GROUP, np.int64), (REPORT, reports.dtype)])
        records[GROUP], records[REPORT] = groups, reports
        return records

    def draw(self, codes: Codes, source: BitSource) -> Iterator[Drawn]:
        """Yield groups and reports of pieces of the users, given the numbers of their values (n, d)."""
        return self.collection.draw(codes, source)

    @cached_property
    def _prospect(self) -> Forecast:
        return self.forecast(USERS if self.users is None else self.users)

    # Tables

    def operations(self) -> tuple[Operation, ...]:
        return rival_operations(self)

    # Server

    def aggregator(self) -> RivalCounts:
        return RivalCounts(self)

    def answered(self, answers: Learned, group_users: Codes, population: bool) -> RivalMarginals:
        """Return the estimate of what was counted."""
        return RivalMarginals(self.attributes, self.collection.rival, answers, group_users, population)

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of a cell of the requested marginal with the largest one."""
        count = user_count(users)
        if isinstance(self.rival, BinaryEncoded):
            return self.rival.views_of_bits.forecast(count)
        try:
            errors = [
                (self.rival.predicted_error(one, count) / self.rival.setting.cells(one)) ** 0.5
                for one in extreme_marginals(self.attributes.sizes, self.rival.setting.order)
            ]
        except MechDesignError as error:  # fewer users than groups
            return Forecast("marginals", count, False, reason=str(error))
        largest = max(errors)
        cell = f"a cell of a marginal of {self.rival.setting.order}"
        figures = Forecast.of_shares(count, largest, min(errors), "where it is smallest", cell)
        return changed(figures, quantity="marginals")

    # Certificates and file

    def audit(self) -> RivalAudit:
        privacy = [item for item in self.rival.certificates() if item.property == "privacy"]
        worst = max(privacy, key=lambda item: (not item.holds, float(item.figures["true_epsilon"])))
        if worst.proof is None:
            raise CertificateError("rival", "its privacy has not been proven", "report this as a bug")
        proof = composed(Guarantee(self.epsilon), [worst.proof])
        return RivalAudit(proof, worst.witness, worst)

    def certificates(self) -> tuple[Certificate, ...]:
        return (self.audit().certificate(),)

    def _figures(self) -> str:
        order = self.rival.setting.order
        head = f"{self.rival.name}, {self.attributes.count} attributes, order {order}"
        return f"{head}, {spaced(self.collection.group_count)} groups, epsilon={self.epsilon:g}"

    def _oracles(self) -> list[Oracle]:
        """Return the oracles by their numbers of cells, increasing."""
        if isinstance(self.rival, BinaryEncoded):
            every: Any = self.rival.views_of_bits.oracles
        elif isinstance(self.rival, ExpectationMaximization):
            every = [oracle.mechanism for oracle in self.rival.oracles]
        elif isinstance(self.rival, AllMarginals):
            every = [oracle.mechanism for oracle in self.rival.oracles.values()]
        else:
            assert isinstance(self.rival, (FullContingency, FourierCoefficients))
            every = [self.rival.oracle.mechanism]
        by_cells = {oracle.labels.size: oracle for oracle in every}
        return [by_cells[cells] for cells in sorted(by_cells)]

    def content(self) -> dict[str, Any]:
        views = self.rival.views_of_bits.views if isinstance(self.rival, BinaryEncoded) else None
        return {
            "rival": self.rival.name,
            "attributes": self.attributes.as_json(),
            "epsilon": self.epsilon,
            "order": self.rival.setting.order,
            "views": None if views is None else [list(view) for view in views],
            "oracles": [{"type": oracle.type, "content": oracle.content()} for oracle in self._oracles()],
            "users": self.users,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        named = {key: content["attributes"][key] for key in ("sizes", "names", "labels")}
        attributes = Attributes(**named)
        epsilon, order = privacy_epsilon(content["epsilon"]), integer("order", content["order"], 1)
        rival = rival_by_name(content["rival"], attributes.sizes, epsilon, order, content["views"])
        needed = [oracle.labels.size for oracle in cls(attributes, rival)._oracles()]
        oracles = [_oracle(item) for item in content["oracles"]]
        if [oracle.cells for oracle in oracles] != needed:
            raise CertificateError("oracles", f"not those for {needed} cells, in this order")
        rival = rival_by_name(content["rival"], attributes.sizes, epsilon, order, content["views"])
        return cls(attributes, rival.using(oracles), content["users"])


@frozen_value(repr=False)
class RivalAudit(PrivacyFinding):
    """Result of an audit of all that a user reports; of several oracles, that of the least private one."""

    worst: Certificate

    def certificate(self) -> Certificate:
        return changed(self.worst, holds=self.holds, proof=self.proof)


def rival_by_name(
    name: str,
    sizes: Sequence[int],
    epsilon: float,
    order: int,
    views: Sequence[Sequence[int]] | None = None,
) -> Rival:
    """Return the rival of this name."""
    chosen = one_of("rival", name, NAMES)
    if chosen == BinaryEncoded.name:
        if views is None:
            raise ParameterError("views", "BE needs sets of bits", "give them")
        return BinaryEncoded(sizes, epsilon, order, views, KINDS[:2])
    if views is not None:
        raise ParameterError("views", f"{chosen} has none", "leave them out")
    kinds: tuple[type[Rival], ...] = (
        FullContingency,
        AllMarginals,
        FourierCoefficients,
        ExpectationMaximization,
    )
    return next(kind for kind in kinds if kind.name == chosen)(sizes, epsilon, order)


def collection_of(rival: Rival) -> SplitCollection | ProductCollection:
    """Return how the users of a rival report."""
    if isinstance(rival, ExpectationMaximization):
        return ProductCollection(rival)
    if isinstance(rival, (FullContingency, AllMarginals, FourierCoefficients, BinaryEncoded)):
        return SplitCollection(rival)
    raise ParameterError(
        "rival", f"{rival.name} collects nothing on devices", f"give one of {', '.join(NAMES)}"
    )


def _oracle(document: Mapping[str, Any]) -> CellOracle:
    kind: type[Mechanism] | None = mechanism_type(str(document["type"]))
    if kind is None or not issubclass(kind, (KaryResponse, UnaryEncoding)):
        raise CertificateError("oracles", f"'{document['type']}' is not an oracle of a rival")
    oracle = kind.from_content(document["content"])
    if isinstance(oracle, KaryResponse) and (oracle.delta or not oracle.keeps_all):
        raise CertificateError("oracles", "a response that keeps some answers only, or has delta > 0")
    return CellOracle(oracle).useful()
