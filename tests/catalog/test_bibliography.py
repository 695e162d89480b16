"""The bibliography: every entry is read, and what is not in order is named."""

from __future__ import annotations

import pytest

from mechdesign.core.errors import ModelFileError
from mechdesign.papers.claims.bibliography import bibliography, read_references

GOOD = '[one]\nkind = "article"\nauthor = "Doe, Jane and Roe, R."\ntitle = "A DP title"\nyear = "2020"\n'


@pytest.fixture
def file(tmp_path):
    return tmp_path / "references.toml"


def test_every_entry_of_the_shipped_bibliography_is_in_order():
    entries = bibliography()
    for key, entry in entries.items():
        assert entry.key == key
        assert entry.fields["year"].isdigit()
        assert not set(str(entry)) & set("{}\\"), "no TeX"
        assert "--" not in entry.fields.get("pages", "")
    assert str(entries["wang2019"]).startswith("Ning Wang, Xiaokui Xiao, ")
    assert "638–649" in entries["wang2019"].fields["pages"]
    assert "Nicolás E. Bordenabe" in entries["chatzikokolakis2013"].authors


def test_authors_title_and_year(file):
    file.write_text(GOOD)
    (entry,) = read_references(file).values()
    assert str(entry) == "Jane Doe, R. Roe (2020). A DP title"
    assert (entry.kind, "kind" in entry.fields) == ("article", False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + GOOD, r"the table \[one\] is there twice"),
        (GOOD.replace('"2020"', "2020"), "references.toml: one: the field 'year' is not a string"),
        (GOOD.replace('title"', "title"), "is not valid TOML"),
        (GOOD.replace("year", "title"), "the key 'title' is there twice"),
        (GOOD.replace("year", "date"), "one: has no year"),
        (GOOD.replace("kind", "type"), "one: has no kind"),
        (GOOD.replace("2020", " "), "one: has no year"),
        ("two = 1\n" + GOOD, "two: is not a table"),
    ],
)
def test_what_is_not_in_order_is_named(file, text, message):
    file.write_text(text)
    with pytest.raises(ModelFileError, match=message):
        read_references(file)
