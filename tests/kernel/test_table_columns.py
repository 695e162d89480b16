"""Columns of tables read in blocks: side by side, or into a server; errors say file, column and row."""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.collect.codec import Labels
from mechdesign.collect.collecting import Settings, collect, marked, side_by_side
from mechdesign.core.errors import DataError, RowError
from mechdesign.data.intake import ROWS
from mechdesign.export.messages import MemoryTable
from mechdesign.families.marginals.oracles.support import asked_attributes
from mechdesign.primitives.attributes import Attributes, people
from mechdesign.primitives.kary import KaryResponse

LAST = ROWS + 2
"""A row of the second block, counted from 0."""


def tables(bad):
    first, second = np.zeros(ROWS + 5, dtype=np.int64), np.ones(ROWS + 5, dtype=np.int64)
    second[LAST] = bad
    return MemoryTable({"a": first, "b": second}, "people.csv")


def test_columns_stand_side_by_side_block_by_block():
    readers = [Labels(2).encode, Labels(3).encode]
    blocks = list(side_by_side(tables(2), ["a", "b"], readers))
    assert [block.shape for block in blocks] == [(ROWS, 2), (5, 2)]
    assert blocks[1].tolist() == [[0, 1], [0, 1], [0, 2], [0, 1], [0, 1]]
    with pytest.raises(RowError, match=rf"people\.csv: column 'b': answers: row {LAST + 1}: "):
        list(side_by_side(tables(3), ["a", "b"], readers))


def test_servers_get_the_columns_of_all_tables():
    seen = []
    collect([tables(1), tables(2)], lambda source: ["b"], lambda column: seen.append(int(column.sum())))
    assert seen == [ROWS, 5, ROWS, 6]

    def update(first, second):
        Labels(2).encode(second, "reports")

    with pytest.raises(RowError, match=rf"people\.csv: reports: row {LAST + 1}: "):
        collect([tables(1), tables(2)], lambda source: ["a", "b"], update)


def test_two_columns_of_reports_of_one_mechanism_are_not_chosen_from():
    """Neither the first nor the last one is taken in silence; what is named is taken."""
    mechanism = KaryResponse.of(3, 5.0)
    once, twice = (marked(name, mechanism.survey_digest) for name in ("before", "after"))
    table = MemoryTable({once: np.zeros(9, dtype=np.int64), twice: np.full(9, 2)}, "both.csv")
    with pytest.raises(DataError, match=r"both\.csv: 2 columns hold this mechanism's reports \(before__m"):
        mechanism.aggregator().count_table(table, Settings())
    server = mechanism.aggregator()
    server.count_table(table, Settings({"column": ["after"]}))
    assert server.counts.tolist() == [0, 0, 9]


def test_marginals_are_asked_for_by_name():
    attributes = Attributes([2, 2, 2], ["a", "b", "a, b"])
    assert asked_attributes(None, attributes) == [(0,), (1,), (2,)]
    assert asked_attributes(["b ,a", "a, b"], attributes) == [(1, 0), (2,)]
    assert (
        people([f"n{number}" for number in range(7)]).content == "a value each: n0, n1, n2, n3, n4, n5, ..."
    )
