"""Data frames of three libraries through the one door: like arrays, like files, and refused like files."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from mechdesign.collect import load_mechanism
from mechdesign.collect.base import CollectingMechanism, mechanism_types
from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.data.intake import Intake
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.mean import Duchi, Harmony
from mechdesign.families.shuffle import Protocol
from mechdesign.primitives import FiniteChannel, KaryResponse
from mechdesign.primitives.finite import PrivacyTarget
from tests.contract.test_every_mechanism import shown, values_for
from tests.meta.test_shown import MECHANISMS

pytest.importorskip("narwhals")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

KINDS = ("pandas", "polars", "pyarrow")
FRAMES = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.Table}
SERIES = {"pandas": pandas.Series, "polars": polars.Series, "pyarrow": pyarrow.ChunkedArray}
COLLECTING = [kind for kind in sorted(MECHANISMS) if issubclass(mechanism_types()[kind], CollectingMechanism)]
PROTOCOLS = [kind for kind in sorted(MECHANISMS) if issubclass(mechanism_types()[kind], Protocol)]


def frame(kind: str, columns: dict[str, Any]) -> Any:
    plain = {name: np.asarray(values).tolist() for name, values in columns.items()}
    return pyarrow.table(plain) if kind == "pyarrow" else FRAMES[kind](plain)


def series(kind: str, values: Any) -> Any:
    if kind == "pyarrow":
        return pyarrow.chunked_array([list(values)])
    return (
        SERIES[kind](list(values), name="city") if kind == "pandas" else polars.Series("city", list(values))
    )


def columns_of(mechanism: Any) -> dict[str, Any]:
    """Return what users hold as columns: by the attributes' names where there are several."""
    values = np.asarray(values_for(mechanism))
    if values.ndim == 1:
        return {"city": values}
    has_names = getattr(mechanism, "attributes", None) is not None
    if mechanism.type == "survey":
        return dict(zip(mechanism.questions.names, values.T, strict=True))
    names = mechanism.attributes.shown() if has_names else mechanism.labels.shown()
    pairs = list(zip(names, values.T, strict=True))
    return dict(pairs if names == [str(n) for n in range(len(names))] else reversed(pairs))


def survey(**options: Any) -> KaryResponse:
    return KaryResponse.of(3, epsilon=2.0, labels=["Graz", "Linz", "Wien"], **options)


@pytest.mark.parametrize("kind", COLLECTING)
def test_every_mechanism_does_with_frames_what_it_does_with_arrays(kind):
    mechanism: Any = MECHANISMS[kind][0]()
    expected = shown(mechanism.estimate(mechanism.randomize(values_for(mechanism), rng=3)))
    for library in KINDS:
        reports = mechanism.randomize(frame(library, columns_of(mechanism)), rng=3)
        assert isinstance(reports, FRAMES[library])
        assert shown(mechanism.estimate(reports)) == expected
        server = mechanism.aggregator()
        server.update(reports)
        assert server.users == mechanism.estimate(reports).users


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_every_protocol_takes_frames(kind):
    mechanism: Any = MECHANISMS[kind][0]()
    values = values_for(mechanism)
    arrays = mechanism.shuffle(mechanism.encode(values, rng=3), rng=4)
    for library in KINDS:
        messages = mechanism.encode(frame(library, {"city": values}), rng=3)
        assert isinstance(messages, FRAMES[library])
        messages = mechanism.shuffle(messages, rng=4)
        assert shown(mechanism.analyze(messages)) == shown(mechanism.analyze(arrays))


@pytest.mark.parametrize("library", KINDS)
def test_a_series_gives_a_series_and_the_index_stays(library):
    mechanism, answers = survey(), ["Graz", "Wien", "Linz"] * 50
    reports = mechanism.randomize(series(library, answers), rng=1)
    assert isinstance(reports, SERIES[library])
    assert list(map(str, np.asarray(reports).tolist())) == mechanism.randomize(answers, rng=1).tolist()
    assert shown(mechanism.estimate(reports)) == shown(mechanism.estimate(np.asarray(reports).tolist()))


def test_rows_keep_the_index_and_dropped_ones_leave_it():
    answers = pandas.Series(["Graz", None, "Wien"], index=["x", "y", "z"], name="city")
    reports = survey().run("randomize", answers, missing="drop", rng=1)
    assert reports.index.tolist() == ["x", "z"]
    assert reports.name.startswith("city__m")
    with pytest.raises(DataError, match=r"^series: column 'city': row 2: is missing; .*missing='drop'$"):
        survey().randomize(answers)


def test_a_shuffler_leaves_no_index():
    mechanism: Any = MECHANISMS["shuffled"][0]()
    values = np.resize(values_for(mechanism), mechanism.promise.users)
    people = pandas.DataFrame({"x": values}, index=np.arange(len(values)) + 1000)
    reports = mechanism.randomize(people, rng=1)
    assert reports.index.tolist() == people.index.tolist()
    shuffled = mechanism.run("shuffle", reports)
    assert shuffled.index.tolist() == list(range(len(values)))
    column = shuffled.iloc[:, 0]
    assert column.tolist() == sorted(reports.iloc[:, 0].tolist())


def test_a_frame_and_a_file_are_the_same(tmp_path):
    """The reports of a frame can be written to a file for the command line, and the other way round."""
    from mechdesign.cli import main

    mechanism = survey()
    mechanism.save(tmp_path / "m.json")
    people = pandas.DataFrame({"city": ["Graz", "Wien", "Linz"] * 40})
    people.to_csv(tmp_path / "people.csv", index=False)
    where = [str(tmp_path / name) for name in ("m.json", "people.csv", "r.csv")]
    assert main(["randomize", *where[:2], "-o", where[2], "--seed", "5"]) == 0
    reports = pandas.read_csv(where[2])
    assert reports.equals(mechanism.randomize(people, rng=5).astype(object)) or (
        reports.to_dict() == mechanism.randomize(people, rng=5).to_dict()
    )
    assert load_mechanism(where[0]).estimate(reports).users == 120


def test_columns_are_found_by_name():
    mechanism = survey()
    people = pandas.DataFrame({"name": ["a", "b"], "city": ["Graz", "Wien"]})
    built = mechanism.for_data(Intake(("city",)))
    assert built.randomize(people, rng=1).shape == (2, 1)
    assert mechanism.run("randomize", people, column="city", rng=1).shape == (2, 1)
    ranges = Harmony(epsilon=1.0, attributes=["a", "b"])
    data = pandas.DataFrame({"b": [1.0, 1.0], "other": [7, 7], "a": [-1.0, -1.0]})
    same = ranges.randomize(data[["a", "b"]].to_numpy(), rng=2)
    assert ranges.randomize(data, rng=2).iloc[:, 1].tolist() == same["report"].tolist()
    release = MarginalRelease.of([2, 2], [(0, 1)], 8.0, ["s", "c"], [["n", "y"], ["G", "W"]])
    table = release.estimate(
        release.randomize(polars.DataFrame({"c": ["G", "W"] * 900, "s": ["n", "y"] * 900}))
    )
    assert table.marginal(["s", "c"]).value.round(1).tolist() == [[0.5, 0.0], [0.0, 0.5]]
    crossed = release.estimate(
        release.randomize(polars.DataFrame({"c": ["G", "W"] * 900, "s": ["n", "y"] * 900})),
        penalty="cross-validated",
    )
    assert crossed.users == 1800


def test_what_is_kept_for_later_reports_and_synthetic_rows_take_frames_too():
    mechanism: Any = MECHANISMS["joint-response"][0]()
    columns = columns_of(mechanism)
    arrays = mechanism.remember(values_for(mechanism), rng=4)
    for library in KINDS:
        kept = mechanism.remember(frame(library, columns), rng=4)
        assert kept.report(rng=5).tolist() == arrays.report(rng=5).tolist()
    release = MarginalRelease.of([2, 2], [(0, 1)], 8.0, ["s", "c"], [["n", "y"], ["G", "W"]])
    reports = release.randomize(polars.DataFrame({"c": ["G", "W"] * 300, "s": ["n", "y"] * 300}), rng=1)
    rows = release.run("synthesize", reports, rows=50, rng=2)
    assert isinstance(rows, polars.DataFrame)
    assert rows.shape == (50, 2)
    assert set(rows["c"]) <= {"G", "W"}
    with pytest.raises(DataError, match="row 2: is missing"):
        release.attributes.encode(pandas.DataFrame({"s": ["n", None], "c": ["G", "W"]}))


def test_what_does_not_fit_is_refused_with_the_remedy():
    mechanism, numbers = survey(), Duchi(1.0)
    people = pandas.DataFrame({"name": ["a", "b"], "city": ["Graz", "Rome"]})
    reports = mechanism.randomize(people[["city"]].replace("Rome", "Wien"), rng=1)
    other = KaryResponse.of(3, epsilon=3.0, labels=["Graz", "Linz", "Wien"])
    cases = {
        r"^data frame: has 2 columns \(name, city\); name one with column=$": lambda: mechanism.randomize(
            people
        ),
        r"^data frame: column 'city': answers: row 2: unknown category 'Rome'; known": lambda: (
            mechanism.randomize(people[["city"]])
        ),
        r"no column 'town'; known: city, name$": lambda: mechanism.run("randomize", people, column="town"),
        r"holds reports, which would be randomized a second time": lambda: mechanism.randomize(reports),
        r"holds reports of another mechanism": lambda: other.estimate(reports),
        r"no column name ends in a mechanism's digest .* unmarked=True": lambda: mechanism.estimate(
            people[["city"]]
        ),
        r"^series: column 'x': values: row 1: 2 is outside .* with clip=True$": lambda: numbers.randomize(
            polars.Series("x", [2.0])
        ),
        r"row 2: is missing": lambda: numbers.randomize(polars.Series("x", [0.5, float("nan")])),
        r"^data frame: column 'x': holds lists": lambda: numbers.randomize(polars.DataFrame({"x": [[1.0]]})),
        r"^data frame: is lazy; collect it first$": lambda: numbers.randomize(polars.LazyFrame({"x": [1.0]})),
        r"^data frame: has no rows": lambda: numbers.randomize(pandas.DataFrame({"x": []})),
        r"^data frame: cannot be read": lambda: numbers.randomize(
            pandas.DataFrame([[0.1, 0.2]], columns=["x", "x"])
        ),
        r"^tables: 2 given, 'randomize' takes one$": lambda: mechanism.run("randomize", people, people),
        r"no operation 'randomise'; did you mean 'randomize'\?": lambda: mechanism.run("randomise", people),
        r"^colum: is not an option": lambda: mechanism.run("randomize", people, colum="city"),
    }
    for pattern, step in cases.items():
        with pytest.raises(MechDesignError, match=pattern) as caught:
            step()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        pandas.Series(["Graz", "Wien"], dtype="category"),
        pandas.Series(["Graz", "Wien"], dtype=object),
        polars.Series("c", ["Graz", "Wien"], dtype=polars.Categorical),
        pyarrow.chunked_array([pyarrow.array(["Graz", "Wien"]).dictionary_encode()]),
    ],
    ids=["category", "object", "polars-categorical", "dictionary"],
)
def test_texts_of_every_kind(column):
    assert (
        np.asarray(survey().randomize(column, rng=1)).tolist()
        == survey().randomize(["Graz", "Wien"], rng=1).tolist()
    )


def test_codes_with_gaps_and_booleans():
    channel = FiniteChannel.from_floats(np.array([[0.75, 0.25], [0.25, 0.75]]), PrivacyTarget(1.2))
    codes = pandas.Series([0, 1, None])
    assert codes.dtype == float
    assert len(channel.run("randomize", codes, missing="drop", rng=1)) == 2
    gaps = pandas.Series([1, None, 0], dtype="Int64")
    assert channel.run("randomize", gaps, missing="drop", rng=1).index.tolist() == [0, 2]
    with pytest.raises(DataError, match="are booleans"):
        channel.randomize(pandas.Series([True, False]))


def test_estimates_as_frames():
    mechanism = survey()
    estimate = mechanism.estimate(
        mechanism.randomize(pandas.Series(["Graz", "Wien"] * 500, name="city"), rng=1)
    )
    made = estimate.to_frame()
    assert made.columns.tolist() == ["question", "category", "estimate", "standard_error", "low", "high"]
    assert set(made["question"]) == {"city"}
    assert np.array_equal(made["estimate"], estimate.value)
    low, _ = estimate.interval(0.5)
    assert np.array_equal(estimate.to_frame("polars", level=0.5)["low"].to_numpy(), low)
    assert estimate.to_frame("pyarrow").column("category").to_pylist() == ["Graz", "Linz", "Wien"]
    with pytest.raises(ParameterError, match="no 'panda'; did you mean 'pandas'"):
        estimate.to_frame("panda")


MISSING = {
    "narwhals": (
        "m.randomize(pandas.Series([0]))",
        "data frame: needs narwhals; pip install narwhals, or",
    ),
    "polars": (
        "m.estimate([0] * 50).to_frame('polars')",
        "to_frame: needs polars; install polars, or name",
    ),
}
"""By a package that is not there: what needs it, and how the error begins."""


def test_what_is_not_installed_is_named():
    program = [
        "import sys, pandas",
        "from mechdesign.core.errors import MissingPackageError",
        "from mechdesign.primitives import KaryResponse; m = KaryResponse.of(2, 2.0)",
    ]
    for missing, (step, _) in MISSING.items():
        program += [f"sys.modules[{missing!r}] = None", f"try: {step}"]
        program += ["except MissingPackageError as error: print(error)", f"del sys.modules[{missing!r}]"]
    command = [sys.executable, "-c", "\n".join(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line, (_, said) in zip(done.stdout.splitlines(), MISSING.values(), strict=True):
        assert line.startswith(said)


def test_arrays_import_no_frames():
    program = (
        "import sys; from mechdesign.primitives import KaryResponse; m = KaryResponse.of(2, 2.0);"
        "m.estimate(m.randomize([0, 1] * 50)); "
        "print([n for n in ('narwhals', 'pandas', 'polars', 'pyarrow') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
