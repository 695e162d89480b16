"""Which frequency oracles can report the cells of a view, and what their noise does to tables."""

from __future__ import annotations

from mechdesign.collect.kary import KaryResponse
from mechdesign.collect.oracle import Oracle, cell_variance
from mechdesign.core.errors import ParameterError


def effect_variance(oracle: Oracle) -> float:
    """Return users times the variance of a table's coordinates other than its sum, the cells being even.

    For any two cells it is variance less covariance. The scores of the k-ary response and of subsets
    sum to 1, so the covariance is -v/(D - 1); those of two independent bits, a draw of users apart, have
    none, and the draw gives -1/D^2, which also stands for the other oracles, whose supports are pairwise
    nearly independent.
    """
    variance, cells = cell_variance(oracle), oracle.labels.size
    if oracle._fixed_support:
        return variance * cells / (cells - 1)
    return variance + 1.0 / cells**2


def noisiest_variance(oracle: Oracle) -> float:
    """Return users times the largest variance that the estimated share of a cell can have."""
    own, other = oracle.support_shares()
    worst = max(share * (1 - share) for share in (own, other))
    return float(worst / (own - other) ** 2) + 0.25


def require_oracle(number: int, oracle: object, cells: int) -> Oracle:
    """Return an oracle that fits a view of ``cells`` cells, or raise ParameterError."""
    where = f"oracles: view {number}"
    if not isinstance(oracle, Oracle):
        raise ParameterError(where, f"{type(oracle).__name__} is not a frequency oracle of this package")
    if isinstance(oracle, KaryResponse) and (oracle.delta or not oracle.keeps_all):
        raise ParameterError(where, "the k-ary response has delta > 0 or keeps some answers only")
    own, other = oracle.support_shares()
    if own <= other:
        raise ParameterError(where, "its reports contain no information about the answers", "raise epsilon")
    if oracle.labels.size != cells:
        raise ParameterError(where, f"is for {oracle.labels.size} cells, the view has {cells}")
    if oracle.labels.names is not None:
        raise ParameterError(where, "has labels of its own", "leave them out, cells are numbers")
    return oracle
