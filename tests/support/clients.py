"""Mechanisms that clients are exported of: the smallest instances, and those with other sizes and names."""

from __future__ import annotations

import json
import math
from functools import cache, partial
from pathlib import Path

import numpy as np

import mechdesign as md
from mechdesign.data.intake import Intake
from mechdesign.exact.randomness import TOTAL
from mechdesign.export import export, vectors
from mechdesign.export.known_answers import Vector
from mechdesign.families.hitters import PrefixReports, prefix_code
from mechdesign.families.joint import JointResponse
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
from mechdesign.families.marginals.sets import CellSet, MatchSet, ProductSet, SetResponse
from mechdesign.families.marginals.weeks.response import WeeklyResponse
from mechdesign.families.mean import AttributeSampling, CensoringInterval, DiscretePiecewise, Duchi, Harmony
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.families.survey.parts import NumberPart, OrderedPart, SetPart, TablePart
from mechdesign.families.survey.questions import Questions
from mechdesign.families.workload import WorkloadRelease
from mechdesign.families.workload.event_release import EventRelease
from mechdesign.families.workload.prefix import best_prefix_channel
from mechdesign.primitives import FiniteChannel, KaryResponse
from mechdesign.primitives.finite import PrivacyTarget
from mechdesign.primitives.kary_channel import KaryChannel
from mechdesign.work.cache import Cache, key_of
from tests.support.protocols import PROTOCOLS, made

NAMES = ["never", "often — daily", 'say "no"', "Zürich</script>", "雪 & ice"]


def _channel(answers: int, reports: int) -> FiniteChannel:
    rng = np.random.default_rng(7)
    return FiniteChannel.from_floats(
        rng.dirichlet(np.ones(reports), size=answers), PrivacyTarget(1.5), NAMES[:answers]
    )


def _survey() -> SurveyMechanism:
    """Return a survey whose designs have a table with a rounded number, a number, and sets."""
    asked = Questions(
        [
            Question("smokes", labels=("no", "yes")),
            Question("age", "number", low=18, high=90),
            Question("weight", "number", low=30, high=200, bins=(30, 60, 90, 200), skip=True),
            Question("region", labels=("n", "e", "s", "w", "abroad")),
        ]
    )
    table = TablePart(asked, [0, 1], KaryResponse.of(4, 0.5))
    number = NumberPart(asked, 1, DiscretePiecewise(0.5, 18.0, 90.0))
    sets = SetPart(asked, [2, 3], SetResponse.of([4, 5], 0.5, ProductSet([2, 2]), tables=[]))
    region = TablePart(asked, [3], SubsetSelection.of(5, 0.5, 2))
    return SurveyMechanism(asked, 1.0, [[table, sets], [number, region]], [TOTAL // 3, TOTAL - TOTAL // 3])


def _skipped() -> SurveyMechanism:
    """Return a survey with a number that may be skipped, alone, in a table and in sets."""
    asked = Questions(
        [
            Question("smokes", labels=("no", "yes")),
            Question("hours", "number", low=-10, high=60, skip=True),
            Question("region", labels=("n", "e", "s", "w")),
        ]
    )
    alone = TablePart(asked, [1], KaryResponse.of(3, 1.0))
    table = TablePart(asked, [0, 1], SubsetSelection.of(6, 1.0, 2))
    sets = SetPart(asked, [1, 2], SetResponse.of([3, 4], 1.0, ProductSet([1, 2]), tables=[]))
    weights = [TOTAL // 3, TOTAL // 3, TOTAL - 2 * (TOTAL // 3)]
    return SurveyMechanism(asked, 1.0, [[alone], [table], [sets]], weights)


def _ordered() -> SurveyMechanism:
    """Return a survey with an ordered question that is asked for its cumulative shares."""
    labels = ("bad", "fair", "good", "very good")
    asked = Questions(
        [Question("health", "ordered", labels, cumulative=True), Question("sex", labels=["f", "m"])]
    )
    health, sex = (
        OrderedPart(asked, 0, best_prefix_channel(4, 1.0)),
        TablePart(asked, [1], KaryResponse.of(2, 0.5)),
    )
    return SurveyMechanism(asked, 1.5, [[health, sex]])


def _attributes() -> AttributeSampling:
    inner = DiscretePiecewise(0.5, cells=6, window=2)
    return AttributeSampling(
        inner, ["age", "steps", "pulse"], 2, low=[18, 0, 30.5], high=[99, 30_000, 220.25]
    )


def _queries(
    name: str, size: int, domain: tuple[float, float] | None = None, labels: list[str] | None = None
) -> WorkloadRelease:
    found = md.solve(md.LinearQueries(workload={"name": name, "size": size}, epsilon=1.0)).mechanism()
    return WorkloadRelease(found.workload, 1.0, found.weights, None, domain, labels)


def _orbits(workload: dict[str, object]) -> WorkloadRelease:
    return md.solve(md.LinearQueries(workload=workload, epsilon=1.0), "symmetric").mechanism()


def _events(slots: int, most: int, method: str, labels: list[str] | None = None) -> EventRelease:
    prior = [0.9, *[0.1 / most] * most]
    problem = md.EventCounts(slots=slots, most=most, prior=prior, epsilon=2.0, labels=labels)
    return md.solve(problem, method).mechanism()


CLIENTS = {
    "kary-response": lambda: KaryResponse.of(5, 2.0, NAMES).for_data(Intake(("mood",))),
    "kary kept": lambda: KaryResponse.from_channel(KaryChannel(7, np.array([4, 0, 6]), 1.0, 0.01)),
    "kary 64": lambda: KaryResponse.of(64, 1.0),
    "finite-channel": lambda: _channel(5, 5),
    "finite 3 to 9": lambda: _channel(3, 9),
    "unary-encoding": lambda: UnaryEncoding.optimised(9, 1.0),
    "unary 64": lambda: UnaryEncoding.optimised(64, 1.0),
    "unary 200": lambda: UnaryEncoding.symmetric(200, 3.0),
    "subset-selection": lambda: SubsetSelection.of(9, 1.0, 2),
    "subset 30": lambda: SubsetSelection.of(30, 0.5, 11),
    "set-selection": lambda: SetSelection.of(4, 3.0, 2, 1, labels=["bread", "milk", "tea", "jam"]),
    "sets of one": lambda: SetSelection.of(100, 4.0, 2, 1),
    "sets sampled": lambda: SetSelection.of(900, 2.0, 3, 5, most=6),
    "set-hashing": lambda: SetHashing.of(900, 2.0, 3, 60, most=6),
    "sets hashed alone": lambda: SetHashing.of(4, 3.0, 1, 2, labels=["bread", "milk", "tea", "jam"]),
    "key-value-selection": lambda: KeyValueSelection.of(5, 2.0, 2, 3),
    "hadamard-response": lambda: HadamardResponse.of(9, 1.0),
    "hadamard 1000": lambda: HadamardResponse.of(1000, 1.0),
    "local-hashing": lambda: LocalHashing.of(9, 1.0, 4),
    "hashing 60000": lambda: LocalHashing.of(60_000, 2.0, 8),
    "projective-geometry": lambda: ProjectiveGeometry.of(9, 1.0, 3),
    "projective 500": lambda: ProjectiveGeometry.of(500, math.log(4.0), 5),
    "duchi": lambda: Duchi(1.0, 40.0, 200.0),
    "censoring-interval": lambda: CensoringInterval.from_interval(0.0, 0.1, 0.5, 0.1),
    "grid-mean": lambda: md.solve(md.MeanChannel(epsilon=1.0, inputs=5)).mechanism(),
    "discrete-piecewise": lambda: DiscretePiecewise(2.0, -3.25, 17.1),
    "attribute-sampling": _attributes,
    "harmony": lambda: Harmony(1.0, 4),
    "marginal-release": lambda: MarginalRelease.of(
        [2, 3, 2], [(0, 1), (1, 2)], 1.0, ["a", "b", "c"], [["no", "yes"], None, None]
    ),
    "marginals of 4 oracles": lambda: MarginalRelease(
        MarginalRelease.of([2, 3, 4], [(0, 1), (1, 2), (0, 2), (2,)], 1.0).attributes,
        [(0, 1), (1, 2), (0, 2), (2,)],
        [
            KaryResponse.of(6, 1.0),
            SubsetSelection.of(12, 1.0, 3),
            HadamardResponse.of(8, 1.0),
            UnaryEncoding.optimised(4, 1.0),
        ],
        [1, 2, 3, 4],
    ),
    "joint-response": lambda: JointResponse.of([2, 3], 4.0, 0.5, 0.75, 0.5, reports_per_user=5),
    "joint 90 bits": lambda: JointResponse.of([40, 50], 30.0, 0.0, 0.9, 0.125),
    "joint bit": lambda: JointResponse.of(
        [2, 3, 2], 9.0, 0.25, 0.75, 0.5, 5, bit_redraw=0.125, bit_keep=0.875
    ),
    "joint bits alone": lambda: JointResponse.of([2] * 9, 20.0, bit_redraw=0.25, bit_keep=1),
    "weekly-response": lambda: WeeklyResponse.of(5, 4.0, 2.0, 1, 2, weeks=3, labels=NAMES),
    "weekly parts of sets": lambda: WeeklyResponse.of(30, 3.0, 1.0, 6, 2, weeks=3, distinct=2),
    "weekly buckets": lambda: WeeklyResponse.of(
        90, 6.0, 1.0, 1, 1, weeks=3, distinct=90, kind="hashed", cells=3
    ),
    "weekly numbers": lambda: WeeklyResponse.of(
        3, 4.0, 2.0, 1, 1, weeks=3, distinct=2, edges=(0.0, 0.3, 10.0, 25.0)
    ),
    "weekly bins": lambda: WeeklyResponse.of(20, 6.0, 1.0, 2, 1, weeks=3, distinct=20, kind="bins", cells=4),
    "linear-queries": lambda: _queries("likert", 5, labels=NAMES),
    "queries of bins": lambda: _queries("prefix", 9, domain=(-0.5, 99.25)),
    "queries of a cycle": lambda: _orbits({"name": "cyclic-ranges", "size": 24}),
    "queries of a cube": lambda: _orbits({"name": "marginals", "sizes": [2] * 4, "order": 2}),
    "prefix-hashing": lambda: PrefixReports.of(2.0, "abcäß雪", 12, 3, [5, 12], [0.4, 0.6], [0.05, 1e-3]),
    "texts of utf-8": lambda: PrefixReports.of(
        4.0, "utf-8", 48, 6, [24, 40, 48], [0.3, 0.3, 0.4], [0.01] * 3
    ),
    "texts of a public code": lambda: PrefixReports.of(
        1.0, prefix_code({"a": 5, "e": 4, "é": 1, "z": 0.5}, 2), 20, 2, [20], [1.0], [1e-3]
    ),
    "event-counts": lambda: _events(3, 2, "orbits"),
    "events with names": lambda: _events(4, 3, "kary", ["go", "sale", "visit — long", "雪"]),
    "events of 2 slots": lambda: _events(2, 1, "orbits"),
    "sets that match": lambda: SetResponse.of([2, 3, 5, 4], 2.0, MatchSet([1, 2, 3, 1], matches=2)),
    "sets of cells": lambda: SetResponse.of([2, 3], 1.0, CellSet(2)),
    "set-response": lambda: SetResponse.of([2, 6, 9], 2.0, ProductSet([1, 4, 3])),
    "survey": _survey,
    "survey with ordered answers": _ordered,
    "survey with a skipped number": _skipped,
    "shuffled": lambda: Shuffled(Duchi(4.0), Promise(users=100_000, epsilon=0.5, delta=1e-6)),
}
"""By type, or by another name where there are several of a type."""

MESSAGES = {kind: partial(made, kind, Promise(10_000, 1.0, 1e-6)) for kind in PROTOCOLS}
CLIENTS = {name: cache(make) for name, make in (CLIENTS | MESSAGES).items()}


PRIMES = (1, 3, 5, 7, 11, 13, 17, 23, 29, 37, 47, 59, 73, 97, 127, 163, 211)

KEPT: list[Cache] = []
"""Where vectors are kept for all processes of one run of the tests, once a test has asked for it."""


LEAST = 300
"""Vectors of a client: all corners, and pseudorandom ones where these are fewer; a user gets a thousand."""


@cache
def known(name: str) -> list[Vector]:
    """Return the vectors of a client; they are made once for the tests of all languages."""
    key = key_of("vectors", CLIENTS[name]().fingerprint)
    for kept in KEPT:
        if (found := kept.get(key)) is not None:
            return found[0]
    made = vectors(CLIENTS[name](), LEAST)
    for kept in KEPT:
        kept.put(key, made)
    return made


def some_of(rows: list[Vector], most: int) -> list[Vector]:
    """Return about so many vectors, evenly from all.

    Vectors go through the answers and both sides of each bound in turn; a prime number misses none of them.
    """
    step = next(prime for prime in PRIMES if prime * most >= len(rows))
    return rows[::step]


def stem(name: str) -> str:
    """Return the name of a file for a client."""
    return name.replace(" ", "_")


def write_modules(folder: Path, most: int = 1 << 20) -> list[str]:
    """Write every JavaScript client and its vectors, at most so many, and return the stems of the names."""
    for name, make in CLIENTS.items():
        (folder / f"{stem(name)}.mjs").write_text(export(make(), "js"), encoding="utf-8")
        rows = json.dumps({"vectors": some_of(known(name), most)})
        (folder / f"{stem(name)}.json").write_text(rows, encoding="utf-8")
    return [stem(name) for name in CLIENTS]
