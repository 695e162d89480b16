"""``plot``: the pictures of a model, a problem, a solution, a mechanism or an estimate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from mechdesign.catalog.figures import model_figures
from mechdesign.catalog.load import Model
from mechdesign.catalog.sweeping import Sweep
from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.exact.numbers import text_of
from mechdesign.show.draw import draw_on, numbered, picture, require_picture_suffix, save
from mechdesign.show.figure import Figure, design_figures
from mechdesign.solvers.solve import solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

AxesT = TypeVar("AxesT")


@overload
def plot(thing: Any, path: str | os.PathLike[str] | None = None) -> list[Picture]: ...


@overload
def plot(thing: Any, path: None = None, *, ax: AxesT) -> AxesT: ...


def plot(thing: Any, path: str | os.PathLike[str] | None = None, *, ax: Any = None) -> Any:
    """Draw a thing, and write the pictures to PNG or SVG files when a path is given.

    Parameters
    ----------
    thing : Model, Sweep, Comparison, Problem, Solution, Mechanism, estimate or Figure
        A model is drawn over its sweep, or by its design where it has none; a problem by its solution.
    path : path, optional
        The suffix says whether PNG or SVG. Further pictures get ``-2``, ``-3`` before the suffix. As with
        ``save`` of a mechanism, what stands there is replaced.
    ax : matplotlib Axes, or several of them, optional
        What to draw on, in the style that it has; an Axes for each panel.

    Returns
    -------
    list of matplotlib Figures
        Which can be changed and shown; a notebook shows them one by one. With ``ax``, the axes as given.

    Raises
    ------
    MissingPackageError
        Without matplotlib: install ``mechdesign[plot]``.
    ParameterError
        When there is nothing to draw, the suffix is another one, or there are more panels than axes.

    Examples
    --------
    >>> import mechdesign as md
    >>> mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=2.0)).mechanism()
    >>> estimate = mechanism.estimate(mechanism.randomize([0] * 3000 + [1] * 1000, rng=1))
    >>> [axes.get_ylabel() for axes in md.plot(estimate)[0].axes]
    ['share']
    >>> from matplotlib.figure import Figure as Sheet
    >>> left, right = Sheet().subplots(1, 2)
    >>> md.plot(estimate, ax=right) is right
    True
    """
    if ax is not None:
        return _on_axes(thing, path, ax)
    if path is not None:
        require_picture_suffix(path)
    figures = figures_of(thing)
    if path is not None:
        for figure, place in zip(figures, numbered(path, len(figures)), strict=True):
            save(figure, place)
    return [picture(figure) for figure in figures]


def _on_axes(thing: Any, path: object, ax: Any) -> Any:
    """Draw the panels of a thing on axes, and return these."""
    if path is not None:
        raise ParameterError("path", "is not for given axes", "save their figure with ax.figure.savefig")
    panels = [panel for figure in figures_of(thing) for panel in figure.panels]
    areas = [ax] if hasattr(ax, "plot") else list(np.ravel(ax))
    if len(areas) < len(panels):
        remedy = f"give {len(panels)} axes, such as those of subplots(1, {len(panels)})"
        raise ParameterError("ax", f"{len(areas)} for {counted(len(panels), 'panel')}", remedy)
    for axes, panel in zip(areas, panels, strict=False):
        draw_on(axes, panel)
    return ax


def figures_of(thing: Any) -> list[Figure]:
    """Return the figures of a thing; raise ParameterError when there are none.

    Examples
    --------
    >>> from mechdesign.catalog import load_model
    >>> figures_of(load_model("mean/rcp2023_single"))
    [Figure('Randomized censoring, one attribute: the symmetric interval and the printed optimum', 1 panel)]
    """
    result = _figures_of(thing)
    if not result:
        raise ParameterError("figure", f"nothing to draw of {thing!r}", "a model with a [sweep] has a figure")
    return result


def _figures_of(thing: Any) -> list[Figure]:
    if isinstance(thing, Figure):
        return [thing]
    if isinstance(thing, Model):
        return model_figures(thing) or _figures_of(thing.problem)
    if isinstance(thing, Sweep):
        return model_figures(thing.model, list(thing.rows))
    if isinstance(thing, Problem):
        return _figures_of(solve(thing))
    if isinstance(thing, Solution):
        if not thing.found:
            raise ParameterError(
                "figure", f"nothing to draw of a solution that is {thing.status}: {thing.message}"
            )
        return design_figures(thing.problem, thing)
    if not hasattr(thing, "figures"):
        raise ParameterError(
            "figure",
            f"{text_of(thing)} cannot be drawn",
            "give a model, a problem, a mechanism or an estimate",
        )
    result: list[Figure] = thing.figures()
    return result
