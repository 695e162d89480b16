"""Drawn figures: SVG that stands alone in any page, PNG, one style, and what happens without matplotlib."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from itertools import combinations, pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import DataError, MissingPackageError, ParameterError
from mechdesign.show import draw, figure as marks
from mechdesign.show.draw_marks import (
    DRAWN,
    INK,
    STYLES,
    Style,
    covered,
    even_lines,
    legend_columns,
    style,
    surface_levels,
)
from mechdesign.show.figure import Figure, Panel
from tests.support.clashes import clashes

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
        md.plot(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0))
    assert str(caught.value) == "figure: needs matplotlib; install mechdesign[plot]"


def test_no_window_and_no_pyplot():
    program = (
        "import sys, mechdesign as md; md.plot(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0));"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def _line(y, **more) -> marks.Line:
    return marks.Line([1, 2, 3], y, dots=True, **more)


def test_a_curve_that_others_lie_on_is_seen_around_them():
    """Two curves with the same points: without it the picture has one of them only."""
    same = Panel("x", "y", [_line([1, 2, 3]), _line([1.001, 2, 3]), _line([3, 2, 1])])
    first, second, third = draw.picture(Figure("Same", [same])).axes[0].lines
    assert first.get_markersize() >= second.get_markersize() + 3.0
    assert first.get_linewidth() >= second.get_linewidth() + 1.5
    assert second.get_markersize() == third.get_markersize() == Style.size


@pytest.mark.everywhere
def test_curves_lie_on_one_another_by_what_is_seen_of_them():
    """On a logarithmic axis 0.001 and 0.002 are apart, beside 10; a curve with a gap is another one."""
    low, high = _line([0.001, 1, 10]), _line([0.002, 1, 10])
    assert covered(Panel("x", "y", [low, high])) == [1, 0]
    assert covered(Panel("x", "y", [low, high], y_scale="log")) == [0, 0]
    gap = _line([0.001, float("nan"), 10], gaps=True)
    assert covered(Panel("x", "y", [low, gap])) == [0, 0]
    assert covered(Panel("x", "y", [low, low, low])) == [2, 1, 0]


@pytest.mark.everywhere
def test_a_line_has_a_gap_only_where_it_is_allowed():
    assert np.isnan(_line([1.0, 2.0, float("nan")], gaps=True).y[2])
    for values, gaps, entry in (([1, float("nan"), 2], False, 2), ([1, 2, float("inf")], True, 3)):
        with pytest.raises(ParameterError, match=f"entry {entry} is not a finite number"):
            _line(values, gaps=gaps)


def test_titles_have_even_lines_and_numbers_stay_whole():
    title = "The front of error against messages for counting 10 000 users"
    lines = even_lines(title, 54)
    assert len(lines) == 2
    assert any("10\N{NO-BREAK SPACE}000 users" in line for line in lines)
    assert abs(len(lines[0]) - len(lines[1])) < 12
    assert even_lines("short", 54) == ["short"]


def test_columns_of_a_legend_are_as_wide_as_their_own_names():
    names = ["lower bound for every mechanism", "solved channel", "hybrid", "piecewise", "Duchi", "Laplace"]
    marked = [marks.Line([1, 2], [1, place], label=name) for place, name in enumerate(names)]
    assert legend_columns(Panel("x", "y", marked)) == 3, "it was 1, by the longest of all"
    wide = [marks.Line([1, 2], [1, place], label="m" * 60) for place in range(3)]
    assert legend_columns(Panel("x", "y", wide)) == 1


def test_the_scale_of_a_surface_ends_where_its_numbers_do():
    """Shares of at most 1 had a scale of colours up to 1.02."""
    share = Panel("x", "y", [marks.Surface([0, 1], [0, 1], [[0.613, 0.7], [0.9, 1.0]], label="share")])
    bar = draw.picture(Figure("Share", [share])).axes[1]
    assert bar.get_ylim() == (0.613, 1.0)
    assert max(bar.get_yticks()) == 1.0
    assert min(bar.get_yticks()) >= 0.613
    for low, high in ((0.0, 1e-9), (-3.0, 1234.5), (0.1, 0.1000001)):
        levels, shown = surface_levels(low, high)
        assert (np.diff(levels) > 0).all()
        assert len(levels) <= 20
        assert all(low - 1e-9 * abs(low) <= level <= high + 1e-9 * abs(high) for level in shown)


def test_bars_on_a_logarithmic_axis_begin_below_the_least():
    """The least bar had hardly any height, because the axis began just under its end."""
    bars = Panel("x", "y", [marks.Bars([0, 1, 2], [0.0101, 3.0, 2.5])], y_scale="log")
    assert draw.picture(Figure("Bars", [bars])).axes[0].get_ylim()[0] == pytest.approx(0.001)
    beside = Panel("x", "y", [marks.Bars([0], [5.0]), marks.Reference(0.03)], y_scale="log")
    assert draw.picture(Figure("Bars", [beside])).axes[0].get_ylim()[0] == pytest.approx(0.01)


def test_places_with_names_stand_within_the_panel():
    """A single estimate stood at the left end, on the axis, and a second one beside it at the right end."""
    ends = [marks.Intervals([0.0], [1.0], [0.5], [1.5]), marks.Intervals([0.0], [1.0], [0.2], [1.8])]
    axes = draw.picture(Figure("One", [Panel("x", "y", ends, x_names=["all"])])).axes[0]
    assert axes.get_xlim() == (-0.5, 0.5)


def test_large_numbers_have_groups_of_digits_on_every_axis():
    line = Panel("x", "y", [marks.Line([0, 200_000], [0.0, 2_000_000.0])])
    axes = draw.picture(Figure("Large", [line])).axes[0]
    texts = [text.get_text() for text in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    assert "100 000" in texts
    assert "1 000 000" in texts


@pytest.mark.parametrize(
    ("panel", "text"),
    [
        (Panel("x", "y", [marks.Line([1, 2], [1, 2], label="m" * 100)]), "cut off"),
        (Panel("x", "y", [marks.Bars(range(9), range(9))], x_names=["numbered", *"abcdefg", "last"]), ""),
        (Panel("x", "y", [marks.Bars(range(5), range(5))], x_names=["m" * 11] * 5), "overlap"),
    ],
)
def test_texts_that_cannot_be_read_are_found(panel, text):
    """The check of all pictures of models and mechanisms can fail."""
    found = clashes(draw.picture(Figure("Title", [panel])))
    assert found[0].startswith(text) if text else not found


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


NAMES = [
    ["no", "yes"],
    ["never", "yearly", "monthly", "weekly", "daily"],
    ["never", "tried it once, long a...", "monthly", "now and then"],
    ["dissatisfied with it", "satisfied with it"],
    [str(number) for number in range(20)],
    ["Duchi", "piecewise", "hybrid", "square wave", "Laplace"],
]


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("kind", ["heat", "bars"])
def test_names_at_an_axis_do_not_run_into_one_another(names, kind):
    size = len(names)
    if kind == "heat":
        mark, beside = marks.Heat([[0.5] * size] * size, label="p"), names
    else:
        mark, beside = marks.Bars(range(size), [1.0] * size), ()
    axes = draw.picture(Figure("A", [Panel("report", "answer", [mark], x_names=names, y_names=beside)])).axes[
        0
    ]
    labels = axes.get_xticklabels()
    assert [label.get_text() for label in labels] == names
    if labels[0].get_rotation() == 0:
        boxes = [label.get_window_extent() for label in labels]
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_a_few_short_names_are_not_turned():
    for names in NAMES[:2]:
        panel = Panel("report", "answer", [marks.Heat([[0.5] * len(names)] * 2, label="p")], x_names=names)
        assert draw.picture(Figure("A", [panel])).axes[0].get_xticklabels()[0].get_rotation() == 0


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


@pytest.mark.parametrize("narrow", [False, True])
def test_pictures_are_laid_out_as_matplotlib_lays_them_out_when_it_saves_them(narrow, monkeypatch):
    """They are drawn once instead of twice: that must not move anything."""
    figure = Figure("A title that is long enough for two lines of a picture, or is nearly so", EVERY)
    once = draw.svg(figure, narrow)
    monkeypatch.setattr(draw, "_lay_out", lambda draws: None)
    assert draw.svg(figure, narrow) == once
