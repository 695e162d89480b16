"""Reports of a survey that are kept: who is asked again sends the same one, whatever the answers are now."""

from __future__ import annotations

import json
import stat
import threading

import numpy as np
import pytest

from mechdesign.core.errors import DataError, ModelFileError, RowError, UnknownNameError
from mechdesign.families.survey import Question, RememberedReports, SurveyMechanism

ASKED = [
    Question("sex", labels=("f", "m")),
    Question("agrees", "ordered", labels=("no", "perhaps", "yes")),
    Question("age", "number", low=20, high=80),
]
SURVEY = SurveyMechanism.of(ASKED, 2.0)


def answers(users: int, sex: str = "f", age: float = 30) -> dict[str, list]:
    return {"sex": [sex] * users, "agrees": ["yes"] * users, "age": [age] * users}


def test_whoever_is_asked_again_sends_the_same_report():
    """Of 500 new reports for other answers some would differ but for a chance below 1e-100."""
    names = [f"u{number}" for number in range(500)]
    kept = SURVEY.remember(answers(500), users=names)
    first = kept.reports()
    assert (kept.ask(names[::-1], answers(500, "m", 70)) == first[::-1]).all()
    assert (kept.reports(names[:3]) == first[:3]).all()
    assert (SURVEY.randomize(answers(500, "m", 70)) != first).any()
    assert kept.ledger == "each user gives away epsilon = 2 in total, however often the report is sent"


def test_kept_reports_are_those_of_the_survey():
    """Within 5 standard errors of the truth: missed with a chance below 1e-5 (fixed seed)."""
    kept = SURVEY.remember(answers(6000), rng=1)
    found = SURVEY.estimate(kept.reports())
    assert abs(found["age"].value - 30) < 5 * found["age"].standard_error
    assert (np.abs(found["sex"].value - [1, 0]) < 5 * found["sex"].standard_error).all()
    assert (SURVEY.randomize(answers(6000), rng=1) != kept.reports()).any()  # a stream of its own


def test_they_are_on_the_disk_before_they_are_sent(tmp_path):
    path = tmp_path / "kept.json"
    kept = SURVEY.remember(answers(1), users=["ann"])
    kept.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    other = RememberedReports.load(SURVEY, path)
    sent = other.ask(["bob"], answers(1))
    assert json.loads(path.read_text())["reports"]["bob"] == sent[0]
    assert kept.ask(["ann", "bob"], answers(2, "m"))[1] == sent[0]  # drawn by the other object


def test_two_at_once_agree(tmp_path):
    """Ten threads ask the same 40 new users: each has one report."""
    path = tmp_path / "kept.json"
    SURVEY.remember(answers(1), users=["ann"]).save(path)
    names, found = [f"u{number}" for number in range(40)], []

    def ask() -> None:
        found.append(RememberedReports.load(SURVEY, path).ask(names, answers(40)).tolist())

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 10
    assert all(item == found[0] for item in found)


def test_what_is_refused(tmp_path):
    path = tmp_path / "kept.json"
    kept = SURVEY.remember(answers(2), users=["ann", "bob"])
    kept.save(path)
    with pytest.raises(UnknownNameError, match="no report of 'cid'"):
        kept.reports(["cid"])
    with pytest.raises(RowError, match="row 2: user 'cid' appears twice"):
        kept.ask(["cid", "cid"], answers(2))
    with pytest.raises(RowError, match="row 1: has no name"):
        kept.ask([""], answers(1))
    with pytest.raises(DataError, match="1 for 2 rows"):
        kept.ask(["cid"], answers(2))
    rivals = [SURVEY.remember(answers(1, age=20.0 + n), users=["ann"]) for n in range(40)]
    rival = next(item for item in rivals if item.reports()[0] != kept.reports(["ann"])[0])
    with pytest.raises(DataError, match="holds another report of user 'ann'; load it before you ask"):
        rival.save(path)
    with pytest.raises(DataError, match="belongs to a different mechanism or survey"):
        RememberedReports.load(SurveyMechanism.of(ASKED, 1.0), path)
    document = json.loads(path.read_text())
    document["reports"]["ann"] = kept.reports(["bob"])[0] + "0"
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="is damaged"):
        RememberedReports.load(SURVEY, path)
    path.write_text("[]")
    with pytest.raises(ModelFileError, match="holds no reports of a survey"):
        kept.save(path)
    assert path.read_text() == "[]"
    with pytest.raises(ModelFileError, match="file not found"):
        RememberedReports.load(SURVEY, tmp_path / "none.json")
