"""Questions of a survey from the columns of an export, and the answers to them.

What the tool says about a column counts: its answers with their codes, its range. Where it says nothing, the
kind of the question is read from the answers, and the outcome says so. Answers of scales of agreement,
frequency and satisfaction have a known order.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mechdesign.core.errors import counted
from mechdesign.data.decimals import DecimalSigns
from mechdesign.data.survey_tools.export import EMPTY, FREE_TEXT, IDENTIFYING, ExportColumn, unique_name
from mechdesign.exact.numbers import number_of_text

SCALES = tuple(
    tuple(text.split(" | "))
    for text in (
        "Strongly disagree | Disagree | Somewhat disagree | Neither agree nor disagree | Neutral | Undecided "
        "| Somewhat agree | Agree | Strongly agree",
        "Very dissatisfied | Dissatisfied | Somewhat dissatisfied | Neither satisfied nor dissatisfied | "
        "Neutral | Somewhat satisfied | Satisfied | Very satisfied",
        "Extremely dissatisfied | Somewhat dissatisfied | Neither satisfied nor dissatisfied | Somewhat "
        "satisfied | Extremely satisfied",
        "Never | Almost never | Rarely | Seldom | Sometimes | Occasionally | Often | Frequently | Usually | "
        "Very often | Almost always | Always",
        "Very unlikely | Unlikely | Somewhat unlikely | Neutral | Somewhat likely | Likely | Very likely",
        "Very poor | Poor | Fair | Average | Good | Very good | Excellent",
        "Not at all | A little | Slightly | Somewhat | Moderately | A lot | Very | Very much | Extremely",
        "Very unfavorably | Somewhat unfavorably | Neither favorably nor unfavorably (neutral) | Somewhat "
        "favorably | Very favorably",
        "low | medium | high",
        "Stimme überhaupt nicht zu | Stimme nicht zu | Stimme eher nicht zu | Teils, teils | Teils/teils | "
        "Neutral | Stimme eher zu | Stimme zu | Stimme voll und ganz zu",
        "Sehr unzufrieden | Unzufrieden | Eher unzufrieden | Teils, teils | Neutral | Eher zufrieden | "
        "Zufrieden | Sehr zufrieden",
        "Nie | Selten | Manchmal | Oft | Häufig | Sehr oft | Immer",
        "Jamais | Rarement | Parfois | Souvent | Très souvent | Toujours",
        "Pas du tout d'accord | Pas d'accord | Plutôt pas d'accord | Ni d'accord ni pas d'accord | Plutôt "
        "d'accord | D'accord | Tout à fait d'accord",
    )
)
"""Words from one end to the other; a question uses some of them."""


def scale_of(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the answers in the order of their scale; empty where they are not all of one.

    Examples
    --------
    >>> scale_of(["Always", "never", "Sometimes"]), scale_of(["Red", "Never"])
    (('never', 'Sometimes', 'Always'), ())
    """
    own = {" ".join(label.split()).casefold(): label for label in labels}
    for scale in SCALES:
        order = [word.casefold() for word in scale]
        if len(own) > 2 and all(word in order for word in own):
            return tuple(sorted(labels, key=lambda label: order.index(" ".join(label.split()).casefold())))
    return ()


MOST_LABELS = 64
FEW_NUMBERS = 12
RARE = 10
LONG = 60
"""Letters of an answer beyond which a column of such answers is free text."""

SKIP_WORDS = ("no answer", "missing")
"""The categories of answers that are not there; an answer in these words counts for them."""

NO_ANSWERS = ("-99", "-98", "-97", "-96", "-95", "-88", "-77", "-66", "-999", "-998", "-997", "-9999")
"""Negative codes for no answer among numbers that are not negative."""

MAYBE = ("99", "98", "97", "999", "9999", "9", "8", "88", "77")
"""Codes that may stand for no answer, which only the survey's owner knows."""

NO_WORDS = frozenset(["0", "2", "n", "no", "nein", "non", "unchecked", "false", "not selected"])

STRAY = 0.1
"""Part of the cells that may be words among numbers."""

Table = dict[str, Any]
Columns = dict[str, list[str]]


@dataclass
class ImportedQuestion:
    """A question, its columns of answers, and what was done.

    Attributes
    ----------
    table : dict
        As a survey file states it.
    columns : dict
        The answers, by the columns of the file of answers.
    remarks : list of str
        What the owner has to check.
    done : list of str
        What was recoded.
    looked : bool
        Whether labels or ranges were read from people's answers.
    source : str
        The columns of the export.
    """

    table: Table
    columns: Columns
    remarks: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    looked: bool = False
    source: str = ""


class NoQuestionError(Exception):
    """Why a column is no question."""


def draft_item(
    item: ExportColumn,
    rows: Sequence[int],
    name: str,
    codes: Sequence[str],
    is_single: bool,
    decimals: DecimalSigns,
) -> ImportedQuestion:
    """Return the question of one column.

    Raises
    ------
    NoQuestionError
    """
    cells = [item.cells[row] for row in rows]
    draft = ImportedQuestion(_head(name, item.text), {}, source=item.name)
    cells = _without_codes(draft, item, cells, codes)
    if not any(cells):
        raise NoQuestionError(EMPTY)
    if item.kind == "text":
        raise NoQuestionError(FREE_TEXT)
    if item.labels:
        return _labelled(draft, item, cells)
    if item.kind == "number":
        return _number(draft, item, decimals.plain(item.name, cells))
    return _read(draft, item, cells, is_single, decimals)


def _head(name: str, text: str) -> Table:
    return {"name": name, **({"text": text} if text and text != name else {})}


def _without_codes(
    draft: ImportedQuestion, item: ExportColumn, cells: list[str], codes: Sequence[str]
) -> list[str]:
    """Return the cells, empty where they are a code for no answer."""
    numbers = [number_of_text(cell) for cell in cells if cell]
    known = [number for number in numbers if number is not None]
    below = {f"{number:g}" for number in known if number < 0}
    own = set(NO_ANSWERS) if known and below and below <= set(NO_ANSWERS) and max(known) >= 0 else set()

    def is_code(cell: str) -> bool:
        if cell in codes or item.missing.has(cell) or cell in SKIP_WORDS:
            return True
        number = number_of_text(cell) if own else None
        return number is not None and f"{number:g}" in own

    code_counts = Counter(cell for cell in cells if cell and is_code(cell))
    for code, count in code_counts.items():
        draft.done.append(f"'{code}' ({counted(count, 'row')}) is no answer")
    return ["" if cell in code_counts else cell for cell in cells]


def _labelled(draft: ImportedQuestion, item: ExportColumn, cells: list[str]) -> ImportedQuestion:
    """Return a question whose answers the tool states."""
    words = dict.fromkeys(item.labels.values())
    labels = (
        item.labels
        if len(words) == len(item.labels)
        else {code: f"{code} {label}" for code, label in item.labels.items()}
    )
    by_words = {label.casefold(): label for label in labels.values()}
    answers, unknown = [], Counter[str]()
    for cell in cells:
        number = number_of_text(cell) if cell else None
        plain = cell if cell in labels or number is None or not number.is_integer() else str(int(number))
        label = labels.get(plain, by_words.get(cell.casefold(), ""))
        if cell and not label:
            unknown[cell] += 1
        answers.append(label)
    if sum(unknown.values()) > 0.5 * sum(map(bool, cells)):
        draft.done.append("the answers in the file are not those that are stated for it: they were read")
        item.labels = {}
        return _read(draft, item, cells, True, None)
    if unknown:
        listed = ", ".join(f"'{cell}'" for cell in list(unknown)[:4])
        draft.done.append(f"{listed} ({counted(sum(unknown.values()), 'row')}) without a label is no answer")
    if any(code != label for code, label in labels.items()) and any(cell in labels for cell in cells):
        draft.done.append("codes became their labels")
    kind = "ordered" if item.kind == "ordered" or scale_of(list(labels.values())) else ""
    return _choice(draft, answers, [label for label in labels.values() if label not in SKIP_WORDS], kind)


def _choice(draft: ImportedQuestion, cells: list[str], labels: list[str], kind: str) -> ImportedQuestion:
    if len(labels) < 2:
        raise NoQuestionError("one answer only")
    draft.table["labels"] = labels
    if kind and len(labels) > 2:
        draft.table["kind"] = kind
    if not all(cells):
        draft.table["skip"] = True
    draft.columns = {draft.table["name"]: cells}
    return draft


def _number(draft: ImportedQuestion, item: ExportColumn, cells: list[str]) -> ImportedQuestion:
    numbers = [number_of_text(cell) for cell in cells if cell]
    words = [cell for cell in cells if cell and number_of_text(cell) is None]
    if words:
        listed = ", ".join(f"'{word}'" for word in dict.fromkeys(words[:4]))
        draft.done.append(f"{listed} ({counted(len(words), 'row')}), no number, is no answer")
        cells = ["" if cell and number_of_text(cell) is None else cell for cell in cells]
    known = [number for number in numbers if number is not None]
    low, high = item.low, item.high
    if low is None or high is None:
        draft.looked = True
        seen = (
            round_range(min(known), max(known)) if min(known) < max(known) else (min(known), min(known) + 1)
        )
        low, high = (
            seen if low is None and high is None else (min(seen[0], min(known)), max(seen[1], max(known)))
        )
        low = item.low if item.low is not None else low
        high = item.high if item.high is not None else high
        draft.remarks.append("the range was read from the answers: state one that is known without them")
    outside = sum(not low <= number <= high for number in known)
    if outside:
        draft.done.append(f"{counted(outside, 'number')} outside [{low:g}, {high:g}]: no answer")
        cells = ["" if cell and not low <= (number_of_text(cell) or 0.0) <= high else cell for cell in cells]
    for code in MAYBE:
        count, rest = cells.count(code), [number for number in known if f"{number:g}" != code]
        if count > 1 and rest and len(set(rest)) > 1 and float(code) > 1.5 * max(rest):
            draft.remarks.append(
                f"{code} appears {count} times: if it is no answer, add --missing-code {code}"
            )
    draft.table["range"] = [low, high]
    if not all(cells):
        draft.table["skip"] = True
    draft.columns = {draft.table["name"]: cells}
    return draft


def round_range(low: float, high: float) -> tuple[float, float]:
    """Return a range of round numbers around a range, which does not give away the ends.

    Examples
    --------
    >>> round_range(17, 90), round_range(0.03, 0.97), round_range(8.9, 9.6)
    ((10.0, 100.0), (0.0, 1.0), (8.0, 10.0))
    """
    step = 10.0 ** math.floor(math.log10(high - low))
    first, second = (float(f"{end * step:.12g}") for end in (math.floor(low / step), math.ceil(high / step)))
    if first == low:  # the end itself: the next rounder number
        first = float(f"{math.floor(low / (10 * step)) * 10 * step:.12g}")
    if second == high:
        second = float(f"{math.ceil(high / (10 * step)) * 10 * step:.12g}")
    return first, second


def _read(
    draft: ImportedQuestion,
    item: ExportColumn,
    cells: list[str],
    is_single: bool,
    decimals: DecimalSigns | None,
) -> ImportedQuestion:
    """Return a question whose kind is read from the answers."""
    filled = [cell for cell in cells if cell]
    if decimals is not None and all(re.fullmatch(r"[-+0-9.,]+", cell) for cell in filled):
        cells = decimals.plain(item.name, cells)
        filled = [cell for cell in cells if cell]
    distinct = list(dict.fromkeys(filled))
    numbers = [number for cell in distinct if (number := number_of_text(cell)) is not None]
    words = [cell for cell in filled if number_of_text(cell) is None]
    draft.looked = True
    if numbers and len(numbers) == len(distinct):
        whole = all(number.is_integer() for number in numbers)
        if len(distinct) == len(filled) > 2 * FEW_NUMBERS and whole and max(numbers) > 200:
            raise NoQuestionError(IDENTIFYING)
        if whole and max(numbers) - min(numbers) < FEW_NUMBERS and len(set(numbers)) > 1:
            labels = [str(number) for number in range(int(min(numbers)), int(max(numbers)) + 1)]
            answers = [str(int(number_of_text(cell) or 0)) if cell else "" for cell in cells]
            draft.remarks.append("numbers, taken for a scale: of codes write the answers, and omit kind")
            return _rare(_choice(draft, answers, labels, "ordered"), answers)
        if len(set(numbers)) > 1:
            return _number(draft, item, cells)
    if len(numbers) > FEW_NUMBERS and len(words) <= STRAY * len(filled):
        return _number(draft, item, cells)
    if not is_single and (separator := joined_by(filled)):
        return _several(draft, cells, separator)
    if len(distinct) < 2:
        raise NoQuestionError("the same answer in every row")
    is_free = len(distinct) > MOST_LABELS or (len(distinct) == len(filled) > 4)
    if is_free or sum(map(len, distinct)) > LONG * len(distinct) or any("\n" in cell for cell in distinct):
        raise NoQuestionError(FREE_TEXT)
    scale = scale_of(distinct)
    if not is_single and any(separator in cell for cell in distinct for separator in (", ", ";")):
        draft.remarks.append("answers with commas or semicolons are one answer each")
    labels = list(scale or sorted(distinct, key=lambda text: (text.casefold(), text)))
    if not scale and len(labels) > 2:
        draft.remarks.append('kind = "ordered" if the answers have an order, and then in that order')
    return _rare(_choice(draft, cells, labels, "ordered" if scale else ""), cells)


def _rare(draft: ImportedQuestion, cells: Sequence[str]) -> ImportedQuestion:
    counts = Counter(cell for cell in cells if cell)
    if min(counts.values()) < RARE:
        draft.remarks.append(f"an answer of fewer than {RARE} people can point to a person: merge answers")
    return draft


SEPARATORS = (", ", ";", ",")


def joined_by(cells: Sequence[str]) -> str:
    """Return what separates several answers in one cell; empty where there is one answer in each.

    Answers are joined when they appear in more combinations than there are answers, most of them in several.

    Examples
    --------
    >>> joined_by(["Mail, Chat", "Chat", "Chat, Phone", "Mail, Chat, Phone", "Mail, Phone"])
    ', '
    >>> joined_by(["Yes, always", "Yes, often", "No"])
    ''
    """
    distinct = list(dict.fromkeys(cells))
    for separator in SEPARATORS:
        joined = [cell for cell in distinct if separator in cell]
        if len(joined) < 2:
            continue
        parts = [split_answers(cell, separator, distinct) for cell in distinct]
        counts = Counter(part for each in parts for part in each)
        often = sum(count > 1 for count in counts.values())
        is_set = all(len(set(each)) == len(each) for each in parts)
        if (
            is_set
            and 2 <= len(counts) <= MOST_LABELS
            and len(counts) <= len(distinct)
            and often > 0.6 * len(counts)
        ):
            return separator
    return ""


def split_answers(cell: str, separator: str, cells: Sequence[str]) -> list[str]:
    """Return the answers of a cell; a separator inside brackets belongs to an answer.

    Examples
    --------
    >>> split_answers("Chat (Slack, Teams), Mail", ", ", [])
    ['Chat (Slack, Teams)', 'Mail']
    """
    parts: list[str] = []
    for part in cell.split(separator):
        if parts and parts[-1].count("(") > parts[-1].count(")"):
            parts[-1] += separator + part
        else:
            parts.append(part)
    return [part.strip() for part in parts if part.strip()]


def _several(draft: ImportedQuestion, cells: list[str], separator: str) -> ImportedQuestion:
    """Return a question with several answers in one cell."""
    sets = [split_answers(cell, separator, cells) for cell in cells]
    counts = Counter(part for each in sets for part in each)
    labels = sorted(counts, key=lambda text: (text.casefold(), text))
    draft.done.append(f"several answers in a cell, joined by '{separator}', became {len(labels)} ticks")
    answers = {
        label: ["" if not each else "yes" if label in each else "no" for each in sets] for label in labels
    }
    draft.remarks.append("the ticks were read from the answers: add those that nobody chose")
    return _rare_ticks(_ticked(draft, labels, answers), counts)


def _rare_ticks(draft: ImportedQuestion, counts: Counter[str]) -> ImportedQuestion:
    if min(counts.values()) < RARE:
        draft.remarks.append(f"a tick of fewer than {RARE} people may be one that a person wrote: remove it")
    return draft


def _ticked(draft: ImportedQuestion, labels: list[str], answers: dict[str, list[str]]) -> ImportedQuestion:
    name = draft.table["name"]
    draft.table |= {"kind": "several", "labels": labels}
    if any("" in column for column in answers.values()):
        draft.table["skip"] = True
    draft.columns = {f"{name}: {label}": answers[label] for label in labels}
    return draft


def draft_ticks(
    members: Sequence[ExportColumn], rows: Sequence[int], name: str, codes: Sequence[str]
) -> ImportedQuestion:
    """Return the question of several columns of ticks: a row without any is no answer, unless it says no."""
    text = next((item.group_text for item in members if item.group_text), "")
    draft = ImportedQuestion(_head(name, text), {}, source=f"{members[0].name} to {members[-1].name}")
    columns = []
    for item in members:
        cells = [item.cells[row] for row in rows]
        columns.append(["" if cell in codes or item.missing.has(cell) else cell for cell in cells])
    answered = [any(cells) for cells in zip(*columns, strict=True)]
    if not any(answered):
        raise NoQuestionError(EMPTY)
    labels: list[str] = []
    answers: dict[str, list[str]] = {}
    for item, column in zip(members, columns, strict=True):
        label = unique_name(item.option or item.name, labels)
        labels.append(label)
        answers[label] = [
            "" if not there else "yes" if cell and cell.casefold() not in NO_WORDS else "no"
            for cell, there in zip(column, answered, strict=True)
        ]
    return _ticked(draft, labels, answers)
