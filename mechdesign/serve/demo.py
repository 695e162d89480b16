"""A demonstration: two waves of a survey with results, and a draft of the next one, of synthetic people.

Nobody has answered: the answers are drawn at random from shares that stand here. Reports are drawn of them as
devices draw them, and are stored as they would be.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from importlib.resources import files
from typing import Any

import numpy as np

from mechdesign.collect.collecting import Settings, operation_of
from mechdesign.data.intake import Block
from mechdesign.export.messages import MemoryTable
from mechdesign.serve.place import Place, ServedSurvey
from mechdesign.survey import Survey

TITLE, NEW_TITLE = 'title = "How we work"', 'title = "How we work (synthetic people)"'
NOTICE = (
    'introduction = """\n'
    "This survey is a demonstration: its people are synthetic, and nobody has answered it.\n\n"
)
PEOPLE = {"2026": 1800, "2027": 2100}
"""People of each wave."""
DAYS = 12
"""Days on which they answered."""
SEED = 11
SHIFT = {"2026": 0.0, "2027": 0.2}
"""By how much more people of a wave are satisfied, as a share."""


def add_demo(place: Place) -> list[ServedSurvey]:
    """Add the surveys of the demonstration to a place: two waves with reports, and a draft.

    Parameters
    ----------
    place : Place
        Without surveys of these names.

    Examples
    --------
    >>> import tempfile
    >>> with Place(tempfile.mkdtemp()) as place:
    ...     [(survey.slug, survey.state, survey.count) for survey in add_demo(place)]
    [('demo-2026', 'ended', 1800), ('demo-2027', 'collecting', 2100), ('demo-draft', 'draft', 0)]
    """
    text = example()
    first = place.new(text, "demo-2026")
    first.build()
    second = place.new(text.replace('wave = "2026"', 'wave = "2027"'), "demo-2027")
    second.use(Survey(first.mechanism).wave("2027").mechanism)
    for survey, wave in ((first, "2026"), (second, "2027")):
        survey.begin()
        store_reports(survey, synthetic_answers(PEOPLE[wave], SHIFT[wave], int(wave)))
    first.end()
    draft = place.new(text.replace('wave = "2026"', 'wave = "2028"'), "demo-draft")
    return [first, second, draft]


def example() -> str:
    """Return the example of a survey file, which says that its people are synthetic."""
    text = files("mechdesign.report").joinpath("examples", "staff.toml").read_text(encoding="utf-8")
    return text.replace(TITLE, NEW_TITLE).replace('introduction = """\n', NOTICE)


def synthetic_answers(people: int, shift: float, seed: int = 0) -> dict[str, list[Any]]:
    """Return answers of synthetic people to the questions of the example.

    Parameters
    ----------
    people : int
    shift : float
        By how much more of them are content.
    seed : int
        Of the people.

    Examples
    --------
    >>> answers = synthetic_answers(1000, 0.0)
    >>> sorted(answers)
    ['age', 'department', 'overtime', 'recommend', 'satisfaction', 'tools']
    >>> 0.4 < answers["recommend"].count("yes") / 1000 < 0.6
    True
    """
    rng = np.random.default_rng(SEED + seed)
    department = rng.choice(["nursing", "doctors", "administration"], people, p=[0.5, 0.2, 0.3])
    content = rng.random(people) < np.where(department == "nursing", 0.45, 0.6) + shift
    recommend = np.where(content, "yes", "no").astype(object)
    recommend[rng.random(people) < 0.06] = ""
    satisfaction = np.clip(rng.normal(np.where(content, 3.8, 2.6), 0.9).round(), 1, 5).astype(int)
    ticks = {"e-mail": 0.85, "chat": 0.4 + shift, "paper": 0.3 - shift}
    used = {tool: rng.random(people) < share for tool, share in ticks.items()}
    tools = ["; ".join(tool for tool in ticks if used[tool][place]) for place in range(people)]
    overtime = np.clip(rng.gamma(2.0, 5.0, people) * (1.2 - content * 0.4), 0, 60).round().astype(int)
    return {
        "department": department.tolist(),
        "recommend": recommend.tolist(),
        "satisfaction": satisfaction.astype(str).tolist(),
        "tools": tools,
        "age": rng.integers(18, 70, people).tolist(),
        "overtime": overtime.tolist(),
    }


def store_reports(survey: ServedSurvey, answers: Mapping[str, Sequence[Any]], days: int = DAYS) -> None:
    """Store a report of each row of answers, as if they had come on the days before today."""
    rows = list(synthetic_reports(survey, answers))
    parts = np.cumsum(np.exp(-np.arange(days) / 4.0) + 0.1 * (np.arange(days) % 3))
    totals = np.round(parts / parts[-1] * len(rows)).astype(int)
    with survey.place.base() as base:
        for before, total in zip(range(days, 0, -1), totals.tolist(), strict=True):
            day = (date.today() - timedelta(days=before)).isoformat()
            base.execute("INSERT INTO days VALUES (?, ?, ?)", [survey.slug, day, total])
    futures = [survey.post("", [row], secrets.token_bytes(16)) for row in rows]
    for future in futures:
        future.result()


def synthetic_reports(survey: ServedSurvey, answers: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the row of each report that is drawn of answers, as a client sends it."""
    mechanism = survey.mechanism
    assert mechanism is not None
    operation = operation_of(mechanism.operations(), "randomize", mechanism.type)
    settings: Settings = operation.settings({})
    frame = {
        name: np.array([str(value) for value in values], dtype=object) for name, values in answers.items()
    }
    for block in operation.run([MemoryTable(frame, "answers")], settings):
        yield from rows_for_clients(block, mechanism.recipe().columns)


def rows_for_clients(block: Block, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a block of reports, with plain values and the names that clients use."""
    columns = [np.asarray(values).tolist() for values in block.values()]
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))
