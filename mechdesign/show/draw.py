"""Draw figures: as objects of matplotlib, into PNG and SVG files, or as SVG text for a page.

Pictures are drawn here, or by another process while this one goes on. That one gets figures by its standard
input and returns SVG texts by its standard output. It ends when its input ends, so also when this process was
killed; an interrupt of the terminal does not reach it. Whatever goes wrong there, this process draws the
picture itself, and meets the error itself if there is one.

Matplotlib is optional (``mechdesign[plot]``) and imported on first use. No window is opened and nothing of
what a program has set up with pyplot is touched.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import pickle
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self
from xml.sax.saxutils import escape

from mechdesign.core.errors import DataError, MissingPackageError, ParameterError, Wording
from mechdesign.show.draw_marks import (
    INK,
    PANEL,
    SETTINGS,
    bar_floor,
    draw_marks,
    entries,
    even_lines,
    legend_columns,
    legend_rows,
    named_places,
)
from mechdesign.show.figure import Bars, Figure, Heat, Panel
from mechdesign.work.files import whole_file
from mechdesign.work.parallel import worker_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

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


PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from mechdesign.show.draw import paint; paint()"
)
"""What the other process runs: it finds packages where this one does."""

LAST = 5.0
"""Seconds that the other process has to end once its input has ended."""


class Painter:
    """Draws pictures in another process, or in this one where only one may be used.

    Parameters
    ----------
    jobs : int, optional
        Number of processes; by default one per CPU core, or ``MECHDESIGN_JOBS``. With 1 no other is started.

    Examples
    --------
    >>> from mechdesign.show.figure import Line
    >>> figure = Figure("Utility", [Panel("epsilon", "utility", [Line([1, 2], [0.6, 0.8])])])
    >>> with Painter() as painter:
    ...     painter.begin([figure])
    ...     text = painter.svg(figure)
    >>> text == svg(figure)
    True
    """

    def __init__(self, jobs: int | None = None) -> None:
        self._process = _started() if worker_count(jobs) > 1 else None
        self._ordered: list[tuple[int, bool]] = []
        self._figures: dict[int, Figure] = {}
        self._texts: dict[tuple[int, bool], str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def begin(self, figures: Iterable[Figure], narrow: bool = False) -> None:
        """Let the other process draw these figures, after those before them."""
        for figure in figures:
            if self._process is not None and (id(figure), narrow) not in self._ordered:
                self._figures[id(figure)] = figure  # no other object gets its number meanwhile
                self._ordered.append((id(figure), narrow))
                try:
                    _send(self._process.stdin, (figure, narrow))
                except (OSError, pickle.PicklingError):
                    self._end()

    def svg(self, figure: Figure, narrow: bool = False) -> str:
        """Return a picture as :func:`svg` does; one that was begun is waited for."""
        key = id(figure), narrow
        while key in self._ordered:
            self._receive()
        if key not in self._texts:
            self._figures[id(figure)] = figure
            self._texts[key] = svg(figure, narrow)
        return self._texts[key]

    def _receive(self) -> None:
        """Take the next picture from the other process; where it failed, it is left to this one."""
        assert self._process is not None
        try:
            text = pickle.load(self._process.stdout)
        except Exception:  # what a damaged stream raises cannot be listed
            self._end()
            return
        key = self._ordered.pop(0)
        if text is not None:
            self._texts[key] = text

    def _end(self) -> None:
        process, self._process = self._process, None
        self._ordered.clear()
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                stream.close()
        try:
            process.wait(LAST)
        except subprocess.TimeoutExpired:
            pass
        finally:
            process.kill()
            process.wait()


def _started() -> Any:
    """Return the other process; None where it cannot be started."""
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # the interrupts of a terminal go to sessions; on Windows to groups
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except OSError:
        return None
    with suppress(OSError):  # one that has ended already is noticed when a picture is asked for
        _send(process.stdin, sys.path)
    return process


def _send(stream: Any, content: Any) -> None:
    stream.write(pickle.dumps(content))
    stream.flush()


def paint() -> None:
    """Draw the figures that come by standard input, until it ends."""
    figures: SimpleQueue[tuple[Figure, bool]] = SimpleQueue()
    texts: SimpleQueue[str | None] = SimpleQueue()
    threading.Thread(target=_read, args=(figures,), daemon=True).start()
    threading.Thread(target=_write, args=(texts,), daemon=True).start()
    for name in ("figure", "backends.backend_agg", "backends.backend_svg"):
        matplotlib_module(name)
    while True:
        figure, narrow = figures.get()
        try:
            texts.put(svg(figure, narrow))
        except Exception:  # the other process draws it again, and says what is wrong
            texts.put(None)


def _write(texts: SimpleQueue[str | None]) -> None:
    """Send pictures as they are fetched: a pipe takes few that are not, and the next is drawn meanwhile."""
    while True:
        _send(sys.stdout.buffer, texts.get())


def _read(figures: SimpleQueue[tuple[Figure, bool]]) -> None:
    """Take figures as they come, so that neither process waits for the other; end with the input."""
    try:
        while True:
            figures.put(pickle.load(sys.stdin.buffer))
    finally:
        os._exit(0)
