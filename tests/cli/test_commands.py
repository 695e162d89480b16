"""Every command: what it prints, its JSON, its exit code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.cli import main

MODEL = """
[model]
title = "t"
problem = "randomized-response"
[parameters]
prior = [0.2, 0.8]
epsilon = 0.1
delta = 0.15
"""
RUN_KEYS = {
    "model", "problem", "method", "kind", "status", "sense", "value", "bound", "variables", "residuals",
    "certificates", "seconds", "solver",
}  # fmt: skip


def output(capsys, *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code
    text, error = capsys.readouterr()
    assert error == ""
    return text


def parsed(capsys, *arguments: str, code: int = 0):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(output(capsys, *arguments, "--json", code=code), parse_constant=refuse)


def test_list(capsys):
    text = output(capsys, "list")
    for slug in md.models():
        assert slug in text
    assert {row["model"] for row in parsed(capsys, "list", "response")} == set(md.models("response"))
    methods = parsed(capsys, "list", "--problems")
    assert {"closed-form", "lp", "convex", "extreme-points", "staircase"} <= {
        row["method"] for row in methods
    }


def test_show(capsys):
    text = output(capsys, "show", "response/zhou2019_survey")
    for word in ("epsilon = 0.1", "claim: value is 0.83 +- 1e-12", "maximize", "dissatisfied"):
        assert word in text
    source = "source: Yihui Zhou, Laifeng Lu, Zhenqiang Wu (2019). Study on utility optimization for"
    assert source in text
    assert "[zhou2019], section 3.3, eqs. (13)-(15)" in " ".join(text.split())
    shown = parsed(capsys, "show", "response/zhou2019_survey", "--set", "epsilon=2")
    assert shown["parameters"]["epsilon"] == 2
    assert shown["reference"]["year"] == "2019"
    assert shown["claims"][0] | {"relation": "=", "tolerance": 1e-12, "over": None} == shown["claims"][0]


def test_show_of_a_problem(capsys):
    text = output(capsys, "show", "mean-channel")
    lines = [line.split() for line in text.splitlines()]
    assert ["epsilon", "required", "float", ">", "0", "and", "finite."] in lines
    assert any(line[:2] == ["criterion", '"worst"'] for line in lines)
    assert any(line[:2] == ["columns", "numeric"] for line in lines)
    assert "--json" in text
    assert max(map(len, text.splitlines())) <= 120
    assert '"zipf", size, exponent = 1.0' in " ".join(output(capsys, "show", "randomized-response").split())
    schema = parsed(capsys, "show", "randomized-response")
    assert schema["required"] == ["prior", "epsilon"]
    assert schema["properties"]["delta"]["description"] == "float: In [0, 1)."
    assert main(["show", "mean-channel", "--set", "epsilon=1"]) == 2
    assert "--set is for models" in capsys.readouterr().err


def test_show_of_an_own_model_names_the_source_as_the_file_does(tmp_path, capsys):
    path = tmp_path / "own.toml"
    path.write_text(MODEL.replace('title = "t"', 'title = "t"\nsource = { cite = "mine", where = "p. 3" }'))
    assert "source: mine, p. 3\n" in output(capsys, "show", str(path))
    assert parsed(capsys, "show", str(path))["reference"] is None
    path.write_text(MODEL)
    assert "source" not in output(capsys, "show", str(path))


def test_solve_prints_the_object_of_the_design(capsys):
    found = parsed(capsys, "solve", "response/zhou2019_survey")
    assert set(found) >= RUN_KEYS
    assert found["value"] == pytest.approx(0.83)
    assert found["variables"]["channel"] == [pytest.approx([0.15, 0.85]), pytest.approx([0.0, 1.0])]
    privacy = next(item for item in found["certificates"] if item["property"] == "privacy")
    assert privacy["holds"] is True
    assert privacy["exact"] is True
    assert privacy["true_epsilon"] == "inf"
    assert set(privacy["witness"]) >= {"input", "other"}
    text = output(capsys, "solve", "response/zhou2019_survey", "--method", "lp")
    assert "by lp (numeric): optimal, value 0.83" in text
    assert "0.150000  0.850000" in text


def test_solve_of_a_million_symbols_stays_structured(capsys):
    found = parsed(capsys, "solve", "response/million_symbols")
    assert found["variables"]["channel"]["structure"] == "k-ary response"
    assert len(json.dumps(found)) < 100_000


def test_compare_prints_a_list_with_claims(capsys):
    (entry,) = parsed(capsys, "compare", "response/zhou2019_model1")
    assert set(entry) >= {"model", "problem", "runs", "agree", "claims"}
    assert entry["agree"] is True
    assert all(set(run) >= RUN_KEYS for run in entry["runs"])
    assert {"quantity", "stated", "found", "verdict", "as_expected"} <= set(entry["claims"][0])
    assert {"holds", "not-decidable"} == {claim["verdict"] for claim in entry["claims"]}
    assert {"holds", "refuted"} == {claim["outcome"] for claim in entry["claims"]}
    assert all(claim["as_expected"] for claim in entry["claims"])
    text = output(capsys, "compare", "response/zhou2019_survey", "response/nary")
    assert text.count("closed-form") >= 2


def test_check_without_a_name_checks_every_model(capsys, monkeypatch):
    monkeypatch.setattr(
        "mechdesign.catalog.models", lambda family=None: ["contract/irregular", "contract/limits"]
    )
    assert {entry["model"] for entry in parsed(capsys, "check")} == {
        "contract/irregular",
        "contract/limits",
    }
    assert len(parsed(capsys, "check", "--all")) == 2
    assert len(parsed(capsys, "check", "contract/irregular")) == 1


def test_a_family_stands_for_its_models(capsys, monkeypatch):
    shipped = ["contract/irregular", "contract/limits", "contracts/other", "response/zhou2019_survey"]
    monkeypatch.setattr("mechdesign.catalog.models", lambda family=None: shipped)
    found = [entry["model"] for entry in parsed(capsys, "check", "contract", "contract/limits")]
    assert found == ["contract/irregular", "contract/limits"]
    assert main(["check", "contrac"]) == 2
    assert "no model or family 'contrac'; did you mean 'contract'?" in capsys.readouterr().err


def test_check_of_one_model_and_with_a_changed_parameter(capsys):
    text = output(capsys, "check", "response/zhou2019_survey")
    assert re.search(
        r": no problem; methods agree; \d+ certificates hold;\severy verdict as recorded\n$", text
    )
    changed = output(capsys, "check", "response/zhou2019_survey", "--set", "delta=0.1")
    assert "not evaluated: the source states them for another delta" in " ".join(changed.split())
    (entry,) = parsed(capsys, "check", "response/zhou2019_survey", "--set", "delta=0.1")
    assert entry["problems"] == []
    assert "not-evaluated" in {claim["verdict"] for claim in entry["claims"]}


def test_check_is_brief_unless_models_are_named_or_verbose(capsys, monkeypatch):
    shipped = ["contract/irregular", "contract/limits"]
    monkeypatch.setattr("mechdesign.catalog.models", lambda family=None: shipped)
    brief = output(capsys, "check")
    assert len(brief.splitlines()) < 12
    assert "closed-form" not in brief
    assert output(capsys, "check", "--all") == output(capsys, "check", "contract") == brief
    assert output(capsys, "check", "-v").count("closed-form") >= 2
    assert output(capsys, "check", "contract/limits").count("closed-form") >= 1


def test_sweep_takes_the_points_that_are_set(capsys):
    name = "mean/rcp2023_single"
    assert [row["parameters"] for row in parsed(capsys, "sweep", name, "--set", "epsilon=1")] == [
        {"epsilon": 1}
    ]
    rows = parsed(capsys, "sweep", name, "--set", "epsilon=[1.0, 3.0]", "--set", "mean=0.2")
    assert [row["parameters"]["epsilon"] for row in rows] == [1.0, 3.0]
    assert rows[0]["value"] != parsed(capsys, "sweep", name, "--set", "epsilon=1")[0]["value"]
    assert main(["sweep", name, "--set", "epsilon=[]"]) == 2
    assert "expected a non-empty list" in capsys.readouterr().err
    assert main(["sweep", name, "--set", "epsilon=-1"]) == 2


REFUTED = 'verdict = "refuted"\nreason = "no"\nreadings = [{ text = "as it stands", outcome = "refuted" }]'


@pytest.mark.parametrize(
    ("claim", "code"),
    [
        ("value = 0.83\ntolerance = 1e-9", 0),
        ("value = 0.84\ntolerance = 1e-9", 1),
        (f"value = 0.84\ntolerance = 1e-9\n{REFUTED}", 0),
        (f"value = 0.83\ntolerance = 1e-9\n{REFUTED}", 1),
    ],
)
def test_a_flipped_verdict_makes_check_and_compare_exit_1(tmp_path, capsys, claim, code):
    path = tmp_path / "own.toml"
    path.write_text(MODEL + '[[claim]]\nquantity = "value"\n' + claim + "\n")
    for command in ("check", "compare"):
        assert main([command, str(path)]) == code
        capsys.readouterr()


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ('value = "0.83"', "[claim 1] value: states a text, but value is a number"),
        ("value = [0.83]", "[claim 1] value: states a list of 1, but value is a single one"),
        ('relation = "increasing"', "[claim 1] relation: 'increasing' is about a sweep; add [sweep]"),
    ],
)
def test_a_claim_that_does_not_fit_is_bad_input(tmp_path, capsys, claim, text):
    path = tmp_path / "own.toml"
    path.write_text(MODEL + '[[claim]]\nquantity = "value"\n' + claim + "\n")
    for command in ("check", "compare"):
        assert main([command, str(path)]) == 2
        printed, error = capsys.readouterr()
        assert printed == ""
        assert error.startswith(f"mechdesign: {path}: {text}")
        assert error.count("\n") == 1


def test_sweep_prints_writes_and_encodes(tmp_path, capsys):
    text = output(capsys, "sweep", "response/survey_skewed")
    assert len(text.splitlines()) == 3 + 7
    rows = parsed(capsys, "sweep", "response/survey_skewed", "--method", "lp")
    values = [row["value"] for row in rows]
    assert values == sorted(values), "a larger epsilon never costs utility"
    for name in ("s.csv", "s.parquet"):
        place = str(tmp_path / name)
        text = output(capsys, "sweep", "response/survey_skewed", "-o", place)
        assert text == f"{place}: 7 points of response/survey_skewed\n"
    assert len(parsed(capsys, "sweep", "response/survey_skewed", "-o", place, "--force", "--json")) == 7
    lines = (tmp_path / "s.csv").read_text().splitlines()
    assert lines[0].startswith("epsilon,status,value,bound,gap")
    assert len(lines) == 8


def test_build_audit_and_what_infeasible_means(tmp_path, capsys):
    path, survey = str(tmp_path / "m.json"), "response/zhou2019_model1"
    assert "privacy: holds" in output(capsys, "build", survey, "-o", path)
    audit = parsed(capsys, "audit", path)
    assert audit["certificates"][0]["property"] == "privacy"
    assert parsed(capsys, "build", survey, "-o", path)["status"] == "optimal"


def test_infeasible_is_exit_code_1_with_a_reason(tmp_path, capsys, monkeypatch):
    import mechdesign.solvers.solve as module

    nothing = md.Method(
        "nothing",
        md.RandomizedResponse,
        "numeric",
        "",
        lambda problem: md.Outcome("infeasible", message="too strict"),
    )
    monkeypatch.setattr(module, "methods_of", lambda problem_class: (nothing,))
    assert main(["solve", "response/zhou2019_survey"]) == 1
    assert "too strict" in capsys.readouterr().out
    assert main(["build", "response/zhou2019_survey", "-o", str(tmp_path / "m.json")]) == 1
    assert "infeasible: too strict" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def run(*arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-W", "error", "-m", "mechdesign", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_exit_codes_of_the_process():
    assert run("--version").stdout.strip() == f"mechdesign {md.__version__}"
    bad = run("solve", "response/zhou2019_survey", "--set", "epsilon=-1")
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)


def test_a_reader_that_leaves_early_is_no_error():
    command = f"{sys.executable} -m mechdesign list | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.startswith("model")


def test_output_through_a_pipe_has_no_progress_bar():
    done = run("check", "response/zhou2019_survey", "response/zhou2019_model1")
    assert done.returncode == 0
    assert done.stderr == ""


def test_the_module_can_be_imported_without_running():
    done = subprocess.run(
        [sys.executable, "-c", "import mechdesign.__main__"], capture_output=True, check=False
    )
    assert done.returncode == 0
    assert Path(md.__file__).with_name("py.typed").is_file()


def test_options_of_a_method_on_the_command_line(capsys, tmp_path):
    given = ("solve", "mean/rcp2023_censoring", "--method", "algorithm-8", "--option", "first=1")
    assert "first = 1" in output(capsys, *given)
    assert main([*given, "--option", "other=2"]) == 2
    assert "has no option 'other'; its options are first, second" in capsys.readouterr().err
    assert main(["solve", "mean/rcp2023_censoring", "--option", "first=1"]) == 2
    assert "--option first=1: options are those of a method; add --method" in capsys.readouterr().err
    target = tmp_path / "m.json"
    assert main(["build", "mean/rcp2023_censoring", "--method", "algorithm-8", "-o", str(target)]) != 0
    assert "not built: privacy: FAILS (exact)" in capsys.readouterr().err
    assert not target.exists()
