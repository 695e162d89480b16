"""The option ``--figure``: pictures next to what a command prints."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from mechdesign.core.errors import ParameterError


def figure_option(added: argparse.ArgumentParser, what: str, force: bool = True) -> None:
    """Add ``--figure``, and ``--force`` where the command does not have it for other outputs."""
    added.add_argument("--figure", metavar="FILE", help=f"draw {what} (.png or .svg; needs mechdesign[plot])")
    if force:
        added.add_argument("--force", action="store_true", help="replace an existing file")


class FigureOutput:
    """Where the pictures of a command go; checked before the command begins.

    Parameters
    ----------
    options : Namespace
        With ``figure`` and ``force``.
    inputs : sequence of str
        What the command reads.
    table : str, optional
        Where the command writes something else.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        inputs: Sequence[str],
        table: str | None = None,
    ) -> None:
        self.path: str | None = options.figure
        self.force: bool = options.force
        self.inputs = inputs
        if self.path is not None:
            from mechdesign.data.outputs import same_file
            from mechdesign.show.draw import matplotlib_module, require_picture_suffix

            require_picture_suffix(self.path)
            if table and same_file(self.path, table):
                raise ParameterError(f"--figure {self.path}", "is where -o writes to", "choose another path")
            self._require(self.path)
            matplotlib_module("")

    @property
    def wanted(self) -> bool:
        """Whether pictures are wanted."""
        return self.path is not None

    def places(self, figures: Sequence[Any], what: str) -> list[str]:
        """Return the names of the pictures, when there are some and all of them may be written."""
        from mechdesign.show.draw import numbered

        if self.path is None:
            return []
        if not figures:
            raise ParameterError(f"--figure {self.path}", f"nothing to draw of {what}", "omit it")
        places = numbered(self.path, len(figures))
        for place in places:
            self._require(place)
        return places

    def write(self, figures: Sequence[Any], what: str) -> list[str]:
        """Write the pictures and return their names; none of them when one of them may not be written."""
        from mechdesign.show.draw import save

        places = self.places(figures, what)
        for figure, place in zip(figures, places, strict=True):
            save(figure, place)
        return places

    def _require(self, path: str) -> None:
        from mechdesign.data.outputs import require_output

        require_output(path, self.inputs, self.force, option="--figure")
