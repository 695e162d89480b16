"""Waves of a survey: the same questions again, of people of whom some answered before.

Privacy. A person who takes part in several waves makes a fresh report in each, so that the guarantees add up:
epsilons and deltas are summed as the exact numbers that they are.

Change. The reports of two waves are drawn with independent noise, whoever makes them. For the answers of
those who took part, the variance of the difference of two estimates is therefore the sum of their variances,
without any assumption. Its interval is made from the intervals (l, u) of the two estimates a and b, which
need not be symmetric (Zou and Donner 2008, "MOVER")::

    b - a - sqrt((b - l_b)^2 + (u_a - a)^2)   to   b - a + sqrt((u_b - b)^2 + (a - l_a)^2)

For a population that both waves sample, this also takes the two samples for independent. Where the same
people answer twice their answers mostly go together; then the interval is longer than it has to be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mechdesign.analysis.student import Change, Row, change_between
from mechdesign.collect.base import Mechanism
from mechdesign.collect.kernel import Asked, AskedChoice, AskedNumber, AskedText
from mechdesign.core.certificate import PrivacyFinding
from mechdesign.core.errors import MethodError, ParameterError, counted, decimals_of, option
from mechdesign.core.guarantee import Guarantee, exact_text
from mechdesign.core.validation import probability_text, written_number
from mechdesign.core.values import changed, encode
from mechdesign.data.about import EarlierWave
from mechdesign.data.tidy import Columns, Tidy
from mechdesign.show.tables import table

if TYPE_CHECKING:
    from mechdesign.show.figure import Figure

MOST_TERMS = 8
"""Epsilons that a sum names."""

SHORT = 8
"""Characters of an epsilon that is printed exactly."""

INDEPENDENT = "independent people, or the same people whose answers do not move against each other"
"""What the interval of a change in a population assumes."""


def promised_guarantee(mechanism: Mechanism) -> Guarantee | None:
    """Return the promise about all that one participant reports, as it was written: 0.1 is a tenth.

    None for a mechanism without such a number.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> print(promised_guarantee(KaryResponse.of(3, "0.1")))
    epsilon = 0.1, one report
    """
    audit = getattr(mechanism, "audit", lambda: None)()
    if not isinstance(audit, PrivacyFinding) or audit.proof.promise.distance:
        return None
    promise: Guarantee = audit.proof.promise
    written = changed(promise, epsilon=written_number(promise.epsilon))
    return written if audit.proof.holds and audit.proof.as_written.within(written) else promise


def wave_of(mechanism: Mechanism) -> EarlierWave:
    """Return the wave that a mechanism file is, as later ones keep it.

    Raises
    ------
    ParameterError
        For a mechanism without the identity of a survey.
    """
    about = mechanism.about
    if not about.id:
        what = "has no survey identity, so that its reports cannot be told from those of another wave"
        raise ParameterError("wave", what, "build the first wave again, before anybody answers it")
    return EarlierWave(about.id, mechanism.fingerprint, about.wave, promised_guarantee(mechanism))


def next_wave(mechanism: Mechanism, name: str, before: Mechanism) -> Mechanism:
    """Return a mechanism as the wave that follows another one.

    Parameters
    ----------
    mechanism : Mechanism
        Of the new wave, with its texts; its identity, if any, has to be its own.
    name : str
        What the wave is called, such as ``2027``.
    before : Mechanism
        Of the wave before; it knows the waves before it.

    Raises
    ------
    ParameterError
        For a name or an identity that an earlier wave has, or one without an identity.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> first = KaryResponse.of(3, "0.1").described("Mood", id="mood-26")
    >>> second = next_wave(KaryResponse.of(3, "0.1").described("Mood"), "2027", first)
    >>> second.about.wave, [wave.id for wave in second.about.earlier], str(total_of_waves(second))
    ('2027', ['mood-26'], 'epsilon = 0.2, 2 waves')
    """
    if not name.strip():
        raise ParameterError("wave", "has no name", 'give it one, such as "2027"')
    earlier = (*before.about.earlier, wave_of(before))
    for wave in earlier:
        if wave.wave == name:
            what = f"wave '{name}' exists already (id {wave.id})"
            raise ParameterError("wave", what, "give the next wave another name")
        if wave.id == mechanism.about.id:
            what = f"'{wave.id}' is the identity of {wave_words(wave)}"
            raise ParameterError("id", what, "omit it, or give the next wave one of its own")
    return mechanism.with_about(changed(mechanism.about, wave=name, earlier=earlier))


def other_answers(mechanism: Mechanism, before: Mechanism) -> list[str]:
    """Return what two waves offer differently, a clause for each question that both ask.

    Nothing is known of a mechanism whose reports are not drawn in integers, so that nothing is returned.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> now, then = KaryResponse.of(3, 1.0, ["no", "yes", "maybe"]), KaryResponse.of(2, 1.0, ["no", "yes"])
    >>> other_answers(now, then)
    ["the question offers other answers (only now: 'maybe')"]
    """
    now, then = _asked_by_name(mechanism), _asked_by_name(before)
    clauses = (_other_answers(name, now[name], then[name]) for name in now if name in then)
    return [clause for clause in clauses if clause]


KINDS = {AskedChoice: "a choice", AskedNumber: "a number", AskedText: "a text"}
"""What a question asks for."""


def _asked_by_name(mechanism: Mechanism) -> dict[str, Asked]:
    try:
        return {entry.name or "": entry for entry in mechanism.recipe().inputs}
    except MethodError:  # its reports are not drawn in integers
        return {}


def _other_answers(name: str, now: Asked, then: Asked) -> str:
    subject = f"'{name}'" if name else "the question"
    if isinstance(now, AskedNumber) and isinstance(then, AskedNumber):
        if (now.low, now.high) == (then.low, then.high):
            return ""
        return (
            f"{subject} has another range ({now.low:g} to {now.high:g}, before {then.low:g} to {then.high:g})"
        )
    if not (isinstance(now, AskedChoice) and isinstance(then, AskedChoice)):
        first, second = (
            next(word for kind, word in KINDS.items() if isinstance(entry, kind)) for entry in (now, then)
        )
        return "" if first == second else f"{subject} asks for {first}, before for {second}"
    sides = [
        f"{when}: {_listed([label for label in own if label not in other])}"
        for when, own, other in (
            ("only now", _answers(now), _answers(then)),
            ("only before", _answers(then), _answers(now)),
        )
        if set(own) - set(other)
    ]
    return f"{subject} offers other answers ({'; '.join(sides)})" if sides else ""


def _answers(entry: AskedChoice) -> Sequence[str]:
    return entry.labels or [str(code) for code in range(entry.size)]


def _listed(answers: Sequence[str]) -> str:
    """Return answers in quotes, the first few by name."""
    more = f" and {len(answers) - MOST_LONE} more" if len(answers) > MOST_LONE else ""
    return ", ".join(f"'{answer}'" for answer in answers[:MOST_LONE]) + more


def wave_words(wave: EarlierWave) -> str:
    """Return what a wave is called in a sentence."""
    return f"wave {wave.wave}" if wave.wave else "an earlier wave"


def total_of_waves(mechanism: Mechanism) -> Guarantee | None:
    """Return the guarantee of a person who takes part in this wave and in all before it, exactly.

    None where one of them has no such number, or where they are of different kinds.
    """
    parts = [wave.guarantee for wave in mechanism.about.earlier] + [promised_guarantee(mechanism)]
    return _total([part for part in parts if part is not None]) if None not in parts else None


def _total(parts: Sequence[Guarantee]) -> Guarantee | None:
    try:
        return Guarantee.total(parts, covers=parts[0].covers if len(parts) == 1 else f"{len(parts)} waves")
    except ParameterError:  # guarantees of different kinds have no sum
        return None


LEVEL = 0.95
"""The level of intervals where none is named."""

MOST_LONE = 4
"""Answers that only some waves have, which are named at most."""


def _rows(result: Any, level: float) -> dict[tuple[str, str], Row]:
    """Return the estimates of a result by question and category; those without numbers are left out."""
    columns: Mapping[str, Sequence[Any]] = result.tidy(level)
    names = zip(columns["question"], columns["category"], strict=True)
    numbers = zip(*(columns[key] for key in ("estimate", "standard_error", "low", "high")), strict=True)
    return {
        (str(question or ""), str(category)): (float(row[0]), float(row[1]), float(row[2]), float(row[3]))
        for (question, category), row in zip(names, numbers, strict=True)
        if all(isinstance(entry, (int, float)) and math.isfinite(entry) for entry in row)
    }


@dataclass(frozen=True)
class WaveEstimates(Tidy):
    """The results of several waves, their changes, and what taking part in all of them gives away.

    Attributes
    ----------
    names : tuple of str
        What the waves are called, the first one first.
    results : tuple
        Their results, each with :meth:`~mechdesign.data.tidy.Tidy.tidy`.
    guarantees : tuple of Guarantee or None
        Of one report of each.
    population : bool
        Whether the estimates are of a population that the users were drawn from.
    """

    names: tuple[str, ...]
    results: tuple[Any, ...]
    guarantees: tuple[Guarantee | None, ...]
    population: bool = False

    def changes(self, level: float = 0.95) -> list[tuple[str, str, list[Change]]]:
        """Return the changes from each wave to the next, then from the first to the last, with both names."""
        rows = [_rows(result, level) for result in self.results]
        pairs = [(place - 1, place) for place in range(1, len(rows))]
        if len(rows) > 2:
            pairs.append((0, len(rows) - 1))
        return [
            (
                self.names[first],
                self.names[second],
                [
                    change_between(*key, rows[first][key], rows[second][key])
                    for key in rows[first]
                    if key in rows[second]
                ],
            )
            for first, second in pairs
        ]

    @property
    def total(self) -> Guarantee | None:
        """The guarantee of each person who took part in all waves, exactly; None where there is no sum."""
        parts = [part for part in self.guarantees if part is not None]
        return _total(parts) if len(parts) == len(self.guarantees) else None

    @cached_property
    def privacy(self) -> str:
        """What each person who took part in all of them has given away, in words."""
        who = "both" if len(self.names) == 2 else f"all {len(self.names)} waves"
        total = self.total
        if total is None:
            return f"each person who took part in {who} has given away what these reports do together"
        return f"each person who took part in {who} has a total of {sum_text(self.guarantees, total)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the intervals of changes assume."""
        text = "changes are of those who took part; the noise of two waves is independent, whoever took part"
        if self.population:
            text = f"the intervals of changes are for {INDEPENDENT}"
        by_chance = "of estimates that did not change, about 1 in 20 has an interval without 0, by chance"
        return text, by_chance, *self._lone_answers()

    def _lone_answers(self) -> list[str]:
        """Return a note for each question of several waves whose answers are not the same in all of them."""
        answers: dict[str, list[set[str]]] = {}
        for result in self.results:
            own: dict[str, set[str]] = {}
            for question, category in _rows(result, LEVEL):
                own.setdefault(question, set()).add(category)
            for question, categories in own.items():
                answers.setdefault(question, []).append(categories)
        notes = []
        for question, sets in answers.items():
            first, *later = sets
            lone = sorted(first.union(*later) - first.intersection(*later))
            if lone:
                subject = f"'{question}' offers" if question else "the question offers"
                what = f"other answers in some waves ({_listed(lone)})"
                notes.append(f"{subject} {what}: people had other choices")
        return notes

    def tidy(self, level: float = 0.95) -> Columns:
        """Return all estimates and changes as columns, with the wave of each."""
        columns: dict[str, list[Any]] = {name: [] for name in (*_TIDY, "wave")}
        for name, result in zip(self.names, self.results, strict=True):
            for (question, category), row in _rows(result, level).items():
                _append(columns, (question, category, *row, name))
        for first, second, changes in self.changes(level):
            for one in changes:
                numbers = (one.value, one.standard_error, one.low, one.high)
                _append(columns, (one.question, one.category, *numbers, f"{first} to {second}"))
        return columns

    def figures(self) -> list[Figure]:
        """Return the changes with their intervals, a picture for each pair of waves and each question."""
        from mechdesign.show.panels import interval_figures

        result = []
        for first, second, changes in self.changes():
            for question in dict.fromkeys(one.question for one in changes):
                own = [one for one in changes if one.question == question]
                ends = [one.low for one in own], [one.high for one in own]
                title = f"{question + ': ' if question else ''}change from {first} to {second}"
                names = [one.category for one in own]
                result += interval_figures(title, names, [one.value for one in own], ends, "answer", "change")
        return result

    def as_json(self) -> dict[str, Any]:
        """Return results, changes and total as plain values."""
        total = self.total
        return {
            "waves": [
                {"wave": name, "result": encode(result)}
                for name, result in zip(self.names, self.results, strict=True)
            ],
            "changes": [
                {"from": first, "to": second, "changes": [vars(one) for one in changes]}
                for first, second, changes in self.changes()
            ],
            "total": None if total is None else total.as_json(),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        parts = [f"wave {name}\n{result}" for name, result in zip(self.names, self.results, strict=True)]
        for first, second, changes in self.changes():
            header = ["question", "category", "change", "std error", "95% low", "95% high", ""]
            rows = [_change_row(one) for one in changes]
            parts.append(f"change from {first} to {second}\n{table(header, rows)}")
        return "\n\n".join([*parts, "\n".join([self.privacy, *(f"note: {note}" for note in self.notes)])])


_TIDY = ("question", "category", "estimate", "standard_error", "low", "high")


def _append(columns: dict[str, list[Any]], row: Sequence[Any]) -> None:
    for name, value in zip(columns, row, strict=True):
        columns[name].append(value)


def _change_row(one: Change) -> list[str]:
    digits = decimals_of(one.standard_error)
    numbers = (one.value, one.standard_error, one.low, one.high)
    texts = [f"{number:+.{max(0, digits or 0)}f}" for number in numbers]
    texts[1] = texts[1].removeprefix("+")
    return [one.question, one.category, *texts, "clear" if one.is_clear else ""]


def sum_text(parts: Sequence[Guarantee | None], total: Guarantee) -> str:
    """Return a sum of guarantees in words.

    Examples
    --------
    >>> parts = [Guarantee(4), Guarantee(4)]
    >>> sum_text(parts, Guarantee.total(parts))
    'epsilon = 4 + 4 = 8'
    """
    stated = [short_epsilon(part.epsilon) for part in parts if part is not None]
    terms = " + ".join(stated) if len(stated) <= MOST_TERMS else f"the sum of {len(stated)} waves"
    delta = f", delta = {probability_text(total.delta)}" if total.delta else ""
    return f"epsilon = {terms} = {short_epsilon(total.epsilon)}{delta}"


def short_epsilon(value: Fraction) -> str:
    """Return an epsilon as a short text: exactly, or to six digits rounded up.

    Examples
    --------
    >>> short_epsilon(Fraction(8)), short_epsilon(Fraction("0.3")), short_epsilon(Fraction(2, 3))
    ('8', '0.3', '0.666667')
    """
    exact = exact_text(value)
    if len(exact) <= SHORT and "/" not in exact:
        return exact
    with localcontext(Context(prec=6, rounding=ROUND_CEILING)):
        return f"{(Decimal(value.numerator) / Decimal(value.denominator)).normalize():f}"


def order_of_waves(mechanisms: Sequence[Mechanism]) -> list[int]:
    """Return the places of waves of one survey, the first wave first.

    Raises
    ------
    ParameterError
        For fewer than two, for one survey twice, or for surveys that are not waves of one.
    """
    if len(mechanisms) < 2:
        raise ParameterError("waves", f"{counted(len(mechanisms), 'wave')}", "give two or more")
    order = sorted(range(len(mechanisms)), key=lambda place: len(mechanisms[place].about.earlier))
    last = mechanisms[order[-1]].about
    known = [wave.id for wave in last.earlier]
    identities = [mechanisms[place].about.id for place in order]
    for place, identity in zip(order[:-1], identities, strict=False):
        if identity == last.id or identities.count(identity) > 1:
            raise ParameterError("waves", f"{mechanisms[place].about.survey} is there twice", "name it once")
        if not identity or identity not in known:
            what = f"{mechanisms[place].about.survey} is not an earlier wave of {last.survey}"
            remedy = "estimate each alone, or build waves with " + option("wave")
            raise ParameterError("waves", what, remedy)
    return order


def wave_estimates(
    mechanisms: Sequence[Mechanism], results: Sequence[Any], population: bool = False
) -> WaveEstimates:
    """Return the results of waves of one survey together.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        In any order: each knows the waves before it.
    results : sequence of estimates
    population : bool

    Raises
    ------
    ParameterError
        See :func:`order_of_waves`.
    """
    order = order_of_waves(mechanisms)
    return WaveEstimates(
        tuple(mechanisms[place].about.wave or f"id {mechanisms[place].about.id}" for place in order),
        tuple(results[place] for place in order),
        tuple(promised_guarantee(mechanisms[place]) for place in order),
        population,
    )
