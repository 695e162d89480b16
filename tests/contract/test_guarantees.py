"""Every type of mechanism carries its guarantee, and what holds agrees with the figures."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import pytest

from mechdesign.collect.base import Mechanism
from mechdesign.core.certificate import Certificate
from tests.meta.test_shown import MECHANISMS

KINDS = sorted(MECHANISMS)
PROPERTIES = ("privacy", "central_privacy", "number_privacy")

WITHOUT = {
    "online-auction": "decides about bids",
    "direct-mechanism": "decides about reported types; nothing is hidden",
    "screening-menu": "sells quantities",
    "contract-menu": "sells privacy; the noise is a number's that the buyer sees",
    "spectrum-cloak": "registers tiles; what they hide is certified as their geometry",
}
"""Types that promise no epsilon, and why."""

UNITS = {
    "planar-laplace": "unit of distance",
    "planar-lattice": "unit of distance",
    "spectrum-user": "unit of distance",
    "spectrum-database": "unit of distance",
}


@cache
def made(kind: str) -> Mechanism:
    return MECHANISMS[kind][0]()


def promises(kind: str) -> list[Certificate]:
    return [item for item in made(kind).certificates() if item.property in PROPERTIES]


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_of_privacy_carries_the_guarantee_and_agrees_with_it(kind):
    found = promises(kind)
    assert bool(found) != (kind in WITHOUT)
    for item in found:
        proof, guarantee = item.proof, item.guarantee
        assert proof is not None
        assert guarantee is not None
        assert item.holds == proof.holds
        assert item.exact == proof.exact
        assert item.metric == bool(guarantee.distance)
        assert guarantee.distance == UNITS.get(kind, "")
        assert guarantee.epsilon == Fraction(item.figures.get("epsilon", item.figures.get("budget")))
        assert guarantee.delta == Fraction(item.figures.get("delta", 0))
        assert guarantee.covers
        assert proof.pairs is None or proof.pairs >= 2
        assert (guarantee.notion == "central") == (
            "honest" in item.figures and item.property != "number_privacy"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_what_holds_has_a_true_epsilon_within_the_promise_or_a_delta_that_covers_it(kind):
    for item in promises(kind):
        proof = item.proof
        assert item.holds
        figures = item.figures
        true = figures.get("true_epsilon", figures.get("most_spent", math.inf))
        within = true <= float(proof.promise.epsilon + proof.rounding)
        delta = figures.get("least_delta", math.inf)
        covered = delta <= figures.get("delta", 0.0) or kind == "shuffled"
        assert within or covered
        assert proof.proven.within(proof.promise)
