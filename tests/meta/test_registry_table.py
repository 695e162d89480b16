"""The table of problems, methods and certificates is what is registered and what certifies."""

from __future__ import annotations

import pytest

import mechdesign as md
from mechdesign.families import problem_classes
from mechdesign.work.cache import Cache
from tests.support.checks import folder_of_run, kept_check
from tests.support.registry_table import PAGE, row, shown_in, solved_now, table, with_table


@pytest.fixture(scope="module")
def current(tmp_path_factory) -> str:
    """The table, from solutions of this run where another test has checked the model before."""
    cache = Cache(folder_of_run(tmp_path_factory.getbasetemp()))

    def certificates(slug: str):
        check = kept_check(slug, cache)
        if check is None or check.model.methods:  # a comparison of some methods only
            return solved_now(slug)
        return next(run for run in check.comparison.runs if run.kind != "published").certificates

    return table(certificates)


def test_the_page_has_the_table_of_what_is_registered(current):
    """To correct it: ``python -m tests.documented_outputs --update docs/reference/problems.md``."""
    assert shown_in(PAGE.read_text(encoding="utf-8")) == current


def test_every_problem_has_a_line_with_all_its_methods_and_a_certificate(current):
    lines = current.splitlines()[2:]
    cells = {line.split("]")[0].removeprefix("| ["): line.strip("| ").split(" | ") for line in lines}
    assert set(cells) == set(problem_classes())
    for name, (_, proven, others, certified) in cells.items():
        methods = {method.name for method in md.methods_of(problem_classes()[name])}
        assert {word for cell in (proven, others) for word in cell.split(", ") if word.strip()} == methods
        assert certified
    assert "published" in cells["mean-interval"][2]
    assert "**truthfulness**" in cells["auction-slot"][3]
    assert "**optimality**" not in cells["mean-channel"][3]


def test_a_page_with_an_old_table_is_corrected():
    page = "Text.\n<!-- registry -->\nold\n<!-- end of registry -->\nMore.\n"
    new = row("mean-interval", {"some_promise": True, "another": False}) + "\n"
    assert "| **some promise**, another |" in new
    assert shown_in(page) == "old\n"
    corrected = with_table(page, new)
    assert shown_in(corrected) == new
    assert corrected.startswith("Text.\n")
    assert corrected.endswith("More.\n")
