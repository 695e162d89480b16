"""Every result after collection has one shape: rows with a note, a frame, files, HTML and pictures."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from mechdesign.analysis import regress, shrunk
from mechdesign.analysis.asking import answers_of
from mechdesign.analysis.groups import by_group
from mechdesign.analysis.likelihood_tests import equal_waves, independence
from mechdesign.analysis.shrinkage import shown_of
from mechdesign.analysis.waves import wave_changes
from mechdesign.analysis.weights import raked, weighted_estimate
from mechdesign.core.values import encode
from mechdesign.data.tidy import Tidy
from mechdesign.families.mean import Duchi
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.primitives.kary import KaryResponse
from mechdesign.report.tables import write_results

RNG = np.random.default_rng(1)
ANSWER = KaryResponse.of(3, 2.0, labels=["a", "b", "c"])
PUBLIC = {"ward": np.repeat(["x", "y"], 100), "age": RNG.normal(size=200), "w": RNG.random(200) + 0.5}
ONE = answers_of(ANSWER, ANSWER.randomize(["a", "b"] * 100, rng=1), PUBLIC)
TWO = answers_of(ANSWER, ANSWER.randomize(["a", "c"] * 100, rng=2), PUBLIC)
NUMBER = Duchi(2.0, 0, 10)
MEANS = answers_of(NUMBER, NUMBER.randomize([2.0, 7.0] * 100, rng=1), PUBLIC)
SURVEY = SurveyMechanism.of(
    [Question("q", labels=("x", "y", "z")), Question("n", "number", low=0, high=9)], 4.0
)
WEIGHTS = raked(ONE.public, {"ward": {"x": 3, "y": 1}})

RESULTS: dict[str, Any] = {
    "weighted shares": lambda: weighted_estimate(ONE.question(), *WEIGHTS[:1], calibration=WEIGHTS[1]),
    "weighted mean": lambda: weighted_estimate(MEANS.question(), PUBLIC["w"]),
    "groups": lambda: by_group(ONE, "ward")[0],
    "differences": lambda: by_group(ONE, "ward")[1],
    "means by group": lambda: by_group(MEANS, "ward")[0],
    "linear": lambda: regress(ANSWER, ONE, formula="age", model="linear"),
    "multinomial": lambda: regress(ANSWER, ONE, formula="age"),
    "mean by a column": lambda: regress(NUMBER, MEANS, formula="age"),
    "independence": lambda: independence(ONE, "ward", draws=0),
    "waves": lambda: equal_waves(ONE, TWO, draws=0),
    "changes": lambda: wave_changes(ONE, TWO),
    "shown shares": lambda: shrunk(ANSWER.estimate(ONE.reports)),
    "shown survey": lambda: shown_of(
        SURVEY.estimate(SURVEY.randomize({"q": ["x", "y"] * 100, "n": [1.0] * 200}, rng=1))
    ),
}
SHAPE = ("question", "category", "estimate", "standard_error", "low", "high")


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_is_rows_a_frame_files_html_and_pictures(kind, tmp_path):
    result = RESULTS[kind]()
    assert isinstance(result, Tidy)
    columns = result.tidy()
    assert tuple(columns)[:6] == SHAPE
    assert "note" in columns
    (rows,) = {len(values) for values in columns.values()}
    assert rows > 0
    frame = result.to_frame()
    assert list(frame.columns) == list(columns)
    assert len(frame) == rows
    assert "<table" in result._repr_html_()
    json.dumps(encode(result.as_json()), allow_nan=False)
    assert result.figures()
    for name in ("t.csv", "t.parquet", "t.xlsx"):
        write_results(str(tmp_path / name), {kind: columns})
        assert (tmp_path / name).stat().st_size > 0
    assert str(result)
    for note in result.notes:
        assert note in str(result)
        assert note in columns["note"][0]
