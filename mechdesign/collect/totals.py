"""What several reports of one mechanism reveal: the total of a user who answers again and again."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from mechdesign.audit.losses import LossCurve
from mechdesign.audit.totals import Collected, Total, counted_as, promised_as, total_of
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import Exact
from mechdesign.core.validation import integer

PROPERTY = "privacy"
WITHIN = "1e-6"
"""The delta of totals, where none is given."""
MOST_REPORTS = 1 << 30


class WithTotals:
    """Mixin of a mechanism that collects: the total of several reports."""

    type: ClassVar[str]

    @abstractmethod
    def certificates(self) -> tuple[Certificate, ...]:
        """Audit the mechanism and return one certificate a property."""

    def loss_curve(self) -> LossCurve | None:
        """Return the largest delta of one report at every epsilon, from the weights that are audited.

        None where reports are no finite channel of integers: then totals count its epsilon and delta.
        """
        return None

    def collected(self, name: str, times: int = 1) -> Collected:
        """Return what a user reveals who answers ``times`` times, as an entry of an account."""
        return counted_by(self, name, times, curve=self.loss_curve())

    def total(self, reports: int, delta: Exact = WITHIN) -> Total:
        """Return what that many reports of one user reveal together, each drawn anew.

        The sum of the epsilons is exact. With a delta the total follows from the channel's own distribution
        of privacy losses, rounded up; what a user answers later may depend on all that was reported.

        Parameters
        ----------
        reports : int
            How many a user makes, fixed beforehand.
        delta : number or str
            The delta that the total may have.

        Examples
        --------
        >>> from mechdesign.collect import KaryResponse
        >>> print(KaryResponse.of(5, epsilon=1.0).total(reports=20, delta=1e-6))
        epsilon = 20, delta = 0 (exact); epsilon = 17.74, delta = 1e-06 (distribution of the total loss)
        """
        return total_of([self.collected(self.type, integer("reports", reports, 1, MOST_REPORTS))], delta)


def counted_by(mechanism: Any, name: str, times: int = 1, **others: Any) -> Collected:
    """Return what a user reveals who answers a mechanism ``times`` times, by its certificate of privacy.

    Parameters
    ----------
    mechanism : Mechanism
    name : str
        How errors call it.
    times : int
    others
        Further fields of the entry.

    Raises
    ------
    ParameterError
        For a mechanism without an epsilon, with one per unit of distance, or one that is not private.
    """
    certificates = [item for item in mechanism.certificates() if item.property == PROPERTY]
    if not certificates or "epsilon" not in certificates[0].figures:
        raise ParameterError(name, f"a {mechanism.type} states no epsilon", "name mechanisms that collect")
    (certificate, *_) = certificates
    if certificate.metric:
        raise ParameterError(
            name,
            "its epsilon is per unit of distance",
            "name mechanisms whose epsilon is for any two answers",
        )
    if not certificate.holds or certificate.proof is None:
        raise ParameterError(name, "is not private as stated", "rebuild it")
    one, promise = counted_as(certificate.proof, certificate), promised_as(certificate.proof)
    return Collected.of(name, one, promise=promise, times=times, exact=certificate.exact, **others)
