"""EM: every attribute with its share of the budget, tables by maximum likelihood (Zhang 2019, section 3.2.6).

Each person reports every attribute by randomized response with epsilon / d. The reports about some attributes
pass through the product of their channels, so the table of how often each combination was reported is all
that the likelihood needs: an iteration costs as much as the marginal has cells, however many people report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mechdesign.audit.classes import compose
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import one_of, user_count
from mechdesign.exact.randomness import Rng, bit_source, float_down, numpy_generator
from mechdesign.families.marginals.papers.rivals.base import (
    Array,
    CellOracle,
    Codes,
    Rival,
    RivalSetting,
    gibibytes,
    nearest_table,
    spaced,
    true_marginal,
)

MOST_CELLS = 1 << 22
"""Larger marginals are refused."""

SMALL = 1 << 8
"""With at most this many cells, the channel of a marginal is a matrix."""

STARTS = ("unbiased", "uniform")


@dataclass(frozen=True, eq=False)
class ProductReports:
    """Reports of the users, and the tables that fit them.

    Parameters
    ----------
    setting : RivalSetting
    oracles : tuple of CellOracle
        One an attribute.
    reports : (n, d) int array
    """

    setting: RivalSetting
    oracles: tuple[CellOracle, ...]
    reports: Codes

    def unbiased(self, attributes: Sequence[int]) -> Array:
        """Return the unbiased estimate: the inverse of the channels, an attribute at a time."""
        estimate = self._reported(attributes)
        for axis, attribute in enumerate(attributes):
            oracle = self.oracles[attribute]
            estimate = (estimate - oracle.other * estimate.sum(axis=axis, keepdims=True)) / oracle.gain
        return estimate

    def marginal(
        self,
        attributes: Sequence[int],
        start: str = "unbiased",
        threshold: float = 1e-6,
        most_iterations: int = 2000,
    ) -> Array:
        """Return the table that expectation maximization ends with; biased, but a table.

        Parameters
        ----------
        attributes : sequence of int
        start : {"unbiased", "uniform"}
            Where it starts: from the unbiased estimate, brought to positive cells, or from equal cells.
        threshold : float
            It ends when no cell changes by more.
        most_iterations : int
            Largest number of iterations.
        """
        one_of("start", start, STARTS)
        reported = self._reported(attributes)
        cells = reported.size
        if start == "uniform":
            table = np.full(reported.shape, 1.0 / cells)
        else:  # cells of 0 would stay 0
            table = 0.99 * nearest_table(self.unbiased(attributes)) + 0.01 / cells
        through = self._channel(attributes)
        for _ in range(most_iterations):
            updated = table * through(reported / through(table))  # the channels are symmetric
            change, table = float(abs(updated - table).max()), updated
            if change <= threshold:
                break
        return table

    def _channel(self, attributes: Sequence[int]) -> Callable[[Array], Array]:
        """Return the map from a table to its reports: by one matrix where it is small, which is quicker."""
        shape = [self.setting.sizes[attribute] for attribute in attributes]
        if math.prod(shape) > SMALL:
            return lambda table: self._through(table, attributes)
        matrix: Array = np.ones((1, 1))
        for attribute in attributes:
            oracle = self.oracles[attribute]
            one = np.full((oracle.cells, oracle.cells), oracle.other) + oracle.gain * np.eye(oracle.cells)
            matrix = np.asarray(np.kron(matrix, one), dtype=np.float64)
        return lambda table: (matrix @ table.ravel()).reshape(shape)

    def _reported(self, attributes: Sequence[int]) -> Array:
        places = self.setting.places(attributes)
        cells = self.setting.cells(places)
        if cells > MOST_CELLS:
            raise ParameterError(
                "attributes",
                f"a table of {spaced(cells)} cells, {gibibytes(cells)}",
                f"at most {spaced(MOST_CELLS)} are held: name fewer attributes",
            )
        return true_marginal(self.reports, self.setting.sizes, places)

    def _through(self, table: Array, attributes: Sequence[int]) -> Array:
        """Return the distribution of a table's reports, an attribute at a time."""
        for axis, attribute in enumerate(attributes):
            oracle = self.oracles[attribute]
            table = oracle.gain * table + oracle.other * table.sum(axis=axis, keepdims=True)
        return table


class ExpectationMaximization(Rival):
    r"""EM: all attributes of every user, each with an equal share of the budget.

    The unbiased estimate of a marginal of attributes A has exactly the summed variance
    :math:`(\prod_{i \in A} S_i - 1) / n`, whatever the data are, with
    :math:`S_i = 1 + (p (1 - p) + (c_i - 1) q (1 - q)) / (p - q)^2` of the attribute's oracle.

    Examples
    --------
    >>> rival = ExpectationMaximization([2] * 8, 0.5, 3)
    >>> print(rival.certificates()[0])
    privacy: holds (exact); epsilon = 0.5, true_epsilon = 0.5, epsilon_each = 0.0625, reports_each = 8; ...
    >>> f"{rival.predicted_error((0, 1, 2), 2**16):.4g}"
    '2058'
    """

    name: ClassVar[str] = "EM"

    def why_not(self) -> str | None:
        if self.share < 2.0**-30:
            return f"epsilon / {self.setting.attributes} is below {2.0**-30:.3g}; give a larger epsilon"
        return None

    @property
    def share(self) -> float:
        """The budget of an attribute: the largest double that d times is at most epsilon."""
        return float_down(Fraction(self.setting.epsilon) / self.setting.attributes)

    @property
    def report_epsilon(self) -> float:
        """The guarantee of one report, of which there are d."""
        return self.share

    @cached_property
    def oracles(self) -> tuple[CellOracle, ...]:
        """The oracle of each attribute."""
        return tuple(self.oracle_for(size) for size in self.setting.sizes)

    def make_oracle(self, cells: int) -> CellOracle:
        """Return randomized response with an attribute's part of the budget."""
        return CellOracle.response(cells, self.share)

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the certificate of all reports of a person together, from the least private of them."""
        parts = [oracle.certificate() for oracle in self.oracles]
        worst = max(parts, key=lambda part: (not part.holds, float(part.figures["true_epsilon"])))
        d, epsilon = self.setting.attributes, self.setting.epsilon
        return (compose(worst, d, epsilon, 0.0).certificate(),)

    def randomize(self, codes: Any, rng: Rng = None) -> Codes:
        """Return a report about each attribute of each person, shape (n, d)."""
        people = self.setting.people(codes)
        source = bit_source(numpy_generator(rng, self.name) if isinstance(rng, int) else rng)
        columns = [oracle.draw(people[:, place], source) for place, oracle in enumerate(self.oracles)]
        return np.column_stack(columns)

    def estimate(self, reports: Codes) -> ProductReports:
        return ProductReports(self.setting, self.oracles, self.setting.people(reports))

    def error_of_groups(self, attributes: Sequence[int], users: Codes, table: Array | None = None) -> float:
        """Return the expected squared error of a marginal; there is one group."""
        return self.predicted_error(attributes, int(users.sum()), table)

    def predicted_error(self, attributes: Sequence[int], users: int, table: Array | None = None) -> float:
        places = self.setting.places(attributes)
        factors = [1.0 + self.oracles[attribute].summed_variance() for attribute in places]
        return (math.prod(factors) - 1.0) / user_count(users)
