"""How variables are printed."""

from __future__ import annotations

import numpy as np

from mechdesign.report.tables import SHOWN_ROWS, variable_text


def test_lists_of_different_lengths_are_printed_a_row_each():
    """Views of several sizes, for instance."""
    assert variable_text([[0, 7], [1, 2, 3]]).split("\n") == ["    [0, 7]", "    [1, 2, 3]"]


def test_what_is_not_shown_is_counted():
    ragged = [[1], *[[2, 3]] * 20]
    for value in (ragged, np.ones((21, 2))):
        lines = variable_text(value).split("\n")
        assert len(lines) == SHOWN_ROWS + 1
        assert lines[-1] == f"    ... {21 - SHOWN_ROWS} more rows (--json prints all)"
