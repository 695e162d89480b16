"""An auction from the shell: build, step, and every kind of bad input, one line each."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from mechdesign.cli import main
from mechdesign.families.auction import OnlineAuction

MODEL = """
[model]
title = "Noise and air of a town"
problem = "auction-slot"
[parameters]
bids = [[1.0, 0.5], [1.0, 1.0], [0.5, 1.0], [2.0, 1.0]]
epsilon = 1.0
tasks = [[0, 1], [0], [0, 1], [1]]
requirements = [2, 1]
reserve = 5.0
participation = 0.2
task_names = ["noise", "air"]
"""

BIDS = """user,sensing,privacy,tasks
ann,1,0.5,noise air
bob,1,1,noise
cat,0.5,1,noise;air
dan,2,1,air
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch, capsys) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.toml").write_text(MODEL)
    Path("bids.csv").write_text(BIDS)
    assert main(["build", "model.toml", "-o", "auction.json"]) == 0
    capsys.readouterr()
    return tmp_path


def step(output: str, slot: int, *more: str, bids: str = "bids.csv", state: str = "season.json") -> int:
    try:
        return main(
            ["run", "auction.json", "step", bids, "-o", output, "--state", state, "--slot", str(slot), *more]
        )
    except SystemExit as stop:
        return int(str(stop.code))


def refused(capsys, *arguments, **options) -> str:
    before = {path: path.read_bytes() for path in Path.cwd().iterdir() if not path.name.startswith(".")}
    assert step(*arguments, **options) == 2
    after = {path: path.read_bytes() for path in Path.cwd().iterdir() if not path.name.startswith(".")}
    assert after == before, "nothing is written"
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mechdesign: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_two_slots_and_one_of_them_again(folder, capsys):
    assert step("one.csv", 1) == 0
    assert capsys.readouterr().out == (
        "one.csv: 2 rows of 'user', 'payment'; 2 winners, payments truthful within this slot\n"
    )
    assert Path("one.csv").read_text() == "user,payment\nann,2.0\ncat,1.9999999990686774\n"
    assert step("two.csv", 2) == 0
    capsys.readouterr()
    assert "one.csv: file exists" in refused(capsys, "one.csv", 1), (
        "what stands there is replaced by force alone"
    )
    assert "two.csv: file exists" in refused(capsys, "two.csv", 3), "and no slot is decided for it"
    assert step("one.csv", 1, "--force") == 0
    assert "1 slot that was decided before, repeated" in capsys.readouterr().out


def test_numbers_may_name_tasks(folder, capsys):
    Path("model.toml").write_text(MODEL.replace('task_names = ["noise", "air"]', ""))
    assert main(["build", "model.toml", "-o", "auction.json", "--force"]) == 0
    Path("bids.csv").write_text("user,sensing,privacy,tasks\n1,1,1,0\n2,1,1,0\n3,1,2,1\n4,2,2,0\n")
    assert step("one.csv", 1) == 0
    assert Path("one.csv").read_text().splitlines()[1:] == ["1,4.0", "2,4.0", "3,5.0"]


def test_the_status_of_a_season(folder, capsys):
    """Who is there and who left, with all that was paid; it decides nothing."""
    assert step("one.csv", 1) == 0
    Path("bids.csv").write_text(BIDS.replace("cat,", "eve,"))
    assert step("two.csv", 2) == 0
    season = Path("season.json").read_bytes()
    capsys.readouterr()
    command = ["run", "auction.json", "status", "--state", "season.json", "-o", "users.csv"]
    for force in ([], ["--force"]):
        assert main([*command, *force]) == 0
    assert "2 slots decided; 4 users there" in capsys.readouterr().out
    rows = {row["user"]: row for row in csv.DictReader(Path("users.csv").read_text().splitlines())}
    assert list(rows) == ["ann", "bob", "cat", "dan", "eve"]
    assert [rows["cat"][key] for key in ("slots", "won", "backlog")] == ["0", "0", "0.0"], "has left"
    assert [rows["dan"][key] for key in ("slots", "won", "idle", "backlog")] == ["2", "0", "2", "0.4"]
    paid = [dict(csv.reader(Path(name).read_text().splitlines())) for name in ("one.csv", "two.csv")]
    for name, row in rows.items():
        assert float(row["paid"]) == sum(float(part.get(name, 0)) for part in paid)
    assert Path("season.json").read_bytes() == season
    assert main([*command[:4], "none.json", "-o", "x.csv"]) == 2
    assert capsys.readouterr().err == ("mechdesign: none.json: file not found; name the state file\n")
    assert main(["run", "auction.json", "status", "-o", "x.csv"]) == 2
    assert "--state: is missing" in capsys.readouterr().err
    assert not Path("x.csv").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ann,1,1,noise", "bids.csv: column 'user': users: row 5: 'ann' appears twice; a user bids once"),
        ("ann ,1,1,noise", "users: row 5: 'ann ' begins or ends with a space; remove the space"),
        (
            "eve,-1,1,noise",
            "bids.csv: column 'sensing': bids: row 5: -1 is not a finite cost >= 0; correct it",
        ),
        ("eve,1,nan,noise", "row 5"),
        ("eve,1,inf,noise", "row 5"),
        ("eve,1,x,noise", "row 5"),
        ("eve,1,1,", "row 5"),
        ("eve,1,1, ", "eve has none; name one at least, or leave the user out"),
        ("eve,1,1,rain", "tasks: eve names 'rain', which is unknown; known: air, noise"),
        ("eve,1,1,air air", "tasks: eve names a task twice; name it once"),
        ("eve,9e9,1,air", "bids.csv: bids: that of 'eve' is above 4194304 ([9000000000.0, 1.0]); use"),
        ("eve,4e6,4e6,air", "bids.csv: bids: 'eve' costs more than 4194304 at this epsilon; use a larger"),
    ],
)
def test_bad_bids(folder, capsys, line, said):
    Path("bids.csv").write_text(BIDS + line + "\n")
    assert said in refused(capsys, "one.csv", 1)


def test_a_slot_without_enough_users(folder, capsys):
    Path("bids.csv").write_text("user,sensing,privacy,tasks\nann,1,1,noise\ndan,1,1,air\n")
    assert refused(capsys, "one.csv", 1) == (
        "mechdesign: bids.csv: slot 1: task noise: needs 2 users and 1 are able to do it; 1 missing, find "
        "them or lower its requirement\n"
    )


def test_bad_slots_and_states(folder, capsys):
    assert "--state season.json: does not exist; a season begins with slot 1" in refused(capsys, "x.csv", 2)
    assert "--slot: 0 is not at least 1" in refused(capsys, "x.csv", 0)
    assert step("one.csv", 1) == 0
    capsys.readouterr()
    assert "slot 3: is not the next one; 2 is" in refused(capsys, "x.csv", 3)
    Path("other.csv").write_text(BIDS.replace("0.5", "0.6"))
    assert "slot 1: was decided already, with other bids" in refused(capsys, "x.csv", 1, bids="other.csv")
    Path("link.csv").symlink_to("season.json")
    assert "is an input of this command" in refused(capsys, "link.csv", 2, "--force")
    assert "-o no/x.csv: cannot be written (its folder does not exist); create it" in refused(
        capsys, "no/x.csv", 2
    )
    assert "the slot names 'rain'" in refused(capsys, "x.csv", 2, "--request", "rain")
    assert "cannot be read" in refused(capsys, "x.csv", 2, state=".")
    text = Path("season.json").read_text()
    Path("season.json").write_text(text.replace('"ann", "cat"', '"ann", "bob"', 1))
    assert "season.json: was changed after it was written" in refused(capsys, "x.csv", 2)
    Path("season.json").write_text("{}")
    assert "season.json: is not a state file" in refused(capsys, "x.csv", 2)
    Path("season.json").write_text(text)
    Path("model.toml").write_text(MODEL.replace("epsilon = 1.0", "epsilon = 0.5"))
    assert main(["build", "model.toml", "-o", "auction.json", "--force"]) == 0
    capsys.readouterr()
    assert "season.json: is a season of another auction" in refused(capsys, "x.csv", 2)


def test_a_season_with_a_name_is_told_from_others(folder, capsys):
    """Same auction, same bids, same slot: only its name tells that this is the wrong state."""
    assert step("one.csv", 1, "--season", "spring", state="spring.json") == 0
    assert step("two.csv", 1, "--season", "autumn", state="autumn.json") == 0
    capsys.readouterr()
    assert refused(capsys, "x.csv", 2, "--season", "spring", state="autumn.json") == (
        "mechdesign: autumn.json: is the state of another season (is that of 'autumn', not of 'spring'); "
        "name the state file of this season\n"
    )
    assert step("three.csv", 2, "--season", "spring", state="spring.json") == 0
    assert step("four.csv", 3, state="spring.json") == 0, "without a name it is taken for any"
    status = ["run", "auction.json", "status", "--state", "autumn.json", "-o", "u.csv", "--season"]
    assert main([*status, "spring"]) == 2
    assert main([*status, "autumn"]) == 0
    capsys.readouterr()
    assert "season: '' is not a name; give a string" in refused(
        capsys, "x.csv", 1, "--season", "", state="new.json"
    )


def test_a_slot_too_large_for_its_rule_is_refused_and_changes_nothing(folder, capsys):
    """14 tasks and 300 users ran without an end, with the season locked."""
    tasks = [f"t{number}" for number in range(14)]
    auction = OnlineAuction(tasks, [1] * 14, 1.0, 0.2, reserve=5.0, rule="exact")
    auction.save("auction.json")
    all_tasks = " ".join(tasks)
    rows = [f"u{number},1,{1 + number / 100},{all_tasks}" for number in range(300)]
    Path("bids.csv").write_text("\n".join(["user,sensing,privacy,tasks", *rows]) + "\n")
    assert step("one.csv", 1, "--request", "t0", "--request", "t1") == 0
    capsys.readouterr()
    assert refused(capsys, "two.csv", 2) == (
        "mechdesign: bids.csv: rule 'exact': 4915200 steps of dynamic programming are more than 100000; ask "
        "for fewer tasks in this slot, or use rule 'greedy'\n"
    )
    assert step("two.csv", 2, "--request", "t3") == 0


def test_names_that_are_no_text_are_refused(folder, capsys):
    """Bytes became the text b'...' and were paid."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").table
    plain = {"sensing": [1.0, 1.0, 2.0], "privacy": [1.0, 2.0, 1.0], "tasks": ["noise air"] * 3}
    for users, tasks, said in (
        ([b"\xff\xfe", b"a", b"b"], plain["tasks"], r"column 'user' contains bytes, not strings"),
        (["a", "b", "c"], [b"noise air"] * 3, r"column 'tasks' contains bytes, not strings"),
        ([1.5, 2.0, 3.0], plain["tasks"], r"1.5 is not a string"),
    ):
        parquet.write_table(table({**plain, "user": users, "tasks": tasks}), "bids.parquet")
        assert said in refused(capsys, "x.csv", 1, bids="bids.parquet")
    parquet.write_table(table({**plain, "user": [1, 2, 3]}), "bids.parquet")
    assert step("x.csv", 1, bids="bids.parquet") == 0, "whole numbers may be names"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[1.0, 0.5]", "[-1.0, 0.5]", "bids: that of user 0 is negative"),
        ("[1.0, 0.5]", "[nan, 0.5]", "bids: has NaN at index 0, 0"),
        ("[1.0, 0.5]", "[1.0]", "bids: expected a matrix"),
        ("[0, 1], [0], [0, 1], [1]", "[0, 1], [], [0, 1], [1]", "tasks: user 1 has none"),
        (
            "[0, 1], [0], [0, 1], [1]",
            "[0, 1], [2], [0, 1], [1]",
            "tasks: user 1 names task 2, which is unknown",
        ),
        (
            "[0, 1], [0], [0, 1], [1]",
            "[0, 1], [0], [0, 1]",
            "tasks: expected a list of task numbers for each of 4",
        ),
        ("requirements = [2, 1]", "requirements = [2, -1]", "requirements: that of task 1 is negative"),
        ("epsilon = 1.0", "epsilon = 0.0", "epsilon: 0 is outside (0, inf)"),
        ("reserve = 5.0", "tradeoff = 0.0", "tradeoff: 0 is outside (0, inf)"),
        ("reserve = 5.0", "tradeoff = -1.0", "tradeoff: -1 is outside (0, inf)"),
        ("reserve = 5.0", "reserve = -1.0", "reserve: -1 is outside"),
        ("reserve = 5.0", "backlog = [0.0, -1.0, 0.0, 0.0]", "backlog: that of user 1 is negative"),
    ],
)
def test_bad_models(folder, capsys, old, new, said):
    Path("model.toml").write_text(MODEL.replace(old, new))
    assert main(["solve", "model.toml"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_requirements_beyond_the_able_users_are_a_status(folder, capsys):
    Path("model.toml").write_text(MODEL.replace("requirements = [2, 1]", "requirements = [4, 1]"))
    assert main(["build", "model.toml", "-o", "new.json"]) == 1
    assert capsys.readouterr().err == (
        "mechdesign: model.toml: infeasible: task noise: needs 4 users and 3 are able to do it; 1 missing, "
        "find them or lower its requirement\n"
    )
    assert not Path("new.json").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            [],
            "rule 'exact': truthful, the best winners; slots with these requirements and more than 33333",
        ),
        (
            ["--method", "milp"],
            "rule 'milp': truthful, the best winners; slots with more than 20000 users",
        ),
        (
            ["--method", "greedy"],
            "rule 'greedy': truthful, for slots of any size, not always the best winners",
        ),
    ],
)
def test_build_says_which_rule_decides_every_slot(arguments, told, tmp_path, capsys):
    model = tmp_path / "town.toml"
    model.write_text(
        '[model]\ntitle = "Town"\nproblem = "auction-slot"\n[parameters]\nbids = [[1, 1], [2, 1], [3, 1]]\n'
        "tasks = [[0], [0], [0]]\nrequirements = [2]\nepsilon = 1.0\n"
    )
    output = tmp_path / "town.json"
    assert main(["build", str(model), "-o", str(output), *arguments]) == 0
    assert told in capsys.readouterr().out
    rule = arguments[1] if arguments else "exact"
    assert OnlineAuction.load(output).rule.name == rule
