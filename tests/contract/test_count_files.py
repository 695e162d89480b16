"""Every type of mechanism with a server: counts in files say what the reports say, to the last digit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas
import pytest

from mechdesign.collect.collecting import Settings
from mechdesign.core.errors import DataError
from mechdesign.data.data_set import open_table
from mechdesign.data.reading import Copies
from mechdesign.families.shuffle import Protocol
from mechdesign.report.counting import (
    count_file_of,
    count_one,
    counting_operation,
    load_counts,
    merged,
    server_of,
)
from tests.contract.test_every_mechanism import COUNTED, made, shown
from tests.kernel.test_frames import columns_of
from tests.support.whole_tables import write_columns

CUT = 400
"""Rows of the first of two files: whole users of every type."""

CHOSEN_BY_REPORTS = {"marginal-release": {"penalty": "30"}}
"""What is chosen by a look at parts of the reports, as it is where counts are all there is."""


def tables_of(mechanism: Any) -> pandas.DataFrame:
    """Return the reports as they stand in files, with the fakes of a shuffler that adds some."""
    if isinstance(mechanism, Protocol):
        frame = mechanism.run("encode", pandas.DataFrame({"city": np.arange(1000) % 2}), rng=3)
        return mechanism.run("shuffle", frame, rng=4)
    return mechanism.run("randomize", pandas.DataFrame(columns_of(mechanism)), rng=3)


def count_to(mechanism: Any, report: Any, place: Any) -> None:
    server, copies = server_of(mechanism, "m.json"), Copies()
    count_one(server, open_table(report), Settings(), copies)
    count_file_of(server, copies.files, mechanism).save(str(place))


@pytest.mark.parametrize("kind", COUNTED)
def test_counts_of_files_are_merged_and_estimated_like_the_reports(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mechanism: Any = made(kind)
    frame = tables_of(mechanism)
    for name, part in (("one.csv", frame[:CUT]), ("two.parquet", frame[CUT:])):
        write_columns(name, {column: part[column].to_numpy() for column in part})
        count_to(mechanism, name, f"{name}.json")
    both = merged(["one.csv.json", "two.parquet.json"], identical=False)
    both.save("both.json")
    again = load_counts("both.json")
    assert again == both
    assert [(file.name, file.rows) for file in again.files] == [
        ("one.csv", CUT),
        ("two.parquet", len(frame) - CUT),
    ]
    operation = counting_operation(mechanism, "m.json")
    chosen = Settings(CHOSEN_BY_REPORTS.get(kind, {}))
    expected = operation.run([open_table("one.csv"), open_table("two.parquet")], chosen)
    for sources in (
        [again.source("both.json")],
        [load_counts("one.csv.json").source(""), open_table("two.parquet")],
    ):
        found = operation.run(sources, Settings())
        assert shown(found) == shown(expected)
        assert str(found) == str(expected)
    with pytest.raises(DataError, match=r"has the same content as one\.csv"):
        merged(["one.csv.json", "both.json"], identical=False)


def test_a_count_file_of_other_counts_is_refused(tmp_path):
    """The digest is that of the file; with another one, the server looks at the counts themselves."""
    mechanism = made("kary-response")
    write_columns(tmp_path / "r.csv", {"a": np.array(["x"])})
    place, server = tmp_path / "c.json", mechanism.aggregator()
    count_file_of(server, [], mechanism).save(str(place))
    document = json.loads(place.read_text())
    for change, said in (
        ({"version": 2}, "has version 2, this release reads 1; count the reports again"),
        ({"users": 3}, "is damaged: its digest is that of another content"),
        ({"format": "x"}, "is not a file of counts; name a file written by count or merge"),
    ):
        place.write_text(json.dumps({**document, **change}))
        with pytest.raises(DataError, match=said):
            load_counts(str(place))
    for text in (json.dumps(document)[:-20], "", "[]"):
        place.write_text(text)
        with pytest.raises(DataError, match=r"cut short|not a file of counts"):
            load_counts(str(place))
