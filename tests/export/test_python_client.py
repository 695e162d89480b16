"""The Python client: the same bytes give the same report as the mechanism, and it refuses what is wrong."""

from __future__ import annotations

import io
import json
import re
from functools import cache

import numpy as np
import pytest
from scipy import stats

from mechdesign.collect.base import mechanism_types
from mechdesign.core.errors import DataError, MethodError
from mechdesign.exact.randomness import TOTAL
from mechdesign.export import export
from mechdesign.export.clients import plain_json, sheet
from mechdesign.export.known_answers import ByteSource
from tests.meta.test_shown import MECHANISMS
from tests.support.clients import CLIENTS, LEAST, NAMES, known

NO_CLIENT = {
    *("laplace", "piecewise", "hybrid", "square-wave", "planar-laplace", "planar-lattice"),
    *("contract-menu", "online-auction", "batch-shuffler", "marginal-rival"),
    *("direct-mechanism", "screening-menu"),
    *("spectrum-cloak", "spectrum-database", "spectrum-user"),
}
"""Types that people's devices do not run, or not in whole numbers."""


@cache
def mechanism(name):
    return CLIENTS[name]()


def loaded(text):
    space = {}
    exec(compile(text, "client.py", "exec"), space)
    return space


@cache
def client(name):
    return loaded(export(mechanism(name), "python"))


def test_every_type_has_a_client_or_says_why_not():
    covered = {kind for kind in CLIENTS if kind in mechanism_types()}
    assert covered == set(mechanism_types()) - NO_CLIENT


@pytest.mark.parametrize("kind", sorted(NO_CLIENT & set(MECHANISMS)))
def test_what_has_no_client_names_what_would_do(kind):
    with pytest.raises(MethodError, match=r"no client in integers; .*build") as caught:
        export(MECHANISMS[kind][0](), "python")
    alternative = mechanism_types()[kind].exact_alternative
    assert alternative in str(caught.value)
    assert "\n" not in str(caught.value)
    assert set(re.findall("'([a-z-]+)'", alternative)) <= set(CLIENTS)


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_the_same_bytes_give_the_same_report(name):
    rows = known(name)
    space = client(name)
    assert len(rows) >= LEAST
    for answer, text, report in rows[::10]:  # all were drawn so when they were made, from a longer stream
        drawn = mechanism(name).draw_recipe(answer, ByteSource(io.BytesIO(bytes.fromhex(text)).read))
        assert drawn == report
    for answer, text, report in rows:
        tape = io.BytesIO(bytes.fromhex(text))
        assert space["randomize"](answer, tape.read) == report
        assert tape.read() == b""


def test_vectors_visit_the_first_and_last_integer_of_every_report():
    for name in ("kary-response", "finite-channel", "duchi"):
        made = mechanism(name)
        firsts = {
            (row[0], row[2], int.from_bytes(bytes.fromhex(row[1])[:8], "little") >> 2) for row in known(name)
        }
        steps = made.recipe().steps
        if name == "duchi":
            end = made.lo + min(int(float(made.hi - made.lo)), made.hi - made.lo)
            low = {(40.0, 1, made.lo - 1), (40.0, 0, made.lo)}
            assert low | {(200.0, 1, end - 1), (200.0, 0, end)} <= firsts
            continue
        for answer, row in zip(NAMES, steps.get("rows", [""] * 5), strict=True):
            ends = [int(row[start : start + 16], 16) for start in range(0, len(row), 16)]
            ends = ends or _kary_ends(made.weights, NAMES.index(answer))
            for report, (first, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
                if first < end and name == "finite-channel":
                    shown = report if steps["labels"] is None else steps["labels"][report]
                    assert {(answer, shown, first), (answer, shown, end - 1)} <= firsts
                elif first < end:
                    assert {first, end - 1} <= {drawn for given, _, drawn in firsts if given == answer}


def _kary_ends(weights, answer):
    start = weights.own + weights.high - weights.low
    return [start, *(start + share * weights.low for share in range(1, weights.kept + 1))]


@pytest.mark.parametrize(
    ("name", "answer"),
    [("kary kept", 3), ("finite-channel", NAMES[2]), ("hadamard-response", 4), ("discrete-piecewise", 9.0)],
)
def test_draws_of_the_systems_generator_have_the_exact_law(name, answer):
    """Chi-square against the integer weights: a correct client fails with probability 1e-6 a case."""
    made, space = mechanism(name), client(name)
    users = 100_000 if name == "kary kept" else 20_000
    counts = {}
    for _ in range(users):
        report = space["randomize"](answer)
        counts[report] = counts.get(report, 0) + 1
    law = _law(made, answer)
    assert set(counts) <= {report for report, share in law.items() if share}
    observed = [counts.get(report, 0) for report, share in law.items() if share]
    expected = [users * share for share in law.values() if share]
    assert stats.chisquare(observed, expected).pvalue > 1e-6


def _law(made, answer):
    if made.type == "hadamard-response":
        even = made.include / TOTAL
        odd = [bin(number & (answer + 1)).count("1") % 2 for number in range(made.order)]
        return {number: (1 - even if odd[number] else even) * 2 / made.order for number in range(made.order)}
    if made.type == "discrete-piecewise":
        unit = made.domain.to_unit(np.array([answer]))[0]
        place = np.interp(unit, made.knots, np.arange(len(made.knots)))
        low, share = int(place), place - int(place)
        weights = made.channel.weights / TOTAL
        row = weights[low] * (1 - share) + weights[min(low + 1, len(weights) - 1)] * share
        return dict(enumerate(row.tolist()))
    names = made.report_labels.shown() if made.report_labels.names else range(made.report_labels.size)
    row = made.channel[made.labels.encode([answer])[0]]
    return dict(zip(names, row.tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("kary-response", "nevr", "'nevr' is not one of the answers"),
        ("kary 64", 64, "not a whole number from 0 to 63"),
        ("kary 64", True, "not a whole number"),
        ("duchi", 39.9, "not a number from 40.0 to 200.0"),
        ("duchi", float("nan"), "not a number from"),
        ("marginal-release", {"a": "no", "b": 1}, "give an answer to each of"),
        ("marginal-release", ["no", 1], "give a list of 3 answers"),
        ("attribute-sampling", [20, 0, "x"], "pulse: 'x' is not a number"),
    ],
)
def test_a_wrong_answer_is_refused(name, answer, words):
    with pytest.raises(client(name)["RandomizerError"], match=words):
        client(name)["randomize"](answer)


@pytest.mark.everywhere
def test_answers_can_be_given_by_name():
    space, zero = client("marginal-release"), bytes
    assert space["randomize"]({"c": 1, "a": "yes", "b": 2}, zero) == space["randomize"](["yes", 2, 1], zero)


def test_a_damaged_table_is_refused():
    text = export(mechanism("kary 64"), "python")
    steps = mechanism("kary 64").recipe().steps
    space = loaded(text.replace(steps["delegate"], "3" + steps["delegate"][1:]))
    with pytest.raises(space["RandomizerError"], match="its tables are not those that were exported"):
        space["randomize"](3)
    vector = sheet(mechanism("kary 64"))["vectors"][0]
    space = loaded(text.replace(plain_json(vector), plain_json([*vector[:2], 65])))
    with pytest.raises(space["RandomizerError"], match="test vector does not come out"):
        space["randomize"](3)


def test_a_source_that_ends_is_refused():
    with pytest.raises(client("kary 64")["RandomizerError"], match="returned 3 bytes, not 8"):
        client("kary 64")["randomize"](3, lambda count: b"abc")
    with pytest.raises(DataError, match="returned 0 bytes, not 8"):
        mechanism("kary 64").draw_recipe(3, ByteSource(io.BytesIO().read))


@pytest.mark.everywhere
def test_rows_are_what_estimate_reads():
    made, space = mechanism("attribute-sampling"), client("attribute-sampling")
    rows = space["rows"](space["randomize"]([40, 100, 80]))
    assert len(rows) == 2
    assert list(rows[0]) == [column.name for column in made.operations()[0].gives]
    (row,) = client("kary-response")["rows"]("never")
    assert row == {f"mood__m{mechanism('kary-response').fingerprint[:12]}": "never"}


def test_weekly_reports_come_from_kept_sets_and_stop_after_the_last_week(tmp_path):
    made, space = mechanism("weekly-response"), client("weekly-response")
    path, tape = tmp_path / "mine.json", io.BytesIO(bytes(range(256)) * 40)
    space["remember"]("never", path, tape.read)
    first = space["report"](path, tape.read)
    assert first == made.draw_recipe("never", ByteSource(io.BytesIO(bytes(range(256)) * 40).read))
    before = json.loads(path.read_text())
    assert "never" not in path.read_text()
    reports = [first, space["report"](path), space["report"](path)]
    assert made.read(reports).shape == (3, 1)
    assert json.loads(path.read_text()) == {**before, "made": 3}
    with pytest.raises(space["RandomizerError"], match="3 weeks were planned"):
        space["report"](path)
    document = json.loads(path.read_text()) | {"mechanism": "another"}
    path.write_text(json.dumps(document))
    with pytest.raises(space["RandomizerError"], match="belongs to another mechanism or survey"):
        space["report"](path)


def test_changing_answers_have_sets_of_their_own_up_to_the_limit(tmp_path):
    space, path = client("weekly parts of sets"), tmp_path / "mine.json"
    space["remember"](0, path)
    kept = json.loads(path.read_text())["sets"]
    space["report"](path, answer=7)
    assert json.loads(path.read_text())["sets"].items() > kept.items()
    for answer, message in (
        (3, "2 different answers"),
        (None, "may have changed"),
        (30, "not a whole number"),
    ):
        with pytest.raises(space["RandomizerError"], match=message):
            space["report"](path, answer=answer)
    assert json.loads(path.read_text())["made"] == 1
    buckets = client("weekly buckets")
    buckets["remember"](80, tmp_path / "buckets.json")
    assert len(json.loads((tmp_path / "buckets.json").read_text())["sets"]) == 3


def test_a_permanent_response_is_kept_and_its_reports_are_counted(tmp_path):
    made, space = mechanism("joint-response"), client("joint-response")
    path, tape = tmp_path / "mine.json", io.BytesIO(bytes(range(256)) * 40)
    space["remember"]([1, 2], path, tape.read)
    first = space["report"](path, tape.read)
    assert first == made.draw_recipe([1, 2], ByteSource(io.BytesIO(bytes(range(256)) * 40).read))
    for _ in range(4):
        space["report"](path)
    with pytest.raises(space["RandomizerError"], match="for 5 reports, which were made"):
        space["report"](path)
    with pytest.raises(space["RandomizerError"], match="never replaced"):
        space["remember"]([0, 0], path)
    assert json.loads(path.read_text())["made"] == 5
    assert [each.name for each in tmp_path.iterdir()] == ["mine.json"]
    (tmp_path / "mine.json.lock").touch()
    with pytest.raises(space["RandomizerError"], match="another program reports"):
        space["report"](path)
