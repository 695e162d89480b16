"""PriView: the views released by a trusted curator with Laplace noise (Zhang 2019, section 3.3.1).

Not local: the curator sees everybody's data. It stands here to show what the local model costs (figure 3.8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.validation import user_count
from mechdesign.exact.randomness import Rng, numpy_generator
from mechdesign.families.marginals.papers.rivals.base import (
    Array,
    Rival,
    RivalSetting,
    gibibytes,
    spaced,
    true_marginal,
)
from mechdesign.families.marginals.papers.rivals.consistency import non_negative
from mechdesign.families.marginals.papers.rivals.entropy import maximum_entropy
from mechdesign.families.marginals.views import check_views

MOST_CELLS = 1 << 24
"""More cells of all views together are refused."""

View = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NoisyViews:
    """Tables of views with noise, as shares."""

    setting: RivalSetting
    views: tuple[View, ...]
    tables: tuple[Array, ...]

    @cached_property
    def consistent(self) -> list[Array]:
        """The consistent tables without negative cells."""
        return non_negative(self.views, list(self.tables), self.setting.sizes, None, 1.0).tables

    def marginal(self, attributes: Sequence[int]) -> Array:
        """Return the marginal of maximum entropy."""
        places = self.setting.places(attributes)
        return maximum_entropy(places, self.views, self.consistent, self.setting.sizes)

    def unbiased(self, attributes: Sequence[int]) -> Array:
        """Return the plain sum of the first view that contains the attributes."""
        places = self.setting.places(attributes)
        place = next(place for place, view in enumerate(self.views) if set(places) <= set(view))
        others = tuple(axis for axis, item in enumerate(self.views[place]) if item not in places)
        summed: Array = self.tables[place].sum(axis=others)
        return summed


class PriView(Rival):
    """PriView: every cell of every view gets Laplace noise of scale m / epsilon, for m views.

    Parameters
    ----------
    sizes, epsilon, order
        See :class:`~mechdesign.families.marginals.papers.rivals.base.Setting`.
    views : sequence of sequences of int
        Sets of attributes.

    Notes
    -----
    A person is in one cell of each view, so who joins or leaves changes m counts by 1. The number of people
    is taken as known to everybody. The noise is floating-point: the certificate is that of real numbers.

    Examples
    --------
    >>> rival = PriView([2] * 3, 1.0, 2, views=[(0, 1), (1, 2)])
    >>> rival.predicted_error((0, 1), 1000)  # 4 cells with 2 (m / epsilon)^2 each, of shares
    3.2e-05
    """

    name: ClassVar[str] = "PriView"

    def __init__(
        self, sizes: Sequence[int], epsilon: float, order: int, views: Sequence[Sequence[int]]
    ) -> None:
        checked = RivalSetting.of(sizes, epsilon, order)
        self.views = tuple(check_views(views, checked.attributes))
        super().__init__(sizes, epsilon, order)

    def why_not(self) -> str | None:
        cells = sum(self.setting.cells(view) for view in self.views)
        if cells <= MOST_CELLS:
            return None
        return (
            f"the views have {spaced(cells)} cells, {gibibytes(cells)}; at most {spaced(MOST_CELLS)} are "
            "held: take smaller views"
        )

    @property
    def scale(self) -> float:
        """The scale of the noise of a count, m / epsilon."""
        return len(self.views) / self.setting.epsilon

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the certificate of the curator's release, for real numbers: not exact, and not local."""
        figures = {"epsilon": self.setting.epsilon, "views": len(self.views), "scale": self.scale}
        note = "by a trusted curator, for adding or removing a person, with noise of real numbers"
        return (Certificate("privacy", True, False, figures, note=note),)

    def randomize(self, codes: Any, rng: Rng = None) -> tuple[Array, ...]:
        """Return the curator's noisy tables, as shares of the people."""
        people, generator = self.setting.people(codes), numpy_generator(rng, self.name)
        true = (true_marginal(people, self.setting.sizes, view) for view in self.views)
        return tuple(table + generator.laplace(0.0, self.scale / len(people), table.shape) for table in true)

    def estimate(self, reports: Sequence[Array]) -> NoisyViews:
        return NoisyViews(self.setting, self.views, tuple(np.asarray(table) for table in reports))

    def predicted_error(self, attributes: Sequence[int], users: int, table: Array | None = None) -> float:
        """Return the expected squared error of the sum of a view; infinite for a marginal in no view."""
        places = self.setting.places(attributes)
        view = next((view for view in self.views if set(places) <= set(view)), None)
        if view is None:
            return math.inf
        return 2.0 * self.setting.cells(view) * (self.scale / user_count(users)) ** 2
