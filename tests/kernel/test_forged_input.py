"""Counts, labels, texts and files that are forged are refused in one line, and cost little."""

from __future__ import annotations

import json
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect import Aggregator
from mechdesign.collect.base import FORMAT, VERSION, digest, load_mechanism
from mechdesign.collect.codec import Labels, as_floats
from mechdesign.core.errors import DataError, ModelFileError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.mean import AttributeSampling, DiscretePiecewise, Duchi, Harmony, Laplace, SquareWave
from mechdesign.families.mean.attribute_tables import AttributeAggregator
from mechdesign.families.mean.means import MeanAggregator
from mechdesign.primitives import FiniteChannel, KaryResponse, PrivacyTarget
from mechdesign.primitives.kary import KaryWeights


@pytest.fixture(scope="module")
def survey():
    return md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)).mechanism()


@pytest.mark.parametrize(
    "counts",
    [
        *([1.9, 0, 0], ["1", 0, 0], [True, 0, 0], [math.nan, 0, 0], [None, 0, 0], [-1, 2, 3]),
        *([2**63, 0, 0], [2**63 - 1, 2**63 - 1, 0], [2**60, 0, 0], [1, 2], [[1], [2], [3]]),
        *(7, None, "123", {"0": 1}),
    ],
)
def test_counts_that_are_none_are_refused(survey, counts):
    with pytest.raises(DataError, match=r"^aggregator: .*; count the reports again$"):
        Aggregator.from_json(survey, {"mechanism": survey.fingerprint, "counts": counts})


def test_counts_of_impossible_reports_are_refused():
    channel = FiniteChannel([[TOTAL // 2, TOTAL // 2, 0]] * 2, PrivacyTarget(0.0))
    document = {"mechanism": channel.fingerprint, "counts": [1, 1, 1]}
    with pytest.raises(DataError, match="no answer can cause"):
        Aggregator.from_json(channel, document)


def test_merging_does_not_overflow(survey):
    document = {"mechanism": survey.fingerprint, "counts": [2**53, 0, 0]}
    here, there = (Aggregator.from_json(survey, document) for _ in range(2))
    with pytest.raises(DataError, match="more than"):
        here.merge(there)
    assert here.users == 2**53


@pytest.mark.parametrize("kind", [Duchi, Laplace, SquareWave, DiscretePiecewise])
def test_sums_that_are_none_are_refused(kind):
    mechanism = kind(1.0)
    sums = mechanism.aggregator()
    sums.update(mechanism.randomize([0.5] * 10, rng=1))
    document = sums.as_json()
    assert MeanAggregator.from_json(mechanism, document).estimate() == sums.estimate()
    for place in range(len(document["sums"][0])):
        for value in (1.9, "1", True, 2**63, 2**400, None, math.inf, [1]):
            if value == 2**63 and place and kind in (Laplace, SquareWave):
                continue  # sums of scores may be as large
            forged = [[*document["sums"][0]]]
            forged[0][place] = value
            with pytest.raises(DataError, match=r"^aggregator: "):
                MeanAggregator.from_json(mechanism, {**document, "sums": forged})
    for rows in (None, 7, [], [[]], [document["sums"][0][:-1]], document["sums"] * 2, "12"):
        with pytest.raises(DataError, match=r"^aggregator: "):
            MeanAggregator.from_json(mechanism, {**document, "sums": rows})


def test_sums_of_attributes_are_whole_users():
    mechanism = AttributeSampling(Duchi(1.0), 3, 2)
    document = {"mechanism": mechanism.fingerprint, "sums": [[1, 0], [0, 0], [0, 0]]}
    with pytest.raises(DataError, match="not 2 reports for each user"):
        AttributeAggregator.from_json(mechanism, document)
    record = np.zeros(2, dtype=[("attribute", float), ("report", np.int64)])
    record["attribute"] = [0.0, 1.9]
    with pytest.raises(DataError, match=r"row 2: unknown category 1\.9"):
        mechanism.aggregator().update(record)


# Labels and texts


@pytest.mark.parametrize(
    "letter", ["\r", "\n", "\t", "\x00", "\x1b", "\x85", "\u2028", "\u2029", "\ud800", "\x7f"]
)
def test_a_label_that_breaks_a_table_is_refused_with_a_remedy(letter):
    with pytest.raises(ParameterError, match=r"labels: .* replace it by a space") as caught:
        Labels(2, ["no", f"y{letter}s"])
    assert str(caught.value).isprintable()
    with pytest.raises(ParameterError, match="labels: "):
        md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0, labels=["no", f"y{letter}s"])


def test_labels_of_other_scripts_and_subclasses_are_plain_texts():
    class Word(str):
        __slots__ = ()

        def __eq__(self, other):
            return False

        def __hash__(self):
            return id(self)

    labels = Labels(4, ["été", "是 否", "a\u00a0b", np.str_("x")])
    assert {type(name) for name in labels.names} == {str}
    with pytest.raises(ParameterError, match="'a' appears twice"):
        Labels(2, [Word("a"), Word("a")])
    for names in ("ab", b"ab", {"a": 1, "b": 2}, 2, True, 1.5):
        with pytest.raises(ParameterError, match="labels: expected a list of names"):
            Labels(2, names)


@pytest.mark.parametrize("text", ["1_0", "nan", "inf", "１", "0x1", "1e999", "", "1\n"])
def test_numbers_in_texts_follow_one_plain_grammar(text):
    for column in (np.array(["5", text]), np.array(["5", text], dtype=object)):
        with pytest.raises(DataError, match=r"row 2: .* is not a number"):
            as_floats(column, 1, "values")
    with pytest.raises(DataError, match="row 2"):
        Labels(20).encode(["5", text])
    with pytest.raises(DataError, match="booleans"):
        as_floats(np.array([True]), 1, "values")


def test_plain_numbers_in_texts_are_read():
    assert as_floats(np.array(["5", " -1.5e1", "+.5"]), 1, "values").tolist() == [5.0, -15.0, 0.5]
    table = np.array([["1", Fraction(1, 2)], [np.float32(0.25), 0]], dtype=object)
    assert as_floats(table, 2, "values").tolist() == [[1.0, 0.5], [0.25, 0.0]]


# Files that cost much


def document(kind, content):
    return {
        "format": FORMAT,
        "version": VERSION,
        "type": kind,
        "content": content,
        "sha256": digest(kind, content),
    }


def test_small_files_do_not_ask_for_much_memory(tmp_path):
    sampling = AttributeSampling(Duchi(1.0), 2).content() | {"attributes": 10**8, "low": 0.0, "high": 1.0}
    harmony = Harmony(1.0, 2).content() | {"attributes": 10**8, "low": 0.0, "high": 1.0}
    kary = KaryResponse(KaryWeights(2, 1, 0, TOTAL, 0), [0], 0.0).content() | {"size": 10**8}
    nested = DiscretePiecewise(1.0).content() | {"cells": 10**8, "window": 10**7}
    forged = [("attribute-sampling", sampling), ("harmony", harmony), ("kary-response", kary)]
    for kind, content in [*forged, ("discrete-piecewise", nested)]:
        (tmp_path / "forged.json").write_text(json.dumps(document(kind, content)))
        tracemalloc.start()
        try:
            with pytest.raises(ModelFileError, match="content is damaged") as caught:
                load_mechanism(tmp_path / "forged.json")
            assert "\n" not in str(caught.value)
            assert tracemalloc.get_traced_memory()[1] < 1 << 24
        finally:
            tracemalloc.stop()


def test_a_file_without_end_is_read_up_to_a_limit(tmp_path, monkeypatch, survey):
    monkeypatch.setattr("mechdesign.collect.base.LARGEST_FILE", 1 << 20)
    monkeypatch.setattr("mechdesign.catalog.shipped.LARGEST_FILE", 1 << 20)
    (tmp_path / "model.toml").symlink_to("/dev/zero")
    with pytest.raises(ModelFileError, match="is larger than 1 MiB; name another file"):
        load_mechanism("/dev/zero")
    with pytest.raises(ModelFileError, match="is larger than 1 MiB; name another file"):
        md.load_model(tmp_path / "model.toml")
    monkeypatch.setattr("mechdesign.collect.base.LARGEST_FILE", 100)
    with pytest.raises(ModelFileError, match="make it smaller"):
        survey.save(tmp_path / "survey.json")
    assert not (tmp_path / "survey.json").exists()
