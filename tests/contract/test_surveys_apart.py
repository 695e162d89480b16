"""Every type with a server: what belongs to one survey is refused by another with an equal fingerprint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

from mechdesign.collect.collecting import Settings, mark_in
from mechdesign.core.errors import DataError, MethodError
from mechdesign.core.values import changed
from mechdesign.data.data_set import open_table
from mechdesign.export import Receiver, export
from mechdesign.export.clients import sheet
from mechdesign.families.shuffle import Protocol
from mechdesign.ledger.ledger import collected_of, entry_of
from mechdesign.report.counting import count_file_of, counting_operation, load_counts, merged
from mechdesign.survey import next_wave
from tests.contract.test_every_mechanism import COUNTED, made, server_of
from tests.kernel.test_frames import columns_of
from tests.support.whole_tables import write_columns

WAVES = ("staff-2026", "staff-2027", "")
"""Three surveys with one mechanism; the last one is from before there were identities."""


def surveys(kind: str) -> list[Any]:
    first, second, older = (made(kind).described("Staff", id=wave) for wave in WAVES)
    texts = {"introduction": "Hello.", "language": "en", "questions": [{"name": "q", "text": "Well?"}]}
    first = first.with_about(changed(first.about, wave="2026", **texts))
    return [first, next_wave(second.with_about(changed(second.about, **texts)), "2027", first), older]


def written(mechanism: Any, place: str) -> str:
    """Write a few reports, or messages, as they leave the devices."""
    client = "encode" if isinstance(mechanism, Protocol) else "randomize"
    people = {"city": np.arange(4) % 2} if client == "encode" else columns_of(mechanism)
    frame = mechanism.run(client, pandas.DataFrame(people)[:4], rng=3)
    write_columns(place, {column: frame[column].to_numpy() for column in frame})
    return place


@pytest.mark.parametrize("kind", COUNTED)
def test_reports_and_counts_of_another_wave_are_refused(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own, other, older = surveys(kind)
    assert own.fingerprint == other.fingerprint == older.fingerprint == older.survey_digest
    operation = counting_operation(own, "m.json")
    server_of(own).count_table(open_table(written(own, "own.csv")), Settings())
    for survey, told in ((other, "another|lacks"), (older, "before it had an identity|lacks")):
        with pytest.raises(DataError, match=told) as caught:
            operation.run([open_table(written(survey, "other.csv"))], Settings())
        assert "\n" not in str(caught.value)
    for survey in (own, other, older):
        count_file_of(server_of(survey), [], survey).save(f"{survey.about.id}.json")
    assert merged(["staff-2026.json"], False).survey_digest == server_of(own).mechanism.survey_digest
    for survey in (other, older):
        wave = survey.about.id
        whose = f"'Staff' \\(.*id {wave}\\)" if wave else "a survey without an identity"
        with pytest.raises(DataError, match=f"belong to .*{whose}, and this is .*id staff-2026"):
            operation.run([load_counts(f"{wave}.json").source("c.json")], Settings())
        with pytest.raises(DataError, match="another mechanism or survey than"):
            merged(["staff-2026.json", f"{wave}.json"], identical=False)
        with pytest.raises(DataError, match="the other one belongs to"):
            server_of(own).merge(server_of(survey))


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


@pytest.mark.parametrize("kind", COUNTED)
def test_exports_keep_reports_in_a_place_of_their_survey(kind):
    own, other, older = surveys(kind)
    try:
        tables = [sheet(survey) for survey in (own, other, older)]
    except MethodError:
        return  # no client is exported
    for survey, table in zip((own, other, older), tables, strict=True):
        assert table.get("survey", "") == survey.about.id
        assert table["recipe"]["columns"] == list(survey.recipe().columns)
    assert len({table["sha256"] for table in tables}) == len({table["sum"] for table in tables}) == 3
    for target, owner in (
        ("js", "`${FINGERPRINT} survey=${SURVEY}`"),
        ("python", '"%s survey=%s" % (FINGERPRINT, SURVEY)'),
        ("r", 'paste0(SHEET$fingerprint, " survey=", SHEET$survey)'),
    ):
        text = export(own, target)
        assert own.about.id in text
        assert other.about.id not in text
        assert owner in text


@pytest.mark.parametrize("kind", COUNTED)
def test_a_ledger_counts_two_waves_as_two_collections(kind):
    own, other, _ = surveys(kind)
    try:
        one, two = (
            entry_of(collected_of(survey, "m.json", 1), survey.fingerprint, "m.json", survey.about.id)
            for survey in (own, other)
        )
    except MethodError:
        return  # what a user gives away is not known
    assert one.is_again(one)
    assert not one.is_again(two)
