"""Dropping rows drops those that lack a required answer; where there is a category for none, it counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError
from mechdesign.data.intake import Intake
from mechdesign.families.joint import JointResponse
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.sets import ProductSet, SetResponse
from mechdesign.families.mean import Harmony
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.primitives.kary import KaryResponse

LABELS = [["no", "yes", "missing"], ["f", "m"]]
DATA = pd.DataFrame(
    {
        "smokes": ["no", None, "yes", None, "yes", None],
        "sex": ["f", "m", None, None, "m", "f"],
    }
)
"""Rows 1 and 5 lack only what may lack; rows 2 and 3 lack what is required."""


def survey():
    return SurveyMechanism.of(
        [Question("smokes", labels=("no", "yes"), skip=True), Question("sex", labels=("f", "m"))], 1.0
    )


SEVERAL = {
    "survey": survey,
    "marginals": lambda: MarginalRelease.of([3, 2], [(0, 1)], 1.0, ["smokes", "sex"], LABELS),
    "joint": lambda: JointResponse.of([3, 2], 4.0, 0.5, 0.75, 0.5, 5, names=["smokes", "sex"], labels=LABELS),
    "sets": lambda: SetResponse.of([3, 2], 1.0, ProductSet([1, 1]), ["smokes", "sex"], LABELS),
}


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_only_rows_that_lack_a_required_answer_are_dropped(name, tmp_path, capsys):
    mechanism, data = SEVERAL[name](), tmp_path / "d.csv"
    mechanism.save(tmp_path / "m.json")
    DATA.to_csv(data, index=False)
    output = tmp_path / "r.csv"
    command = ["randomize", str(tmp_path / "m.json"), str(data), "-o", str(output), "--missing", "drop"]
    assert main(command) == 0
    line = capsys.readouterr().out
    assert ": 4 rows of " in line
    assert "; 2 rows without a value dropped; 2 rows " in line
    counted = "2 rows skip a question: counted there as 'no answer'"
    assert line.rstrip().endswith(
        counted if name == "survey" else "2 rows without a value counted as 'missing'"
    )
    assert len(pd.read_csv(output)) == 4


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_a_missing_value_that_is_kept_is_the_answer_for_it(name):
    """The reports of a seed are those of the rows in which the category stands."""
    mechanism = SEVERAL[name]()
    word = "no answer" if name == "survey" else "missing"
    kept = mechanism.run("randomize", DATA, missing="drop", rng=7)
    written = DATA.iloc[[0, 1, 4, 5]].assign(smokes=["no", word, "yes", word])
    assert kept.index.tolist() == [0, 1, 4, 5]
    assert kept.to_numpy().tolist() == mechanism.run("randomize", written, rng=7).to_numpy().tolist()


def test_the_only_column_and_numbers_are_dropped():
    one = KaryResponse.of(3, 1.0, LABELS[0]).for_data(Intake(("smokes",)))
    assert len(one.run("randomize", DATA, missing="drop", column="smokes", rng=1)) == 3
    numbers = pd.DataFrame({"a": [0.5, None, 0.25], "b": [None, 0.5, 0.125]})
    found = Harmony(1.0, 2).run("randomize", numbers, missing="drop", rng=1)
    assert len(found) == 1


def test_a_required_answer_is_still_refused_and_counted_where_it_lacks():
    with pytest.raises(DataError, match="question 'sex': row 3: has no answer"):
        survey().run("randomize", DATA)
    with pytest.raises(DataError, match="row 2: is missing"):
        SEVERAL["sets"]().run("randomize", DATA, missing="refuse")
    with pytest.raises(DataError, match="unknown category 'missing'"):
        SEVERAL["sets"]().run("randomize", DATA, missing="category")


def test_columns_without_names_are_known_by_their_place():
    release = MarginalRelease.of([3, 2], [(0, 1)], 1.0, None, LABELS)
    found = release.run("randomize", DATA[["smokes", "sex"]], missing="drop", rng=3)
    assert found.index.tolist() == [0, 1, 4, 5]


def test_reports_have_no_category_for_missing_values(tmp_path, capsys):
    """What is dropped by ``estimate`` are whole reports, whatever their columns are called."""
    mechanism = SEVERAL["marginals"]()
    reports = mechanism.run("randomize", DATA, missing="drop", rng=7)
    reports.iloc[0, -1] = None
    reports.to_csv(tmp_path / "r.csv", index=False)
    mechanism.save(tmp_path / "m.json")
    assert main(["estimate", str(tmp_path / "m.json"), str(tmp_path / "r.csv"), "--missing", "drop"]) == 0
    assert "1 row without a report dropped" in capsys.readouterr().out
    assert np.asarray(reports).shape == (4, 2)
