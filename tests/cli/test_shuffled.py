"""Central guarantees from the shell: build, choose, audit, and the way of a table through the shuffler."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mechdesign.cli import main

SURVEY = ["response/zhou2019_survey", "--set", "delta=0", "--set", "epsilon=1"]
SHUFFLED = ["--shuffled", "5000", "--delta", "1e-6"]


def test_a_survey_goes_through_the_shuffler(tmp_path, capsys):
    made, people, reports, mixed = (str(tmp_path / name) for name in ("m.json", "p.csv", "r.csv", "s.csv"))
    assert main(["build", *SURVEY, *SHUFFLED, "--honest", "0.8", "-o", made]) == 0
    shown = capsys.readouterr().out
    assert "central_privacy: holds; users = 5000, epsilon = 1," in shown
    assert "honest_users = 4000" in shown
    assert "without a shuffler" in shown
    assert main(["audit", made]) == 0
    assert "central_privacy: holds" in capsys.readouterr().out
    rng = np.random.default_rng(5)
    rows = "\n".join(["answer", *rng.choice(["satisfied", "dissatisfied"], 5000, p=[0.7, 0.3])])
    (tmp_path / "p.csv").write_text(rows + "\n")
    assert main(["randomize", made, people, "--seed", "1", "-o", reports]) == 0
    assert main(["run", made, "shuffle", reports, "-o", mixed]) == 0
    assert "5000 users shuffled" in capsys.readouterr().out
    lines = (tmp_path / "s.csv").read_text().split()
    assert lines[1:] == sorted(lines[1:])
    assert main(["estimate", made, mixed, "--json"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert main(["estimate", made, reports, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == after


def test_choose_prints_the_gain_and_saves_both_guarantees(tmp_path, capsys):
    made = str(tmp_path / "m.json")
    command = ["choose", "--epsilon", "0.5", "--users", "5000", "--exact-only", *SHUFFLED, "-o", made]
    assert main(command) == 0
    assert "without a shuffler" in capsys.readouterr().out
    assert main(["audit", made, "--json"]) == 0
    found = {item["property"]: item for item in json.loads(capsys.readouterr().out)["certificates"]}
    assert found["central_privacy"]["holds"]
    assert found["central_privacy"]["epsilon"] == 0.5
    assert found["privacy"]["epsilon"] > 3.0
    assert main([*command[:-2], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shuffled"]["users"] == 5000


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([*SURVEY, "--shuffled", "5000"], "--shuffled: needs --delta"),
        ([*SURVEY, "--delta", "1e-6"], "--delta: is for shuffled reports"),
        ([*SURVEY, "--honest", "0.5"], "--honest: is for shuffled reports"),
        ([*SURVEY, "--shuffled", "1", "--delta", "1e-6"], "users: 1 is not from 2"),
        ([*SURVEY, "--shuffled", "100", "--delta", "0"], "delta: is 0"),
        ([*SURVEY, *SHUFFLED, "--honest", "1.5"], "honest: 1.5"),
        (["response/zhou2019_survey", *SHUFFLED], "its delta is of each report"),
        (["shuffle/counting", *SHUFFLED], "about shuffled messages already"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(tmp_path, capsys, given, why):
    made = tmp_path / "m.json"
    assert main(["build", *given, "-o", str(made)]) == 2
    shown = capsys.readouterr()
    assert why in shown.err
    assert shown.err.count("\n") == 1
    assert not made.exists()


def test_too_few_reports_are_not_shuffled(tmp_path, capsys):
    made, people, reports, mixed = (str(tmp_path / name) for name in ("m.json", "p.csv", "r.csv", "s.csv"))
    assert main(["build", *SURVEY, *SHUFFLED, "-o", made]) == 0
    (tmp_path / "p.csv").write_text("answer\n" + "satisfied\n" * 40)
    assert main(["randomize", made, people, "-o", reports]) == 0
    assert main(["run", made, "shuffle", reports, "-o", mixed]) == 2
    assert "reports of 40 users, and the central guarantee is for 5000" in capsys.readouterr().err
    assert not (tmp_path / "s.csv").exists()
    assert main(["run", made, "shuffle", reports, "--anyway", "-o", mixed]) == 0
