"""Mechanism files: what was saved is what is loaded, and what was changed is refused naming what fails."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect import load_mechanism
from mechdesign.collect.base import digest
from mechdesign.core.errors import CertificateError, ModelFileError, UnknownNameError
from mechdesign.exact.randomness import TOTAL
from mechdesign.primitives import FiniteChannel, KaryResponse
from mechdesign.primitives.finite import PrivacyTarget
from tests.support.mechanism_files import opened


@pytest.fixture
def finite(tmp_path: Path) -> Path:
    problem = md.RandomizedResponse(prior=[0.36, 0.33, 0.31], epsilon=1.0, labels=["a", "b", "c"])
    md.solve(problem, "lp").mechanism().save(tmp_path / "finite.json")
    return tmp_path / "finite.json"


@pytest.fixture
def kary(tmp_path: Path) -> Path:
    problem = md.RandomizedResponse(
        prior=[0.4, 0.35, 0.25], epsilon=1.0, delta=0.0625, labels=["a", "b", "c"]
    )
    md.solve(problem).mechanism().save(tmp_path / "kary.json")
    return tmp_path / "kary.json"


def change(path: Path, *keys_and_value, sign: bool = False) -> Path:
    """Set one entry of the file, counted from the top; with ``sign`` the digest is made to fit."""
    document = opened(path)
    *keys, last, value = keys_and_value
    place = document
    for key in keys:
        place = place[key]
    place[last] = value(place[last]) if callable(value) else value
    if sign:
        document["sha256"] = digest(document["type"], document["content"])
    path.write_text(json.dumps(document))
    return path


def refusal(path: Path, error: type[Exception] = CertificateError) -> str:
    with pytest.raises(error) as caught:
        load_mechanism(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text


def test_round_trip(finite, kary):
    for path, kind in ((finite, FiniteChannel), (kary, KaryResponse)):
        mechanism = load_mechanism(path)
        assert type(mechanism) is kind
        again = path.with_name("again.json")
        mechanism.save(again)
        assert again.read_bytes() == path.read_bytes()
        assert kind.load(path).fingerprint == mechanism.fingerprint
        assert mechanism.labels.names == ("a", "b", "c")
    with pytest.raises(ModelFileError, match="holds a KaryResponse, not a FiniteChannel"):
        FiniteChannel.load(kary)


@pytest.mark.parametrize(("notion", "filed"), [("ldp", "set-wise"), ("entry-wise", "entry-wise")])
def test_the_words_of_files_stay_where_a_notion_was_renamed(notion, filed):
    channel = np.array([[0.6, 0.4], [0.4, 0.6]])
    mechanism = FiniteChannel.from_floats(channel, PrivacyTarget(1.0, 0.1, notion=notion))
    content = mechanism.content()
    assert content["notion"] == filed
    assert FiniteChannel.from_content(content).target.notion == notion


def test_one_changed_weight_is_refused_naming_the_row(finite):
    assert "row 1 sums to 4611686018427387905" in refusal(
        change(finite, "content", "weights", 1, 1, lambda w: w + 1)
    )


@pytest.mark.parametrize("signed", [False, True])
def test_a_row_whose_sum_is_kept_but_whose_privacy_is_broken_is_refused(finite, signed):
    def move(row):
        place = int(np.argmin(row))
        return [
            weight + row[place] if number == int(np.argmax(row)) else (0 if number == place else weight)
            for number, weight in enumerate(row)
        ]

    document = opened(finite)
    least = [min(row) for row in document["content"]["weights"]]
    row = next(number for number, weight in enumerate(least) if weight > 0)
    text = refusal(change(finite, "content", "weights", row, move, sign=signed))
    assert "not private as stated" in text
    assert "true_epsilon = inf" in text
    assert "witness" in text


def test_the_last_unit_counts(kary):
    """Moving one unit of 2**62 from low to own, with the sum kept, already breaks the promise."""
    document = opened(kary)
    content = document["content"]
    kept = len(content["kept"])
    content["low"] -= 1
    content["high"] += kept - 1
    document["sha256"] = digest(document["type"], content)
    kary.write_text(json.dumps(document))
    assert "not private as stated" in refusal(kary)


@pytest.mark.parametrize("signed", [False, True])
def test_a_lowered_epsilon_is_refused(finite, kary, signed):
    for path in (finite, kary):
        assert "privacy: FAILS" in refusal(change(path, "content", "epsilon", 0.99, sign=signed))


def test_a_raised_epsilon_or_an_edited_label_is_refused_by_its_digest(finite, kary):
    for path in (finite, kary):
        original = path.read_text()
        assert "certificates are not its content's" in refusal(change(path, "content", "epsilon", 1.1))
        path.write_text(original)
        assert "sha256 differs" in refusal(change(path, "content", "labels", 0, "z"))
        path.write_text(original)
        assert "sha256 differs" in refusal(change(path, "sha256", "0" * 64))
        path.write_text(original)
        assert load_mechanism(path)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("content", "weights", 0, 0, lambda weight: float(weight)), "expected a whole number"),
        (("content", "weights", 0, 0, True), "expected a whole number"),
        (("content", "weights", 0, 0, 2**80), "beyond 64 bits"),
        (("content", "weights", 0, 0, -(2**61)), "is negative"),
        (("content", "total", 2**61), "total: is 2305843009213693952, not 2**62"),
    ],
)
def test_weights_that_are_no_weights_are_refused(finite, keys, text):
    assert text in refusal(change(finite, *keys))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("content", "kept", [0, 0, 1]), "not distinct"),
        (("content", "kept", [0, 1, 7]), "outside 0 .. 2"),
        (("content", "kept", [0, 1]), "sum to"),
        (("content", "own", 0), "sum to"),
        (("content", "total", 1), "total: is 1"),
    ],
)
def test_a_changed_structure_is_refused(kary, keys, text):
    assert text in refusal(change(kary, *keys))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (
            ("content", "weights", lambda rows: [*rows[:2], rows[2][:1]]),
            "refused: channel: expected a matrix",
        ),
        (("content", "weights", []), "refused: channel: expected a matrix"),
        (("content", "weights", 7), "refused: channel: expected a matrix"),
        (("content", "labels", ["a", "a", "b"]), "'a' appears twice"),
        (("content", "labels", ["a"]), "1 name for 3 categories"),
        (("content", "epsilon", -1.0), "epsilon: -1 is negative"),
        (("content", "epsilon", "1"), "epsilon: expected a number"),
        (("content", "delta", 1.0), "delta: 1 is outside"),
        (("content", "notion", "set-wide"), "did you mean 'set-wise'?"),
        (("content", "distance", [[0.0, 1.0]]), "damaged"),
        (("content", None), "has no content"),
        (("content", lambda content: {"total": TOTAL}), "content is damaged (KeyError('weights'))"),
        (("version", 5), "has version 5, this release reads 1 to 4; rebuild it"),
        (("format", "something"), "is not a mechanism file"),
    ],
)
def test_damaged_content_is_refused_in_one_line(finite, keys, text):
    error = (ModelFileError, CertificateError)
    assert text in refusal(change(finite, *keys), error)


def test_an_unknown_type_gets_a_suggestion(finite):
    assert "did you mean 'finite-channel'?" in refusal(
        change(finite, "type", "finite-chanel"), UnknownNameError
    )


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_truncated_file_is_refused(finite, share):
    text = finite.read_text()
    finite.write_text(text[: int(share * len(text))])
    assert "is not JSON" in refusal(finite, ModelFileError)


def test_files_that_are_none(tmp_path):
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    assert "is not a mechanism file" in refusal(tmp_path / "list.json", ModelFileError)
    assert "is not JSON" in refusal(tmp_path / "binary.json", ModelFileError)
    assert "file not found" in refusal(tmp_path / "none.json", ModelFileError)


def test_a_file_appears_whole_or_not_at_all(finite, tmp_path):
    mechanism = load_mechanism(finite)
    with pytest.raises(ModelFileError, match="cannot be written"):
        mechanism.save(tmp_path / "no" / "such" / "folder.json")
    (tmp_path / "taken").mkdir()
    with pytest.raises(ModelFileError, match="not a regular file"):
        mechanism.save(tmp_path / "taken")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["finite.json", "taken"]
    assert stat.S_IMODE(finite.stat().st_mode) & 0o600 == 0o600
