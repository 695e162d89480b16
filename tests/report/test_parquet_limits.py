"""Parquet files of a few kilobytes that would fill the memory, and columns that hold no text."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from mechdesign.core.errors import DataError
from mechdesign.data.data_set import open_table
from tests.support.whole_tables import read_column

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra mechdesign[parquet]")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra mechdesign[parquet]")

LONG = 48 << 20
REFUSED = {
    "one long text": (lambda: ["a", "a" * LONG], {}, r"holds 48 MiB of text in 2 rows"),
    "without a dictionary": (
        lambda: ["a", "a" * LONG],
        {"use_dictionary": False},
        r"holds 48 MiB of text in 2 rows",
    ),
    "large texts": (
        lambda: pyarrow.array(["a" * LONG], pyarrow.large_string()),
        {},
        r"holds 48 MiB of text in 1 rows",
    ),
    "a dictionary": (
        lambda: pyarrow.array(["a" * LONG]).dictionary_encode(),
        {},
        r"holds 48 MiB of text in 1 rows",
    ),
    "one text too long": (lambda: ["a" * ((1 << 20) + 1)], {}, r"contains a string of 1048577 bytes"),
    "bytes": (lambda: pyarrow.array([b"\xff\xfe"], pyarrow.binary()), {}, "contains bytes, not strings"),
    "large bytes": (lambda: pyarrow.array([b"a"], pyarrow.large_binary()), {}, "contains bytes, not strings"),
    "bytes of one length": (
        lambda: pyarrow.array([b"a"], pyarrow.binary(1)),
        {},
        "contains bytes, not strings",
    ),
    "a dictionary of bytes": (
        lambda: pyarrow.array([b"a"]).dictionary_encode(),
        {},
        "contains bytes, not strings",
    ),
    "lists": (lambda: [["a"]], {}, "holds lists"),
    "structures": (lambda: [{"a": "b"}], {}, "holds lists"),
    "maps": (
        lambda: pyarrow.array([[("a", "b")]], pyarrow.map_(pyarrow.string(), pyarrow.string())),
        {},
        "holds lists",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_column_of_values_is_refused_by_name(tmp_path, kind):
    values, options, said = REFUSED[kind]
    place = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"user": values()}), place, compression="zstd", **options)
    table = open_table(place)
    with pytest.raises(DataError, match=rf"x\.parquet: column 'user':? {said}"):
        list(table.blocks(["user"]))


def test_many_rows_of_one_long_text_take_the_memory_of_one(tmp_path):
    place = tmp_path / "x.parquet"
    rows = 1 << 18
    codes = pyarrow.array(np.zeros(rows, dtype=np.int32))
    words = pyarrow.array(["b" * (1 << 16)])
    parquet.write_table(pyarrow.table({"x": pyarrow.DictionaryArray.from_arrays(codes, words)}), place)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (block,) = open_table(place).blocks(["x"])
    assert len(block["x"]) == rows
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert kilobytes < 400 << 10, "written out, the texts take 16 GiB"


@pytest.mark.parametrize("as_dictionary", [True, False])
def test_texts_and_nulls_are_read_as_they_were(tmp_path, as_dictionary):
    place = tmp_path / "x.parquet"
    array = pyarrow.array(["a", "", "b", "a"])
    parquet.write_table(pyarrow.table({"x": array.dictionary_encode() if as_dictionary else array}), place)
    assert read_column(place)[1].tolist() == ["a", "", "b", "a"]
    array = pyarrow.array(["a", None])
    parquet.write_table(pyarrow.table({"x": array.dictionary_encode() if as_dictionary else array}), place)
    with pytest.raises(DataError, match="row 2: is missing"):
        read_column(place)
