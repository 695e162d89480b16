"""The account of several mechanisms, and the ledger: limits, other surveys, damage and kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.families.mean import Duchi
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.ledger.account import Collected
from mechdesign.ledger.ledger import entry_of, load_ledger, open_ledger, record_collection
from mechdesign.primitives import KaryResponse
from tests.meta.test_shown import MECHANISMS
from tests.support.processes import started


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    KaryResponse.of(3, epsilon=0.1).save("daily.json")
    KaryResponse.of(3, epsilon=1.0).save("one.json")


def run(*words: str) -> int:
    return main(list(words))


def test_a_year_of_answers(capsys):
    assert run("audit", "daily.json", "--times", "365") == 0
    assert capsys.readouterr().out == (
        "daily.json 365 times: epsilon = 0.1\n"
        "all reports of a user together: epsilon = 36.5, delta = 0 (exact); epsilon = 8.207, delta = 1e-06 "
        "(distribution of the total loss)\n"
    )
    assert run("audit", "daily.json", "one.json", "--times", "5", "--times", "2", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["times"] for one in found["collected"]] == [5, 2]
    assert found["total"]["epsilon"] == pytest.approx(2.5)
    assert found["total"]["exact"] is True


def test_after_the_shufflers(capsys):
    Shuffled(Duchi(2.0), Promise(users=10_000, epsilon=0.2, delta=1e-6)).save("mixed.json")
    assert run("audit", "mixed.json", "one.json", "--times", "30", "--times", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mixed.json 30 times: epsilon = 2; reports of 10000 honest users are shuffled"
    assert lines[2].startswith("all reports of a user together: epsilon = 61, delta = 0 (exact)")
    after = float(lines[3].partition("; epsilon = ")[2].partition(",")[0])
    assert lines[3].startswith("after the shufflers: ")
    assert 1.0 < after < 2.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["daily.json", "one.json", "--times", "2", "--times", "3", "--times", "4"],
            "--times: expected 1 or 2",
        ),
        (["daily.json", "--times", "0"], "--times: 0 is below 1"),
        (
            ["daily.json", "one.json", "x.js"],
            "x.js: is not a mechanism file; name mechanism files only, or one",
        ),
        (["daily.json", "one.json", "--delta", "1"], "delta: 1 is outside [0, 1)"),
        (["daily.json", "menu.json"], "menu.json: a contract-menu states no epsilon; name mechanisms that"),
        (["daily.json", "place.json"], "place.json: its epsilon is per unit of distance; name mechanisms"),
    ],
)
def test_what_has_no_total(words, said, capsys):
    Path("x.js").touch()
    MECHANISMS["contract-menu"][0]().save("menu.json")
    MECHANISMS["planar-lattice"][0]().save("place.json")
    assert run("audit", *words) == 2
    line = capsys.readouterr().err
    assert said in line
    assert line.count("\n") == 1


def test_a_ledger_refuses_what_is_beyond_the_limit(capsys):
    assert run("ledger", "open", "l.json", "--survey", "Health", "--epsilon", "2") == 0
    for _ in range(2):
        assert run("ledger", "collect", "l.json", "one.json", "--group", "panel") == 0
    before = Path("l.json").read_bytes()
    capsys.readouterr()
    assert run("ledger", "collect", "l.json", "daily.json", "--group", "panel") == 1
    assert capsys.readouterr().err == (
        "mechdesign: l.json: group 'panel': refused: together with daily.json epsilon = 2.1, delta = 0 "
        "(exact), and the limit is epsilon = 2, delta = 1e-06\n"
    )
    assert Path("l.json").read_bytes() == before
    assert run("ledger", "collect", "l.json", "daily.json", "--group", "others", "--times", "20") == 0
    assert run("ledger", "show", "l.json", "--json") == 0
    text = capsys.readouterr().out
    shown = json.loads(text[text.index("\n{") :])
    assert shown["totals"]["panel"]["epsilon"] == 2.0
    assert [entry["file"] for entry in shown["groups"]["panel"]] == ["one.json", "one.json"]


def test_a_ledger_that_does_not_fit(capsys):
    assert run("ledger", "open", "l.json", "--survey", "Health", "--epsilon", "2") == 0
    document = json.loads(Path("l.json").read_text())
    Path("changed.json").write_text(json.dumps({**document, "epsilon": 100.0}))
    Path("newer.json").write_text(json.dumps({**document, "version": 4}))
    Path("cut.json").write_text(Path("l.json").read_text()[:-9])
    add = ["one.json", "--group", "a"]
    for words, said in (
        (
            ["open", "l.json", "--survey", "Health", "--epsilon", "9"],
            "l.json: exists, and a ledger is never replaced",
        ),
        (["open", "m.json", "--survey", "Health", "--epsilon", "0"], "--epsilon: 0 is outside (0, inf)"),
        (["collect", "l.json", *add, "--survey", "Wealth"], "l.json: is the ledger of the survey 'Health'"),
        (
            ["collect", "changed.json", *add],
            "changed.json: is damaged: its digest is that of another content",
        ),
        (["collect", "newer.json", *add], "newer.json: has version 4, this release reads 1 to 3"),
        (["collect", "cut.json", *add], "cut.json: is damaged: not JSON"),
        (["collect", "none.json", *add], "none.json: file not found"),
        (["collect", "one.json", *add], "one.json: is not a ledger; make one with ledger open"),
    ):
        assert run("ledger", *words) == 2, words
        assert said in capsys.readouterr().err
    assert not Path("m.json").exists()


LOOP = """
import sys
import mechdesign as md
from mechdesign.ledger.account import Collected
from mechdesign.ledger.ledger import entry_of, record_collection
for number in range(int(sys.argv[2])):
    record_collection("l.json", sys.argv[1], entry_of(Collected("m.json", 0.001), "0", "m.json"))
    print(number + 1, flush=True)
"""


def test_a_killed_process_loses_nothing_that_was_said_to_be_written():
    """Killed at different moments; a collection is in the ledger whole or not at all."""
    open_ledger("l.json", "Health", 50.0, 0.0, False)
    said = 0
    for pause in (0.0, 0.003, 0.011):
        with started([sys.executable, "-c", LOOP, "a", "100000"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            said += int(process.stdout.readline())
            time.sleep(pause)
            os.kill(process.pid, signal.SIGKILL)
            rest = process.stdout.read().splitlines()
            said += len(rest)
        kept = len(load_ledger("l.json").groups["a"])
        assert said <= kept <= said + 1
        said = kept
    record_collection("l.json", "a", entry_of(Collected("m.json", 0.001), "0", "m.json"))
    assert sorted(path for path in os.listdir() if "l.json" in path) == ["l.json"], "nothing is left behind"


def test_two_processes_write_one_after_the_other():
    open_ledger("l.json", "Health", 50.0, 0.0, False)
    commands = [[sys.executable, "-c", LOOP, group, "15"] for group in ("a", "b")]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    assert [process.wait() for process in running] == [0, 0]
    assert {name: len(entries) for name, entries in load_ledger("l.json").groups.items()} == {
        "a": 15,
        "b": 15,
    }


@pytest.mark.parametrize(
    ("epsilon", "delta", "times", "limit"),
    [
        (0.1, 0.3, 1, ("0.1", "0.3")),
        (0.1, 1e-7, 10, ("1", "1e-6")),
        (1 / 7, 1e-7, 7, ("1", "7e-7")),
        (0.5, 0.1, 2, ("1", "0.2")),
    ],
)
def test_what_mechanisms_promise_with_a_delta_fills_a_limit_and_is_what_is_printed(
    epsilon, delta, times, limit, capsys
):
    problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=epsilon, delta=delta)
    md.solve(problem).mechanism().save("m.json")
    assert run("ledger", "open", "l.json", "--survey", "S", "--epsilon", limit[0], "--delta", limit[1]) == 0
    for _ in range(times):
        assert run("ledger", "collect", "l.json", "m.json", "--group", "a") == 0
    total = f"epsilon = {float(limit[0]):g}, delta = {float(limit[1]):g}"
    assert f"{total} (the sum); 100% of the limit used\n" in capsys.readouterr().out
    assert run("ledger", "show", "l.json") == 0
    assert f"a: {total} (the sum); 100% of the limit used\n" in capsys.readouterr().out
    assert run("ledger", "collect", "l.json", "m.json", "--group", "a") == 1
    assert "refused" in capsys.readouterr().err
    assert run("audit", "m.json", "--times", str(times), "--delta", limit[1], "--json") == 0
    assert json.loads(capsys.readouterr().out)["total"]["composed"] <= float(limit[0])


def test_the_sum_of_what_is_promised_is_a_total_of_an_account(capsys):
    problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.1, delta=0.3)
    md.solve(problem).mechanism().save("m.json")
    assert run("audit", "m.json", "--times", "1", "--delta", "0.3") == 0
    assert "; epsilon = 0.1, delta = 0.3 (the sum of what is promised)\n" in capsys.readouterr().out
    assert run("audit", "m.json", "--times", "1", "--delta", "0.29") == 0
    assert "promised" not in capsys.readouterr().out


def test_a_renyi_filter_is_named_where_it_decides_and_a_delta_next_to_1_is_not_1(capsys):
    assert run("ledger", "open", "l.json", "--survey", "S", "--epsilon", "11", "--delta", "0.9999999") == 0
    assert "limit epsilon = 11, delta = 0.9999999\n" in capsys.readouterr().out
    assert run("ledger", "collect", "l.json", "daily.json", "--times", "365", "--group", "a") == 0
    said = "of the limit used, by a Renyi filter (the sum of epsilon, which does not decide, is 36.5)\n"
    assert said in capsys.readouterr().out


def test_a_delta_is_spent_by_a_filter_or_by_a_collection_that_needs_it_never_by_both(capsys):
    """Whoever chooses between the two after a look at results would spend it twice."""
    pure = entry_of(Collected("daily.json", 0.1, times=5), "0", "daily.json")
    needs = entry_of(Collected("mean.json", 0.1, delta=1e-6), "1", "mean.json")
    for path, account in (("l.json", "filter"), ("s.json", "sums")):
        open_ledger(path, "S", 2, "1e-6", False, account)
        assert record_collection(path, "pure first", pure)[1]
        assert record_collection(path, "delta first", needs)[1]
        assert record_collection(path, "pure first", needs)[1] == (account == "sums")
        assert not record_collection(path, "delta first", replace(pure, collected=many()))[1]
        assert record_collection(path, "delta first", pure)[1]
        assert not record_collection(path, "delta first", needs)[1]
    assert record_collection("l.json", "pure first", replace(pure, collected=many()))[1]
    assert not record_collection("s.json", "pure first", replace(pure, collected=many()))[1]
    assert not load_ledger("s.json").filtered
    assert run("ledger", "show", "l.json") == 0
    out = capsys.readouterr().out
    assert "  its first collection, daily.json, opened a Renyi filter: none that needs a delta" in out
    assert "  its first collection, mean.json" not in out
    assert run("ledger", "show", "s.json") == 0
    assert "Renyi" not in capsys.readouterr().out


def many() -> Collected:
    """Return reports whose epsilons add up to 2.5, and that a Renyi filter for 2 has room for."""
    return Collected("daily.json", 0.01, times=250)


def test_a_refusal_says_what_decides(capsys):
    assert run("ledger", "open", "l.json", "--survey", "S", "--epsilon", "6") == 0
    assert run("ledger", "collect", "l.json", "daily.json", "--times", "80", "--group", "a") == 0
    capsys.readouterr()
    assert run("ledger", "collect", "l.json", "daily.json", "--times", "900", "--group", "a") == 1
    line = capsys.readouterr().err
    assert "refused: with daily.json a Renyi filter is at " in line
    assert (
        "% of the limit epsilon = 6, delta = 1e-06; the sum of epsilon, which does not decide, is 98\n"
        in line
    )
    assert run("ledger", "open", "m.json", "--survey", "S", "--epsilon", "6", "--account", "sum") == 2
    assert "--account: 'sum' is not a choice; did you mean 'sums'?" in capsys.readouterr().err


def test_a_ledger_is_of_the_survey_in_a_mechanism_file(capsys):
    KaryResponse.of(3, epsilon=1.0).described("How we work", id="w-26").save("staff.json")
    assert run("ledger", "open", "p.ledger", "--survey", "staff.json", "--epsilon", "8") == 0
    assert load_ledger("p.ledger").survey == "How we work"
    assert run("ledger", "collect", "p.ledger", "staff.json", "--group", "all", "--survey", "staff.json") == 0
    KaryResponse.of(3, epsilon=1.0).described("Another one", id="x").save("other.json")
    assert run("ledger", "show", "p.ledger", "--survey", "other.json") == 2
    assert "is the ledger of the survey 'How we work'" in capsys.readouterr().err
    assert run("ledger", "open", "q.ledger", "--survey", "one.json", "--epsilon", "8") == 2
    assert "one.json has neither a title nor an identity" in capsys.readouterr().err
