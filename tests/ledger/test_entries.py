"""Many collections of a table in a ledger: as one after the other, all or none, and written once."""

from __future__ import annotations

import json

import pytest

import mechdesign.ledger.ledger as module
from mechdesign.cli import main
from mechdesign.core.errors import DataError, ParameterError, RowError
from mechdesign.ledger.account import Collected
from mechdesign.ledger.ledger import (
    Entry,
    entries_of,
    load_ledger,
    open_ledger,
    record_collection,
    record_collections,
)
from mechdesign.primitives import KaryResponse


def entry(epsilon: float, delta: float = 0.0, times: int = 1, survey: str = "") -> Entry:
    return Entry(Collected("m.json", epsilon, delta, times), "mark", "m.json", "2026-01-01T00:00:00Z", survey)


SERIES = {
    "filter": [(name, entry(0.05 + 0.01 * (place % 7))) for place, name in enumerate("abcab" * 10)],
    "sums": [(name, entry(0.3, 1e-9 * (place % 3))) for place, name in enumerate("abbab" * 5)],
    "with a delta after the filter": [("a", entry(0.1)), ("b", entry(0.1)), ("a", entry(0.1, 1e-9))],
    "too much at once": [("a", entry(0.1)), ("b", entry(9.0)), ("a", entry(0.1))],
}


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("account", ["filter", "sums"])
def test_a_table_is_as_its_rows_one_after_the_other(name, account, tmp_path):
    one, many = str(tmp_path / "one.json"), str(tmp_path / "many.json")
    for path in (one, many):
        open_ledger(path, "survey", "4", "1e-6", False, account)
        record_collection(path, "b", entry(0.2))
    expected = None
    for place, (group, collection) in enumerate(SERIES[name]):
        if not record_collection(one, group, collection)[1]:
            expected = place
            break
    before = load_ledger(many)
    ledger, refused = record_collections(many, SERIES[name])
    assert refused == expected
    assert load_ledger(many) == (before if refused is not None else load_ledger(one))
    if refused is not None:
        last = SERIES[name][refused]
        assert ledger.groups[last[0]][-1] == last[1]
        assert sum(map(len, ledger.groups.values())) == 1 + refused + 1


def test_it_is_written_once_and_judged_a_few_times(tmp_path, monkeypatch):
    path = str(tmp_path / "ledger.json")
    open_ledger(path, "survey", "100000", "1e-6", False)
    counts = {"write": 0, "judged": 0}
    write, judged = module._write, module.decided

    def counted(word, function):
        def call(*arguments):
            counts[word] += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(module, "_write", counted("write", write))
    monkeypatch.setattr(module, "decided", counted("judged", judged))
    _, refused = record_collections(path, [(f"group {place % 5}", entry(0.01)) for place in range(3000)])
    assert refused is None
    assert counts == {"write": 1, "judged": 5}


def test_names_of_groups_are_told_apart_as_for_one(tmp_path):
    path = str(tmp_path / "ledger.json")
    open_ledger(path, "survey", "4", "1e-6", False)
    with pytest.raises(RowError, match="row 2: 'A' is not a group of this ledger, and 'a' is"):
        record_collections(path, [("a", entry(0.1)), ("A", entry(0.1))])
    with pytest.raises(RowError, match="row 1: is not a name"):
        record_collections(path, [(" ", entry(0.1))])
    assert load_ledger(path).groups == {}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    KaryResponse.of(2, epsilon=0.5).save("m.json")
    assert main(["ledger", "open", "l.json", "--survey", "s", "--epsilon", "3"]) == 0
    return tmp_path


def test_the_command_enters_all_or_none(folder, capsys):
    (folder / "e.csv").write_text("group,mechanism,times\na,m.json,1\nb,m.json,2\n")
    assert main(["ledger", "enter", "l.json", "e.csv"]) == 0
    assert "l.json: 2 collections of 2 groups" in capsys.readouterr().out
    content = (folder / "l.json").read_bytes()
    (folder / "f.csv").write_text("mechanism,group\n" + "m.json,a\n" * 50)
    assert main(["ledger", "enter", "l.json", "f.csv", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["allowed"] is False
    assert f"f.csv: row {json.loads(out)['refused']}: group 'a': refused, and nothing is entered" in err
    assert (folder / "l.json").read_bytes() == content


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mechanism\nm.json\n", "no column 'group'"),
        ("mechanism,group\nx.json,a\n", "row 1: x.json: file not found"),
        ("mechanism,group,times\nm.json,a,1\nm.json,a,0.5\n", "row 2: times: expected a whole number"),
        ("mechanism,group,times\nm.json,a,0\n", "row 1: times: 0 is not from 1 to"),
        ("mechanism,group\nm.json,\n", "row 1: is missing; give mechanism, group and times in each row"),
    ],
)
def test_a_wrong_row_is_named(folder, text, message):
    (folder / "e.csv").write_text(text)
    with pytest.raises((DataError, ParameterError), match=message):
        entries_of("e.csv")
