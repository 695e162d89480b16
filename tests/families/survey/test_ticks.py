"""A question with several answers: ticks in one cell of a file, or in a column for each."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.core.errors import RowError
from mechdesign.data.about import QuestionText
from mechdesign.families.survey import Question
from mechdesign.families.survey.questions import Questions
from mechdesign.families.survey.ticks import Ticks, ticks_in
from mechdesign.survey import Survey

ITEMS = ("mail", "chat", "phone, fax")
FILE = """
[survey]
title = "Tools"
epsilon = 50.0
id = "tools"
[[questions]]
name = "tools"
kind = "several"
text = "What do you use?"
labels = ["mail", "chat", "phone, fax"]{skip}
[[questions]]
name = "smokes"
labels = ["no", "yes"]
"""


def ticks(skip: bool = False) -> Ticks:
    parts = [f"tools: {item}" for item in ITEMS]
    questions = Questions([Question(part, labels=("no", "yes"), skip=skip) for part in parts])
    return Ticks(QuestionText("tools", labels=ITEMS, parts=parts), questions)


def test_every_list_of_ticks_is_read_again() -> None:
    """All subsets, in both orders, with each separator; against the set that was written."""
    for chosen in product([False, True], repeat=3):
        ticked = [item for item, tick in zip(ITEMS, chosen, strict=True) if tick]
        for separator in (";", "; ", ", ", "|", " ;  "):
            for order in (ticked, ticked[::-1]):
                if not order:
                    continue
                assert set(ticks_in(separator.join(order), ITEMS)) == set(ticked)
                assert set(ticks_in(separator.join(order) + separator, ITEMS)) == set(ticked)


def test_what_can_be_read_in_two_ways_is_refused() -> None:
    with pytest.raises(ValueError, match="can be read in two ways"):
        ticks_in("a, b, c", ("a", "a, b", "b, c", "c"))
    assert ticks_in("a, b; c", ("a", "a, b", "c", "x")) == ("a, b", "c")
    with pytest.raises(ValueError, match="lists something"):
        ticks_in("mail; pigeon", ITEMS)


def test_an_empty_cell_ticks_nothing_or_is_no_answer() -> None:
    cells = np.array(["mail", "", None, "none", "phone, fax;mail"], dtype=object)
    columns = ticks().expanded(cells)
    assert [columns[f"tools: {item}"].tolist() for item in ITEMS] == [
        ["yes", "no", "no", "no", "yes"],
        ["no", "no", "no", "no", "no"],
        ["no", "no", "no", "no", "yes"],
    ]
    skipped = ticks(skip=True).expanded(cells)
    assert skipped["tools: chat"].tolist() == ["no", None, None, "no", "no"]
    with pytest.raises(RowError, match="row 2: 'fax' lists something that cannot be ticked; list answers"):
        ticks().expanded(np.array(["mail", "fax"]))


@pytest.mark.parametrize(("skip", "no"), [("", 3), ("\nskip = true", 1)])
def test_both_ways_to_write_a_file_give_the_same_answers(skip: str, no: int, tmp_path: Path) -> None:
    """At epsilon 50 the estimate is the truth."""
    path = tmp_path / "tools.toml"
    path.write_text(FILE.format(skip=skip))
    survey = Survey.load(path).build().mechanism
    survey.save(tmp_path / "m.json")
    (tmp_path / "one.csv").write_text("smokes,tools\n" + "no,mail;chat\nyes,\nyes,\nno,none\n" * 60)
    empty = "yes,,," if skip else "yes,no,no,no"
    rows = f"no,yes,yes,no\n{empty}\n{empty}\nno,no,no,no\n" * 60
    (tmp_path / "each.csv").write_text('smokes,tools: mail,tools: chat,"tools: phone, fax"\n' + rows)
    for name in ("one", "each"):
        assert (
            main(
                [
                    "randomize",
                    str(tmp_path / "m.json"),
                    str(tmp_path / f"{name}.csv"),
                    "-o",
                    str(tmp_path / f"{name}_r.csv"),
                ]
            )
            == 0
        )
        reports = np.loadtxt(tmp_path / f"{name}_r.csv", dtype=str, skiprows=1)
        values = survey.estimate(reports).value
        assert values["tools: mail"][:2] == pytest.approx([no / 4, 0.25], abs=1e-6)
        assert values["tools: phone, fax"][1] == pytest.approx(0.0, abs=1e-6)


def test_errors_of_files_name_column_and_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tools.toml"
    path.write_text(FILE.format(skip=""))
    Survey.load(path).build().mechanism.save(tmp_path / "m.json")
    for text, said in {
        "smokes,tools\nno,mail\nno,pigeon\n": "question 'tools': row 2: 'pigeon' lists something",
        "smokes,tools,tools: mail\nno,mail,yes\n": "and 'tools: mail' as well; omit one",
        "smokes\nno\n": "no column 'tools: mail'",
    }.items():
        (tmp_path / "d.csv").write_text(text)
        command = [
            "randomize",
            str(tmp_path / "m.json"),
            str(tmp_path / "d.csv"),
            "-o",
            str(tmp_path / "r.csv"),
        ]
        assert main(command) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
