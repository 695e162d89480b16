"""Check a model: every method, their agreement, the certificates, and the claims of the source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.core.certificate import format_figure
from mechdesign.core.errors import MechDesignError
from mechdesign.core.solution import Solution
from mechdesign.core.values import TextInNotebooks, encode
from mechdesign.papers.claims.claim import (
    NOT_EVALUATED,
    UNDECIDED,
    VERDICT_WORDS,
    VERDICTS,
    Claim,
    in_reading,
)
from mechdesign.papers.claims.evidence import Reading
from mechdesign.papers.claims.judge import Series, judge
from mechdesign.papers.claims.witness import (
    Figures,
    agrees,
    figures_of,
    lost,
    needs_figures,
    suggested,
    witness_text,
)
from mechdesign.solvers.solve import one_thread

if TYPE_CHECKING:
    from mechdesign.catalog.load import Model
    from mechdesign.papers.claims.found import Solver
    from mechdesign.report.compare import Comparison


@dataclass(frozen=True)
class ReadingResult:
    """What was computed in a reading of a claim: the number, and whether the statement holds there."""

    reading: Reading
    found: Any
    outcome: str

    @property
    def mistake(self) -> str:
        """What comes out otherwise than recorded, as half a sentence; empty where nothing does."""
        recorded = self.reading
        if self.outcome != recorded.outcome:
            return f"in the reading '{recorded.text}' it is {self.outcome}, recorded as {recorded.outcome}"
        found = list(self.found.numbers) if isinstance(self.found, Series) else self.found
        if recorded.found is not None and not agrees(recorded.found, found):
            what = f"found = {encode(recorded.found)}; recomputed {_short(self.found)}"
            return f"in the reading '{recorded.text}' its record states {what}"
        return ""


@dataclass(frozen=True)
class ClaimResult:
    """Result of checking a claim.

    Attributes
    ----------
    claim : Claim
    found : object
    outcome : str
        What the comparison of the stated with the found gives: ``holds``, ``refuted`` or, unsolved,
        ``unsettled``; ``not-evaluated`` where the claim is about parameters that were set otherwise.
    figures : mapping
        What a witness of the claim can name: ``found``; where it is refuted or has a witness, and a number
        would not show it, the entries of its certificate and the quantities of its solution.
    readings : sequence of ReadingResult
        Of the readings that are computed.
    beside : mapping
        The further numbers that ``table`` shows next to it, by the names of their columns.
    """

    claim: Claim
    found: Any
    outcome: str
    figures: Figures = field(default_factory=dict)
    readings: tuple[ReadingResult, ...] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The outcome; of a claim that cannot be decided ``not-decidable``, whatever the comparison gives.

        Of a misprint ``misprint``, where what is printed does not hold.
        """
        if self.outcome in ("unsettled", NOT_EVALUATED):
            return self.outcome
        is_recorded = self.claim.verdict == UNDECIDED or self.outcome == self.claim.expected
        return self.claim.verdict if is_recorded else self.outcome

    @property
    def is_evaluated(self) -> bool:
        """Whether the parameters are those that the claim is about."""
        return self.outcome != NOT_EVALUATED

    @property
    def lost(self) -> str:
        """Entries of the recorded witness that were not found again; empty when all were."""
        is_recorded = self.outcome == self.claim.expected and self.claim.verdict != "holds"
        is_compared = is_recorded and not self.claim.is_in_words
        return lost(self.claim, self.figures) if is_compared else ""

    @property
    def misread(self) -> str:
        """What a reading gives otherwise than recorded, as half a sentence; empty where none does."""
        return next((each.mistake for each in self.readings if each.mistake), "")

    @property
    def lacks_witness(self) -> bool:
        """Whether it is refuted, and its model records no figures that refute it."""
        return self.verdict == "refuted" and not self.claim.witness and not self.claim.is_in_words

    @property
    def as_expected(self) -> bool:
        """Whether the outcome is the recorded one, with its witness and its readings.

        Nothing is recorded for other parameters.
        """
        mistake = self.lost or self.misread
        return not self.is_evaluated or (self.outcome == self.claim.expected and not mistake)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of a claim in ``compare --json``."""
        claim = self.claim
        wanted = {"suggested_witness": suggested(claim, self.figures)} if self.lacks_witness else {}
        return {
            "quantity": claim.quantity,
            "relation": claim.relation,
            "stated": encode(claim.value),
            "tolerance": claim.tolerance,
            "relative_tolerance": claim.relative_tolerance,
            "over": self.found.over if isinstance(self.found, Series) else claim.over,
            "found": encode(self.found),
            "verdict": self.verdict,
            "outcome": self.outcome,
            "as_expected": self.as_expected if self.is_evaluated else None,
            "origin": claim.origin,
            "at": encode(dict(claim.at)),
            "method": claim.method,
            "options": encode(dict(claim.options)),
            "reason": claim.reason,
            "decided_by": claim.decided_by,
            "readings": encode(list(claim.readings)),
            "witness": encode(dict(claim.witness)),
            "instead": claim.instead,
            "statement": claim.statement,
            "text": claim.text,
            "evidence": list(claim.evidence),
            **wanted,
        }

    @property
    def subject(self) -> str:
        """Subject of the claim, with its method and its parameters."""
        return subject(self.claim)

    @property
    def stated(self) -> str:
        """Stated value with its relation: ``0.83``, ``<= 0.83`` or ``increasing over epsilon``."""
        return stated(self.claim, self.found.over if isinstance(self.found, Series) else None)

    @property
    def shown(self) -> str:
        """Computed value, as text; a dash where nothing is computed."""
        is_computed = self.is_evaluated and not self.claim.is_in_words
        return _short(self.found) if is_computed else "-"

    @property
    def verdict_words(self) -> str:
        """The verdict in words: ``holds``, ``refuted``, ``not decidable here``."""
        return VERDICT_WORDS.get(self.verdict, self.verdict)

    @property
    def remark(self) -> str:
        """Why a claim is wrong, with its witness where no number shows it, or undecided; or empty."""
        if self.verdict == "holds" or self.verdict not in VERDICTS or not self.as_expected:
            return ""
        text = dict(self.claim.witness) if isinstance(self.found, (bool, str, np.bool_)) else {}
        witness = f"; witness {witness_text(text)}" if text else ""
        if self.verdict == UNDECIDED:
            read = "" if self.claim.is_in_words else f"; as read here: {self.outcome}"
            return f"{self.claim.reason}{witness}{read}; {decided_text(self.claim)}"
        return f"{self.claim.reason}{witness}"

    def __str__(self) -> str:
        if not self.is_evaluated:
            return f"{self.subject}: not evaluated (stated {self.stated}; {self.claim.origin})"
        mark = "" if self.outcome == self.claim.expected else f"  <-- recorded as {self.claim.expected}"
        mistake = self.lost or self.misread
        mark = f"  <-- {mistake}" if mistake else mark
        where = f", {self.claim.where}" if self.claim.where else ""
        reason = f"; {self.remark}" if self.remark else ""
        if self.claim.is_in_words:
            return f"{self.subject} ({self.claim.origin}{where}): {self.verdict_words}{reason}{mark}"
        text = f"{self.subject}: stated {self.stated} ({self.claim.origin}{where})"
        verdict = self.verdict_words
        if mark and self.verdict == UNDECIDED:
            verdict = f"{verdict}, as read here: {self.outcome}"
        return f"{text}, computed {self.shown}: {verdict}{reason}{mark}"


@dataclass(frozen=True)
class ModelCheck(TextInNotebooks):
    """The comparison of all methods on a model and the verdicts on its claims."""

    model: Model
    comparison: Comparison
    claims: tuple[ClaimResult, ...]

    @property
    def problems(self) -> list[str]:
        """Deviations from the record, one sentence each; empty when all is well."""
        texts = [f"disagreement: {text}" for text in self.comparison.disagreements]
        texts += [f"failed: {text}" for text in self.comparison.failures]
        for run in self.comparison.runs:
            recorded = self.recorded_failures(run)
            texts += [
                f"certificate of {run.method}: {certificate}"
                for certificate in run.certificates
                if not certificate.holds and certificate.property not in recorded
            ]
        if not self.comparison.runs:
            texts.append("no method was run")
        texts += [f"claim: {result}" for result in self.claims if not result.as_expected]
        return texts

    def recorded_failures(self, run: Solution) -> set[str]:
        """Return the certificates of a run that are known to fail.

        All of a published formula, which is kept because it is not right; of other methods those that a claim
        of the model says fail: the value false that holds, or the value true that is refuted.
        """
        failed = {certificate.property for certificate in run.certificates if not certificate.holds}
        if run.kind == "published":
            return failed
        stated = {
            claim.quantity
            for claim in self.model.claims
            if claim.value is (claim.expected == "refuted")
            and not claim.at
            and not claim.options
            and claim.method in (None, run.method)
        }
        return {name for name in failed if f"certificate.{name}" in stated}

    @property
    def passed(self) -> bool:
        """Whether methods agree, certificates hold and every verdict is the recorded one."""
        return not self.problems

    @property
    def not_evaluated(self) -> str:
        """Number of claims about other parameters than these, as a sentence; empty for none."""
        number = sum(not result.is_evaluated for result in self.claims)
        if not number:
            return ""
        about = f"{number} claim is" if number == 1 else f"{number} claims are"
        names = ", ".join(self.model.changed)
        return f"{about} not evaluated: the source states them for another {names}"

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``compare --json``."""
        return {
            **self.comparison.as_dict(self.model.slug),
            "claims": [result.as_dict() for result in self.claims],
        }

    def __str__(self) -> str:
        return self.text()

    def text(self, users: int | None = None) -> str:
        """Return the comparison and the claims, with forecasts for ``users`` users."""
        lines = [f"{self.model.slug}: {self.model.title}", self.comparison.text(users)]
        lines += [f"  claim {result}" for result in self.claims if result.is_evaluated]
        if self.not_evaluated:
            lines.append(f"  {self.not_evaluated}")
        return "\n".join(lines)


def check_model(model: Model) -> ModelCheck:
    """Run every method on a model's problem and check the claims.

    Examples
    --------
    >>> from mechdesign.catalog import load_model
    >>> check_model(load_model("response/zhou2019_survey")).passed
    True
    """
    from mechdesign.papers.claims.found import Solver
    from mechdesign.report.compare import compare

    with one_thread(loading=True):  # certificates and quantities as well: small matrices gain nothing by more
        comparison = compare(model.problem, model.methods or None)
        solver = Solver(model, comparison)
        results = []
        for number, claim in enumerate(model.claims):
            if not _is_about(claim, model):
                results.append(ClaimResult(claim, None, NOT_EVALUATED))
                continue
            try:
                results.append(_check(claim, solver))
            except MechDesignError as error:
                raise error.inside(f"{model.slug}: [claim {number + 1}]") from None
    return ModelCheck(model, comparison, tuple(results))


def _is_about(claim: Claim, model: Model) -> bool:
    """Whether a claim is about these parameters: none of those that were changed, but for what it sets."""
    own = set(claim.at)
    if claim.is_trend:
        own.add(claim.over or next(iter(model.sweep), ""))
    return set(model.changed) <= own


def _check(claim: Claim, solver: Solver) -> ClaimResult:
    readings = tuple(_read(claim, each, solver) for each in claim.reading_records if each.is_computed)
    if claim.is_in_words:
        return ClaimResult(claim, None, claim.expected, readings=readings)
    found, outcome = _compared(claim, solver)
    if outcome == "unsettled":
        return ClaimResult(claim, found, outcome)
    is_shown = needs_figures(claim) and (outcome == "refuted" or bool(claim.witness))
    solution = solver.at(claim.at, claim.method, claim.options) if is_shown else None
    figures = figures_of(claim, found, solution)
    beside = {
        name: solver.quantity(quantity, claim.at, claim.method, claim.options)
        for name, quantity in claim.beside.items()
    }
    return ClaimResult(claim, found, outcome, figures, readings, beside)


def _compared(claim: Claim, solver: Solver) -> tuple[Any, str]:
    """Return what is found for a claim, or why nothing is, and the outcome."""
    from mechdesign.papers.claims.found import NotFound, series, single

    try:
        found = series(claim, solver) if claim.is_trend else single(claim, solver)
    except NotFound as reason:
        return str(reason), "unsettled"
    return found, judge(claim, found)


def _read(claim: Claim, reading: Reading, solver: Solver) -> ReadingResult:
    return ReadingResult(reading, *_compared(in_reading(claim, reading), solver))


def subject(claim: Claim) -> str:
    """Return the subject of a claim, with its method and its parameters; of a claim in words, its words.

    Examples
    --------
    >>> subject(Claim("value", 0.5, method="lp", at={"epsilon": 2.0}))
    'value by lp at epsilon = 2'
    """
    if claim.is_in_words:
        return claim.text
    at = f" at {_settings(claim.at)}" if claim.at else ""
    whose = f" by {claim.method}" if claim.method else ""
    whose += f" ({_settings(claim.options)})" if claim.options else ""
    return f"{claim.quantity}{whose}{at}"


def stated(claim: Claim, over: str | None = None) -> str:
    """Return the stated value with its relation; ``over`` is the swept parameter of a trend, if known.

    Examples
    --------
    >>> stated(Claim("value", 0.5, relation="<=")), stated(Claim("value", relation="increasing"), "epsilon")
    ('<= 0.5', 'increasing over epsilon')
    """
    if claim.is_in_words:
        return "in words"
    if not claim.is_trend:
        return f"{'' if claim.relation == '=' else claim.relation + ' '}{_short(claim.value)}"
    where = "" if claim.value is None else f" {_short(claim.value)}"
    swept = claim.over or over
    return f"{claim.relation}{where}{f' over {swept}' if swept else ''}"


def claim_line(claim: Claim) -> str:
    """Return a claim before it is checked: what it states, how exactly, and the verdict on record.

    Examples
    --------
    >>> claim_line(Claim("value", 0.5, tolerance=1e-9, where="eq. (1)"))
    'value is 0.5 +- 1e-09 (paper, eq. (1); holds)'
    """
    slack = f" +- {claim.tolerance:g}" if claim.tolerance else ""
    if claim.relative_tolerance:
        slack = f" +- {100 * claim.relative_tolerance:g} %"
    where = f", {claim.where}" if claim.where else ""
    reason = f": {claim.reason}" if claim.verdict != "holds" else ""
    if claim.verdict == UNDECIDED:
        reason += f"; {decided_text(claim)}"
    text = subject(claim) if claim.is_in_words else f"{subject(claim)} is {stated(claim)}{slack}"
    return f"{text} ({claim.origin}{where}; {VERDICT_WORDS.get(claim.verdict, claim.verdict)}{reason})"


def decided_text(claim: Claim) -> str:
    """Return the evidence that would decide a claim, as half a sentence.

    Examples
    --------
    >>> lost = {"verdict": "not-decidable", "outcome": "holds", "reason": "lost", "decided_by": "(6)"}
    >>> decided_text(Claim("value", 0.5, **lost))
    'would be decided by (6)'
    """
    return f"would be decided by {claim.decided_by}"


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {_short(value)}" for key, value in values.items())


def _short(value: Any) -> str:
    if isinstance(value, Series):
        pairs = [
            f"{_short(point)}: {_short(number)}"
            for point, number in zip(value.points, value.numbers, strict=True)
        ]
        return ", ".join(pairs)
    if isinstance(value, Mapping):
        return f"{{ {_settings(value)} }}"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if (
        isinstance(value, (int, float, np.generic))
        and not isinstance(value, bool)
        and not math.isnan(float(value))
    ):
        return format_figure(float(value))
    plain = encode(value)
    text = str([_short(item) for item in plain]).replace("'", "") if isinstance(plain, list) else str(plain)
    return text if len(text) <= 100 else text[:97] + "..."
