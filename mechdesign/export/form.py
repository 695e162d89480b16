"""The questions of a page, in the order in which they are shown, with their texts in the page's language.

A block is what a respondent sees as one question: one input of the client, or several yes-or-no inputs that
are the ticks of one question.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.export.clients import ExportSettings
from mechdesign.export.silence import silence_percent, silences
from mechdesign.export.texts import Texts
from mechdesign.families.survey.questions import Bin, Question, bins_of


@dataclass(frozen=True)
class Block:
    """One question as a respondent sees it.

    Attributes
    ----------
    places : tuple of int
        The inputs of the client that it fills.
    text : str
        The question; empty where the page has the words "Your answer".
    hint : str
    silence : str
        The sentence about the probability that nothing about it is sent; empty where there is none, or where
        one sentence is for all questions.
    labels : tuple of str or None
        What the answers are called where that differs from what the client calls them; of ticks, the items.
    skip : bool
        Whether no answer is an answer.
    several : bool
        Whether it is a block of ticks.
    """

    places: tuple[int, ...]
    text: str = ""
    hint: str = ""
    silence: str = ""
    labels: tuple[str, ...] | None = None
    skip: bool = False
    several: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return what is not empty as plain values."""
        return {name: value for name, value in vars(self).items() if value}


def blocks_of(mechanism: Mechanism, settings: ExportSettings) -> list[Block]:
    """Return the questions of a page.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> survey = SurveyMechanism.of([Question("a", labels=("no", "yes")), Question("b", "number", low=0, high=9)], 1.0)
    >>> [(block.places, block.text) for block in blocks_of(survey, ExportSettings())]
    [((0,), 'a'), ((1,), 'b')]
    """
    words = settings.words
    recipe = mechanism.recipe()
    questions = getattr(mechanism, "questions", None)
    silent = [silence_percent(each) for each in silences(recipe)]
    own = len(set(silent)) > 1
    result = []
    for place, asked in enumerate(recipe.inputs):
        question = None if questions is None else questions[place]
        result.append(
            Block(
                (place,),
                (settings.question if recipe.single else "") or asked.name or "",
                silence=_silence(silent[place], "nothing_one", words) if own else "",
                labels=None if question is None else _labels(question, words),
                skip=bool(getattr(question, "skip", False)),
            )
        )
    return result


def silence_of_all(mechanism: Mechanism, words: Texts) -> str:
    """Return the sentence about the probability that nothing is sent where it is that of every question.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> from mechdesign.export.texts import texts_of
    >>> survey = SurveyMechanism.of([Question(name, labels=("no", "yes")) for name in "abc"], 1.0)
    >>> silence_of_all(survey, texts_of("de"))
    'Für jede Frage gilt: Mit einer Wahrscheinlichkeit von 66,6\\xa0% wird zu ihr überhaupt nichts gesendet.'
    """
    silent = {silence_percent(each) for each in silences(mechanism.recipe())}
    return _silence(silent.pop(), "nothing_each", words) if len(silent) == 1 else ""


def _silence(percent: str, key: str, words: Texts) -> str:
    return words.say(f"sent.{key}", percent=words.percent(percent)) if percent else ""


def bin_names(question: Question, words: Texts) -> tuple[str, ...]:
    """Return the names of a question's bins in a language.

    Examples
    --------
    >>> from mechdesign.families.survey import Question
    >>> from mechdesign.export.texts import texts_of
    >>> bin_names(Question("age", "number", low=0, high=9, bins=(0, 2.5, 9)), texts_of("fr"))
    ('de 0 à moins de 2,5', 'de 2,5 à 9')
    """
    named = bins_of(question.bins, question.open_ends)
    return tuple(
        words.number(item.low)
        if item.kind == "single"
        else words.say(f"bins.{item.kind}", **_ends_of(item, words))
        for item in named
    )


def _ends_of(item: Bin, words: Texts) -> dict[str, str]:
    """Return the ends that the sentence of a bin names."""
    ends = {"low": words.number(item.low), "high": words.number(item.high)}
    return {"below": {"high": ends["high"]}, "above": {"low": ends["low"]}}.get(item.kind, ends)


def _labels(question: Any, words: Texts) -> tuple[str, ...] | None:
    """Return what the answers to a question of a survey are called; None for those of the mechanism."""
    if question.is_mean:
        return None
    names = bin_names(question, words) if question.bins else question.labels
    labels = (*names, words.say("form.skip")) if question.skip else tuple(names)
    return None if labels == question.categories else labels
