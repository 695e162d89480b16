"""Draw figures: as objects of matplotlib, into PNG and SVG files, or as SVG text for a page.

Matplotlib is optional (``mechdesign[plot]``) and imported on first use. No window is opened and nothing of
what a program has set up with pyplot is touched.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from mechdesign.core.errors import DataError, MissingPackageError, ParameterError
from mechdesign.core.figure import Figure, Panel
from mechdesign.core.files import whole_file
from mechdesign.report.draw_marks import draw_marks
from mechdesign.report.outputs import remember
from mechdesign.report.style import INK, PANEL, SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

SUFFIXES = (".png", ".svg")
RESOLUTION = 150
"""Dots per inch of PNG files."""

LABEL, TITLE = 40, 60
"""Letters in a line of the label of a vertical axis, and of the title of a panel."""

LINES, LEGEND, NAME, MOST_NAMES, MOST_ENTRIES = 4, 70, 40, 40, 40
"""Lines of a title or a label, letters of an entry of the legend and of a place on an axis, how many of each:
what is longer would leave no room for the picture. Screen readers are told all of the title."""

SIDE_BY_SIDE = 2
"""Panels in a row."""

TAG, NAMED = re.compile(r"<[^>]*>"), re.compile(r'(\bid="|xlink:href="#|url\(#)')
"""Names are in tags; what looks like one in a label is a text."""

NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}
"""The same figure gives the same file, and SVG has no block that names addresses."""


def matplotlib_module(name: str) -> Any:
    """Return a module of matplotlib, or raise the error that names the extra."""
    try:
        return importlib.import_module(f"matplotlib.{name}" if name else "matplotlib")
    except ImportError:
        raise MissingPackageError("figure: needs matplotlib; install mechdesign[plot]") from None


def picture(figure: Figure) -> Picture:
    """Return a figure as an object of matplotlib, which can be changed further.

    Raises
    ------
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> from mechdesign.core.marks import Line
    >>> drawn = picture(Figure("Utility", [Panel("epsilon", "utility", [Line([1, 2], [0.6, 0.8])])]))
    >>> [axes.get_xlabel() for axes in drawn.axes]
    ['epsilon']
    """
    with _settings():
        drawn = _built(figure)
        drawn.draw_without_rendering()  # what is only made when it is drawn has our style then too
    return drawn


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


def _built(figure: Figure) -> Picture:
    rows = -(-len(figure.panels) // SIDE_BY_SIDE)
    columns = min(len(figure.panels), SIDE_BY_SIDE)
    size = (
        PANEL[0] * columns,
        sum(_height(figure.panels[SIDE_BY_SIDE * row :][:columns]) for row in range(rows)),
    )
    drawn: Picture = matplotlib_module("figure").Figure(figsize=size, layout="constrained")
    matplotlib_module("backends.backend_agg").FigureCanvasAgg(drawn)
    parts = drawn.subfigures(rows, columns, squeeze=False)
    for part, panel in zip(parts.flat, figure.panels, strict=False):
        _draw_panel(part, panel)
    width = 54 * columns
    drawn.suptitle(_wrapped(figure.title, width), fontweight="bold")
    return drawn


def _wrapped(text: str, width: int) -> str:
    """Return a text in a few lines, without what does not fit into them."""
    return "\n".join(textwrap.wrap(text[: 2 * LINES * width], width, max_lines=LINES, placeholder=" ..."))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _height(panels: Sequence[Panel]) -> float:
    """Return the inches that a row of panels needs: more where legends are long or there are many cells."""
    return PANEL[1] + max(
        0.17 * rows + 0.04 * max(0, rows - 10) + 0.2 * _extra_lines(panel)
        for panel, rows in ((panel, _legend_rows(panel)) for panel in panels)
    )


def _extra_lines(panel: Panel) -> int:
    """Return how many lines title and label of the horizontal axis have beyond the first."""
    return _wrapped(panel.title, TITLE).count("\n") + _wrapped(panel.x_label, 2 * LABEL).count("\n")


def _labels(panel: Panel) -> list[str]:
    return [_short(mark.label, LEGEND) for mark in panel.marks if mark.label][:MOST_ENTRIES]


def _legend_columns(panel: Panel) -> int:
    longest = max(map(len, _labels(panel)), default=1)
    return max(1, min(4, 78 // (longest + 9)))


def _legend_rows(panel: Panel) -> int:
    return -(-len(_labels(panel)) // _legend_columns(panel))


def _draw_panel(part: Any, panel: Panel) -> None:
    """Draw axes and marks of one panel, and under them what the marks are."""
    axes = part.subplots()
    axes.set_xlabel(_wrapped(panel.x_label, 2 * LABEL))
    axes.set_ylabel(_wrapped(panel.y_label, LABEL))
    if panel.title:
        axes.set_title(_wrapped(panel.title, TITLE))
    for scale, set_scale in ((panel.x_scale, axes.set_xscale), (panel.y_scale, axes.set_yscale)):
        if scale == "log":
            set_scale("log")
    draw_marks(part, axes, panel)
    _set_axes(axes, panel)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        if len(handles) > MOST_ENTRIES:
            labels[MOST_ENTRIES - 1] = f"... {len(handles)} in all"
        handles, labels = handles[:MOST_ENTRIES], [_short(label, LEGEND) for label in labels[:MOST_ENTRIES]]
        part.legend(handles, labels, loc="outside lower center", ncols=_legend_columns(panel))


def _set_axes(axes: Any, panel: Panel) -> None:
    for scale, axis in ((panel.x_scale, axes.xaxis), (panel.y_scale, axes.yaxis)):
        if scale == "log":
            _set_log(axis)
    if panel.x_names:
        places, names = _names(panel.x_names)
        many = sum(map(len, names)) > 60
        axes.set_xticks(
            places,
            names,
            rotation=35 if many else 0,
            ha="right" if many else "center",
            rotation_mode="anchor" if many else "default",
        )
        axes.grid(visible=False, axis="x")
    if panel.y_names:
        axes.set_yticks(*_names(panel.y_names))
        axes.grid(visible=False, axis="y")
    if panel.x_limits is not None:
        axes.set_xlim(*panel.x_limits)
    if panel.y_limits is not None:
        axes.set_ylim(*panel.y_limits)
    if panel.equal_aspect:
        axes.set_aspect("equal", adjustable="datalim" if panel.x_limits is None else "box")


def _names(names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return which places are named and how: all of them, or some at even distances."""
    places = list(range(0, len(names), -(-len(names) // MOST_NAMES)))
    return places, [_short(names[place], NAME) for place in places]


def _set_log(axis: Any) -> None:
    """Write plain numbers: powers of ten would need mathematical type; more of them where there are few."""
    ticker = matplotlib_module("ticker")
    low, high = sorted(axis.get_view_interval())
    steps = (1.0, 2.0, 5.0) if high < 300 * low else (1.0,)
    axis.set_major_locator(ticker.LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(ticker.FuncFormatter(_plain_number))
    axis.set_minor_formatter(ticker.NullFormatter())


def _plain_number(value: float, _: Any) -> str:
    if 1e4 <= abs(value) < 1e9:
        return f"{value:,.12g}".replace(",", " ")
    return f"{value:.12g}" if 1e-4 <= abs(value) < 1e4 else f"{value:g}"


def svg(figure: Figure) -> str:
    """Return a figure as self-contained SVG text that can stand in a page of HTML.

    Text is text and has the colour of the text around it, the ground is transparent: it is legible on light
    and on dark pages. Screen readers say title and caption. Names are the figure's own, so that many
    figures can stand in one page.

    Examples
    --------
    >>> from mechdesign.core.marks import Line
    >>> text = svg(Figure("Utility", [Panel("epsilon", "utility", [Line([1, 2], [0.6, 0.8])])]))
    >>> text.startswith("<svg"), "<title" in text, "http" in text.replace("http://www.w3.org/", "")
    (True, True, False)
    """
    text = io.StringIO()
    with _settings():
        _built(figure).savefig(text, format="svg", transparent=True, metadata=NO_METADATA)
    return _own(text.getvalue(), figure)


def _own(text: str, figure: Figure) -> str:
    """Return matplotlib's SVG file as an element for pages: no prologue, no style for the whole page."""
    mark = "f" + hashlib.sha256(text.encode()).hexdigest()[:10]
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", "", text, count=1, flags=re.DOTALL)
    text = TAG.sub(lambda found: NAMED.sub(rf"\g<1>{mark}-", found[0]).replace(INK, "currentColor"), text)
    head, body = text.split(">", 1)
    head += f' role="img" aria-labelledby="{mark}-title {mark}-desc"'
    head += ' stroke-linejoin="round" stroke-linecap="butt"'
    said = f'<title id="{mark}-title">{escape(figure.title)}</title>'
    said += f'<desc id="{mark}-desc">{escape(figure.caption or figure.title)}</desc>'
    return f"{head}>\n {said}{body}"


def save(figure: Figure, path: str | os.PathLike[str], command: str = "") -> None:
    """Write a figure to a PNG or SVG file, by the suffix; the file appears whole or not at all.

    Parameters
    ----------
    figure : Figure
    path : path
    command : str
        The digest of the command that writes it, which may replace it later.

    Raises
    ------
    ParameterError
        For another suffix.
    DataError
        When the place cannot be written.
    MissingPackageError
        Without matplotlib.
    """
    require_suffix(path)
    if Path(path).suffix.lower() == ".svg":
        content = ('<?xml version="1.0" encoding="utf-8"?>\n' + svg(figure)).encode()
    else:
        content = _png(figure)
    with whole_file(path, DataError) as temporary:
        temporary.write_bytes(content)
        if command:
            remember(temporary, command)


def _png(figure: Figure) -> bytes:
    data = io.BytesIO()
    with _settings():
        _built(figure).savefig(
            data, format="png", dpi=RESOLUTION, facecolor="white", metadata={"Software": None}
        )
    return data.getvalue()


def require_suffix(path: str | os.PathLike[str]) -> None:
    """Raise ParameterError when a name does not say which kind of picture it is to be.

    Examples
    --------
    >>> require_suffix("utility.pdf")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: --figure utility.pdf: is neither .png nor .svg; name it so
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ParameterError(f"--figure {os.fspath(path)}: is neither .png nor .svg; name it so")


def numbered(path: str | os.PathLike[str], count: int) -> list[str]:
    """Return the names of so many pictures: the first as given, then ``-2``, ``-3`` before the suffix.

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
