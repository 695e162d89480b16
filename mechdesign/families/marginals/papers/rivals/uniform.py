"""Uni: the uniform table, which asks nobody; whoever is worse learned nothing (Zhang 2019, section 3.4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.exact.randomness import Rng
from mechdesign.families.marginals.papers.rivals.base import Rival, RivalSetting
from mechdesign.families.marginals.papers.rivals.cells import Array


@dataclass(frozen=True)
class UniformTables:
    """Equal cells."""

    setting: RivalSetting

    def marginal(self, attributes: Sequence[int]) -> Array:
        """Return equal cells, one axis an attribute."""
        shape = [self.setting.sizes[attribute] for attribute in self.setting.wanted(attributes)]
        return np.full(shape, 1.0 / np.prod(shape))


class UniformAnswer(Rival):
    """Uni: answers without any data.

    Examples
    --------
    >>> rival = UniformAnswer([2, 2], 1.0, 2)
    >>> rival.predicted_error((0, 1), 100, np.array([[0.7, 0.1], [0.1, 0.1]]))  # 0.52 - 1/4
    0.27
    """

    name: ClassVar[str] = "Uni"

    def certificates(self) -> tuple[Certificate, ...]:
        """Return that nothing is reported."""
        figures = {"epsilon": self.setting.epsilon, "true_epsilon": 0.0}
        return (Certificate("privacy", True, True, figures, note="nothing is reported"),)

    def randomize(self, codes: Any, rng: Rng = None) -> None:
        """Check the users' values, and report nothing."""
        self.setting.people(codes)

    def estimate(self, reports: None) -> UniformTables:
        """Return equal cells."""
        return UniformTables(self.setting)

    def predicted_error(self, attributes: Sequence[int], users: int, table: Array | None = None) -> float:
        """Return the squared distance of the people's table; without it the largest possible one."""
        cells = self.setting.cells(self.setting.wanted(attributes))
        squares = 1.0 if table is None else float((table**2).sum())
        return round(squares - 1.0 / cells, 15)
