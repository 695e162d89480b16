"""What docs/conf.py does on the way from docstrings and pages to the site."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

CONF = Path(__file__).resolve().parents[2] / "docs" / "conf.py"

DOCSTRING = """Probabilities in a window.

Attributes
----------
first : int
below, above : float
    Upper bounds of what lies below
    and above the window.
error : float
"""


@pytest.fixture(scope="module")
def conf():
    pytest.importorskip("sphinx")
    return runpy.run_path(str(CONF))


def test_attributes_that_share_a_line_are_described_one_by_one(conf):
    from sphinx.ext.napoleon import Config, NumpyDocstring

    settings = Config(napoleon_use_ivar=conf["napoleon_use_ivar"])
    lines = NumpyDocstring(DOCSTRING, settings, what="class").lines()
    conf["one_each"](None, "class", "Window", None, None, lines)
    text = " ".join(" ".join(lines).split())
    for name in ("below", "above"):
        assert f":ivar {name}: Upper bounds of what lies below and above the window. " in text
        assert f":vartype {name}: float" in text
    for name in ("first", "error"):
        assert text.count(f":ivar {name}:") == 1
    assert "below, above" not in text


def test_cells_with_sentences_are_marked_for_the_style(conf):
    from docutils import nodes
    from docutils.utils import new_document

    page = new_document("page")
    sentence = "the owner's revenue equals the cost of the user, whatever the distance"
    for text in ("0.5", sentence, f"{sentence}; and {sentence}"):
        page += nodes.entry("", nodes.paragraph(text, text))
    conf["mark_long_cells"](None, page)
    assert [cell["classes"] for cell in page.findall(nodes.entry)] == [[], ["long"], ["very-long"]]
    style = (CONF.parent / "_static" / "site.css").read_text(encoding="utf-8")
    assert all(name in style for name in ("td.long", "td.very-long"))


def test_the_reference_has_every_module_once_on_few_pages(conf):
    package = CONF.parents[1] / "mechdesign"
    found = conf["packages"]()
    assert 20 < len(found) <= 150, "one page a package"
    modules = {
        ".".join(("mechdesign", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")
        for path in package.rglob("*.py")
        if path.name != "__main__.py"
    }
    shown = [name for package, own in found.items() for name in (package, *own)]
    assert sorted(shown) == sorted(modules)
    page = conf["reference_page"]("mechdesign.report", found["mechdesign.report"])
    assert page.count("automodule::") == 1 + len(found["mechdesign.report"])


def test_the_page_of_packages_leads_to_each(conf):
    source = ["<!-- packages -->"]
    conf["add_packages"](None, "reference/modules", source)
    assert source[0].count("](generated/") == len(conf["packages"]())
    assert "](generated/mechdesign.audit)" in source[0]


def test_the_page_of_commands_has_the_help_of_each(conf):
    source = ["<!-- commands -->"]
    conf["add_commands"](None, "reference/commands", source)
    for name in ("build", "estimate", "report", "solve"):
        assert f"## {name}\n" in source[0]
    assert "usage: mechdesign report" in source[0]
    assert "--marginal" in source[0]


def test_bars_in_docstrings_are_norms_and_no_substitutions(conf):
    lines = ["At most |U|^2 and ``|x|``.", "", "Code::", "", "    |a|", "|b|", ""]
    lines += [">>> f()", "|c|", "", "|d|"]
    conf["bars_as_text"](None, "function", "f", None, None, lines)
    assert lines[0] == r"At most \|U\|^2 and ``|x|``."
    assert [lines[place] for place in (4, 5, 8, 10)] == ["    |a|", r"\|b\|", "|c|", r"\|d\|"]


def test_a_formula_that_shows_as_text_is_a_warning(conf, monkeypatch):
    from docutils import nodes
    from docutils.utils import new_document

    page, warnings = new_document("page"), []
    page += nodes.paragraph("", "for $mu in the text")
    page += nodes.paragraph("", "", nodes.literal("", "cost = $5"), nodes.math("", r"\frac{1}{2}"))
    page += nodes.literal_block("", "$ mechdesign list")
    log = SimpleNamespace(warning=lambda text, location: warnings.append(text))
    names = conf["warn_of_formulas"].__globals__
    monkeypatch.setitem(names, "logging", SimpleNamespace(getLogger=lambda name: log))
    conf["warn_of_formulas"](None, page, "page")
    assert warnings == ["a formula shows as text: for $mu in the text"]
