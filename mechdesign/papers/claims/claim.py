"""A claim: one statement of a source, about a quantity or in words alone, in the words that papers use."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import attrs
import numpy as np

from mechdesign.core.errors import ParameterError, suggestion
from mechdesign.core.problem import Status
from mechdesign.core.values import encode, frozen_value
from mechdesign.papers.claims.evidence import COMPARED, Reading, readings_of, require_evidence

ORIGINS = ("paper", "derived", "computed")
OUTCOMES = ("holds", "refuted")
"""What the comparison of a stated with a found number can give."""

MISPRINT = "misprint"
UNDECIDED = "not-decidable"
UNCHECKED = "not-checked"
VERDICTS = (*OUTCOMES, MISPRINT, UNDECIDED, UNCHECKED)
NOT_EVALUATED = "not-evaluated"
"""The outcome of a claim about parameters that were set otherwise."""

VERDICT_WORDS = {UNDECIDED: "not decidable here", UNCHECKED: "not checked", NOT_EVALUATED: "not evaluated"}
"""How a verdict is printed where its key is not a word."""

COMPARISONS = ("=", "<=", ">=")
"""Relations of the found number to the stated one: ``<=`` says that the found one is not the larger."""

PLACES = ("largest-at", "smallest-at")
"""Trends that state where, in ``value``."""

TRENDS = ("increasing", "decreasing", "non-decreasing", "non-increasing", "unimodal", "u-shaped", *PLACES)
"""Relations among the numbers that are found along a sweep."""

KINDS = ("number", "text", "truth value")
"""What a claim can state, alone or as a list of one kind."""

INFINITIES = ("inf", "-inf")

TEXTS = (
    *("quantity", "text", "relation", "outcome", "reason", "decided_by", "instead", "statement"),
    *("where", "cite", "method", "over"),
)
"""Keys whose value is a text."""

LOST, FORMULA = "lost", "formula"
"""``stated`` of a claim whose number the copy of the source has lost, or for which it has a formula."""

MOST_DIGITS = 8
"""A number with more significant digits is not one that a source prints: it is the value of its formula."""


OF_QUANTITIES: Mapping[str, Any] = {
    **dict.fromkeys(("value", "method", "over", "stated")),
    **dict.fromkeys(("tolerance", "relative_tolerance"), 0.0),
    **{key: {} for key in ("options", "at", "witness", "beside")},
    "relation": "=",
    "outcome": "",
}
"""Keys that a claim in words does not have, with the values that say so."""


@frozen_value()
class Claim:
    """One statement of a source, to be checked against what is found, or in words alone with its evidence.

    Attributes
    ----------
    quantity : str
        ``value``, ``bound``, ``status``, a variable, a further quantity of the problem, or
        ``certificate.<property>`` (a truth value). Empty for a claim in words alone.
    value : number, list, text or truth value
        What is stated; infinity is ``"inf"``. For the trends ``largest-at`` and ``smallest-at`` the value of
        the swept parameter; None for other trends.
    relation : str
        One of ``COMPARISONS`` (found against stated, entry by entry for lists) or of ``TRENDS``.
    origin : {"paper", "derived", "computed"}
        Printed in the source, derived by hand, or computed once and kept as a regression.
    tolerance : float
        Numbers no further apart than this count as equal.
    relative_tolerance : float
        The same as a part of the stated number, or of the largest number of a trend; one of the two only.
    verdict : {"holds", "refuted", "misprint", "not-decidable", "not-checked"}
        What is expected of the check. ``misprint``: the derivation around it in the source has another
        formula, which is in ``instead``. ``not-decidable``: the claim rests on what cannot be had here, such
        as a display that the copy of the source lost, a parameter that is not printed, or other data.
        ``not-checked``: stated in words, and nothing here checks it.
    outcome : str
        What the comparison gives under the reading that is checked, ``holds`` or ``refuted``, for a claim
        that is not decidable; for other claims that is the verdict itself, and this is empty.
    reason : str
        Why a refuted claim is wrong, or why a claim cannot be decided.
    decided_by : str
        What would decide a claim that is not decidable.
    readings : sequence of str or mapping
        The readings of the source that were tried, the most charitable one first: a sentence, or a table
        with its outcome. See :class:`mechdesign.papers.claims.evidence.Reading`.
    witness : mapping
        The figures that refute it, which ``check`` has to find again: see
        ``mechdesign.papers.claims.witness``. Of a claim that is not decidable: those found under the reading
        that is checked.
    instead : str
        What holds in place of a refuted claim, or of a misprint.
    statement : str
        The statement of the source that this claim is a part of, in a few words: claims of one source with
        the same words here count as one finding. Empty: the claim is a statement of its own.
    method : str or None
        Whose solution is looked at; by default the preferred method's.
    options : mapping
        Options of the method, for instance ``{"first": 0.25}``; only next to ``method``.
    over : str or None
        The swept parameter of a trend; by default the only one of the sweep.
    at : mapping
        Parameters that differ from the model's for this claim.
    where : str
        Place in the source.
    cite : str
        The source, a key of the bibliography; empty for the model's.
    text : str
        The statement in words. Required of a claim without a quantity; others may have it.
    evidence : sequence of str
        What shows the verdict of a claim in words: a page of the documentation, a test, a command, or a
        place of the source.
    stated : number, list or text, optional
        The number as it is printed, where ``value`` is another one (a distance from it, a limit);
        ``"formula"``, where the source prints a formula and ``value`` is what it gives; or ``"lost"``, where
        the copy of the source has lost the number.
    beside : mapping
        Further quantities of the same solution that ``table`` shows, by the names of their columns.

    Raises
    ------
    ParameterError
        When the claim makes no sense whatever is found: the text names the key, and what to do.

    Examples
    --------
    >>> Claim("value", 0.83, tolerance=1e-9).relation
    '='
    >>> Claim("value", 0.83, relation="<")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: relation: '<' is not a choice; did you mean '<='?
    """

    quantity: str = ""
    value: Any = None
    relation: str = "="
    origin: str = "paper"
    tolerance: float = 0.0
    relative_tolerance: float = 0.0
    verdict: str = "holds"
    outcome: str = ""
    reason: str = ""
    decided_by: str = ""
    readings: Sequence[str | Mapping[str, Any]] = ()
    witness: Mapping[str, Any] = attrs.field(factory=dict)
    instead: str = ""
    statement: str = ""
    method: str | None = None
    options: Mapping[str, Any] = attrs.field(factory=dict)
    over: str | None = None
    at: Mapping[str, Any] = attrs.field(factory=dict)
    where: str = ""
    cite: str = ""
    text: str = ""
    evidence: Sequence[str] = ()
    stated: Any = None
    beside: Mapping[str, str] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        for key in TEXTS:
            _check_text(key, getattr(self, key), key in ("method", "over"))
        _check_choices(self)
        require_evidence("evidence", self.evidence)
        _check_readings(self)
        _check_refutation(self)
        if not self.quantity:
            _check_words(self)
            for each in self.reading_records:
                if each.is_computed:
                    in_reading(self, each)
            return
        if self.verdict == UNCHECKED:
            raise ParameterError("verdict", f"'{UNCHECKED}' is for claims in words", "drop the quantity")
        _check_tolerances(self)
        _check_shown(self)
        if not isinstance(self.at, Mapping):
            raise ParameterError("at", "is not a table", "write it as { epsilon = 2.0 }")
        if not isinstance(self.options, Mapping):
            raise ParameterError("options", "is not a table", "write it as { first = 0.25 }")
        if self.options and self.method is None:
            raise ParameterError("options", "are those of a method", "add method")
        if self.is_trend:
            _check_trend(self)
        else:
            _check_value(self)
        for each in self.reading_records:
            if each.is_computed:
                in_reading(self, each)

    @property
    def expected(self) -> str:
        """Required result of comparing the stated with the computed value: ``holds`` or ``refuted``.

        Of a claim in words alone that is its verdict, which nothing is compared for.
        """
        if self.is_in_words:
            return self.verdict
        return self.outcome or ("refuted" if self.verdict == MISPRINT else self.verdict)

    @property
    def reading_records(self) -> tuple[Reading, ...]:
        """The readings of the source that were tried, in their order."""
        return readings_of(self.readings, self.is_in_words)

    @property
    def is_in_words(self) -> bool:
        """Whether it is about no quantity."""
        return not self.quantity

    @property
    def is_printed(self) -> bool:
        """Whether the source states it; all others are our own."""
        return self.origin == "paper"

    @property
    def is_of_formula(self) -> bool:
        """Whether the source has a formula for its number, and does not print the number.

        It says so itself, or a number of it has more digits than are printed.
        """
        if self.stated is not None or not self.is_printed or self.value is None:
            return bool(self.stated == FORMULA)
        numbers = [entry for entry in entries(self.value) if isinstance(entry, float)]
        return any(_digits(number) > MOST_DIGITS for number in numbers)

    @property
    def is_trend(self) -> bool:
        """Whether it is about the numbers along a sweep."""
        return self.relation in TRENDS

    @property
    def swept(self) -> str:
        """The parameter of a trend."""
        return self.over or ""

    def as_dict(self) -> dict[str, Any]:
        """Return the claim under the keys of the model file, as plain JSON values."""
        tables = {key: dict(getattr(self, key)) for key in ("at", "options", "witness", "beside")}
        plain: dict[str, Any] = encode({**vars(self), **tables})
        return plain


def in_reading(claim: Claim, reading: Reading) -> Claim:
    """Return what is computed for a reading: a claim with the reading's own quantity, value and parameters.

    Raises
    ------
    ParameterError
        When nothing can be compared so.

    Examples
    --------
    >>> other = Reading("with ln for log", "refuted", compared={"value": 0.83, "at": {"delta": 0.0}})
    >>> read = in_reading(Claim("value", 0.9, at={"epsilon": 1.0}), other)
    >>> read.quantity, read.value, dict(read.at)
    ('value', 0.83, {'epsilon': 1.0, 'delta': 0.0})
    """
    own, other = {key: getattr(claim, key) for key in COMPARED}, dict(reading.compared)
    if "relation" in other:
        own |= {"value": None, "over": None}
    if "method" in other:
        own["options"] = {}
    if {"tolerance", "relative_tolerance"} & set(other):
        own |= {"tolerance": 0.0, "relative_tolerance": 0.0}
    other["at"] = {**claim.at, **other.get("at", {})}
    try:
        return Claim(**{**own, **other}, text=claim.text)
    except ParameterError as error:
        raise error.within(f"readings: '{reading.text}'") from None


def kind_of(value: Any) -> str:
    """Return the kind of a plain value, or of every entry of a list: number, text or truth value.

    Examples
    --------
    >>> kind_of([1, 2.5]), kind_of("inf"), kind_of("optimal"), kind_of(True)
    ('number', 'number', 'text', 'truth value')
    """
    kinds = {_kind(entry) for entry in entries(value)}
    return kinds.pop() if len(kinds) == 1 else "mixture"


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of nested lists; a ragged list is an error.

    Examples
    --------
    >>> shape_of([[1, 2, 3], [4, 5, 6]]), shape_of(3)
    ((2, 3), ())
    """
    if not isinstance(value, (list, tuple)):
        return ()
    shapes = {shape_of(entry) for entry in value}
    if len(shapes) > 1:
        raise ParameterError("value", "the rows are of different lengths", "give a rectangular list")
    return (len(value), *(shapes.pop() if shapes else ()))


def entries(value: Any) -> Iterator[Any]:
    """Yield the entries of nested lists, or the value itself."""
    if isinstance(value, (list, tuple)):
        for entry in value:
            yield from entries(entry)
    else:
        yield value


def _kind(entry: Any) -> str:
    if isinstance(entry, (bool, np.bool_)):
        return "truth value"
    if isinstance(entry, (int, float, np.number)) or (isinstance(entry, str) and entry in INFINITIES):
        return "number"
    return "text" if isinstance(entry, str) else type(entry).__name__


def _digits(number: float) -> int:
    """Return the number of significant digits of a number as it is written."""
    if not math.isfinite(number):
        return 0
    return len(repr(number).partition("e")[0].replace(".", "").replace("-", "").strip("0"))


def _is_double(entry: Any) -> bool:
    """Whether a number, or the word for an infinite one, is a double other than NaN."""
    try:
        return not math.isnan(float(entry))
    except OverflowError:
        return False


def _check_text(key: str, value: Any, optional: bool) -> None:
    if not isinstance(value, str) and not (optional and value is None):
        raise ParameterError(key, f"{value!r} is not a string", "put quotes around it")


def _check_choices(claim: Claim) -> None:
    for key, known in (
        ("origin", ORIGINS),
        ("verdict", VERDICTS),
        ("relation", (*COMPARISONS, *TRENDS)),
    ):
        value = getattr(claim, key)
        if value not in known:
            raise ParameterError(key, f"'{value}' is not a choice", suggestion(str(value), known))


def _check_readings(claim: Claim) -> None:
    """Refuse readings that are not a list of sentences and tables; a list of none is fine."""
    if not isinstance(claim.readings, (list, tuple)):
        raise ParameterError("readings", "is not a list of sentences", 'write it as ["as printed: 0.71"]')
    readings_of(claim.readings, claim.is_in_words)


def _check_words(claim: Claim) -> None:
    """Check a claim without a quantity: it has its words, a verdict with its reason, and its evidence."""
    if not claim.text.strip():
        raise ParameterError("quantity", "is missing", "give one, or state the claim in words: text = ...")
    for key, default in OF_QUANTITIES.items():
        if getattr(claim, key) != default:
            raise ParameterError(key, "is for claims about a quantity", "drop it, or name the quantity")
    if claim.verdict == UNCHECKED:
        if not claim.reason.strip():
            raise ParameterError("reason", "a claim that is not checked needs one", "state why it is not")
        if claim.evidence:
            raise ParameterError("evidence", "is for claims with a verdict", "drop it, or give the verdict")
    elif claim.verdict != UNDECIDED and not claim.evidence:
        what = "a claim in words needs one: a page, a test, a command, or a place of the source"
        raise ParameterError("evidence", what, 'write it as ["families/mean.md#what-the-paper-states"]')


def _check_shown(claim: Claim) -> None:
    """Check what ``table`` shows next to the claim."""
    beside: Any = claim.beside
    if not isinstance(beside, Mapping) or not all(isinstance(each, str) for each in beside.values()):
        raise ParameterError(
            "beside", "is not a table of quantities", 'write it as { least = "least_error" }'
        )
    if isinstance(claim.stated, str) and claim.stated not in (LOST, FORMULA, *INFINITIES):
        hint = f"give one, '{FORMULA}' or '{LOST}'"
        raise ParameterError("stated", f"{claim.stated!r} is not a number", hint)
    if claim.stated == LOST and claim.is_printed:
        raise ParameterError(
            "stated", "is lost, so that the source does not state the value", 'set origin = "derived"'
        )
    if claim.stated not in (None, LOST) and not claim.is_printed:
        raise ParameterError(
            "stated", f"is what the source prints, and the origin is '{claim.origin}'", 'set origin = "paper"'
        )


def _check_refutation(claim: Claim) -> None:
    """Check the keys that belong to one verdict: those it needs are there, those of others are not."""
    if not isinstance(claim.witness, Mapping):
        raise ParameterError("witness", "is not a table", "write it as { found = 0.71 }")
    if claim.verdict == UNDECIDED:
        _check_undecided(claim)
        return
    for key in ("outcome", "decided_by"):
        if getattr(claim, key):
            raise ParameterError(key, f"is for claims of verdict '{UNDECIDED}'", "drop it")
    if claim.verdict == "refuted":
        if not claim.reason.strip():
            raise ParameterError("reason", "a refuted claim needs one", "state why it is wrong")
        for reading in claim.reading_records:
            if reading.outcome == "holds":
                raise ParameterError(
                    "readings",
                    f"'{reading.text}' holds, and then the claim is not refuted",
                    "state the claim in this reading, or put what holds in other cases into instead",
                )
        return
    if claim.verdict == MISPRINT:
        for key, what in (("reason", "what shows it"), ("instead", "the formula that is meant")):
            if not getattr(claim, key).strip():
                raise ParameterError(key, "a misprint needs one", f"state {what}")
        return
    for key in ("witness", "instead"):
        if getattr(claim, key):
            verdict = VERDICT_WORDS.get(claim.verdict, claim.verdict)
            raise ParameterError(
                key, f"is for refuted claims, and this one has verdict '{verdict}'", "drop it"
            )


def _check_undecided(claim: Claim) -> None:
    for key, what in (("reason", "why it cannot be decided"), ("decided_by", "what would decide it")):
        if not getattr(claim, key).strip():
            raise ParameterError(key, "a claim that is not decidable needs one", f"state {what}")
    if claim.quantity and claim.outcome not in OUTCOMES:
        raise ParameterError(
            "outcome",
            f"'{claim.outcome}' is not a choice",
            "set it to the outcome of the reading that is checked: holds or refuted",
        )
    if claim.instead:
        raise ParameterError("instead", "is for refuted claims, and this one is not decidable", "drop it")


def _check_tolerances(claim: Claim) -> None:
    for key, most in (("tolerance", sys.float_info.max), ("relative_tolerance", 1.0)):
        value = getattr(claim, key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < most:
            limit = "number >= 0 and below 1" if most == 1.0 else "finite number >= 0"
            raise ParameterError(key, f"{value!r} is not a {limit}")
    if claim.tolerance and claim.relative_tolerance:
        raise ParameterError("tolerance", "is given together with relative_tolerance", "give one of them")


def _check_trend(claim: Claim) -> None:
    if claim.swept in claim.at:
        raise ParameterError(
            "at", f"fixes '{claim.swept}', which the trend runs over", "drop it from one of them"
        )
    if claim.relation in PLACES and claim.value is None:
        raise ParameterError(
            "value", "is missing", f"'{claim.relation}' needs the value of the swept parameter"
        )
    if claim.relation not in PLACES and claim.value is not None:
        raise ParameterError(
            "value", f"'{claim.relation}' is about the whole sweep and states none", "drop it"
        )


def _check_value(claim: Claim) -> None:
    value = claim.value.tolist() if isinstance(claim.value, np.ndarray) else claim.value
    if claim.over is not None:
        raise ParameterError("over", f"is for trends ({', '.join(TRENDS)})", f"'{claim.relation}' is none")
    if value is None:
        raise ParameterError("value", "is missing", "give one")
    shape_of(value)
    kind = kind_of(value)
    if kind not in KINDS:
        raise ParameterError(
            "value", f"{value!r} is not a number, a string, a Boolean, or a list of one kind of them"
        )
    if kind != "number":
        if claim.relation != "=":
            raise ParameterError(
                "relation", f"'{claim.relation}' compares numbers, and the value is a {kind}"
            )
        if claim.tolerance or claim.relative_tolerance:
            raise ParameterError("tolerance", f"is for numbers, and the value is a {kind}", "drop it")
    for entry in entries(value):
        if kind == "number" and not _is_double(entry):
            raise ParameterError(
                "value", "has NaN or a whole number beyond double precision", "state another"
            )
    trivial = {"<=": math.inf, ">=": -math.inf}.get(claim.relation)
    if any(kind == "number" and float(entry) == trivial for entry in entries(value)):
        raise ParameterError("value", f"every number is {claim.relation} {trivial}", "state a finite one")
    if claim.quantity == "status" and value not in get_args(Status):
        raise ParameterError("value", f"no status '{value}'", suggestion(str(value), get_args(Status)))
