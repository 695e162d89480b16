"""The phrases of results in words, in the languages of the pages that people read together."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from mechdesign.core.errors import printable

ISOLATED = "\u2068{}\u2069"
"""A text whose direction of writing does not turn that of its sentence."""


def name_text(text: object) -> str:
    """Return the name of an answer for a sentence: printable, and isolated where it is written right to left.

    Without that, the numbers next to it would stand at its other side, as those of another answer.

    Examples
    --------
    >>> name_text("yes"), name_text("\u05db\u05df") == "\u2068\u05db\u05df\u2069"
    ('yes', True)
    """
    name = printable(text)
    is_turned = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in name)
    return ISOLATED.format(name) if is_turned else name


@dataclass(frozen=True)
class Phrases:
    """Sentences about estimates, with places for what they are about.

    Attributes
    ----------
    code : str
        Tag of the language.
    decimal : str
        What stands before decimals.
    percent : str
        What stands behind a percentage.
    answered, other : str
        An answer with its share: the most frequent one, and the next ones.
    of_answered : str
        What holds for those who answered; after a comma it begins with a small letter.
    mean, mean_on_scale, means : str
    median, interval, interval_of_words : str
    between : str
        What stands between the ends of a class of numbers.
    ticked : str
    group : str
        The most frequent answer of a group.
    clear_changes, no_change, no_change_of_mean, more_changes : str
        Of a question between two waves.
    up, down : str
        A clear change.
    points, of_mean, answer, table_of_changes, among : str
        The unit of changes of percentages, their subject (the mean, or an answer), the caption of tables,
        and that they hold for those who answered.
    """

    code: str = "en"
    decimal: str = "."
    percent: str = "%"
    answered: str = "{share} answered “{answer}”"
    other: str = "{share} “{answer}”"
    of_answered: str = "Of those who answered, {words}"
    mean: str = "The mean is {value}."
    mean_on_scale: str = "The mean is {value} on the scale from {low} to {high}."
    means: str = "Means: {values}."
    median: str = "The median is {value}{interval}."
    interval: str = " (95% interval: {low} to {high})"
    interval_of_words: str = " (95% interval: from “{low}” up to “{high}”)"
    between: str = " to "
    ticked: str = "Most often ticked: {answers}."
    group: str = "of {group}, {answer}"
    clear_changes: str = "From {first} to {second}{among}: {changes}{more}."
    no_change: str = "No clear change from {first} to {second}."
    no_change_of_mean: str = "No clear change of the mean from {first} to {second}."
    more_changes: str = ", and {count} more"
    up: str = "{subject} up by {size}"
    down: str = "{subject} down by {size}"
    points: str = " points"
    of_mean: str = "the mean"
    answer: str = "“{answer}”"
    table_of_changes: str = "change from {first} to {second}"
    among: str = ", of those who answered"

    def number(self, text: str) -> str:
        """Return a number as the language writes it, with a margin of error or without.

        Examples
        --------
        >>> GERMAN.number("27.1% ±6.2")
        '27,1 % ±6,2'
        """
        return text.replace(".", self.decimal).replace("%", self.percent)

    def among_answered(self, words: str) -> str:
        """Return a sentence that holds for those who answered."""
        clause = f"{words[0].lower()}{words[1:]}" if ", {" in self.of_answered else words
        return self.of_answered.format(words=clause)

    def sentence(self, parts: Sequence[str]) -> str:
        """Return clauses as a sentence that begins with a capital."""
        text = "; ".join(parts)
        return f"{text[:1].upper()}{text[1:]}."


ENGLISH = Phrases()

GERMAN = Phrases(
    code="de",
    decimal=",",
    percent=" %",
    answered="{share} antworteten „{answer}“",
    other="{share} „{answer}“",
    of_answered="Von denen, die geantwortet haben: {words}",
    mean="Das Mittel ist {value}.",
    mean_on_scale="Das Mittel ist {value} auf der Skala von {low} bis {high}.",
    means="Mittel: {values}.",
    median="Der Median ist {value}{interval}.",
    interval=" (95-%-Intervall: {low} bis {high})",
    interval_of_words=" (95-%-Intervall: von „{low}“ bis „{high}“)",
    between=" bis ",
    ticked="Am häufigsten angekreuzt: {answers}.",
    group="von {group}: {answer}",
    clear_changes="Von {first} bis {second}{among}: {changes}{more}.",
    no_change="Keine deutliche Änderung von {first} bis {second}.",
    no_change_of_mean="Keine deutliche Änderung des Mittels von {first} bis {second}.",
    more_changes=" und {count} weitere",
    up="{subject} um {size} gestiegen",
    down="{subject} um {size} gesunken",
    points=" Punkte",
    of_mean="das Mittel",
    answer="„{answer}“",
    table_of_changes="Änderung von {first} bis {second}",
    among=", von denen, die geantwortet haben",
)

LANGUAGES = {phrases.code: phrases for phrases in (ENGLISH, GERMAN)}
