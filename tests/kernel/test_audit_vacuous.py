"""Nothing holds without two answers to compare: which sizes are refused, and what others certify."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.audit import audit_channel
from mechdesign.audit.classes import audit_density, composed, weakest
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import MechDesignError
from mechdesign.core.guarantee import VACUOUS, Guarantee, Proof
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.joint import JointResponse
from mechdesign.families.joint.repeated import RepeatedBits, audit_repeated
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.families.marginals.oracles.support import ReportClass, audit_classes
from mechdesign.families.mean import AttributeSampling, DiscretePiecewise, Duchi, Laplace
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.families.workload.weights import audit_patterns
from mechdesign.primitives import FiniteChannel, KaryResponse, PrivacyTarget

ONE_ROW = np.array([[TOTAL]])
NOTHING = np.array([], dtype=np.int64)


def no_density(values, reports):
    return np.zeros((len(values), reports.shape[1]))


VACUOUS_AUDITS = {
    "a channel of one answer": lambda: audit_channel(ONE_ROW, 1.0),
    "one answer, with a delta": lambda: audit_channel(ONE_ROW, 1.0, 0.5),
    "one answer, entry by entry": lambda: audit_channel(ONE_ROW, 1.0, 0.5, notion="entry-wise"),
    "one answer, with a distance": lambda: audit_channel(ONE_ROW, 1.0, distance=np.zeros((1, 1))),
    "one answer, many reports": lambda: audit_channel(np.array([[TOTAL // 2, TOTAL // 2]]), 1.0),
    "classes of one answer": lambda: audit_classes([ReportClass("all", 1, 1, 1)], 1.0, pairs=0),
    "patterns of one type": lambda: audit_patterns(NOTHING, NOTHING, np.array([TOTAL]), 1.0),
    "a density at one input": lambda: audit_density(no_density, np.array([0.5]), np.array([0.0]), 1.0),
    "bits of no attribute": lambda: audit_repeated(RepeatedBits(8, 1, 6, 4), 0, 3, 7.0),
}


@pytest.mark.parametrize("name", VACUOUS_AUDITS)
def test_an_audit_without_a_pair_does_not_hold_and_says_so(name):
    audit = VACUOUS_AUDITS[name]()
    assert audit.proof.pairs == 0
    assert not audit.holds
    assert not audit.certificate().holds
    assert VACUOUS in str(audit)


def test_a_composition_of_nothing_does_not_hold():
    promise = Guarantee(1)
    assert not composed(promise, []).holds
    assert not weakest(promise, []).holds
    nothing, something = Proof(promise, 0, pairs=0), Proof(promise, "0.5", pairs=2)
    assert not composed(promise, [nothing, something]).holds
    assert not weakest(promise, [something, nothing]).holds


SOLVED = {
    "frequency oracle": (lambda n: md.FrequencyOracle(categories=n, epsilon=1.0, users=100), 2),
    "randomized response": (lambda n: md.RandomizedResponse(prior=[1 / max(n, 1)] * n, epsilon=1.0), 2),
    "line": (
        lambda n: md.RandomizedResponse(prior=[1 / max(n, 1)] * n, epsilon=1.0, distance="line"),
        2,
    ),
    "mean channel, inputs": (lambda n: md.MeanChannel(epsilon=1.0, inputs=n, outputs=2), 2),
    "mean channel, outputs": (lambda n: md.MeanChannel(epsilon=1.0, inputs=2, outputs=n), 2),
    "one marginal": (lambda n: md.MarginalViews(attributes=[n], epsilon=1.0, users=1000, order=1), 2),
    "no marginal": (lambda n: md.MarginalViews(attributes=[2] * n, epsilon=1.0, users=1000, order=1), 1),
    "workload": (lambda n: md.LinearQueries(workload=[[1.0] + [0.0] * (n - 1)][: max(n, 0)], epsilon=1.0), 2),
    "events": (lambda n: md.EventCounts(slots=n, most=1, epsilon=1.0, prior=[0.5, 0.5]), 2),
    "joint": (lambda n: md.JointCollection(attributes=[n], epsilon=1.0), 2),
    "survey": (
        lambda n: md.SurveyDesign(
            epsilon=1.0,
            users=100,
            questions=[{"name": f"q{place}", "labels": ["a", "b"]} for place in range(n)],
        ),
        1,
    ),
    "labels": (
        lambda n: md.SurveyDesign(
            epsilon=1.0, users=100, questions=[{"name": "q", "labels": list("abc"[:n])}]
        ),
        2,
    ),
    "shuffled users": (lambda n: md.ShuffleCounting(users=n, epsilon=1.0, delta=1e-6), 2),
    "histogram": (lambda n: md.ShuffleHistogram(users=100, categories=n, epsilon=1.0, delta=1e-6), 2),
}


@pytest.mark.parametrize("name", SOLVED)
def test_which_sizes_of_a_problem_are_refused(name):
    stated, least = SOLVED[name]
    for size in range(3):
        if size < least:
            with pytest.raises(MechDesignError):
                stated(size)
        elif name not in ("shuffled users", "histogram"):  # those take seconds
            found = md.solve(stated(size)).mechanism().certificates()[0]
            assert found.holds, (name, size)
            assert found.proof.pairs >= 2, (name, size)


BUILT = {
    "k-ary": (lambda n: KaryResponse.of(n, epsilon=1.0), 2),
    "finite": (
        lambda n: FiniteChannel.from_floats(np.ones((n, 2)) / 2, PrivacyTarget(1.0)),
        2,
    ),
    "finite, integers": (lambda n: FiniteChannel(np.array([[TOTAL]] * n), PrivacyTarget(1.0)), 2),
    "hadamard": (lambda n: HadamardResponse.of(n, 1.0), 2),
    "hashing": (lambda n: LocalHashing.of(n, 1.0, 2), 2),
    "subset": (lambda n: SubsetSelection.of(n, 1.0, 1), 2),
    "unary": (lambda n: UnaryEncoding.optimised(n, 1.0), 2),
    "attributes": (lambda n: AttributeSampling.of(Duchi, 1.0, n), 1),
    "reports a user": (lambda n: AttributeSampling.of(Duchi, 1.0, 2, n), 1),
    "range of duchi": (lambda n: Duchi(1.0, 0.0, float(n)), 1),
    "range of laplace": (lambda n: Laplace(1.0, 0.0, float(n)), 1),
    "cells": (lambda n: DiscretePiecewise(1.0, cells=n, window=1), 2),
    "views": (lambda n: MarginalRelease.of([2, 2], [(0,), (1,)][:n], 1.0), 2),
    "bits": (lambda n: JointResponse.of([n], epsilon=9.0, redraw=0.2, keep=0.75, add=0.5), 2),
    "questions": (
        lambda n: SurveyMechanism.of([Question(str(place), labels=("a", "b")) for place in range(n)], 1.0),
        1,
    ),
    "promised users": (lambda n: Promise(n, 1.0, 1e-6), 2),
}


@pytest.mark.parametrize("name", BUILT)
def test_which_sizes_of_a_mechanism_are_refused(name):
    make, least = BUILT[name]
    for size in range(3):
        if size < least:
            with pytest.raises((MechDesignError, ValueError)):
                make(size)
        elif name != "promised users":
            found = make(size).certificates()[0]
            assert found.holds, (name, size)
            assert found.proof.pairs is None or found.proof.pairs >= 2, (name, size)


@pytest.mark.parametrize(
    "figures",
    [
        {"epsilon": 0.1, "true_epsilon": 14.56},
        {"epsilon": 0.1, "true_epsilon": float("inf")},
        {"epsilon": 0.1, "true_epsilon": 14.56, "delta": 0.0},
        {"epsilon": 0.1, "true_epsilon": 14.56, "delta": 0.1, "least_delta": 0.2},
        {"epsilon": float("inf"), "true_epsilon": 1.0},
        {"epsilon": -1.0, "true_epsilon": -1.0},
        {"epsilon": 1.0, "true_epsilon": 0.5, "delta": 1.5, "least_delta": 0.0},
        {"epsilon": 1.0, "true_epsilon": float("nan")},
    ],
)
def test_a_certificate_by_hand_cannot_hold_against_its_figures(figures):
    assert not Certificate("privacy", True, True, figures).holds
    assert Certificate("privacy", True, True, {"epsilon": 0.1, "true_epsilon": 0.1}).holds
    covered = {"epsilon": 0.1, "true_epsilon": 14.56, "delta": 0.2, "least_delta": 0.2}
    assert Certificate("privacy", True, True, covered).holds


def test_a_proof_overrules_who_says_that_it_holds():
    failing = Proof(Guarantee("0.1"), 2, pairs=2)
    assert not Certificate("privacy", True, True, {}, proof=failing).holds
    assert not Certificate("central_privacy", True, True, {}, proof=failing).holds
