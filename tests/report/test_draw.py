"""Drawn figures: SVG that stands alone in any page, PNG, one style, and what happens without matplotlib."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from itertools import combinations
from xml.etree import ElementTree

import pytest

import mechdesign as md
from mechdesign.core import marks
from mechdesign.core.errors import DataError, MissingPackageError, ParameterError
from mechdesign.core.figure import Figure, Panel
from mechdesign.report import draw
from mechdesign.report.draw_marks import DRAWN
from mechdesign.report.style import INK, STYLES, style

EVERY = [
    Panel(
        "epsilon",
        "error <of> $one$ & two",
        [
            marks.Line([1, 2, 3], [1, float("nan"), 3], gaps=True, dots=True, label="line_with $x_1$ & <b>"),
            marks.Points([1, 2], [1, 2], open=True, label="stated", names=["a", "b"]),
            marks.Band([1, 2], [1, 1], [2, 3], label="band"),
            marks.Intervals([1, 2], [2, 2], [1, 1], [3, 4], label="intervals"),
            marks.Reference(2.0, label="bound"),
            marks.Polygon([1, 2, 2], [1, 1, 2], label="region"),
        ],
        y_scale="log",
    ),
    Panel(
        "x", "y", [marks.Bars([0, 1], [1, 2], label="one"), marks.Bars([0, 1], [2, 1])], x_names=["no", "yes"]
    ),
    Panel("x", "y", [marks.Heat([[0.1, 0.9], [0.9, 0.1]], label="share")], x_names="ab", y_names="cd"),
    Panel("x", "y", [marks.Surface([0, 1], [0, 1], [[1, 1], [1, 2]], label="height")]),
    Panel("x", "y", [marks.Circles([0, 1], [0, 1], [1, 2], names=["a", "b"], label="c")], equal_aspect=True),
]
ALL = Figure("All <marks>", EVERY, "A caption & more")
ONE = Figure("One", [EVERY[1]])


@pytest.fixture(scope="module")
def text() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return draw.svg(ALL)


def test_every_kind_of_mark_is_drawn():
    assert {type(mark) for panel in EVERY for mark in panel.marks} == set(DRAWN)


def test_svg_is_one_element_of_xml_without_references_to_elsewhere(text):
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("}svg")
    outside = re.sub(r'xmlns(:\w+)?="http://www\.w3\.org/[\w/]+"', "", text)
    assert "://" not in outside
    assert not re.search(r"<!DOCTYPE|<\?xml|<image|<script|<style|@import|url\((?!#)", text)
    names = {element.get("id") for element in root.iter()}
    for element in root.iter():
        for key, value in element.attrib.items():
            if key.endswith("href"):
                assert value.removeprefix("#") in names
            for name in re.findall(r"url\(#([^)]*)\)", value):
                assert name in names


def test_svg_tells_screen_readers_title_and_caption(text):
    root = ElementTree.fromstring(text)
    title, description = root[0], root[1]
    assert (title.text, description.text) == ("All <marks>", "A caption & more")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"


def test_svg_keeps_text_as_text_and_no_formula_is_made_of_it(text):
    found = [" ".join(element.itertext()).strip() for element in ElementTree.fromstring(text).iter()]
    for label in ("line_with $x_1$ & <b>", "error <of> $one$ & two", "yes", "share"):
        assert label in found


def test_svg_takes_the_colour_of_the_page_and_has_no_ground(text):
    assert "currentColor" in text
    assert INK not in text
    ground = ElementTree.fromstring(text).find(".//*[@id]/*[@id]/{*}path")
    assert "fill: none" in ground.get("style")


def test_names_in_one_page_do_not_clash(text):
    first, second = (set(re.findall(r'\bid="([^"]*)"', one)) for one in (text, draw.svg(ONE)))
    assert first
    assert second
    assert not first & second


def test_the_same_figure_gives_the_same_files(tmp_path):
    for suffix in draw.SUFFIXES:
        first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
        draw.save(ONE, first)
        draw.save(ONE, second)
        assert first.read_bytes() == second.read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    ElementTree.parse(tmp_path / "a.svg")


def test_what_a_program_has_set_up_does_not_matter():
    import matplotlib as mpl

    plain = draw.svg(ONE)
    with mpl.rc_context({"font.size": 30, "axes.grid": False, "lines.linewidth": 9, "svg.fonttype": "path"}):
        assert draw.svg(ONE) == plain


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.svg.gz", ".png"])
def test_other_suffixes_are_refused(name, tmp_path):
    with pytest.raises(ParameterError, match=r"is neither \.png nor \.svg; name it so"):
        draw.save(ONE, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere/a\.png: cannot be written"):
        draw.save(ONE, tmp_path / "nowhere" / "a.png")


def test_without_matplotlib_one_line_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError) as caught:
        md.plot(md.RandomizedResponse([0.5, 0.5], 1.0))
    assert str(caught.value) == "figure: needs matplotlib; install mechdesign[plot]"


def test_no_window_and_no_pyplot():
    program = (
        "import sys, mechdesign as md; md.plot(md.RandomizedResponse([0.5, 0.5], 1.0));"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def _lightness(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_series_differ_in_more_than_colour():
    """In grey print, and for who sees no colours, every two differ in dash and marker, bars in hatch."""
    looks = [style(number) for number in range(len(STYLES) * 3)]
    for first, second in combinations(looks[: len(STYLES)], 2):
        assert first.colour != second.colour
        assert first.dash != second.dash
        assert first.marker != second.marker
        assert first.hatch != second.hatch
    assert len({(look.colour, str(look.dash), look.marker) for look in looks}) == len(looks)


@pytest.mark.parametrize("look", STYLES, ids=lambda look: look.colour)
def test_colours_can_be_seen_on_white_and_on_black(look):
    """A contrast of 2 on white at least (lines are thick and have markers), of 3 on a dark page."""
    light = _lightness(look.colour)
    assert 1.05 / (light + 0.05) >= 2.0
    assert (light + 0.05) / (_lightness("#121212") + 0.05) >= 3.0


def test_labels_that_look_like_names_of_svg_stay_as_they_are():
    label = f'id="z" url(#q) xlink:href="#a" {INK}'
    text = draw.svg(Figure("f", [Panel("x", label, [marks.Line([1, 2], [1, 2])])]))
    assert label in "".join(ElementTree.fromstring(text).itertext())


@pytest.mark.parametrize("word", ["x" * 50_000, "a word and another " * 3000], ids=["one word", "many words"])
def test_texts_of_any_length_leave_room_for_the_picture(word):
    lines = [marks.Line([1, 2], [1, 2 + place], label=f"{place} {word}") for place in range(200)]
    panel = Panel(word, word, lines, title=word)
    named = Panel("x", "y", [marks.Bars(range(300), range(300))], x_names=[word] * 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = draw.picture(Figure(word, [panel, named]))
    assert all(axes.get_position().height > 0.1 for axes in drawn.axes)
    entries = [text.get_text() for text in drawn.subfigs[0].legends[0].get_texts()]
    assert entries[-1] == "... 200 in all"
    assert len(drawn.axes[1].get_xticklabels()) <= 40


def test_letters_that_the_font_lacks_are_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = draw.svg(Figure("\u4e2d", [Panel("x", "\u4e2d", [marks.Line([1, 2], [1, 2])])]))
    assert text.count("\u4e2d") >= 2
