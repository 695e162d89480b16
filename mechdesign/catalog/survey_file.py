"""A survey stated at the top level of a TOML file: ``[survey]`` and ``[[questions]]``.

It is a shorthand for a model of the problem ``survey-design``, with the texts that respondents read. A single
question becomes the problem that designs the best report of one: ``frequency-oracle`` for a choice,
``mean-channel`` for a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from mechdesign.catalog.shipped import check_keys
from mechdesign.core.errors import (
    MechDesignError,
    ModelFileError,
    ParameterError,
    UnknownNameError,
    suggestion,
)
from mechdesign.core.fields import toml_text
from mechdesign.core.values import changed
from mechdesign.data.about import About, QuestionText
from mechdesign.data.data_settings import DATA_KEYS, DataSettings
from mechdesign.data.intake import MISSING
from mechdesign.exact.numbers import text_of
from mechdesign.show.tables import table

TEXTS = ("title", "introduction", "thanks", "contact")
OF_SURVEY = ("id", "language", "wave", "users")
DESIGN = ("epsilon", "tables", "group_means", "goal")
SURVEY_KEYS = (*TEXTS, *OF_SURVEY, *DESIGN, "translations")
"""What the table ``[survey]`` states."""

WORDS = ("text", "hint", "ends")
"""The words of a question; the rest of a table ``[[questions]]`` is how it is asked."""

TRANSLATION_KEYS = (*TEXTS, "questions")
TRANSLATED = ("text", "hint", "ends", "labels")

SEVERAL = "several"
"""The kind of a question with several answers: a yes/no question in the mechanism for each."""

NO_YES = ("no", "yes")

CHOICE_KEYS = {"name", "kind", "labels"}
NUMBER_KEYS = {"name", "kind", "range"}
"""A single question with nothing but these is designed by the problem for one."""


class SurveyStatement(NamedTuple):
    """What a survey file states.

    Attributes
    ----------
    problem : str
        The name of the design problem.
    parameters : dict
        Its parameters.
    about : About
        The texts, and what keeps the survey apart.
    data : DataSettings
        The columns of users' data, where it is one question.
    """

    problem: str
    parameters: dict[str, Any]
    about: About
    data: DataSettings


def survey_statement(path: Path, document: Mapping[str, Any]) -> SurveyStatement:
    """Return what the tables ``[survey]`` and ``[[questions]]`` of a file state.

    Raises
    ------
    UnknownNameError
        For an unknown key, with a suggestion.
    ModelFileError
        For a text or a table that cannot be, and where the same is stated in ``[model]``.
    """
    for name in ("model", "parameters"):
        if name in document:
            remedy = (
                "state everything under [survey] and [[questions]], or all under [model] and [parameters]"
            )
            raise ModelFileError(path, f"has both [survey] or [[questions]] and [{name}]", remedy)
    head, entries = _head(path, document), _entries(path, document)
    designs = [design for entry in entries for design in _designed(path, entry)]
    about = _about(path, head, entries)
    problem, parameters = _problem(head, designs)
    data = DataSettings()
    if problem != "survey-design":
        table = {"columns": [designs[0]["name"]]}
        if problem == "mean-channel":
            table["range"] = [designs[0]["range"]]
        data = _located(path, f"question {text_of(designs[0]['name'])}", partial(DataSettings.of, table))
    return SurveyStatement(problem, parameters, about, _with_data(path, data, document))


def _head(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    head = document.get("survey")
    if head is None:
        raise ModelFileError(
            f"{path}: [survey]", "is missing", 'write [survey], title = "..." and epsilon = 1.0'
        )
    if not isinstance(head, dict):
        raise ModelFileError(f"{path}: survey", "is not one table", "write [survey]")
    check_keys(path, "survey", head, SURVEY_KEYS)
    if not isinstance(head.get("title"), str) or not head["title"].strip():
        raise ModelFileError(f"{path}: [survey] title", "is missing or not a string", "give one")
    if "epsilon" not in head:
        remedy = "write for instance epsilon = 1.0: it covers all questions of a respondent together"
        raise ModelFileError(f"{path}: [survey] epsilon", "is missing", remedy)
    return head


def _entries(path: Path, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    entries = document.get("questions")
    if not isinstance(entries, list) or not entries or not all(isinstance(item, dict) for item in entries):
        what = "are missing" if entries is None else "are not a list of tables"
        raise ModelFileError(
            f"{path}: questions", what, "write [[questions]] before each, with double brackets"
        )
    return entries


def _designed(path: Path, entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return how a question is asked: itself, or a yes/no question for each of several answers."""
    from mechdesign.families.survey.design import EXTRA
    from mechdesign.families.survey.questions import KEYS, KINDS, Question

    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ModelFileError(f"{path}: [[questions]]", "one has no name", 'give it a name: name = "age"')
    where = f"question {text_of(name)}"
    for key in entry:
        if key not in (*KEYS, *EXTRA, *WORDS):
            known = (*KEYS, *EXTRA, *WORDS)
            remedy = "write text = ..." if key == "question" else suggestion(str(key), known)
            raise ModelFileError(f"{path}: {where}", f"no key '{key}'", remedy)
    kind = entry.get("kind")
    if kind is not None and kind not in (*KINDS, SEVERAL):
        hint = suggestion(str(kind), (*KINDS, SEVERAL))
        raise ModelFileError(f"{path}: {where}: kind", f"no {text_of(kind)}", hint)
    rest = {key: value for key, value in entry.items() if key not in WORDS}
    designs = [rest]
    if kind == SEVERAL:
        ticks = tick_names(f"{path}: {where}", entry)
        designs = [{**rest, "name": tick, "kind": "categorical", "labels": list(NO_YES)} for tick in ticks]
    for design in designs:
        _located(path, "[[questions]]", partial(Question.from_json, design, EXTRA))
    return designs


def tick_names(where: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the yes/no questions of one with several answers; none for another question.

    Examples
    --------
    >>> tick_names("question 'tools'", {"name": "tools", "kind": "several", "labels": ["mail", "chat"]})
    ('tools: mail', 'tools: chat')
    """
    if entry.get("kind") != SEVERAL:
        return ()
    labels = entry.get("labels")
    if not isinstance(labels, list) or not labels or not all(isinstance(each, str) for each in labels):
        raise ModelFileError(f"{where}: labels", "are missing or not texts", "list what can be ticked")
    for label in labels:
        if not label.strip() or labels.count(label) > 1:
            what = f"'{label}' appears twice" if label.strip() else "one is empty"
            raise ModelFileError(f"{where}: labels", what, "list what can be ticked, each once")
    return tuple(f"{entry['name']}: {label}" for label in labels)


def _problem(head: Mapping[str, Any], designs: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return the design problem with its parameters: for one plain question that of one."""
    stated = {key: head[key] for key in (*DESIGN, "users") if key in head}
    alone = designs[0] if len(designs) == 1 and set(stated) <= {"epsilon", "users"} else {}
    kind = alone.get("kind", "number" if "range" in alone else "categorical")
    if (
        alone
        and kind == "categorical"
        and not _is_rating(alone)
        and set(alone) == {*CHOICE_KEYS & set(alone), "labels"}
    ):
        return "frequency-oracle", {"labels": alone["labels"], **stated}
    if alone and kind == "number" and set(alone) == {*NUMBER_KEYS & set(alone), "range"}:
        return "mean-channel", {"epsilon": stated["epsilon"]}
    return "survey-design", {"questions": designs, **stated}


def _is_rating(design: Mapping[str, Any]) -> bool:
    """Whether the labels of a question are a scale of numbers, whose mean is a result as well."""
    from mechdesign.families.survey.questions import Question

    try:
        return bool(Question("rating", labels=design["labels"]).category_scores)
    except (MechDesignError, KeyError, TypeError):  # the design problem says what is wrong
        return False


def _about(path: Path, head: Mapping[str, Any], entries: list[dict[str, Any]]) -> About:
    own = {key: head[key] for key in (*TEXTS, *OF_SURVEY) if key in head}
    _located(path, "[survey]", partial(About, **own))
    translations = _translations(path, head, entries)
    questions = []
    for entry in entries:
        where = f"question {text_of(entry['name'])}"
        words: dict[str, Any] = {key: entry[key] for key in ("name", *WORDS) if key in entry}
        parts = tick_names(f"{path}: {where}", entry)
        if parts:
            words |= {"parts": parts, "labels": entry["labels"]}
        questions.append(_located(path, where, partial(QuestionText, **words)))
    texts = _of_single(questions) if _is_single(entries) else {"questions": questions}
    entries_of_about = {**own, **texts, "translations": tuple(translations)}
    about: About = _located(path, "[survey]", partial(About, **entries_of_about))
    return about


def _is_single(entries: list[dict[str, Any]]) -> bool:
    """Whether respondents answer one question, whose words are the heading of a page."""
    return len(entries) == 1 and entries[0].get("kind") != SEVERAL


def _of_single(questions: list[QuestionText]) -> dict[str, Any]:
    """Return the words of the only question: its text is that of the survey, the rest stands by its name."""
    (question,) = questions
    return {"question": question.text, "questions": [changed(question, text="")]}


def _translations(path: Path, head: Mapping[str, Any], entries: list[dict[str, Any]]) -> list[About]:
    tables = head.get("translations", {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        what = "is not a table of languages"
        raise ModelFileError(f"{path}: [survey] translations", what, "write [survey.translations.de]")
    return [_translation(path, str(language), table, entries) for language, table in tables.items()]


def _translation(path: Path, language: str, table: Mapping[str, Any], entries: list[dict[str, Any]]) -> About:
    where = f"survey.translations.{language}"
    check_keys(path, where, table, TRANSLATION_KEYS)
    stated = table.get("questions", {})
    if not isinstance(stated, dict) or not all(isinstance(words, dict) for words in stated.values()):
        remedy = f"write [{where}.questions.NAME]"
        raise ModelFileError(f"{path}: [{where}] questions", "are not tables by name", remedy)
    names = [entry["name"] for entry in entries]
    questions = []
    for name, words in stated.items():
        place = f"[{where}.questions.{name}]"
        if name not in names:
            raise UnknownNameError(f"{path}: {place}", f"no question '{name}'", suggestion(name, names))
        check_keys(path, f"{where}.questions.{name}", words, TRANSLATED)
        _require_as_many(path, place, words, entries[names.index(name)])
        questions.append(_located(path, place, partial(QuestionText, name=name, **words)))
    texts: dict[str, Any] = {key: table[key] for key in TEXTS if key in table}
    if questions:
        texts |= _of_single(questions) if _is_single(entries) else {"questions": questions}
    about: About = _located(path, f"[{where}]", partial(About, **texts, language=language))
    return about


def _require_as_many(path: Path, where: str, words: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
    """Raise ModelFileError for translated answers that are not as many as those of the question, or alike."""
    own, other = entry.get("labels"), words.get("labels")
    if isinstance(own, list) and isinstance(other, list) and len(own) != len(other):
        what = f"expected {len(own)} texts, one for each of {toml_text(own)}, got {len(other)}"
        raise ModelFileError(f"{path}: {where} labels", what, "translate each answer, in their order")
    texts = [str(label).strip() for label in other] if isinstance(other, list) else []
    again = next((text for text in texts if texts.count(text) > 1), None)
    if again is not None:
        what = f"{toml_text(again)} stands for two answers"
        raise ModelFileError(f"{path}: {where} labels", what, "translations must differ, as answers do")


def _with_data(path: Path, data: DataSettings, document: Mapping[str, Any]) -> DataSettings:
    """Return the settings with those that the table ``[data]`` states, which are not of the questions."""
    table = document.get("data", {})
    if not isinstance(table, dict):
        raise ModelFileError(f"{path}: data", "is not a table", "write [data]")
    check_keys(path, "data", table, DATA_KEYS)
    for key in ("columns", "range"):
        if key in table:
            remedy = f"omit it: the {'names' if key == 'columns' else 'ranges'} of [[questions]] are used"
            raise ModelFileError(f"{path}: [data] {key}", "is stated by the questions", remedy)
    settings: DataSettings = _located(path, "[data]", partial(data.overridden, missing=table.get("missing")))
    return settings


def _located(path: Path, where: str, build: Callable[[], Any]) -> Any:
    """Return what a function makes; its error begins with the file and the table."""
    try:
        return build()
    except ParameterError as error:
        raise error.inside(f"{path}: {where}").as_a(ModelFileError) from None
    except MechDesignError as error:
        raise error.within(f"{path}: {where}") from None


MEANINGS = {
    "title": "the heading of pages",
    "epsilon": "the total epsilon of a respondent, over all questions together",
    "users": "how many respondents are planned",
    "introduction": "what stands before the questions; an empty line separates paragraphs",
    "thanks": "what stands after the report was sent",
    "contact": "whom respondents can ask",
    "language": "the language of these texts, such as de",
    "id": "the identity of the survey; drawn by build where it is not stated",
    "wave": "what this wave is called, such as 2026",
    "tables": "cross tables: lists of names of questions",
    "group_means": "means of a number by the answers to another question",
    "goal": "what is minimized",
    "translations": "the texts in other languages, a table each",
    "name": "a short name: the column in files, and the line in results",
    "text": "the question, word for word",
    "hint": "a smaller line below it",
    "ends": "the labels of the two ends of a scale",
    "labels": "the possible answers",
    "kind": "how it is asked",
    "range": "the lowest and the highest number",
    "bins": "edges of the classes of a number, which is then asked as a histogram",
    "open_ends": "which outer classes of a number are open, as in: 60 or more",
    "spread": "the planned standard deviation of a number, in its units",
    "skip": "whether no answer is an answer",
    "frequencies": "planned shares of the answers; they decide what is planned, not what is estimated",
    "cumulative": "whether the shares up to each answer are wanted",
    "scores": "what the answers of a scale count, for its mean",
    "error": "the standard error that is needed",
    "importance": "the weight of its error",
}
"""What the keys of a survey file are about."""


def survey_schema() -> dict[str, Any]:
    """Return the JSON Schema of survey files: ``[survey]`` and ``[[questions]]``.

    Examples
    --------
    >>> schema = survey_schema()
    >>> schema["required"], schema["properties"]["survey"]["required"]
    (['survey', 'questions'], ['title', 'epsilon'])
    """
    from mechdesign.families.survey.design import EXTRA, SurveyDesign
    from mechdesign.families.survey.questions import KEYS, KINDS

    text, texts = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    numbers = {"type": "array", "items": {"type": "number"}}
    ends = {**texts, "minItems": 2, "maxItems": 2}
    goals = {"enum": list(get_args(get_type_hints(SurveyDesign)["goal"]))}
    kinds: dict[str, dict[str, Any]] = {
        **dict.fromkeys((*TEXTS, "id", "language", "wave", "name", "text", "hint"), text),
        "users": {"type": "integer", "minimum": 1},
        "epsilon": {"type": "number", "minimum": 0},
        "tables": {"type": "array"},
        "group_means": {"type": "array"},
        "goal": goals,
        "kind": {"enum": [*KINDS, SEVERAL]},
        "labels": texts,
        "ends": ends,
        "range": {**numbers, "minItems": 2, "maxItems": 2},
        "bins": numbers,
        "frequencies": numbers,
        "skip": {"type": "boolean"},
        "cumulative": {"type": "boolean"},
        "open_ends": {"enum": ["low", "high", "both"]},
        "scores": numbers,
    }
    kinds |= {key: {"type": "number"} for key in ("spread", "error", "importance")}
    words = _record({key: kinds[key] for key in TRANSLATED})
    translation = _record({**{key: text for key in TEXTS}, "questions": _each(words)})
    kinds["translations"] = _each(translation)
    question = {key: _described(key, kinds.get(key, {})) for key in (*KEYS, *EXTRA, *WORDS)}
    survey = {key: _described(key, kinds[key]) for key in SURVEY_KEYS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "survey file",
        "description": "a survey: its texts and questions, and the total epsilon of a respondent",
        **_record(
            {
                "survey": _record(survey, ["title", "epsilon"]),
                "questions": {"type": "array", "minItems": 1, "items": _record(question, ["name"])},
                "data": _record({"missing": {"enum": list(MISSING)}}),
                "sweep": {"type": "object"},
            },
            ["survey", "questions"],
        ),
    }


def keys_text() -> str:
    """Return the keys of a survey file with what they are about, as text."""
    schema = survey_schema()["properties"]
    lines = ["A survey file: mechdesign init --example staff -o staff.toml writes one."]
    for heading, fields in (
        ("[survey]", schema["survey"]),
        ("[[questions]]", schema["questions"]["items"]),
    ):
        rows = [
            [key, "required" if key in fields["required"] else "", entry.get("description", "")]
            for key, entry in fields["properties"].items()
        ]
        lines.append(f"\n{heading}\n{table(['key', '', 'meaning'], rows)}")
    lines.append("\nFurther keys of questions: mechdesign show survey-design.")
    return "\n".join(lines)


def _described(key: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {**schema, "description": MEANINGS[key]} if key in MEANINGS else dict(schema)


def _record(fields: Mapping[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    record = {"type": "object", "properties": dict(fields), "additionalProperties": False}
    return {**record, "required": list(required)} if required else record


def _each(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a table with any keys, all of whose entries have a schema."""
    return {"type": "object", "additionalProperties": dict(schema)}
