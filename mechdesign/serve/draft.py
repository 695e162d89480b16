"""The draft of a survey: the content of a survey file as it is edited, and what is wrong in it by its place.

A draft is a survey file that need not be complete. Whatever is typed has a place in it: an epsilon that is
no number is a text, which a file can state as well as a number. So a draft is saved as the file that one
writes by hand, at each change, and read again from that file.

**What a file says, a draft says.** :func:`draft_of_text` keeps every table and key, also those that a page
has no field for; :func:`text_of_draft` writes each, so that reading what was written gives the same content.
Comments and the layout of a file are the only things that are lost.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from mechdesign.catalog.load import Model, load_model
from mechdesign.catalog.shipped import BYTE_ORDER_MARK, LARGEST_FILE, is_survey, toml_problem
from mechdesign.catalog.survey_file import NO_YES, SEVERAL
from mechdesign.core.errors import DataError, MechDesignError, ModelFileError, printable
from mechdesign.data.json_lines import parse_distinct
from mechdesign.work.files import date_in, parse_toml

Document = dict[str, Any]

NAME = "survey.toml"
"""What the file of a draft is called in error texts."""

COMMENT = "# A survey: mechdesign serve, or mechdesign build, makes it ready to collect."

HEAD = "survey"
QUESTIONS = "questions"
TRANSLATIONS = "translations"

BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A key of TOML that needs no quotes."""

PARAGRAPHS = ("introduction", "thanks")
"""Texts with several lines, which a file has between three quotes."""

LARGEST_EPSILON = 50.0
MOST_PEOPLE = 10**12
GOALS_WITH_ERRORS = ("worst", "users", "epsilon")


def new_draft(language: str = "en") -> Document:
    """Return an empty survey with sensible numbers.

    Examples
    --------
    >>> new_draft()["survey"]["epsilon"], new_draft()["questions"]
    (2.0, [])
    """
    title = {"de": "Neue Umfrage"}.get(language, "New survey")
    return {HEAD: {"title": title, "language": language, "epsilon": 2.0, "users": 1000}, QUESTIONS: []}


# From and to a file


def draft_of_text(text: str, name: str = NAME) -> Document:
    r"""Return the draft of the text of a survey file.

    Raises
    ------
    ModelFileError
        For a text that is not TOML, or not a survey; it is one line.

    Examples
    --------
    >>> draft_of_text('[survey]\ntitle = "Mood"\n')
    {'survey': {'title': 'Mood'}, 'questions': []}
    >>> draft_of_text("[model]")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ModelFileError: survey.toml: states no survey; choose a file with [survey] and ...
    """
    if len(text.encode("utf-8", "replace")) > LARGEST_FILE:
        raise ModelFileError(name, "is larger than a survey file can be", "choose another file")
    text = text.removeprefix(BYTE_ORDER_MARK)
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise ModelFileError(name, toml_problem(error, text)) from None
    date = date_in(document)
    if date is not None:
        raise ModelFileError(f"{name}: {date[0]}", f"{date[1]} is a date or a time", "put it in quotes")
    if not is_survey(document):
        raise ModelFileError(name, "states no survey", "choose a file with [survey] and [[questions]]")
    return _with_tables(name, document)


def draft_of_json(body: bytes) -> Document:
    """Return the draft that a page sends; DataError for what cannot be one.

    Examples
    --------
    >>> draft_of_json(b'{"survey": {"epsilon": 1}, "questions": []}')
    {'survey': {'epsilon': 1}, 'questions': []}
    """
    try:
        document = parse_distinct(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError("draft", f"is not JSON ({printable(str(error))})", "reload the page") from None
    if not isinstance(document, dict):
        raise DataError("draft", "is not a table", "reload the page")
    return _with_tables("draft", _plain(document))


def _with_tables(name: str, document: Mapping[str, Any]) -> Document:
    """Return a document that has a table of the survey and a list of tables of questions."""
    head, questions = document.get(HEAD, {}), document.get(QUESTIONS, [])
    if not isinstance(head, Mapping):
        raise ModelFileError(f"{name}: {HEAD}", "is not one table", "write [survey]")
    if not isinstance(questions, list) or not all(isinstance(item, Mapping) for item in questions):
        remedy = "write [[questions]] before each, with double brackets"
        raise ModelFileError(f"{name}: {QUESTIONS}", "are not a list of tables", remedy)
    rest = {key: value for key, value in document.items() if key not in (HEAD, QUESTIONS)}
    return {HEAD: dict(head), QUESTIONS: [dict(item) for item in questions], **rest}


def _plain(value: Any) -> Any:
    """Return a value of JSON as TOML can have it: no null, no half of a letter, no number that is none."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value if item is not None]
    return value


def wave_draft(text: str, name: str) -> str:
    """Return the draft of the next wave, without an identity; empty where there is none to read."""
    if not text.strip():
        return ""
    try:
        document = draft_of_text(text)
    except ModelFileError:
        return ""
    head = {key: value for key, value in document[HEAD].items() if key != "id"}
    return text_of_draft({**document, HEAD: {**head, "wave": name}})


def text_of_draft(document: Mapping[str, Any]) -> str:
    """Return a draft as the text of a file: TOML as one writes it by hand.

    Examples
    --------
    >>> questions = [{"name": "mood", "labels": ["bad", "good"]}]
    >>> print(text_of_draft({"survey": {"title": "Mood", "epsilon": 1.0}, "questions": questions}))
    # A survey: mechdesign serve, or mechdesign build, makes it ready to collect.
    <BLANKLINE>
    [survey]
    title = "Mood"
    epsilon = 1.0
    <BLANKLINE>
    [[questions]]
    name = "mood"
    labels = ["bad", "good"]
    <BLANKLINE>
    """
    lines = [COMMENT, *_table_lines(HEAD, document.get(HEAD, {}), (TRANSLATIONS,))]
    for question in document.get(QUESTIONS, []):
        lines += ["", f"[[{QUESTIONS}]]", *_entry_lines(question)]
    for name, value in document.items():
        if name in (HEAD, QUESTIONS):
            continue
        if isinstance(value, Mapping):
            lines += _table_lines(_key(name), value)
        else:  # a value at the top level precedes all tables
            lines.insert(1, f"{_key(name)} = {toml_value(value)}")
    return "\n".join(lines) + "\n"


def _table_lines(name: str, table: Mapping[str, Any], nested: Sequence[str] = ()) -> list[str]:
    """Return the lines of a table, and of the tables inside some of its keys as tables of their own."""
    tables = {key: table[key] for key in nested if isinstance(table.get(key), Mapping)}
    lines = ["", f"[{name}]", *_entry_lines({key: table[key] for key in table if key not in tables})]
    for key, value in tables.items():
        for language, texts in value.items():
            where = f"{name}.{_key(key)}.{_key(language)}"
            if isinstance(texts, Mapping):
                lines += _translation_lines(where, texts)
            else:
                lines.insert(2, f"{_key(key)}.{_key(language)} = {toml_value(texts)}")
        if not value:
            lines.insert(2, f"{_key(key)} = {{}}")
    return lines


def _translation_lines(where: str, texts: Mapping[str, Any]) -> list[str]:
    questions = texts.get(QUESTIONS)
    tables = questions if isinstance(questions, Mapping) and all(map(_is_table, questions.values())) else {}
    plain = {key: value for key, value in texts.items() if key != QUESTIONS or not tables}
    lines = ["", f"[{where}]", *_entry_lines(plain)]
    for name, words in tables.items():
        lines += ["", f"[{where}.{QUESTIONS}.{_key(name)}]", *_entry_lines(words)]
    return lines


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _entry_lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_entry(key, value)}" for key, value in table.items()]


def _entry(key: str, value: Any) -> str:
    if key in PARAGRAPHS and isinstance(value, str) and "\n" in value and "\r" not in value:
        inner = "\n".join(toml_value(line)[1:-1] for line in value.split("\n"))
        return f'"""\n{inner}"""'
    return toml_value(value)


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    r"""Return a value as TOML writes it in one line.

    Examples
    --------
    >>> print(toml_value({"by": 'a"b', "x y": [1, 0.5, True, float("inf")]}))
    { by = "a\"b", "x y" = [1, 0.5, true, inf] }
    """
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(name)} = {toml_value(item)}" for name, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, float):
        return repr(float(value))
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def draft_model(document: Mapping[str, Any]) -> Model:
    """Return the model that the file of a draft states, by the reader of all files.

    Raises
    ------
    MechDesignError
        As :func:`mechdesign.load_model` does; it is about ``survey.toml``.
    """
    with private_folder() as folder:
        path = folder / NAME
        path.write_text(text_of_draft(document), encoding="utf-8")
        try:
            return load_model(path)
        except MechDesignError as error:
            raise error.changed(where=error.where.replace(str(path), NAME)) from None


@contextmanager
def private_folder() -> Iterator[Path]:
    """Give a folder of this process alone, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="mechdesign-") as folder:
        yield Path(folder)


# What is wrong


@dataclass(frozen=True)
class DraftFault:
    """What is wrong at one place of a draft, or to be considered there.

    Attributes
    ----------
    place : str
        The keys that lead there: ``survey.epsilon``, ``questions.2.labels``; empty for the whole.
    key : str
        The name of a sentence of the page; empty where ``text`` says it.
    parts : mapping of str to str
        What the sentence names.
    text : str
        What the toolkit says, where there is no sentence for it.
    is_remark : bool
        Whether the survey can be built as it is.
    """

    place: str
    key: str = ""
    parts: Mapping[str, str] | None = None
    text: str = ""
    is_remark: bool = False


def faults(document: Mapping[str, Any]) -> list[DraftFault]:
    """Return everything that is wrong with a draft, and remarks, in the order of its places.

    Examples
    --------
    >>> labels = {"name": "mood", "text": "How are you?", "labels": ["good", "good"]}
    >>> for fault in faults({"survey": {"title": "Mood", "epsilon": 0}, "questions": [labels]}):
    ...     print(fault.place, fault.key, fault.parts)
    survey.epsilon epsilon_wrong {'value': '0'}
    questions.0.labels labels_alike {'label': 'good'}
    """
    listed = [*_of_head(document[HEAD])]
    if not document[QUESTIONS]:
        listed.append(DraftFault(QUESTIONS, "questions_none"))
    names = [item.get("name") for item in document[QUESTIONS]]
    for number, question in enumerate(document[QUESTIONS]):
        listed += _of_question(f"{QUESTIONS}.{number}", question, names[:number])
    goal = document[HEAD].get("goal")
    if isinstance(goal, str) and goal in GOALS_WITH_ERRORS:
        listed += _without_errors(document)
    if all(fault.is_remark for fault in listed):
        listed += _of_file(document)
    return listed


def is_buildable(listed: Sequence[DraftFault]) -> bool:
    """Whether faults are remarks alone."""
    return all(fault.is_remark for fault in listed)


def _of_head(head: Mapping[str, Any]) -> Iterator[DraftFault]:
    title = head.get("title")
    if not isinstance(title, str) or not title.strip():
        yield DraftFault(f"{HEAD}.title", "title_missing")
    epsilon: Any = head.get("epsilon")
    if not _is_number(epsilon) or not 0.0 < float(epsilon) <= LARGEST_EPSILON:
        yield DraftFault(f"{HEAD}.epsilon", "epsilon_wrong", {"value": value_text(epsilon)})
    users = head.get("users", 10_000)
    if isinstance(users, bool) or not isinstance(users, int) or not 1 <= users <= MOST_PEOPLE:
        yield DraftFault(f"{HEAD}.users", "users_wrong", {"value": value_text(users)})


def _of_question(place: str, question: Mapping[str, Any], before: Sequence[Any]) -> Iterator[DraftFault]:
    name = question.get("name")
    if not isinstance(name, str) or not name.strip():
        yield DraftFault(f"{place}.name", "name_missing")
    elif name in before:
        yield DraftFault(f"{place}.name", "name_twice", {"name": value_text(name)})
    text = question.get("text", "")
    if isinstance(text, str) and not text.strip() and isinstance(name, str) and name.strip():
        yield DraftFault(f"{place}.text", "text_missing", {"name": value_text(name)}, is_remark=True)
    if is_number(question):
        yield from _of_numbers(place, question)
    else:
        yield from _of_labels(place, question)
    for key, sentence in (("error", "error_wrong"), ("importance", "importance_wrong")):
        value = question.get(key, 1.0)
        if not _is_number(value) or not 0.0 < float(value) < math.inf:
            yield DraftFault(f"{place}.{key}", sentence, {"value": value_text(value)})


def _of_labels(place: str, question: Mapping[str, Any]) -> Iterator[DraftFault]:
    labels, least = question.get("labels", []), 1 if question.get("kind") == SEVERAL else 2
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        yield DraftFault(f"{place}.labels", "labels_wrong")
        return
    alike = next((label for label in labels if labels.count(label) > 1), None)
    if len(labels) < least:
        yield DraftFault(f"{place}.labels", "labels_few" if least > 1 else "labels_none")
    elif alike is not None:
        yield DraftFault(f"{place}.labels", "labels_alike", {"label": value_text(alike)})


def _of_numbers(place: str, question: Mapping[str, Any]) -> Iterator[DraftFault]:
    ends = question.get("range")
    if not isinstance(ends, list) or len(ends) != 2 or not all(map(_is_number, ends)) or ends[0] >= ends[1]:
        yield DraftFault(f"{place}.range", "range_wrong")
        return
    bins = question.get("bins", [])
    if not isinstance(bins, list) or not all(map(_is_number, bins)):
        yield DraftFault(
            f"{place}.bins", "bins_wrong", {"low": value_text(ends[0]), "high": value_text(ends[1])}
        )
        return
    rising = all(low < high for low, high in pairwise(bins))
    if bins and not (rising and len(bins) >= 3 and [bins[0], bins[-1]] == ends):
        yield DraftFault(
            f"{place}.bins", "bins_wrong", {"low": value_text(ends[0]), "high": value_text(ends[1])}
        )


def _without_errors(document: Mapping[str, Any]) -> Iterator[DraftFault]:
    """Yield the results without a margin, where the goal needs that of each."""
    for number, question in enumerate(document[QUESTIONS]):
        if "error" not in question:
            yield DraftFault(f"{QUESTIONS}.{number}.error", "error_missing")
    for key in ("tables", "group_means"):
        stated = document[HEAD].get(key, [])
        for number, item in enumerate(stated if isinstance(stated, list) else []):
            if not isinstance(item, Mapping) or "error" not in item:
                yield DraftFault(f"{HEAD}.{key}.{number}.error", "error_missing")


AT_KEY = re.compile(r"(?:\] |: |' )([a-z_]+)\Z")
OF_QUESTION = re.compile(r"question '(.*)'")


def _of_file(document: Mapping[str, Any]) -> Iterator[DraftFault]:
    """Yield what the reader of files refuses: of each question alone, else of the whole."""
    refused = False
    head = {"title": "T", "epsilon": 1.0}
    for number, question in enumerate(document[QUESTIONS]):
        own = {key: value for key, value in question.items() if key not in ("error", "importance")}
        try:
            draft_model({HEAD: head, QUESTIONS: [own]})
        except MechDesignError as error:
            refused = True
            key = _key_of(error, question)
            yield DraftFault(f"{QUESTIONS}.{number}{key and '.'}{key}", text=_said(error))
    if refused:
        return
    try:
        draft_model(document)
    except MechDesignError as error:
        key = _key_of(error, document[HEAD]) or next(
            (name for name in ("tables", "group_means", "goal") if name in error.where + error.what), ""
        )
        place = f"{HEAD}.{key}" if key else ""
        match = OF_QUESTION.search(error.where)
        names = [item.get("name") for item in document[QUESTIONS]]
        if match and match[1] in names:
            number = names.index(match[1])
            key = _key_of(error, document[QUESTIONS][number])
            place = f"{QUESTIONS}.{number}{key and '.'}{key}"
        yield DraftFault(place, text=_said(error))


def _key_of(error: MechDesignError, table: Mapping[str, Any]) -> str:
    """Return the key of a table that an error is about, as its text ends; empty where it names none."""
    match = AT_KEY.search(f": {error.where}")
    if error.where.endswith("low, high"):
        return "range"
    return match[1] if match and (match[1] in table or match[1] in ("labels", "range")) else ""


def _said(error: MechDesignError) -> str:
    """Return what an error says without the name of the file, which is on the screen."""
    return printable("; ".join(filter(None, (str(error.what), str(error.remedy)))))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def value_text(value: Any, most: int = 60) -> str:
    """Return a value for a sentence, short and printable.

    Examples
    --------
    >>> value_text(None), value_text("a" * 80)[-3:], value_text(0.5)
    ('', '...', '0.5')
    """
    text = "" if value is None else printable(str(value))
    return text if len(text) <= most else f"{text[: most - 3]}..."


# What it is, in words of a page


def is_number(question: Mapping[str, Any]) -> bool:
    """Whether a question of a draft asks for a number."""
    return bool(question.get("kind", "number" if "range" in question else "categorical") == "number")


YES_NO = (NO_YES, ("no", "yes"), ("nein", "ja"), ("yes", "no"), ("ja", "nein"))


def question_form(question: Mapping[str, Any]) -> str:
    """Return how a page asks a question: the name of one of the forms that one chooses from.

    Examples
    --------
    >>> question_form({"labels": ["no", "yes"]}), question_form({"kind": "ordered", "labels": ["1", "2"]})
    ('yes_no', 'rating')
    >>> question_form({"range": [0, 10]}), question_form({"range": [0, 10], "bins": [0, 5, 10]})
    ('mean', 'classes')
    """
    if is_number(question):
        return "classes" if question.get("bins") else "mean"
    labels, kind = question.get("labels", []), question.get("kind", "categorical")
    listed = labels if isinstance(labels, list) else []
    if kind == SEVERAL:
        return "several"
    if kind == "ordered":
        return "rating" if _is_scale(listed) else "ordered"
    return "yes_no" if tuple(map(str, listed)) in YES_NO else "choice"


def _is_scale(labels: Sequence[Any]) -> bool:
    """Whether labels are whole numbers in a row."""
    texts = list(map(str, labels))
    if len(texts) < 2 or not all(re.fullmatch(r"-?\d{1,6}", text) for text in texts):
        return False
    return texts == [str(number) for number in range(int(texts[0]), int(texts[0]) + len(texts))]
