"""How variables are printed."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.report.tables import SHOWN_ROWS, solution_text, variable_text


def test_lists_of_different_lengths_are_printed_a_row_each():
    """Views of several sizes, for instance."""
    assert variable_text([[0, 7], [1, 2, 3]]).split("\n") == ["    [0, 7]", "    [1, 2, 3]"]


def test_what_is_not_shown_is_counted():
    ragged = [[1], *[[2, 3]] * 20]
    for value in (ragged, np.ones((21, 2))):
        lines = variable_text(value).split("\n")
        assert len(lines) == SHOWN_ROWS + 1
        assert lines[-1] == f"    ... {21 - SHOWN_ROWS} more rows (--json prints all)"


@pytest.mark.parametrize(
    ("slug", "method", "words"),
    [
        (
            "auction/setting_one_slot",
            "greedy",
            "at most 0.0974 (0.37 %) from the optimum; --method milp solves",
        ),
        ("auction/essential_user", "greedy", "proven optimal by its bound"),
        ("marginals/best_oracle", "hadamard", "at most 14 (40 %) from the optimum"),
        (
            "marginals/census_views",
            "even",
            "distance from the optimum unknown; --method allocation solves",
        ),
    ],
)
def test_the_first_line_says_how_far_from_the_optimum_and_which_method_has_it(slug, method, words):
    first = solution_text(md.solve(md.load_model(slug).problem, method)).splitlines()[0]
    assert words in first


@pytest.mark.parametrize("slug", ["mean/rcp2023_single", "location/planar_laplace"])
def test_an_optimum_and_a_problem_without_one_have_no_such_words(slug):
    text = solution_text(md.solve(md.load_model(slug).problem))
    assert "optimum" not in text.splitlines()[0]


def test_optimality_stands_once():
    text = str(md.solve(md.load_model("auction/essential_user").problem))
    assert text.count("optimality:") == 1
