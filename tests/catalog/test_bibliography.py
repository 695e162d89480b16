"""The bibliography: every entry is read to its end, and what is not in order is named."""

from __future__ import annotations

import pytest

from mechdesign.catalog.load import models_folder
from mechdesign.core.errors import ModelFileError
from mechdesign.papers.claims.bibliography import bibliography, parse, plain

GOOD = "@article{one,\n  author = {Doe, Jane and Roe, R.},\n  title = {A {DP} title},\n  year = {2020}\n}\n"


def test_every_entry_of_the_shipped_bibliography_is_read():
    entries = bibliography()
    text = (models_folder() / "references.bib").read_text(encoding="utf-8")
    assert len(entries) == text.count("@"), "an entry that is not closed would swallow the next"
    for key, entry in entries.items():
        assert entry.key == key
        assert entry.fields["year"].isdigit()
        assert not set(str(entry)) & set("{}\\")
    assert str(entries["wang2019"]).startswith("Ning Wang, Xiaokui Xiao, ")
    assert "638–649" in entries["wang2019"].fields["pages"]
    assert "Nicolás E. Bordenabe" in entries["chatzikokolakis2013"].authors


def test_authors_title_and_year():
    (entry,) = parse(GOOD).values()
    assert str(entry) == "Jane Doe, R. Roe (2020). A DP title"
    assert entry.kind == "article"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.rstrip().removesuffix("}") + GOOD.replace("one", "two"), "one: the entry is not closed"),
        (GOOD + GOOD, "one: is there twice"),
        (GOOD.replace("{2020}", "2020"), "one: the field 'year' is not in braces that close"),
        (GOOD.replace("{A {DP} title}", "{A {DP title}"), "one: .* is not in braces that close|not closed"),
        (GOOD.replace("year", "title"), "one: the field 'title' is there twice"),
        (GOOD.replace("year", "date"), "one: has no year"),
        (GOOD.replace("{2020}", "{ }"), "one: has no year"),
        (GOOD + "stray words\n", "line 6: expected an entry"),
    ],
)
def test_what_is_not_in_order_is_named(text, message):
    with pytest.raises(ModelFileError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"M{\"u}ller, Fran\c{c}ois, \v{C}ech, pe\~na", "Müller, François, Čech, peña"),
        (r"Gr\'{e}goire \& S{\`e}ve", "Grégoire & Sève"),
        ("two\n   lines -- here", "two lines – here"),
    ],
)
def test_tex_becomes_text(tex, text):
    assert plain(tex) == text
