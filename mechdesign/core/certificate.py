"""Certificates: a property, its verdict, figures and a witness; and the results of audits of privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs

from mechdesign.core.errors import CertificateError, ParameterError, printable
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import float_up
from mechdesign.core.values import TextInNotebooks, frozen_value, quotient_text, rounded_text

if TYPE_CHECKING:
    from mechdesign.core.solution import Solution

OPTIMALITY = "optimality"
"""The property that nothing is better, among a set of mechanisms that has to be named."""

WITHIN = 1e-6
"""An optimum is certified when no more than this part of it is left between value and bound, by default."""

JUDGED = ("value", "bound", "gap")
"""Figures that are finite in every certificate that holds; for optimality, all of its figures are."""


ASSERTED = "asserted by the method"
"""Begins what a bound rests on where a method from outside of the toolkit states it and proves nothing."""

PRIVACY = "privacy"
"""The property that a guarantee is kept."""

ROUNDING = Fraction(1, 10**9)
"""What doubles may lose, relatively, where a certificate is not exact and does not say how much."""


def _sound(property: str, key: str, value: Any) -> bool:
    """Whether a figure may stand in a certificate that holds."""
    if not isinstance(value, float) or math.isfinite(value):
        return True
    return not (math.isnan(value) or key in JUDGED or property == OPTIMALITY)


@frozen_value()
class _Judged(TextInNotebooks):
    """The fields of a certificate, whose verdict has been compared with its figures."""

    property: str
    holds: bool
    exact: bool
    figures: Mapping[str, Any]
    witness: Mapping[str, Any]
    note: str
    among: str
    metric: bool
    proof: Proof | None


class Certificate(_Judged):
    """The verdict on one property of a solution or a mechanism.

    Parameters
    ----------
    property : str
        What is certified, for instance ``"privacy"`` or ``"optimality"``.
    holds : bool
        The verdict.
    exact : bool
        True when the verdict comes from integer or rational arithmetic without tolerance.
    figures : mapping
        The numbers behind the verdict (true epsilon, gap, ...).
    witness : mapping
        What attains the worst case: inputs and output, a deviation, a set. Empty if nothing does.
    note : str
        One sentence for the reader.
    among : str
        For optimality: the set of mechanisms among which there is nothing better.
    metric : bool
        For privacy: whether epsilon is per unit of distance between answers; the note also says so.
    proof : Proof, optional
        For privacy: the guarantee, exactly, with what is proven of it. It decides; see :meth:`of_privacy`.

    Notes
    -----
    Nothing holds with a figure that is NaN, nor with a value, a bound or a gap that is infinite: such a
    certificate fails and names the figure. Elsewhere infinity is a number like any other.
    Privacy does not hold with a true epsilon above the promised one, unless a delta covers it, nor where
    there is no pair of answers to compare: such a certificate fails and says why.

    Examples
    --------
    >>> print(Certificate("privacy", True, True, {"epsilon": 0.5}))
    privacy: holds (exact); epsilon = 0.5
    >>> print(Certificate("optimality", True, False, {"gap": float("inf")}, among="all menus"))
    optimality: FAILS; among all menus; gap = inf; gap is not finite
    >>> print(Certificate("privacy", True, True, {"epsilon": 0.1, "true_epsilon": 14.5}))
    privacy: FAILS (exact); epsilon = 0.1, true_epsilon = 14.5; the true epsilon is above the promised one
    """

    def __init__(
        self,
        property: str,
        holds: bool,
        exact: bool,
        figures: Mapping[str, Any] | None = None,
        witness: Mapping[str, Any] | None = None,
        note: str = "",
        among: str = "",
        metric: bool = False,
        proof: Proof | None = None,
    ) -> None:
        entries = {} if figures is None else figures
        wrong = [key for key, value in entries.items() if not _sound(property, key, value)]
        remark = f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not finite" if wrong else ""
        if not wrong and (property == PRIVACY or proof is not None):
            remark = _doubt(entries, exact, proof)
        if holds and remark:
            holds = False
            note = "; ".join(filter(None, (note, remark)))
        super().__init__(
            property, holds, exact, entries, {} if witness is None else witness, note, among, metric, proof
        )

    @classmethod
    def of_privacy(
        cls,
        proof: Proof,
        figures: Mapping[str, Any],
        witness: Mapping[str, Any] | None = None,
        note: str = "",
        property: str = PRIVACY,
    ) -> Certificate:
        """Return the certificate of a guarantee: the proof decides whether it holds.

        Examples
        --------
        >>> proof = Proof(Guarantee("0.1"), true_epsilon=0, pairs=0)
        >>> print(Certificate.of_privacy(proof, {"epsilon": 0.1, "true_epsilon": 0.0}))
        privacy: FAILS (exact); epsilon = 0.1, true_epsilon = 0; there are no two answers to ...
        """
        if proof.is_vacuous or proof.is_hollow:
            note = "; ".join(filter(None, (note, proof.reason)))
        metric = bool(proof.promise.distance)
        return cls(property, proof.holds, proof.exact, figures, witness, note, metric=metric, proof=proof)

    @property
    def guarantee(self) -> Guarantee | None:
        """The guarantee that it is about, for privacy that an audit has judged."""
        return None if self.proof is None else self.proof.promise

    def __str__(self) -> str:
        parts = [f"{self.property}: {'holds' if self.holds else 'FAILS'}{' (exact)' if self.exact else ''}"]
        if self.among:
            parts.append(f"among {self.among}")
        if self.figures:
            parts.append(", ".join(f"{key} = {format_figure(value)}" for key, value in self.figures.items()))
        if self.witness:
            parts.append(
                "witness " + ", ".join(f"{key} = {_text(value)}" for key, value in self.witness.items())
            )
        if self.note:
            parts.append(self.note)
        return printable("; ".join(parts))

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form of the design: property, verdict, figures, witness."""
        result: dict[str, Any] = {"property": self.property, "holds": self.holds, "exact": self.exact}
        if self.among:
            result["among"] = self.among
        result.update(self.figures)
        result["witness"] = dict(self.witness) or None
        if self.note:
            result["note"] = self.note
        return result


def _doubt(figures: Mapping[str, Any], exact: bool, proof: Proof | None) -> str:
    """Return why privacy cannot hold with these figures; empty where it can."""
    if proof is not None:
        return proof.reason
    epsilon, true = figures.get("epsilon"), figures.get("true_epsilon")
    if not isinstance(epsilon, (int, float, Fraction)) or not isinstance(true, (int, float, Fraction)):
        return ""
    delta, least = figures.get("delta", 0.0), figures.get("least_delta")
    try:
        slack = 0 if exact else ROUNDING * max(Fraction(1), Fraction(epsilon))
        judged = Proof(Guarantee(epsilon, delta), true, exact=exact, rounding=slack)
    except (ParameterError, CertificateError) as error:
        return str(error)
    covered = delta > 0 if least is None else least <= delta
    return "" if judged.holds or covered else "the true epsilon is above the promised one"


@frozen_value()
class CertificateAudit(TextInNotebooks):
    """Result of the audit of a mechanism, where it is not about privacy alone: all its certificates.

    Parameters
    ----------
    certificates : tuple of Certificate

    Examples
    --------
    >>> budget, order = Certificate("budget", True, True), Certificate("monotonicity", False, True)
    >>> audit = CertificateAudit((budget, order))
    >>> audit.holds
    False
    >>> print(audit)
    budget: holds (exact)
    monotonicity: FAILS (exact)
    """

    certificates: tuple[Certificate, ...]

    @property
    def holds(self) -> bool:
        """Whether every certificate holds."""
        return all(certificate.holds for certificate in self.certificates)

    def __str__(self) -> str:
        return "\n".join(str(certificate) for certificate in self.certificates)


def optimality(
    solution: Solution[Any],
    left: float | None = None,
    scale: float | None = None,
    *,
    within: float = WITHIN,
    slack: float = 0.0,
    figures: Mapping[str, Any] | None = None,
    unproven: Mapping[str, Any] | None = None,
    unknown: str = "no bound is known",
) -> Certificate:
    """Certify that what a proven bound leaves to be gained is at most a small part of what is at stake.

    Parameters
    ----------
    solution : Solution
        A solution; without a bound its certificate fails.
    left : float, optional
        What is left to be gained, in the units of ``scale``; the gap by default. What would run may be
        worse than the value that a method found: then it is the distance of that from the bound.
    scale : float, optional
        What is at stake; the size of the value by default.
    within : float
        Which part of the scale may be left.
    slack : float
        What may be left besides: the rounding of the numbers themselves.
    figures : mapping, optional
        Value, bound and gap by default.
    unproven : mapping, optional
        The figures where there is no bound; none by default.
    unknown : str
        The note where there is no bound.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> print(optimality(SimpleNamespace(value=2.0, bound=2.0, gap=0.0, bound_source="duality")))
    optimality: holds; value = 2, bound = 2, gap = 0; bound from duality
    """
    if solution.bound is None:
        return Certificate(OPTIMALITY, False, False, unproven or {}, note=unknown)
    left = solution.gap if left is None else left
    scale = abs(solution.value) if scale is None else scale
    if figures is None:
        figures = {"value": solution.value, "bound": solution.bound, "gap": solution.gap}
    holds = left <= within * scale + slack
    source = solution.bound_source
    note = f"bound {source}" if source.startswith(ASSERTED) else f"bound from {source}"
    return Certificate(OPTIMALITY, holds, False, figures, note=note)


def format_figure(value: Any) -> str:
    """Format a number to ten significant digits; an integer or a fraction is written whole where it is short.

    Examples
    --------
    >>> format_figure(1 / 3), format_figure(10**6), format_figure(3**10000), format_figure("no")
    ('0.3333333333', '1000000', '1.631350185e+4771', 'no')
    """
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return quotient_text(Fraction(value)) or rounded_text(Fraction(value))
    return str(value)


def _text(value: Any) -> str:
    """Return a part of a witness as a text; integers of any size have one."""
    return str(value) if isinstance(value, float) else format_figure(value)


@frozen_value(repr=False)
class PrivacyFinding(TextInNotebooks):
    """Result of an audit of privacy. Every audit of privacy hands back one of these.

    Attributes
    ----------
    proof : Proof
        The guarantee, and what is proven of it: it decides whether the guarantee holds.
    witness : mapping
        What attains the true epsilon.

    Examples
    --------
    >>> PrivacyFinding(Proof(Guarantee(1.0), true_epsilon=0.5, pairs=2), {})
    PrivacyFinding(privacy: holds (exact); epsilon = 1, true_epsilon = 0.5)
    """

    proof: Proof
    witness: Mapping[str, Any]

    @property
    def guarantee(self) -> Guarantee:
        """The promise."""
        return self.proof.promise

    @property
    def epsilon(self) -> float:
        """The promised epsilon."""
        return float(self.proof.promise.epsilon)

    @property
    def delta(self) -> float:
        """The promised delta."""
        return float(self.proof.promise.delta)

    @property
    def true_epsilon(self) -> float:
        """The least epsilon with delta 0, rounded up; infinite when an input excludes a report of another."""
        return self.proof.true_up()

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        return self.proof.holds

    @property
    def exact(self) -> bool:
        """Whether the verdict is without tolerance."""
        return self.proof.exact

    def certificate(self) -> Certificate:
        """Return the audit as a certificate of the property ``privacy``."""
        return Certificate.of_privacy(self.proof, self._figures(), self._shown(), self._note())

    def details(self) -> dict[str, Any]:
        """Return what the certificate leaves out: notion, what is covered, how many pairs were compared."""
        promise = self.guarantee
        return {"notion": promise.notion, "covers": promise.covers, "pairs": self.proof.pairs}

    def _figures(self) -> dict[str, Any]:
        """Return the figures of the certificate."""
        return {"epsilon": self.epsilon, "true_epsilon": self.true_epsilon}

    def _shown(self) -> Mapping[str, Any]:
        """Return the witness of the certificate."""
        return self.witness

    def _note(self) -> str:
        """Return the note of the certificate."""
        return ""

    def __str__(self) -> str:
        return str(self.certificate())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


METRIC = "epsilon per unit of distance between the listed answers; rounding to them is not covered"
"""What an audit of metric privacy is about: where a user stands between two answers, it cannot know."""

UNIT = "unit of distance between the listed answers"


@frozen_value(repr=False)
class PrivacyAudit(PrivacyFinding):
    """Result of an exact audit of a channel.

    Attributes
    ----------
    proof : Proof
        The guarantee, with the least epsilon and the least delta in its notion, exactly.
    witness : mapping
        ``input``, ``other``, ``report`` that attain the true epsilon.
    true_epsilon_digits : Decimal
        The true epsilon to many digits, still an upper bound.
    least_delta_exact : Fraction
        The least set-wise delta for the rational lower bound of e^epsilon.
    delta_witness : mapping
        ``input``, ``other``, ``reports`` that attain it.
    entry_delta : float
        The least entry-wise delta for the promised epsilon, rounded up: never above ``least_delta``, and
        equal to it for two reports.
    figures : mapping
        Further figures of the certificate.
    """

    true_epsilon_digits: Decimal
    least_delta_exact: Fraction
    delta_witness: Mapping[str, Any]
    entry_delta: float
    figures: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def least_delta(self) -> float:
        """The least set-wise delta for the promised epsilon, rounded up."""
        return float_up(self.least_delta_exact)

    @property
    def epsilon_witness(self) -> Mapping[str, Any]:
        """What attains the true epsilon."""
        return self.witness

    @property
    def metric(self) -> bool:
        """Whether epsilon is per unit of distance."""
        return bool(self.guarantee.distance)

    @property
    def notion(self) -> str:
        """``"ldp"`` (the standard definition, over sets of reports) or ``"entry-wise"``."""
        return self.guarantee.notion

    def _figures(self) -> dict[str, Any]:
        figures = super()._figures()
        if self.delta > 0 or self.least_delta > 0:
            figures |= {"delta": self.delta, "least_delta": self.least_delta, "entry_delta": self.entry_delta}
        return {**figures, **self.figures}

    def _shown(self) -> Mapping[str, Any]:
        by_delta = self.delta > 0 and self.least_delta > 0
        return self.delta_witness if by_delta else self.witness

    def _note(self) -> str:
        if self.notion == "entry-wise":
            return "entry by entry, as in the paper; set by set it needs least_delta"
        return METRIC if self.metric else ""

    def details(self) -> dict[str, Any]:
        """Return everything the audit found, the true epsilon to 40 digits and both readings of delta."""
        digits = self.true_epsilon_digits
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "notion": self.notion,
            "pairs": self.proof.pairs,
            "true_epsilon_digits": str(digits if digits.is_infinite() else _shortened(digits)),
            "epsilon_witness": dict(self.epsilon_witness),
            "least_delta_set_wise": self.least_delta,
            "least_delta_entry_wise": self.entry_delta,
            "delta_witness": dict(self.delta_witness),
        }


def _shortened(digits: Decimal) -> Decimal:
    """Return the number rounded up to 40 decimals."""
    context = Context(prec=80 + max(0, digits.adjusted()), rounding=ROUND_CEILING)
    return digits.quantize(Decimal("1e-40"), context=context).normalize(context)
