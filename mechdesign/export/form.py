"""The questions of a page, in the order in which they are shown, with their texts in the page's language.

A block is what a respondent sees as one question: one input of the client, or several yes-or-no inputs that
are the ticks of one question.

A page says how likely it is that a report says nothing at all about a question: exactly, from the steps of
the client. A client of several questions draws which of them to report before it reads the answers. What it
does not draw is not in the report: neither the answer nor anything computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.collect.kernel import AskedNumber, AskedText, Recipe
from mechdesign.core.values import changed
from mechdesign.data.about import About, QuestionText
from mechdesign.exact.randomness import TOTAL
from mechdesign.export.clients import ExportSettings
from mechdesign.export.texts import LANGUAGES, Texts, texts_of
from mechdesign.families.marginals.weeks.numbers import AskedBin
from mechdesign.families.survey.bins import Bin, bins_of
from mechdesign.families.survey.questions import Question
from mechdesign.show.tables import edge_texts

HEX = 16
"""Digits of an integer in a row of integers."""


def silences(recipe: Recipe, groups: Sequence[Sequence[int]] = ()) -> tuple[Fraction, ...]:
    """Return for each question the probability that nothing about it is sent; 0 where something always is.

    Of questions that are sampled it is that of uniform integers, of which the drawn ones differ by 2**-58.

    Parameters
    ----------
    recipe : Recipe
    groups : sequence of sequences of int, optional
        The inputs of each question; by default each input is one. About a question nothing is sent where
        none of its inputs is drawn.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> questions = [Question(name, labels=("no", "yes")) for name in ("a", "b", "c")]
    >>> recipe = SurveyMechanism.of(questions, 1.0, shares=[1, 1, 2]).recipe()
    >>> silences(recipe), silences(recipe, [(0, 1), (2,)])
    ((Fraction(3, 4), Fraction(3, 4), Fraction(1, 2)), (Fraction(1, 2), Fraction(1, 2)))
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> silences(KaryResponse.of(3, 1.0).recipe())
    (Fraction(0, 1),)
    """
    steps, count = recipe.steps, len(recipe.inputs)
    blocks = [set(group) for group in groups or [(place,) for place in range(count)]]
    if steps["step"] == "sample":
        size = steps["per_user"]
        return tuple(Fraction(comb(count - len(block), size), comb(count, size)) for block in blocks)
    if steps["step"] == "survey":
        reported = [{place for part in design for place in part["questions"]} for design in steps["designs"]]
    elif steps["step"] == "view":
        reported = [set(view) for view in steps["views"]]
    else:
        return (Fraction(0),) * len(blocks)
    weights = _weights(steps["ends"])
    return tuple(
        Fraction(
            sum(weight for weight, places in zip(weights, reported, strict=True) if not places & block), TOTAL
        )
        for block in blocks
    )


def _weights(ends: str) -> Sequence[int]:
    """Return the weights out of 2**62 whose increasing sums are a row of integers."""
    sums = [int(ends[start : start + HEX], HEX) for start in range(0, len(ends), HEX)]
    return [high - low for low, high in zip([0, *sums], sums, strict=False)]


def silence_percent(probability: Fraction) -> str:
    """Return a probability in percent, rounded down to one digit; empty below 0.1%.

    Examples
    --------
    >>> silence_percent(Fraction(3, 4)), silence_percent(Fraction(2, 3)), silence_percent(Fraction(1, 10**6))
    ('75', '66.6', '')
    """
    whole, tenth = divmod(1000 * probability.numerator // probability.denominator, 10)
    return "" if whole == tenth == 0 else f"{whole}.{tenth}".removesuffix(".0")


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


@dataclass(frozen=True)
class PageTexts:
    """The texts of a page: what the survey says, in the page's language, and the sentences around it.

    Attributes
    ----------
    words : Texts
        The sentences of the page.
    about : About
        The texts of the survey, in the language of the page where it has them.
    language : str
        The language of the survey's texts where that is known and not the page's; else empty.
    """

    words: Texts
    about: About
    language: str = ""

    @property
    def title(self) -> str:
        """The heading of the page."""
        return self.about.title or self.words.say("page.title")


def page_texts(mechanism: Mechanism, settings: ExportSettings) -> PageTexts:
    """Return the texts of a page: title and question of the settings come before those of the survey.

    The language is that of the settings, else that of the survey where it is shipped, else English.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> mechanism = KaryResponse.of(2, 1.0).with_about(About("Umfrage", language="de-AT"))
    >>> page_texts(mechanism, ExportSettings()).words.code
    'de'
    """
    about = mechanism.about
    shipped = about.language.split("-")[0]
    words = settings.words
    if settings.texts is None and not settings.language and shipped in LANGUAGES:
        words = texts_of(shipped)
    language = _closest(words.code, about.languages)
    about = about.in_language(language) if language is not None else about
    stated = {name: text for name in ("title", "question") if (text := getattr(settings, name))}
    other = about.language if language is None else ""
    return PageTexts(words, changed(about, **stated), other)


def _closest(code: str, languages: Sequence[str]) -> str | None:
    """Return which of some languages is that of a page; None where none is.

    Examples
    --------
    >>> _closest("de", ["en", "de-CH"]), _closest("zh-Hans", ["zh"]), _closest("de", ["fr"])
    ('de-CH', 'zh', None)
    """
    if code in languages:
        return code
    return next((each for each in languages if each and each.split("-")[0] == code.split("-")[0]), None)


def blocks_of(mechanism: Mechanism, texts: PageTexts) -> list[Block]:
    """Return the questions of a page: in the order of the survey's texts, then those without texts.

    Examples
    --------
    >>> from mechdesign.data.about import QuestionText
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> listed = [Question("a", labels=("no", "yes")), Question("b", "number", low=0, high=9)]
    >>> about = About(questions=[QuestionText("b", "How many?")])
    >>> survey = SurveyMechanism.of(listed, 1.0).with_about(about)
    >>> [(block.places, block.text) for block in blocks_of(survey, page_texts(survey, ExportSettings()))]
    [((1,), 'How many?'), ((0,), 'a')]
    """
    recipe, groups = mechanism.recipe(), _groups(mechanism, texts.about)
    questions = getattr(mechanism, "questions", None)
    silent = _silent(mechanism, texts.about)
    result = []
    for (text, places), percent in zip(groups, silent, strict=True):
        question = None if questions is None else questions[places[0]]
        entry = recipe.inputs[places[0]]
        result.append(
            Block(
                places,
                _question(recipe, texts.about, text, entry.name or ""),
                text.hint,
                _silence(percent, "nothing_one", texts.words) if len(set(silent)) > 1 else "",
                _ticks(recipe, text, places) if text.parts else _labels(entry, question, text, texts.words),
                bool(getattr(question, "skip", False)),
                bool(text.parts),
            )
        )
    return result


def _groups(mechanism: Mechanism, about: About) -> list[tuple[QuestionText, tuple[int, ...]]]:
    """Return the words of each question, in the order of the page, with the client's inputs for it."""
    names = [entry.name or "" for entry in mechanism.recipe().inputs]
    stated = [
        (one, tuple(names.index(name) for name in one.columns if name in names)) for one in about.questions
    ]
    listed = {place for _, places in stated for place in places}
    alone = [
        (QuestionText(name or "answer"), (place,)) for place, name in enumerate(names) if place not in listed
    ]
    return [*((text, places) for text, places in stated if places), *alone]


def _silent(mechanism: Mechanism, about: About) -> list[str]:
    """Return for each question the probability in percent that nothing about it is sent."""
    groups = [places for _, places in _groups(mechanism, about)]
    return [silence_percent(each) for each in silences(mechanism.recipe(), groups)]


def _question(recipe: Recipe, about: About, text: QuestionText, name: str) -> str:
    """Return the question that a respondent reads."""
    single = about.question if len(recipe.inputs) == 1 else ""
    return text.text or single or (text.name if text.parts else name)


def silence_of_all(mechanism: Mechanism, texts: PageTexts) -> str:
    r"""Return the sentence about the probability that nothing is sent where it is that of every question.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> survey = SurveyMechanism.of([Question(name, labels=("no", "yes")) for name in "abc"], 1.0)
    >>> silence_of_all(survey, page_texts(survey, ExportSettings(language="de")))
    'Für jede Frage gilt: Mit einer Wahrscheinlichkeit von 66,6\xa0% wird zu ihr überhaupt nichts gesendet.'
    """
    silent = set(_silent(mechanism, texts.about))
    return _silence(silent.pop(), "nothing_each", texts.words) if len(silent) == 1 else ""


def _silence(percent: str, key: str, words: Texts) -> str:
    return words.say(f"sent.{key}", percent=words.percent(percent)) if percent else ""


def _ticks(recipe: Recipe, text: QuestionText, places: Sequence[int]) -> tuple[str, ...]:
    """Return what can be ticked: the labels of the question, or else the ends of the names of its parts."""
    if len(text.labels) == len(places):
        return text.labels
    return tuple((recipe.inputs[place].name or "").removeprefix(f"{text.name}: ") for place in places)


def _labels(
    entry: Any, question: Question | None, text: QuestionText, words: Texts
) -> tuple[str, ...] | None:
    """Return what the answers to a question are called; None for the names that the client has."""
    if isinstance(entry, AskedBin):
        return edge_names(entry.edges, words)
    if isinstance(entry, AskedNumber | AskedText):
        return None
    names = _answers(entry, question, text, words)
    if text.ends:
        places = 0, len(names) - 1 - (question is not None and question.skip)
        for place, label in zip(places, text.ends, strict=True):
            names[place] = words.say("form.end", answer=names[place], label=label)
    return None if tuple(names) == _names_of(entry) else tuple(names)


def _names_of(entry: Any) -> tuple[str, ...]:
    """Return what the client calls the answers of an input, which is what results call them."""
    return tuple(entry.labels or map(str, range(entry.size)))


def _answers(entry: Any, question: Question | None, text: QuestionText, words: Texts) -> list[str]:
    """Return what the answers of an input are called in a language, without the words of the ends."""
    own = _names_of(entry)
    skipped = question is not None and question.skip
    names: Sequence[str] = own[:-1] if skipped else own
    if question is not None and question.bins:
        names = bin_names(question, words)
    if len(text.labels) == len(names):
        names = text.labels
    return [*names, words.say("form.skip")] if skipped else list(names)


def answer_names(mechanism: Mechanism, texts: PageTexts) -> dict[str, dict[str, str]]:
    """Return what a page calls the answers to each question, by the names that results have.

    The words for the ends of a scale are not part of them. Ticks are not among them: results have the items.

    Examples
    --------
    >>> from mechdesign.families.survey import SurveyMechanism
    >>> age = Question("age", "number", low=18, high=90, bins=(18, 30, 90), skip=True)
    >>> survey = SurveyMechanism.of([age, Question("b", labels=("no", "yes"))], 1.0)
    >>> answer_names(survey, page_texts(survey, ExportSettings(language="de")))["age"]
    {'18 to 29': '18 bis 29', '30 to 90': '30 bis 90', 'no answer': 'keine Angabe'}
    """
    recipe, questions = mechanism.recipe(), getattr(mechanism, "questions", None)
    result = {}
    for text, places in _groups(mechanism, texts.about):
        entry = recipe.inputs[places[0]]
        question = None if questions is None else questions[places[0]]
        if text.parts or isinstance(entry, AskedText):
            continue
        if isinstance(entry, AskedNumber):
            last = question.categories[-1:] if question is not None and question.skip else ()
            result[entry.name or ""] = dict.fromkeys(last, texts.words.say("form.skip"))
            continue
        names = _answers(entry, question, text, texts.words)
        result[entry.name or ""] = dict(zip(_names_of(entry), names, strict=True))
    return result


def edge_names(edges: Sequence[float], words: Texts) -> tuple[str, ...]:
    """Return the names of the bins between edges in a language.

    Examples
    --------
    >>> edge_names((0.0, 2.5, 9.0), texts_of("fr"))
    ('de 0 à moins de 2,5', 'de 2,5 à 9')
    """
    texts = [words.number(text) for text in edge_texts(edges)]
    last = len(texts) - 2
    return tuple(
        words.say("bins.between" if place == last else "bins.half_open", low=low, high=high)
        for place, (low, high) in enumerate(pairwise(texts))
    )


def bin_names(question: Question, words: Texts) -> tuple[str, ...]:
    """Return the names of a question's bins in a language.

    Examples
    --------
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
