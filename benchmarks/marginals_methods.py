"""The methods that the experiments on marginals compare, each made for one setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from mechdesign.core.errors import MechDesignError
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.estimates import ReleasedMarginals
from mechdesign.families.marginals.oracles.best import KINDS
from mechdesign.families.marginals.papers.rivals import (
    AllMarginals,
    BinaryEncoded,
    ExpectationMaximization,
    FourierCoefficients,
    FullContingency,
    PriView,
    UniformAnswer,
    nearest_table,
    non_negative,
)
from mechdesign.families.marginals.papers.rivals.encoded import BinaryEncoding
from mechdesign.families.marginals.papers.rivals.entropy import constraints_of, maximum_entropy

Codes = NDArray[np.int64]
Table = NDArray[np.float64]
Answer = Callable[[tuple[int, ...]], Table]
Views = Sequence[Sequence[int]]

THESIS_KINDS = KINDS[:2]
"""Randomized response and optimised unary encoding: what the thesis chooses from."""


@dataclass(frozen=True)
class Setting:
    """Sizes of the attributes, order of the marginals, users, epsilon."""

    sizes: tuple[int, ...]
    order: int
    users: int
    epsilon: float


@dataclass(frozen=True)
class Method:
    """A way to collect once, from which named answers are had: raw, or brought to the nearest table."""

    collect: Callable[[Codes, np.random.Generator], dict[str, Answer]]


@cache
def views_of(sizes: tuple[int, ...], order: int, users: int, epsilon: float) -> Views:
    """Return the views that algorithm 3.1 takes."""
    problem = md.MarginalViews(
        attributes=list(sizes), order=order, users=users, epsilon=epsilon, criterion="rule", oracle="thesis"
    )
    found: Views = [tuple(int(item) for item in view) for view in md.solve(problem).variables["views"]]
    return found


def by_views(released: ReleasedMarginals, sizes: Sequence[int]) -> Answer:
    """Return CALM's marginals: by maximum entropy, from the views that share the most with each.

    The views' tables are non-negative and agree in pairs, as the thesis has them; what the release itself
    returns is closer (:mod:`benchmarks.marginals_estimates`).
    """
    precision = released.precision.tolist()
    tables = non_negative(released.views, released.unbiased, sizes, precision, 1.0).tables

    def answer(wanted: tuple[int, ...]) -> Table:
        places = [place for _, place in constraints_of(wanted, released.views)]
        views = [released.views[place] for place in places]
        return maximum_entropy(wanted, views, [tables[place] for place in places], sizes)

    return answer


def released(setting: Setting, views: Views, name: str = "CALM") -> Method:
    """Return the release by these views."""
    release = MarginalRelease.of(setting.sizes, views, setting.epsilon, kinds=THESIS_KINDS)

    def collect(codes: Codes, rng: np.random.Generator) -> dict[str, Answer]:
        found = release.estimate(release.randomize(codes, rng=rng, anyway=True))
        return {name: by_views(found, setting.sizes)}

    return Method(collect)


def calm(setting: Setting) -> Method:
    """Return the release by the views of algorithm 3.1."""
    return released(setting, views_of(setting.sizes, setting.order, setting.users, setting.epsilon))


def _unbiased(name: str, collect: Callable[..., object]) -> Method:
    """Return a method with its unbiased answers, and with the nearest tables next to them."""

    def run(codes: Codes, rng: np.random.Generator) -> dict[str, Answer]:
        found = collect(codes, rng=rng)
        return {
            name: found.marginal,  # type: ignore[attr-defined]
            f"{name}+": lambda wanted: nearest_table(found.marginal(wanted)),  # type: ignore[attr-defined]
        }

    return Method(run)


def full(setting: Setting) -> Method:
    """FC."""
    return _unbiased("FC", FullContingency(setting.sizes, setting.epsilon, setting.order).simulate)


def all_marginals(setting: Setting) -> Method:
    """AM."""
    rival = AllMarginals(setting.sizes, setting.epsilon, setting.order)
    rival.group_users(setting.users)
    return _unbiased("AM", rival.simulate)


def fourier(setting: Setting) -> Method:
    """FT with the coefficients that are needed."""
    rival = FourierCoefficients(setting.sizes, setting.epsilon, setting.order)
    rival.group_users(setting.users)
    return _unbiased("FT", rival.release)


def fourier_literal(setting: Setting) -> Method:
    """FT with the coefficients that the thesis counts."""
    rival = FourierCoefficients(setting.sizes, setting.epsilon, setting.order, literal=True)
    rival.group_users(setting.users)
    return _unbiased("FT literal", rival.release)


def expectation(setting: Setting) -> Method:
    """EM, from the unbiased estimate and from even cells."""
    rival = ExpectationMaximization(setting.sizes, setting.epsilon, setting.order)

    def collect(codes: Codes, rng: np.random.Generator) -> dict[str, Answer]:
        found = rival.release(codes, rng=rng)
        return {
            "EM": lambda wanted: found.marginal(wanted, "unbiased", 1e-5, 200),
            "EM even": lambda wanted: found.marginal(wanted, "uniform", 1e-5, 200),
        }

    return Method(collect)


def uniform(setting: Setting) -> Method:
    """Uni."""
    answer = UniformAnswer(setting.sizes, setting.epsilon, setting.order).estimate(None)
    return Method(lambda codes, rng: {"Uni": answer.marginal})


def encoded(setting: Setting) -> Method:
    """BE: algorithm 3.1 for the bits, and for as many of them as the requested marginals have."""
    encoding = BinaryEncoding(setting.sizes)
    order = sum(sorted(encoding.bits)[-setting.order :])
    bits = (2,) * sum(encoding.bits)
    views = views_of(bits, order, setting.users, setting.epsilon)
    rival = BinaryEncoded(setting.sizes, setting.epsilon, setting.order, views, THESIS_KINDS)

    def collect(codes: Codes, rng: np.random.Generator) -> dict[str, Answer]:
        reports = rival.views_of_bits.randomize(encoding.encode(codes), rng=rng, anyway=True)
        by_bits = by_views(rival.views_of_bits.estimate(reports), bits)

        def answer(wanted: tuple[int, ...]) -> Table:
            return nearest_table(encoding.decode(by_bits(encoding.places_of(wanted)), wanted))

        return {"BE": answer}

    return Method(collect)


def curator(setting: Setting) -> Method:
    """PriView with views of 8 attributes that cover all pairs."""
    block = min(8, len(setting.sizes))
    cover = md.solve(md.CoveringDesign(points=len(setting.sizes), order=2, block=block))
    views = [tuple(int(item) for item in view) for view in cover.variables["blocks"]]
    rival = PriView(setting.sizes, setting.epsilon, setting.order, views)
    return Method(lambda codes, rng: {"PriView": rival.release(codes, rng=rng).marginal})


METHODS: dict[str, Callable[[Setting], Method]] = {
    "CALM": calm,
    "BE": encoded,
    "FC": full,
    "AM": all_marginals,
    "FT": fourier,
    "FT literal": fourier_literal,
    "EM": expectation,
    "Uni": uniform,
    "PriView": curator,
}


def make(name: str, setting: Setting) -> Method | str:
    """Return a method for a setting, or why it cannot handle it."""
    try:
        return METHODS[name](setting)
    except MechDesignError as error:
        return str(error)
