"""The results of every mechanism that collects become sections, a page of results and a workbook."""

from __future__ import annotations

import math

import pytest

from mechdesign.data.tidy import Tidy
from mechdesign.report.page.results import Estimation, results_page
from mechdesign.report.sections import sections_of
from tests.contract.test_every_mechanism import COUNTED, made, reports_of, server_of

pytest.importorskip("jinja2", reason="needs the extra mechdesign[report]")


def estimate_of(mechanism):
    server = server_of(mechanism)
    server.update(reports_of(mechanism))
    return server.estimate()


@pytest.mark.parametrize("kind", COUNTED)
def test_results_have_sections_a_page_and_a_workbook(kind, tmp_path):
    mechanism = made(kind)
    result = estimate_of(mechanism)
    page = results_page(mechanism, Estimation(result, "estimate", "m.json", ["r.csv"]), "1")
    assert ">nan" not in page
    assert ">None" not in page
    if not isinstance(result, Tidy):
        return
    sections = sections_of(result, mechanism)
    count = sum(len(table.answers) for section in sections for table in section.tables)
    assert count > 0
    for section in sections:
        for table in section.tables:
            for margin in table.margins:
                assert margin is None or margin >= 0.0 or math.isnan(margin)
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    from mechdesign.report.workbook import write_result

    columns = result.tidy()
    path = str(tmp_path / "r.xlsx")
    assert write_result(path, result, mechanism, columns) == len(columns["estimate"])
    book = openpyxl.load_workbook(path)
    assert book.sheetnames[:2] == ["estimates", "About"]
    assert len(book.sheetnames) >= 3
    assert book["estimates"].max_row == len(columns["estimate"]) + 1
