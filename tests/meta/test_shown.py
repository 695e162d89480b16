"""What the interpreter shows: reprs in one readable line, and ``help(mechdesign)`` lists what there is."""

from __future__ import annotations

import pydoc
from functools import cache, partial

import numpy as np
import pytest

import mechdesign as md
from mechdesign.catalog import models
from mechdesign.collect.base import Mechanism, mechanism_types
from mechdesign.core.errors import counted
from mechdesign.families import exported_names
from mechdesign.families.auction import OnlineAuction
from mechdesign.families.hitters import PrefixReports
from mechdesign.families.joint import JointResponse
from mechdesign.families.location import PlanarLaplace, PlanarLattice
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.items.hashing import SetHashing
from mechdesign.families.marginals.items.selection import KeyValueSelection, SetSelection
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.families.marginals.papers.rivals import MarginalRival
from mechdesign.families.marginals.sets import ProductSet, SetResponse
from mechdesign.families.mean import (
    AttributeSampling,
    CensoringInterval,
    DiscretePiecewise,
    Duchi,
    Harmony,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.families.shuffle import BatchShuffler
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.families.spectrum import SpectrumCloak, SpectrumDatabase, SpectrumUser
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.primitives import FiniteChannel
from tests.support.failures import assert_each
from tests.support.protocols import PROTOCOLS
from tests.support.shipped import loaded

LONGEST = 250
"""Characters of a repr: two lines of a terminal, or three."""

SURVEY = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=2.0, labels=["no", "once", "often"])
MENU = md.PrivacyContract(types=[1.0, 2.0, 3.0], counts=[100, 100, 100], budget=1000.0)
GOODS = {"name": "two-goods", "types": [[2, 1], [4, 0], [5, 1]], "prior": ["3/7", "2/7", "2/7"]}
CHANNEL = md.MeanChannel(epsilon=1.0, inputs=5)

MECHANISMS = {
    "kary-response": (lambda: md.solve(SURVEY).mechanism(), "KaryResponse(3 answers, epsilon=2)"),
    "finite-channel": (
        lambda: md.solve(SURVEY, "lp").mechanism(),
        "FiniteChannel(3 answers, 3 reports, epsilon=2)",
    ),
    "contract-menu": (
        lambda: md.solve(MENU).mechanism(),
        "ContractMenu(3 items, epsilon 0.974007 to 1.66553, payments 3.79435 at most, laplace noise)",
    ),
    "online-auction": (
        lambda: OnlineAuction(["noise", "air"], [2, 1], 1.0, 0.2, reserve=5.0),
        "OnlineAuction(2 tasks, epsilon=1, participation=0.2, tradeoff=1, reserve 5, online, greedy)",
    ),
    "direct-mechanism": (
        lambda: md.solve(md.DirectMechanism(environment=GOODS)).mechanism(),
        "DirectRule(1 agent, 3 types, 4 outcomes, dominant incentives, ex-post participation)",
    ),
    "screening-menu": (
        lambda: md.solve(md.Screening(types=[1, 2, 3])).mechanism(),
        "ScreeningMenu(2 items for 3 types)",
    ),
    "hadamard-response": (
        lambda: HadamardResponse.of(9, 1.0),
        "HadamardResponse(9 categories, epsilon=1)",
    ),
    "local-hashing": (
        lambda: LocalHashing.of(9, 1.0, 4),
        "LocalHashing(9 categories, buckets=4, epsilon=1)",
    ),
    "prefix-hashing": (
        lambda: PrefixReports.of(2.0, "abc", 12, 3, [5, 12], [0.4, 0.6], [0.05, 1e-3], ["a"]),
        "PrefixReports(12 bits, groups of 5, 12 bits, epsilon=2)",
    ),
    "projective-geometry": (
        lambda: ProjectiveGeometry.of(9, 1.0, 3),
        "ProjectiveGeometry(9 categories, field=3, epsilon=1)",
    ),
    "set-response": (
        lambda: SetResponse.of([2, 3, 2], 2.0, ProductSet([1, 2, 1])),
        "SetResponse(3 attributes, product widths=[1, 2, 1], epsilon=2)",
    ),
    "survey": (
        lambda: SurveyMechanism.of(
            [Question("a", labels=("no", "yes")), Question("b", labels=("x", "y", "z"))], 1.0
        ),
        "SurveyMechanism(2 questions, 2 designs, epsilon=1)",
    ),
    "subset-selection": (
        lambda: SubsetSelection.of(9, 1.0, 2),
        "SubsetSelection(9 categories, size=2, epsilon=1)",
    ),
    "set-selection": (
        lambda: SetSelection.of(9, 1.0, 2, 3),
        "SetSelection(9 categories, length=2, size=3, epsilon=1)",
    ),
    "set-hashing": (
        lambda: SetHashing.of(9, 1.0, 2, 3),
        "SetHashing(9 categories, length=2, size=3, epsilon=1)",
    ),
    "key-value-selection": (
        lambda: KeyValueSelection.of(5, 2.0, 2, 3),
        "KeyValueSelection(5 categories, length=2, size=3, epsilon=2)",
    ),
    "unary-encoding": (
        lambda: UnaryEncoding.optimised(9, 1.0),
        "UnaryEncoding(9 categories, epsilon=1)",
    ),
    "marginal-release": (
        lambda: MarginalRelease.of([2, 3, 2], [(0, 1), (1, 2)], epsilon=1.0),
        "MarginalRelease(3 attributes, 2 views, epsilon=1)",
    ),
    "marginal-rival": (
        lambda: MarginalRival.of("FT", [2, 3, 2], 1.0, 2),
        "MarginalRival(FT, 3 attributes, order 2, 12 groups, epsilon=1)",
    ),
    "planar-laplace": (
        lambda: PlanarLaplace(2.0),
        "PlanarLaplace(epsilon=2, mean distance 1, within 2.372 with probability 0.95)",
    ),
    "planar-lattice": (
        lambda: PlanarLattice(2.0, [0, 0, 10, 10]),
        "PlanarLattice(161 x 161 places, step 0.0625, epsilon=2, mean distance 1.006, within 2.429",
    ),
    "joint-response": (
        lambda: JointResponse.of([2, 3], 4.0, redraw=0.5, keep=0.75, add=0.5, reports_per_user=5),
        "JointResponse(2 attributes, redraw=0.5, keep=0.75, add=0.5, epsilon=4, 5 reports)",
    ),
    "weekly-response": (
        lambda: md.solve(md.Weekly(categories=5, epsilon_all=4, epsilon_week=2, weeks=26)).mechanism(),
        "WeeklyResponse(5 categories, sets of 1 and 1 of 5 cells, 26 weeks, epsilon=4, 2 a week)",
    ),
    "grid-mean": (lambda: md.solve(CHANNEL).mechanism(), "GridMean([0, 1], epsilon=1, 5 inputs, "),
    "duchi": (lambda: Duchi(1.0, 40.0, 200.0), "Duchi([40, 200], epsilon=1)"),
    "censoring-interval": (
        lambda: CensoringInterval.from_interval(0.0, 0.1, 0.5, 0.1),
        "CensoringInterval([0, 1], epsilon=0.5, delta=0.1)",
    ),
    "discrete-piecewise": (lambda: DiscretePiecewise(2.0), "DiscretePiecewise([-1, 1], epsilon=2, "),
    "hybrid": (lambda: Hybrid(1.0), "Hybrid([-1, 1], epsilon=1)"),
    "laplace": (lambda: Laplace(1.0), "Laplace([-1, 1], epsilon=1)"),
    "piecewise": (lambda: Piecewise(1.0), "Piecewise([-1, 1], epsilon=1)"),
    "batch-shuffler": (
        lambda: BatchShuffler(100, "amount", 1.0, 1e-6),
        "BatchShuffler(threshold 100, hides amount, epsilon=1, delta=1e-06)",
    ),
    "spectrum-cloak": (
        lambda: SpectrumCloak(2.0, [1.0, 2.0]),
        "SpectrumCloak(cell 2, area 10.39, protection 1, 2)",
    ),
    "spectrum-database": (
        lambda: SpectrumDatabase([{"name": "tv", "tiles": [[0, 0]], "protection": 1}, {"name": "free"}], 0.1),
        "SpectrumDatabase(2 channels, 1 idle, budget 1 a user)",
    ),
    "spectrum-user": (
        lambda: SpectrumUser.of(2.0, 5.0, [0, 0, 20, 20]),
        "SpectrumUser(privacy radius 2, radius 5, epsilon=2.4",
    ),
    "linear-queries": (
        lambda: md.solve(md.LinearQueries(workload={"name": "likert", "size": 5}, epsilon=1.0)).mechanism(),
        "WorkloadRelease(4 queries (likert), 5 types, ",
    ),
    "event-counts": (
        lambda: md.solve(md.EventCounts(slots=4, most=1, prior=[0.9, 0.1], epsilon=2.0), "kary").mechanism(),
        "EventRelease(4 slots, 5 states, epsilon=2)",
    ),
    "square-wave": (lambda: SquareWave(1.0), "SquareWave([-1, 1], epsilon=1)"),
    "attribute-sampling": (
        lambda: AttributeSampling.of(Duchi, 1.0, ["steps", "pulse"]),
        "AttributeSampling(2 attributes (steps, pulse), 1 a user, epsilon=1, "
        "each by Duchi([-1, 1], epsilon=1))",
    ),
    "harmony": (
        lambda: Harmony(1.0, 36),
        "Harmony(36 attributes, 1 a user, epsilon=1, each by Duchi([-1, 1], epsilon=1))",
    ),
    "shuffled": (
        lambda: Shuffled(Duchi(3.0), Promise(10_000, 0.5, 1e-6, honest=0.9)),
        "Shuffled(epsilon=0.5, delta=1e-06 from 10000 users on, 9000 of them honest, each by Duchi(",
    ),
}

SURVEYED = Promise(1000, 1.0, 1e-6)
MECHANISMS |= {
    kind: (partial(make, SURVEYED), f"{name}(1000 users, epsilon=1, delta=1e-06, ")
    for kind, (make, name) in PROTOCOLS.items()
}
MECHANISMS = {kind: (cache(make), shown) for kind, (make, shown) in MECHANISMS.items()}
"""How each type is made, once a process: mechanisms do not change, and some take long to calibrate."""


def test_every_type_of_mechanism_is_here():
    assert set(MECHANISMS) == set(mechanism_types()), "add the new type to MECHANISMS"


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_mechanism_shows_its_figures_and_has_an_audit(kind):
    make, shown = MECHANISMS[kind]
    mechanism = make()
    assert repr(mechanism).startswith(shown)
    assert len(repr(mechanism)) <= LONGEST
    audit = mechanism.audit()
    assert audit.holds
    text = str(audit)
    assert ": holds" in text
    assert text in "\n".join(str(certificate) for certificate in mechanism.certificates())
    assert len(repr(audit)) < 2000
    if hasattr(mechanism, "aggregator"):
        assert audit.epsilon > 0 < audit.true_epsilon
        counted = getattr(mechanism, "local", mechanism)
        assert repr(mechanism.aggregator()).endswith(f"of {counted!r})")


def test_an_audit_fails_where_a_certificate_does():
    """Of the base class, on which every further type falls back."""

    class Broken(Mechanism):
        def content(self):
            return {}

        @classmethod
        def from_content(cls, content):
            return cls()

        def certificates(self):
            return md.Certificate("budget", True, True), md.Certificate("monotonicity", False, True)

    broken = Broken()
    vars(broken)["type"] = (
        "broken"  # of the object alone: a class with a type would be found as a type of mechanism
    )
    assert not broken.audit().holds
    assert str(broken.audit()) == "budget: holds (exact)\nmonotonicity: FAILS (exact)"
    assert repr(broken) == f"Broken(fingerprint {broken.fingerprint[:12]})"


def test_several_reports_add_up_in_the_audit():
    audit = AttributeSampling.of(Duchi, 1.0, 5, per_user=2).audit()
    assert audit.holds
    assert audit.exact
    assert (audit.epsilon, audit.epsilon_each, audit.reports_each) == (1.0, 0.5, 2)
    assert audit.true_epsilon == 2 * Duchi(0.5).audit().true_epsilon
    broken = AttributeSampling(Duchi(0.5), 5, per_user=3, epsilon=1.0)
    assert not broken.audit().holds


def shows_its_class(slug):
    model = loaded(slug)
    problem = model.problem
    assert repr(model) == f"Model({slug}: {problem!r}, {counted(len(model.claims), 'claim')})"
    assert repr(problem).startswith(f"{type(problem).__name__}(")
    assert len(repr(problem)) <= LONGEST
    assert "epsilon=" in repr(problem) or getattr(problem, "epsilon", None) is None


def test_a_problem_shows_its_class_and_its_parameters():
    assert_each({slug: partial(shows_its_class, slug) for slug in models()})


def test_a_problem_leaves_defaults_out_and_abridges_what_is_long():
    assert repr(SURVEY) == (
        "RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=2, labels=['no', 'once', 'often'])"
    )
    large = md.RandomizedResponse(prior=np.full(1000, 1e-3), epsilon=1.0, delta=0.1, utility=np.eye(1000))
    assert repr(large) == (
        "RandomizedResponse(prior=[0.001, 0.001, 0.001, ... 1000 in all], epsilon=1, delta=0.1, "
        "utility=<1000 x 1000 array>)"
    )


def test_solutions_and_comparisons_show_their_values():
    assert repr(md.solve(SURVEY)) == (
        "Solution(randomized-response by closed-form: optimal, value 0.7869860422, bound 0.7869860422)"
    )
    assert repr(md.compare(SURVEY, ["closed-form", "extreme-points"])) == (
        "Comparison(randomized-response: closed-form 0.7869860422, extreme-points 0.7869860422; agree)"
    )
    assert len(repr(md.solve(md.RandomizedResponse(prior=np.full(1000, 1e-3), epsilon=8.0)))) <= LONGEST


def test_estimates_show_values_and_errors():
    mechanism = md.solve(SURVEY).mechanism()
    estimate = mechanism.estimate(["no"] * 60 + ["once"] * 30 + ["often"] * 10)
    assert repr(estimate).startswith("FrequencyEstimate(100 reports: no ")
    assert f"{estimate.value[0]:.5f} +- {estimate.standard_error[0]:.2g}" in repr(estimate)
    many = FiniteChannel.from_floats(
        np.eye(50) * 0.5 + 0.01, md.RandomizedResponse(prior=[0.02] * 50, epsilon=9.0).target()
    )
    assert repr(many.estimate(np.arange(50))).endswith("... 50 in all)")
    mean = Duchi(1.0).estimate([0, 1, 1])
    assert repr(mean) == f"MeanEstimate({mean.value:.6g} +- {mean.standard_error:.3g}, 3 reports)"
    means = AttributeSampling.of(Duchi, 1.0, ["steps", "pulse"])
    shown = repr(means.estimate(means.randomize([[0.5, -0.5]] * 40, rng=1)))
    assert shown.startswith("AttributeMeans(40 users: steps ")
    wave = SquareWave(1.0)
    distribution = wave.distribution(wave.randomize(np.zeros(100), rng=1), buckets=64)
    assert repr(distribution).startswith("Distribution(64 buckets of [-1, 1], mean ")
    ranking = md.choose(1.0, 1000, channel=False)
    assert repr(ranking).startswith("Ranking(1000 users, 1 attribute, errors: hybrid ")
    assert "function" not in repr(ranking.best)


def test_help_lists_problems_functions_and_choose():
    text = pydoc.plain(pydoc.render_doc(md))
    for name in exported_names():
        heading = f"class {name}(" if isinstance(getattr(md, name), type) else f"    {name}("
        assert f"    {heading.strip()}" in text, f"{name}: add it to __all__"
    for function in ("solve", "compare", "load_mechanism", "load_model", "models"):
        assert f"\n    {function}(" in text
    assert set(exported_names()) <= set(md.__all__) <= set(dir(md))
