"""Draw figures: as objects of matplotlib, into PNG and SVG files, or as SVG text for a page.

First the layout: lines of titles, columns of legends, where bars begin.

Matplotlib is optional (``mechdesign[plot]``) and imported on first use. No window is opened and nothing of
what a program has set up with pyplot is touched.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import math
import os
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np

from mechdesign.core.errors import DataError, MissingPackageError, ParameterError, Wording
from mechdesign.show.draw_marks import INK, PANEL, SETTINGS, draw_marks
from mechdesign.show.figure import Bars, Figure, Heat, Intervals, Panel, Reference, Surface
from mechdesign.work.files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

LEGEND = 80
"""Letters in a line of a legend under one panel."""

SAMPLE = 9
"""Letters in whose place the sample of a line stands, with the space around it."""

LINES, ENTRY, NAME, MOST_NAMES, MOST_ENTRIES = 4, 70, 40, 40, 40
"""Lines of a title or a label, letters of an entry of the legend and of a place on an axis, how many of each:
what is longer would leave no room for the picture. Screen readers are told all of the title."""


def even_lines(text: str, width: int) -> list[str]:
    """Return a text in as few lines as the width allows, which are about as long as one another.

    Beyond a few lines the rest is left out.

    Examples
    --------
    >>> even_lines("Order times noise error by the size of a view (figure 3.3)", 54)
    ['Order times noise error by the', 'size of a view (figure 3.3)']
    """
    whole = re.sub(r"(?<=\d) (?=\d{3}\b)", "\N{NO-BREAK SPACE}", text)  # 10 000 is one word
    lines = textwrap.wrap(whole[: 2 * LINES * width], width)
    if len(lines) > LINES:
        return textwrap.wrap(whole[: 2 * LINES * width], width, max_lines=LINES, placeholder=" ...")
    while width > 1 and len(narrower := textwrap.wrap(whole, width - 1)) == len(lines):
        lines, width = narrower, width - 1
    return lines


def legend_labels(panel: Panel) -> list[str]:
    """Return the names in the legend of a panel, in its order; scales of colours bear their own."""
    named = [mark for mark in panel.marks if mark.label and not isinstance(mark, (Heat, Surface))]
    # matplotlib lists bars and intervals last, as they are drawn from several parts
    ordered = sorted(named, key=lambda mark: isinstance(mark, (Bars, Intervals)))
    return entries([mark.label for mark in ordered])


def entries(labels: Sequence[str]) -> list[str]:
    """Return the entries of a legend for these labels: each shortened, and of very many the first.

    Examples
    --------
    >>> entries(["optimum", "bound"]), entries(["a"] * 41)[-1]
    (['optimum', 'bound'], '... 41 in all')
    """
    texts = [_shortened(label, ENTRY) for label in labels[:MOST_ENTRIES]]
    return texts if len(labels) <= MOST_ENTRIES else [*texts[:-1], f"... {len(labels)} in all"]


def _shortened(text: str, most: int) -> str:
    """Return the text, cut to at most ``most`` letters.

    Examples
    --------
    >>> _shortened("randomized", 8)
    'rando...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def named_places(names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the named positions of an axis and their names: all of them, or some at even distances.

    Examples
    --------
    >>> named_places(["no", "yes"]), named_places(["x"] * 80)[0][:3]
    (([0, 1], ['no', 'yes']), [0, 2, 4])
    """
    places = list(range(0, len(names), -(-len(names) // MOST_NAMES)))
    return places, [_shortened(names[place], NAME) for place in places]


def legend_columns(panel: Panel, part: float = 1.0) -> int:
    """Return the number of columns under a panel; each is as wide as its own longest name."""
    labels = legend_labels(panel)
    for count in range(min(4, len(labels)), 1, -1):
        columns = (max(map(len, column)) + SAMPLE for column in np.array_split(labels, count))
        if sum(columns) <= part * LEGEND:
            return count
    return 1


def legend_rows(panel: Panel, part: float = 1.0) -> int:
    """Return the number of lines of the legend."""
    return -(-len(legend_labels(panel)) // legend_columns(panel, part))


def bar_floor(panel: Panel) -> float:
    """Return where bars on a logarithmic axis begin: a power of ten below the least."""
    tops = [float(mark.y.min()) for mark in panel.marks if isinstance(mark, Bars)]
    least = min(
        tops + [mark.value for mark in panel.marks if isinstance(mark, Reference) and mark.axis == "y"]
    )
    return float(10.0 ** math.floor(math.log10(least / 2.0)))


SUFFIXES = (".png", ".svg")
RESOLUTION = 150
"""Dots per inch of PNG files."""

POINTS = 72
"""Points per inch, the unit of SVG files."""

NAMES, NAMES_BESIDE_BAR = 66, 46
"""Letters for which a horizontal axis has room; next to the bar of a heat map."""

LABEL, TITLE = 40, 60
"""Letters in a line of the label of a vertical axis, and of the title of a panel."""

LARGE = 1e4
"""Numbers from here on are written in groups of three digits."""

SIDE_BY_SIDE = 2
"""Panels in a row."""

NARROW = 0.7
"""The part of the usual width that pictures for phones have."""

TAG, NAMED = re.compile(r"<[^>]*>"), re.compile(r'(\bid="|xlink:href="#|url\(#)')
"""Names are in tags; what looks like one in a label is a text."""

NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}
"""The same figure gives the same file, and SVG has no block that names addresses."""


def matplotlib_module(name: str) -> Any:
    """Return a module of matplotlib, or raise the error that names the extra."""
    try:
        return importlib.import_module(f"matplotlib.{name}" if name else "matplotlib")
    except ImportError:
        raise MissingPackageError("figure", "needs matplotlib", "install mechdesign[plot]") from None


def picture(figure: Figure) -> Picture:
    """Return a figure as an object of matplotlib, which can be changed further.

    Raises
    ------
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> from mechdesign.show.figure import Line
    >>> drawn = picture(Figure("Utility", [Panel("epsilon", "utility", [Line([1, 2], [0.6, 0.8])])]))
    >>> [axes.get_xlabel() for axes in drawn.axes]
    ['epsilon']
    """
    with _settings():
        draws = _built(figure)
        draws.draw_without_rendering()  # what is only made when it is drawn has our style then too
    return draws


@contextmanager
def _settings() -> Iterator[None]:
    """Have the style of all pictures, whatever a program has set."""
    module = matplotlib_module("")
    with module.rc_context(), warnings.catch_warnings():
        # Letters of other scripts: SVG has them as text, in PNG a box stands for what the font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        module.rcdefaults()
        module.rcParams.update(SETTINGS)
        yield


def _built(figure: Figure, narrow: bool = False) -> Picture:
    columns = 1 if narrow else min(len(figure.panels), SIDE_BY_SIDE)
    rows, part = -(-len(figure.panels) // columns), NARROW if narrow else 1.0
    size = (
        part * PANEL[0] * columns,
        sum(_height(figure.panels[columns * row :][:columns], part) for row in range(rows)),
    )
    draws: Picture = matplotlib_module("figure").Figure(figsize=size, layout="constrained")
    matplotlib_module("backends.backend_agg").FigureCanvasAgg(draws)
    parts = draws.subfigures(rows, columns, squeeze=False)
    for place, panel in zip(parts.flat, figure.panels, strict=False):
        _draw_panel(place, panel, part)
    width = int(54 * part) * columns
    draws.suptitle("\n".join(even_lines(figure.title, width)), fontweight="bold")
    return draws


def _height(panels: Sequence[Panel], part: float = 1.0) -> float:
    """Return the inches that a row of panels needs: more where legends are long or there are many cells."""
    return 0.5 * (1.0 + part) * PANEL[1] + max(
        0.17 * rows + 0.04 * max(0, rows - 10) + 0.2 * _extra_lines(panel)
        for panel, rows in ((panel, legend_rows(panel, part)) for panel in panels)
    )


def _extra_lines(panel: Panel) -> int:
    """Return how many lines title and label of the horizontal axis have beyond the first two."""
    lines = len(even_lines(panel.title, TITLE)), len(even_lines(panel.x_label, 2 * LABEL))
    return sum(max(0, count - 2) for count in lines)


def _draw_panel(place: Any, panel: Panel, part: float) -> None:
    """Draw axes and marks of one panel, and under them what the marks are."""
    axes = place.subplots()
    _fill(place, axes, panel, part)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        texts, columns = entries(labels), legend_columns(panel, part)
        place.legend(handles[: len(texts)], texts, loc="outside lower center", ncols=columns)


def draw_on(axes: Any, panel: Panel) -> None:
    """Draw a panel on axes that a program has, in the style that these have; with a legend inside.

    Examples
    --------
    >>> from matplotlib.figure import Figure as Sheet
    >>> from mechdesign.show.figure import Line
    >>> axes = Sheet().subplots()
    >>> draw_on(axes, Panel("epsilon", "utility", [Line([1, 2], [0.6, 0.8], label="optimum")]))
    >>> axes.get_xlabel(), [text.get_text() for text in axes.get_legend().get_texts()]
    ('epsilon', ['optimum'])
    """
    _fill(axes.get_figure(root=False), axes, panel)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        texts = entries(labels)
        axes.legend(handles[: len(texts)], texts)


def _fill(place: Any, axes: Any, panel: Panel, part: float = 1.0) -> None:
    """Draw marks, labels and scales of a panel, which has this part of the usual width."""
    axes.set_xlabel("\n".join(even_lines(panel.x_label, int(2 * LABEL * part))))
    axes.set_ylabel("\n".join(even_lines(panel.y_label, LABEL)))
    if panel.title:
        axes.set_title("\n".join(even_lines(panel.title, int(TITLE * part))))
    for scale, set_scale in ((panel.x_scale, axes.set_xscale), (panel.y_scale, axes.set_yscale)):
        if scale == "log":
            set_scale("log")
    draw_marks(place, axes, panel)
    _set_axes(axes, panel, part)


def _set_axes(axes: Any, panel: Panel, part: float) -> None:
    for scale, axis in ((panel.x_scale, axes.xaxis), (panel.y_scale, axes.yaxis)):
        if scale == "log":
            _set_log(axis)
        elif max(map(abs, axis.get_view_interval())) >= LARGE:
            axis.set_major_formatter(matplotlib_module("ticker").FuncFormatter(_plain_number))
    if panel.x_names:
        places, names = named_places(panel.x_names)
        many = _crowded(panel, names, part)
        axes.set_xticks(
            places,
            names,
            rotation=35 if many else 0,
            ha="right" if many else "center",
            rotation_mode="anchor" if many else "default",
        )
        axes.grid(visible=False, axis="x")
        axes.set_xlim(-0.5, len(panel.x_names) - 0.5)  # the same width for all places
    if panel.y_names:
        axes.set_yticks(*named_places(panel.y_names))
        axes.grid(visible=False, axis="y")
    if panel.x_limits is not None:
        axes.set_xlim(*panel.x_limits)
    if panel.y_limits is not None:
        axes.set_ylim(*panel.y_limits)
    elif panel.y_scale == "log" and any(isinstance(mark, Bars) for mark in panel.marks):
        axes.set_ylim(bottom=bar_floor(panel))
    if panel.equal_aspect:
        axes.set_aspect("equal", adjustable="datalim" if panel.x_limits is None else "box")


def _crowded(panel: Panel, names: Sequence[str], part: float = 1.0) -> bool:
    """Whether names next to each other would run into one another, were they not turned."""
    room = part * (NAMES_BESIDE_BAR if any(isinstance(mark, Heat) for mark in panel.marks) else NAMES)
    lengths = [len(name) for name in names]
    return any(
        (here + there) / 2 + 1 > room / len(lengths) for here, there in pairwise([*lengths, lengths[-1]])
    )


def _set_log(axis: Any) -> None:
    """Write plain numbers: powers of ten would need mathematical type; more of them where there are few."""
    ticker = matplotlib_module("ticker")
    low, high = sorted(axis.get_view_interval())
    steps = (1.0, 2.0, 5.0) if high < 300 * low else (1.0,)
    axis.set_major_locator(ticker.LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(ticker.FuncFormatter(_plain_number))
    axis.set_minor_formatter(ticker.NullFormatter())


def _plain_number(value: float, _: Any) -> str:
    if LARGE <= abs(value) < 1e9:
        return f"{value:,.12g}".replace(",", " ")
    return f"{value:.12g}" if 1e-4 <= abs(value) < 1e4 else f"{value:g}"


def svg(figure: Figure, narrow: bool = False) -> str:
    """Return a figure as self-contained SVG text that can stand in a page of HTML.

    Text is text and has the colour of the text around it, the ground is transparent: it is legible on light
    and on dark pages. Screen readers say title and caption. Names are the figure's own, so that many
    figures can stand in one page. A narrow one has its panels below each other, for phones.

    Examples
    --------
    >>> from mechdesign.show.figure import Line
    >>> text = svg(Figure("Utility", [Panel("epsilon", "utility", [Line([1, 2], [0.6, 0.8])])]))
    >>> text.startswith("<svg"), "<title" in text, "http" in text.replace("http://www.w3.org/", "")
    (True, True, False)
    """
    text = io.StringIO()
    with _settings():
        draws = _built(figure, narrow)
        _lay_out(draws)
        draws.savefig(text, format="svg", transparent=True, metadata=NO_METADATA)
    return _own(text.getvalue(), figure)


def _lay_out(draws: Picture) -> None:
    """Lay a picture out as ``savefig`` does for SVG, which would draw all of it once more to do so."""
    matplotlib_module("backends.backend_svg").FigureCanvasSVG(draws)
    usual, draws.dpi = draws.dpi, POINTS
    engine = draws.get_layout_engine()
    assert engine is not None
    engine.execute(draws)
    draws.set_layout_engine(None)
    draws.dpi = usual


def _own(text: str, figure: Figure) -> str:
    """Return matplotlib's SVG file as an element for pages: no prologue, no style for the whole page."""
    mark = "f" + hashlib.sha256(text.encode()).hexdigest()[:10]
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", "", text, count=1, flags=re.DOTALL)
    text = TAG.sub(lambda tag: NAMED.sub(rf"\g<1>{mark}-", tag[0]).replace(INK, "currentColor"), text)
    head, body = text.split(">", 1)
    head += f' role="img" aria-labelledby="{mark}-title {mark}-desc"'
    head += ' stroke-linejoin="round" stroke-linecap="butt"'
    description = f'<title id="{mark}-title">{escape(figure.title)}</title>'
    description += f'<desc id="{mark}-desc">{escape(figure.caption or figure.title)}</desc>'
    return f"{head}>\n {description}{body}"


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a PNG or SVG file, by the suffix; the file appears whole or not at all.

    Parameters
    ----------
    figure : Figure
    path : path

    Raises
    ------
    ParameterError
        For another suffix.
    DataError
        When the place cannot be written.
    MissingPackageError
        Without matplotlib.
    """
    require_picture_suffix(path)
    if Path(path).suffix.lower() == ".svg":
        save_svg(svg(figure), path)
        return
    content = _png(figure)
    with whole_file(path, DataError) as temporary:
        temporary.write_bytes(content)


def save_svg(text: str, path: str | os.PathLike[str]) -> None:
    """Write what :func:`svg` has returned to a file of its own."""
    with whole_file(path, DataError) as temporary:
        temporary.write_bytes(('<?xml version="1.0" encoding="utf-8"?>\n' + text).encode())


def _png(figure: Figure) -> bytes:
    data = io.BytesIO()
    with _settings():
        _built(figure).savefig(
            data, format="png", dpi=RESOLUTION, facecolor="white", metadata={"Software": None}
        )
    return data.getvalue()


def require_picture_suffix(path: str | os.PathLike[str]) -> None:
    """Raise ParameterError when a name does not say which kind of picture it is to be.

    Examples
    --------
    >>> require_picture_suffix("utility.pdf")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: utility.pdf: is neither .png nor .svg; name it so
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ParameterError(
            Wording(os.fspath(path), f"--figure {os.fspath(path)}"), "is neither .png nor .svg", "name it so"
        )


def numbered(path: str | os.PathLike[str], count: int) -> list[str]:
    """Return the names of ``count`` pictures: the first as given, then ``-2``, ``-3`` before the suffix.

    Examples
    --------
    >>> numbered("out.svg", 3)
    ['out.svg', 'out-2.svg', 'out-3.svg']
    """
    place = Path(path)
    further = [
        os.fspath(place.with_name(f"{place.stem}-{number}{place.suffix}")) for number in range(2, count + 1)
    ]
    return [os.fspath(path), *further][:count]
