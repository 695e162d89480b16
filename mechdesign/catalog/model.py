"""A model: a problem with its source, the claims of the source, and a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from mechdesign.catalog.data import DataSettings
from mechdesign.core.problem import Problem
from mechdesign.core.text import counted
from mechdesign.core.values import frozen_value

if TYPE_CHECKING:
    from mechdesign.catalog.figure_table import FigureTable
    from mechdesign.papers.claims.claim import Claim


@frozen_value()
class Simulation:
    """Settings of a sweep that runs the mechanism on simulated users."""

    users: int
    repetitions: int = 1
    seed: int = 0


@frozen_value(repr=False)
class Model:
    """A declarative design problem read from a file.

    Attributes
    ----------
    slug : str
        ``family/name``, or the path of the file.
    title, statement : str
    question : str
        What respondents are asked, word for word; empty where it is not a survey.
    identity : str
        The identity of the survey, ``id`` in the file; empty where ``build`` draws one.
    source : mapping
        ``cite`` and ``where``.
    problem : Problem
    claims : tuple of Claim
    sweep : mapping
        Parameter name to the list of its values; the sweep runs over all combinations.
    simulation : Simulation or None
    methods : tuple of str
        Methods that ``compare`` and ``check`` run; all when empty.
    data : DataSettings
        Columns, ranges and missing values of the data that the mechanism is for.
    figures : tuple of FigureTable
        What is drawn of it; a sweep without any is drawn as it is.
    changed : tuple of str
        Parameters that have other values than in the file; claims about them are not evaluated.
    """

    slug: str
    title: str
    problem: Problem
    statement: str = ""
    question: str = ""
    identity: str = ""
    source: Mapping[str, Any] = attrs.field(factory=dict)
    claims: tuple[Claim, ...] = ()
    sweep: Mapping[str, tuple[Any, ...]] = attrs.field(factory=dict)
    simulation: Simulation | None = None
    methods: tuple[str, ...] = ()
    data: DataSettings = attrs.field(factory=DataSettings)
    figures: tuple[FigureTable, ...] = ()
    changed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Model({self.slug}: {self.problem!r}, {counted(len(self.claims), 'claim')})"

    @property
    def family(self) -> str:
        """The folder the model lives in."""
        return self.slug.rpartition("/")[0].rpartition("/")[2]
