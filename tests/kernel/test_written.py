"""Files of mechanisms: large whole numbers are strings, and older files load."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import ModelFileError
from mechdesign.exact.numbers import EXACT_BELOW, file_values, plain_values
from mechdesign.primitives import KaryResponse
from tests.support.clients import CLIENTS
from tests.support.mechanism_files import opened

texts = st.text(max_size=8) | st.from_regex(r"\A={0,3}-?[0-9]{15,30}\Z")
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | texts | st.floats(allow_nan=False),
    lambda each: st.lists(each, max_size=4) | st.dictionaries(st.text(max_size=4), each, max_size=4),
    max_leaves=12,
)


def numbers(value):
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [value] if isinstance(value, int) else []


@given(values)
def test_what_is_written_is_read_and_no_number_is_beyond_a_double(value):
    text = json.loads(json.dumps(file_values(value)))
    assert plain_values(text) == value
    assert all(abs(number) <= EXACT_BELOW for number in numbers(text))


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_files_of_earlier_versions_load(tmp_path, name):
    mechanism, path = CLIENTS[name](), tmp_path / "m.json"
    mechanism.save(path)
    document = json.loads(path.read_text())
    assert document["version"] == 3
    assert all(abs(number) <= EXACT_BELOW for number in numbers(document))
    oldest = {**opened(path), "version": 1, "certificates": plain_values(document["certificates"])}
    for older in ({**document, "version": 2}, oldest):
        path.write_text(json.dumps(older))
        again = load_mechanism(path)
        assert again == mechanism
        assert again.fingerprint == again.survey_digest == mechanism.fingerprint


def test_labels_that_look_like_numbers_stay_texts(tmp_path):
    labels = ["4611686018427387904", "=4611686018427387904", "1234567890123456", "no"]
    mechanism = KaryResponse.of(4, 1.0, labels)
    mechanism.save(tmp_path / "m.json")
    assert load_mechanism(tmp_path / "m.json").labels.names == tuple(labels)


def test_a_newer_file_is_refused(tmp_path):
    KaryResponse.of(4, 1.0).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    for version in (0, 5, True, "2", None):
        (tmp_path / "m.json").write_text(json.dumps({**document, "version": version}))
        with pytest.raises(ModelFileError, match=r"this release reads 1 to 4; .*"):
            load_mechanism(tmp_path / "m.json")
