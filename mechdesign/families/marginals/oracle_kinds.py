"""The oracles that compete: for each the best parameters, its reports in bits, and what runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.collect.oracle import Oracle, best_size, subset_bits, subset_variance
from mechdesign.core.errors import ParameterError, suggestion
from mechdesign.core.validation import integer
from mechdesign.exact.draw.affine_family import prime_from
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    SupportOracle,
    UnaryEncoding,
)
from mechdesign.families.marginals.oracles.best import (
    BUILT,
    hadamard_variance,
    least_bits,
    local_hashing_variance,
    optimised_unary_variance,
    symmetric_unary_variance,
)
from mechdesign.families.marginals.oracles.hashing import LARGEST_REPORT
from mechdesign.families.marginals.oracles.projective import server_can, space_for

if TYPE_CHECKING:
    from mechdesign.families.marginals.frequency_oracle import FrequencyOracle

Parameters = Mapping[str, Any]

MOST_BUCKETS = 1 << 16
"""No more buckets are tried."""

LARGEST_TRIED = 1 << 10
"""Nor larger fields: their best epsilon is 7."""


@dataclass(frozen=True)
class OracleKind:
    """One kind of oracle.

    Attributes
    ----------
    name, summary : str
    best : callable
        The best parameters for a case, or None where its reports have too many bits or it cannot run.
    bits : callable
        The bits that number all reports, for a case and parameters.
    value : callable
        Users times the variance of a category whose frequency tends to 0.
    needs : str
        Why it may not be possible, in a sentence.
    parameter : str or None
        The name of its parameter, if it has one.
    """

    name: str
    summary: str
    best: Callable[[FrequencyOracle], Parameters | None]
    bits: Callable[[FrequencyOracle, Parameters], int]
    value: Callable[[FrequencyOracle, Parameters], float]
    needs: str
    parameter: str | None = None

    def build(self, case: FrequencyOracle, parameters: Parameters) -> Oracle:
        """Return the mechanism, with exact integer weights."""
        given = {} if self.parameter is None else {self.parameter: parameters[self.parameter]}
        return BUILT[self.name](case.categories, case.epsilon, labels=case.labels, **given)


def _always(case: FrequencyOracle, bits: int, most: int = SupportOracle.most_categories) -> Parameters | None:
    fits = case.max_report_bits is None or bits <= case.max_report_bits
    return {} if fits and case.categories <= most else None


# Subset selection


def _best_subset(case: FrequencyOracle) -> Parameters | None:
    if case.categories > SubsetSelection.most_categories:
        return None
    size = best_size(case.categories, case.epsilon, case.max_report_bits)
    return None if size is None else {"size": size}


def _subset_value(case: FrequencyOracle, parameters: Parameters) -> float:
    size = integer("size", parameters["size"], 1, case.categories - 1)
    return float(subset_variance(case.categories, np.array([size]), case.epsilon)[0])


# Local hashing


def _hashing_bits(case: FrequencyOracle, parameters: Parameters) -> int:
    prime = prime_from(case.categories)
    return (prime * (prime - 1) * int(parameters["buckets"]) - 1).bit_length()


def _best_hashing(case: FrequencyOracle) -> Parameters | None:
    prime = prime_from(case.categories)
    seeds = prime * (prime - 1)
    reports = LARGEST_REPORT if case.max_report_bits is None else 1 << min(case.max_report_bits, 53)
    most = min(prime, MOST_BUCKETS, reports // seeds)
    if most < 2 or case.categories > LocalHashing.most_categories:
        return None
    buckets = np.arange(2, most + 1, dtype=np.int64)
    values = local_hashing_variance(case.categories, buckets, case.epsilon)
    return {"buckets": int(buckets[np.argmin(values)])}


def _hashing_value(case: FrequencyOracle, parameters: Parameters) -> float:
    buckets = integer("buckets", parameters["buckets"], 2, prime_from(case.categories))
    return float(local_hashing_variance(case.categories, np.array([buckets]), case.epsilon)[0])


# Projective geometry


def _best_projective(case: FrequencyOracle) -> Parameters | None:
    best: tuple[float, int] | None = None
    field = 2
    while field <= min(LARGEST_TRIED, prime_from(case.categories)):
        space = space_for(case.categories, field)
        short = case.max_report_bits is None or (space.size - 1).bit_length() <= case.max_report_bits
        if short and server_can(space, case.categories):
            value = _projective_value(case, {"field": field})
            best = min(best, (value, field)) if best else (value, field)
        field = prime_from(field + 1)
    return None if best is None else {"field": best[1]}


def _projective_bits(case: FrequencyOracle, parameters: Parameters) -> int:
    return (space_for(case.categories, parameters["field"]).size - 1).bit_length()


def _projective_value(case: FrequencyOracle, parameters: Parameters) -> float:
    space = space_for(case.categories, parameters["field"])
    sizes = np.array([space.on_hyperplane])
    return float(subset_variance(space.size, sizes, case.epsilon)[0])


# All of them

KINDS: tuple[OracleKind, ...] = (
    OracleKind(
        "subset-selection",
        "a set of k categories, more likely with the user's category",
        _best_subset,
        lambda case, parameters: subset_bits(case.categories, int(parameters["size"])),
        _subset_value,
        f"needs the bits that number the sets, and at most {SubsetSelection.most_categories} categories",
        "size",
    ),
    OracleKind(
        "randomized-response",
        "the category itself, or another one (generalised randomized response)",
        lambda case: _always(case, least_bits(case.categories), 1 << 20),
        lambda case, parameters: least_bits(case.categories),
        lambda case, parameters: _subset_value(case, {"size": 1}),
        "needs log2 D bits",
    ),
    OracleKind(
        "local-hashing",
        "a hash function and a bucket (optimised local hashing)",
        _best_hashing,
        _hashing_bits,
        _hashing_value,
        "needs about 2 log2 D bits for the hash function and one or more for the bucket",
        "buckets",
    ),
    OracleKind(
        "optimised-unary",
        "one bit per category, flipped independently (OUE)",
        lambda case: _always(case, case.categories),
        lambda case, parameters: case.categories,
        lambda case, parameters: optimised_unary_variance(case.epsilon),
        f"needs D bits, and at most {UnaryEncoding.most_categories} categories",
    ),
    OracleKind(
        "symmetric-unary",
        "a bit a category, all flipped with the same probability (basic RAPPOR)",
        lambda case: _always(case, case.categories),
        lambda case, parameters: case.categories,
        lambda case, parameters: symmetric_unary_variance(case.epsilon),
        f"needs D bits, and at most {UnaryEncoding.most_categories} categories",
    ),
    OracleKind(
        "hadamard",
        "a number that a row of a Hadamard matrix marks (Hadamard response)",
        lambda case: _always(case, case.categories.bit_length(), HadamardResponse.most_categories),
        lambda case, parameters: case.categories.bit_length(),
        lambda case, parameters: hadamard_variance(case.epsilon),
        "needs the bits of the number D",
    ),
    OracleKind(
        "projective-geometry",
        "a hyperplane, more likely through the user's point (projective geometry response)",
        _best_projective,
        _projective_bits,
        _projective_value,
        "needs log2 D bits or a few more, and a prime field whose hyperplanes can be counted",
        "field",
    ),
)

NAMES = tuple(kind.name for kind in KINDS)

SHORTEST = "randomized-response"
"""The kind whose reports have the fewest bits of all."""


def kind_of(name: Any) -> OracleKind:
    """Return the kind of oracle of this name.

    Raises
    ------
    ParameterError
        With the closest names.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise ParameterError("oracle", f"no '{name}'", suggestion(str(name), NAMES))
