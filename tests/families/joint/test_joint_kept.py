"""What clients keep: how often they reported is counted, in Python and from the shell, whatever happens."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import stat
import threading

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError, MechDesignError, MethodError, ModelFileError
from mechdesign.families.joint import JointResponse, PermanentResponse
from mechdesign.families.joint.one_hot import bits_of


def limited(**options) -> JointResponse:
    """Return a mechanism for three reports, which any number of them would break."""
    given = {"epsilon": 7.0, "redraw": 0.25, "keep": 0.75, "add": 0.25, "reports_per_user": 3, **options}
    made = JointResponse.of([2, 3], given.pop("epsilon"), **given)
    assert made.limited
    return made


# In Python


def test_a_seed_gives_reports_other_noise_than_permanent_responses():
    """With the same seed for both, a flipped bit used to be reported as 1 more often than by chance."""
    mechanism, users = JointResponse.of([2, 3], 30.0, redraw=0.5, keep=0.75, add=0.25), 40_000
    client = mechanism.remember([[1, 2]] * users, rng=1)
    sent = bits_of(client.report(rng=1), [2, 3], (0, 1)).mean(axis=0)
    own, other = (float(share) for share in mechanism.shares)
    wanted = np.where([0, 1, 0, 0, 1], own, other)
    assert (np.abs(sent - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / users)).all()


def test_a_report_is_counted_in_the_file_before_it_is_seen(tmp_path):
    mechanism, path = limited(), tmp_path / "client.json"
    client = mechanism.remember([[1, 2]])
    client.save(path)
    client.report()  # and never saved again
    assert PermanentResponse.load(mechanism, path).report_count == 1
    first, second = (PermanentResponse.load(mechanism, path) for _ in range(2))
    first.report()
    second.report()
    for process in (first, second):
        with pytest.raises(MethodError, match="3 made, and the guarantee is for 3 reports"):
            process.report()
    client.save(path)
    assert client.report_count == 3  # an older count does not come back
    assert PermanentResponse.load(mechanism, path).left == 0


def test_processes_that_report_at_once_do_not_lose_a_count(tmp_path):
    mechanism, path, refused = limited(reports_per_user=4, epsilon=7.5), tmp_path / "client.json", []
    mechanism.remember([[1, 2]]).save(path)

    def ask() -> None:
        try:
            PermanentResponse.load(mechanism, path).report()
        except MethodError as error:
            refused.append(error)

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 6
    assert PermanentResponse.load(mechanism, path).report_count == 4


def test_a_permanent_response_is_never_replaced_by_another(tmp_path):
    mechanism, path = limited(), tmp_path / "client.json"
    client = mechanism.remember([[1, 2]] * 20, rng=1)
    client.save(path)
    with pytest.raises(DataError, match="holds another permanent response"):
        mechanism.remember([[1, 2]] * 20, rng=2).save(path)
    with pytest.raises(DataError, match="belongs to a different mechanism"):
        limited(epsilon=7.1).remember([[1, 2]] * 20, rng=1).save(path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ModelFileError, match="is not a permanent response"):
        client.save(tmp_path / "notes.txt")
    assert (PermanentResponse.load(mechanism, path).bits == client.bits).all()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_damage_is_noticed(tmp_path):
    mechanism, path = limited(), tmp_path / "client.json"
    client = mechanism.remember([[1, 2]], rng=1)
    client.save(path)
    text = path.read_text()
    bits = json.loads(text)["bits"][0]
    for changed in (text.replace('"made": 0', '"made": -1'), text.replace(bits, "x00"), text[:-20], "[]", ""):
        path.write_text(changed)
        with pytest.raises(ModelFileError):
            client.report()
    path.unlink()
    with pytest.raises(ModelFileError, match="file not found"):
        client.report()
    assert client.report_count == 0


def reports_of(mechanism, path, wanted: int = 10) -> int:
    """Return how many reports a file gives until it refuses."""
    for made in range(wanted):
        try:
            PermanentResponse.load(mechanism, path).report()
        except MechDesignError:
            return made
    return wanted


def test_saving_elsewhere_moves_and_does_not_multiply(tmp_path):
    """Two files of one object used to give three reports each."""
    mechanism, old, new, third = limited(), *(tmp_path / f"{name}.json" for name in "abc")
    client = mechanism.remember([[1, 2]])
    client.save(old)
    client.report()
    other = PermanentResponse.load(mechanism, old)
    client.save(new)
    with pytest.raises(DataError, match=rf"a.json: was moved to {new}; load that"):
        PermanentResponse.load(mechanism, old)
    with pytest.raises(DataError, match="was moved"):
        other.report()
    with pytest.raises(DataError, match="was moved"):
        other.save(third)
    assert not third.exists()
    client.save(old)  # and back
    assert client.report_count == 1
    total = client.report_count + sum(reports_of(mechanism, path) for path in (new, old))
    assert total == 3


def test_an_object_is_not_copied():
    client = limited().remember([[1, 2]])
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(MethodError, match="would count its reports by itself"):
            make(client)


def test_copies_by_hand_are_refused_while_the_original_is_there(tmp_path):
    mechanism, path, other = limited(), tmp_path / "a.json", tmp_path / "b.json"
    client = mechanism.remember([[1, 2]])
    client.save(path)
    shutil.copy(path, other)
    with pytest.raises(DataError, match=rf"b.json: is a copy of {path}"):
        PermanentResponse.load(mechanism, other)
    with pytest.raises(DataError, match="is a copy of"):
        client.save(other)
    other.unlink()
    os.link(path, other)
    with pytest.raises(DataError, match="second name"):
        client.report()
    other.unlink()
    path.rename(other)  # moved by hand: nothing is left at home
    assert reports_of(mechanism, other) == 3


@pytest.mark.parametrize("crash", [1, 2, 3])
def test_a_crash_within_a_move_leaves_one_home(tmp_path, monkeypatch, crash):
    mechanism, old, new = limited(), tmp_path / "a.json", tmp_path / "b.json"
    client = mechanism.remember([[1, 2]])
    client.save(old)
    client.report()
    written, write = [], PermanentResponse._write

    def crashing(self, path, made, mark=None):
        written.append(path)
        if len(written) == crash:
            raise OSError("power")
        write(self, path, made, mark)

    monkeypatch.setattr(PermanentResponse, "_write", crashing)
    with pytest.raises(OSError, match="power"):
        client.save(new)
    monkeypatch.undo()
    if crash == 2:
        with pytest.raises(DataError, match=r"its move was interrupted; load .*a\.json"):
            PermanentResponse.load(mechanism, new)
    assert reports_of(mechanism, old) + reports_of(mechanism, new) == 2
    if crash < 3:
        PermanentResponse.load(mechanism, old).save(new)  # the move is finished later
        assert PermanentResponse.load(mechanism, new).left == 0


# From the shell

MODEL = """
[model]
title = "a survey"
problem = "joint-collection"
[parameters]
attributes = [2, 3]
epsilon = 8.0
"""


@pytest.fixture
def survey(tmp_path, capsys, monkeypatch):
    """Return what runs an operation of a mechanism for one report, and gives its exit code and message."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.toml").write_text(MODEL)
    (tmp_path / "people.csv").write_text("a,b\n" + "0,2\n1,1\n" * 50)
    assert main(["build", "model.toml", "-o", "m.json"]) == 0
    capsys.readouterr()

    def run(*words: str) -> tuple[int, str]:
        code = main(["run", "m.json", *words])
        said = capsys.readouterr()
        assert (said.out + said.err).count("\n") == 1
        return code, said.out + said.err

    return run


def test_no_more_reports_than_promised_come_out_of_a_table(tmp_path, survey):
    count = ("--state", "count.json")
    code, said = survey("remember", "people.csv", "-o", "kept.csv")
    assert code == 2
    assert "--state: is missing; the guarantee is for 1 report" in said
    assert not (tmp_path / "kept.csv").exists()
    code, said = survey("remember", "people.csv", "-o", "kept.csv", *count)
    assert code == 0
    assert "100 true answers, since this mechanism keeps no noise (redraw = 0)" in said
    assert stat.S_IMODE((tmp_path / "kept.csv").stat().st_mode) == 0o600
    assert survey("report", "kept.csv", "-o", "one.csv")[0] == 2
    assert "1 of 1 report made" in survey("report", "kept.csv", "-o", "one.csv", *count)[1]
    code, said = survey("report", "kept.csv", "-o", "two.csv", *count)
    assert code == 2
    assert "1 made, and the guarantee is for 1 report; build a mechanism for more" in said
    assert not (tmp_path / "two.csv").exists()
    code, said = survey("remember", "people.csv", "-o", "again.csv", *count)
    assert code == 2
    assert "count.json: exists" in said
    assert not (tmp_path / "again.csv").exists()


def test_a_count_belongs_to_its_permanent_responses(tmp_path, survey):
    for name in ("first", "second"):
        assert survey("remember", "people.csv", "-o", f"{name}.csv", "--state", f"{name}.json")[0] == 0
    (tmp_path / "second.csv").write_text((tmp_path / "second.csv").read_text().replace("x88", "x50", 1))
    code, said = survey("report", "second.csv", "-o", "out.csv", "--state", "first.json")
    assert code == 2
    assert "counts the reports of other permanent responses" in said
    for bad, text in (
        ("people.csv", "named like a table"),
        ("m.json", "is not a count"),
        ("none.json", "file not found"),
    ):
        code, said = survey("report", "first.csv", "-o", "out.csv", "--state", bad)
        assert code == 2
        assert text in said
    text = (tmp_path / "first.json").read_text()
    (tmp_path / "first.json").write_text(text.replace('"made": 0', '"made": -9'))
    assert "is damaged" in survey("report", "first.csv", "-o", "out.csv", "--state", "first.json")[1]
    assert not (tmp_path / "out.csv").exists()


def test_a_copied_count_does_not_count_again(tmp_path, survey):
    assert survey("remember", "people.csv", "-o", "kept.csv", "--state", "count.json")[0] == 0
    shutil.copy(tmp_path / "count.json", tmp_path / "again.json")
    code, said = survey("report", "kept.csv", "-o", "one.csv", "--state", "again.json")
    assert code == 2
    assert "again.json: is a copy of" in said
    assert survey("report", "kept.csv", "-o", "one.csv", "--state", "count.json")[0] == 0


def test_where_any_number_keeps_the_promise_none_has_to_be_counted(tmp_path, survey):
    JointResponse.of([2, 3], 8.0, redraw=0.25, keep=0.75, add=0.25, reports_per_user=3).save(
        tmp_path / "m.json"
    )
    code, said = survey("remember", "people.csv", "-o", "kept.csv")
    assert code == 0
    assert "true answers" not in said
    for number in range(5):
        assert survey("report", "kept.csv", "-o", f"{number}.csv")[0] == 0
    with pytest.raises(MechDesignError):
        PermanentResponse.load(JointResponse.load(tmp_path / "m.json"), tmp_path / "kept.csv")
