"""README and documentation show what is really printed: every page is run, block by block."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.work.cache import Cache
from tests.support import checks
from tests.support.checks import folder_of_run
from tests.support.documents import ROOT, agree, blocks, commands, outputs, pages, rewritten

TABLE = ["method  gap      seconds", "------  -------  -------", "lp      1.0e-14    0.267", "  note"]


@pytest.mark.skipif(shutil.which("sh") is None, reason="the console blocks are for a POSIX shell")
@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_is_printed(page, tmp_path, tmp_path_factory):
    """To correct the pages: ``python -m tests.documented_outputs --update``."""
    found = list(outputs(page, tmp_path, folder_of_run(tmp_path_factory.getbasetemp())))
    wrong = [shown for shown in found if not shown.is_right]
    assert not wrong, "\n".join(
        [
            "run python -m tests.documented_outputs --update",
            *wrong[0].block.lines,
            "is printed as",
            *wrong[0].printed,
        ]
    )
    fenced = [block for block in blocks(page.read_text(encoding="utf-8")) if block.language == "console"]
    assert len(found) >= len([block for block in fenced if block.comment != "output not shown"])


def test_the_readme_has_outputs_of_python_and_of_the_shell():
    languages = [block.language for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"))]
    assert languages.count("text") >= 1
    assert languages.count("console") >= 2


def changed(line: str, other: str) -> list[str]:
    return [other if line in shown else shown for shown in TABLE]


def test_seconds_and_rounding_errors_may_differ_and_nothing_else():
    assert agree(TABLE, changed("lp", "lp      0.0e+00    1.005"))
    assert not agree(TABLE, changed("lp", "lp      1.0e-04    0.267"))
    assert not agree(TABLE, changed("lp", "lq      1.0e-14    0.267"))
    assert not agree(TABLE, TABLE[:-1])
    assert agree(["  0.2 s, HiGHS", ""], ["  1e-05 s, HiGHS"])
    assert not agree(["  0.2 s, HiGHS"], ["  0.2 s, CLARABEL"])
    assert not agree(["value 0.7869860422"], ["value 0.7869860423"])
    assert not agree(["row_sum = 2**62"], ["row_sum = 2**61"])


def test_a_comment_allows_other_numbers_and_no_other_text():
    shown, printed = ["no   0.66638  0.01011"], ["no  0.6671  0.0099"]
    assert agree(shown, printed, "random")
    assert agree(shown, printed, "machine")
    assert not agree(shown, printed)
    marked = ["reports of 'a__m3f2a91c07d4e'"], ["reports of 'a__m0123456789ab'"]
    assert agree(*marked, "machine")
    assert not agree(*marked)
    assert not agree(shown, ["yes  0.6671  0.0099"], "random")
    assert agree(["mean 6.98284"], ["mean 6.98344"], "digits: 3")
    assert not agree(["mean 6.98284"], ["mean 7.08"], "digits: 3")


PAGE = """
# Page

```toml
# note.toml
[model]
```

```python
import os
print(os.listdir())
value = 2.0
```

```text
['other.toml']
```

<!-- random -->
```console
$ cat \\
  note.toml; echo 5
[model]
$ false; echo "exit code $?"
exit code 0
```
"""


@pytest.mark.skipif(shutil.which("sh") is None, reason="the console blocks are for a POSIX shell")
def test_a_wrong_page_is_found_and_corrected(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    folder, again = tmp_path / "first", tmp_path / "second"
    folder.mkdir()
    again.mkdir()
    found = list(outputs(page, folder))
    assert [shown.is_right for shown in found] == [False, False]
    corrected = rewritten(PAGE, found)
    assert "\n['note.toml']\n" in corrected
    assert (
        '\n  note.toml; echo 5\n# note.toml\n[model]\n5\n$ false; echo "exit code $?"\nexit code 1\n```'
        in corrected
    )
    page.write_text(corrected)
    assert all(shown.is_right for shown in outputs(page, again))


def test_what_is_printed_must_be_shown(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\nText.\n\n```text\n1\n```\n")
    with pytest.raises(AssertionError, match="no text block follows"):
        list(outputs(page, tmp_path))


def test_continued_commands_are_one():
    assert commands(["$ a \\", "  b", "printed", "$ c"]) == [["a \\", "  b"], ["c"]]


def test_pages_are_those_of_the_documentation():
    assert ROOT / "README.md" in pages()
    assert ROOT / "docs" / "explanation" / "prior.md" in pages()
    assert all(isinstance(page, Path) and page.is_file() for page in pages())


def test_a_model_is_solved_once_by_a_method_and_another_one_is_solved_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "LONG", 0.0)
    cache, survey = Cache(tmp_path / "kept"), md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)
    alone = md.solve(survey, "lp")
    with checks.solved_once(cache):
        first, again = (md.solve(survey, "lp") for _ in range(2))
        others = md.solve(survey), md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.5), "lp")
    assert again is not first
    assert (again.seconds, again.value, str(again.problem)) == (first.seconds, alone.value, str(survey))
    assert [other.method for other in others] == ["closed-form", "lp"]
    assert others[1].value > first.value
    assert md.solve(survey, "lp").seconds != first.seconds, "outside, everything is solved"
