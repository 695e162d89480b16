"""Every type with a server: what belongs to one survey is refused by another with an equal fingerprint."""

from __future__ import annotations

from typing import Any

import pytest

from mechdesign.core.errors import DataError, MethodError
from mechdesign.export import Receiver
from mechdesign.mechanisms.collecting import mark_in
from mechdesign.mechanisms.operations import Settings
from mechdesign.report.count_file import load_counts, merged
from mechdesign.report.counting import counting_operation
from mechdesign.report.files import open_table
from tests.contract.test_count_files import count_to, tables_of
from tests.contract.test_every_mechanism import COUNTED, made, server_of
from tests.support.whole_tables import write_columns

WAVES = ("staff-2026", "staff-2027", "")
"""Three surveys with one mechanism; the last one is from before there were identities."""


def surveys(kind: str) -> list[Any]:
    return [made(kind).described("Staff", id=wave) for wave in WAVES]


def written(mechanism: Any, place: Any) -> str:
    frame = tables_of(mechanism)
    write_columns(place, {column: frame[column].to_numpy() for column in frame})
    return str(place)


@pytest.mark.parametrize("kind", COUNTED)
def test_reports_and_counts_of_another_wave_are_refused(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own, other, older = surveys(kind)
    assert own.fingerprint == other.fingerprint == older.fingerprint == older.survey_digest
    operation, counts = counting_operation(own, "m.json"), {}
    for number, survey in enumerate((own, other, older)):
        counts[survey.about.id] = f"{number}.json"
        count_to(survey, written(survey, f"{number}.csv"), counts[survey.about.id])
    assert operation.run([open_table("0.csv")], Settings())
    for number, told in ((1, "another|lacks"), (2, "before it had an identity|lacks")):
        with pytest.raises(DataError, match=told) as caught:
            operation.run([open_table(f"{number}.csv")], Settings())
        assert "\n" not in str(caught.value)
    for wave in WAVES[1:]:
        whose = f"'Staff' \\(id {wave}\\)" if wave else "a survey without an identity"
        with pytest.raises(DataError, match=f"belong to .*{whose}, and this is .*id staff-2026"):
            operation.run([load_counts(counts[wave]).source("c.json")], Settings())
        with pytest.raises(DataError, match="another mechanism or survey than"):
            merged([counts["staff-2026"], counts[wave]], identical=False)
        with pytest.raises(DataError, match="the other one belongs to"):
            server_of(own).merge(server_of({"staff-2027": other, "": older}[wave]))
    assert merged(["0.json"], identical=False).survey_digest == server_of(own).mechanism.survey_digest


@pytest.mark.parametrize("kind", COUNTED)
def test_a_receiver_takes_the_messages_of_its_own_survey_only(kind):
    own, other, older = surveys(kind)
    try:
        receiver = Receiver(own)
    except MethodError:
        return  # no page sends such reports
    columns = [survey.recipe().columns for survey in (own, other, older)]
    assert len(set(columns)) == 3
    assert [mark_in(name) for name in columns[0]] != [mark_in(name) for name in columns[1]]
    for survey, whose in ((other, "'?Staff'?.* |id staff-2027"), (older, "without an identity")):
        named = {"survey": survey.about.id} if survey.about.id else {}
        said = {"format": "mechdesign-report", "version": 1, "fingerprint": survey.fingerprint, **named}
        with pytest.raises(DataError, match=f"message: is of .*{whose}"):
            receiver.rows({**said, "rows": [dict.fromkeys(survey.recipe().columns, 0)]})
