"""Local mechanisms whose reports are shuffled: the central guarantee, its files and its operation."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect.base import CollectingMechanism, _sum_of
from mechdesign.collect.collecting import Settings
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.export.messages import MemoryTable
from mechdesign.families.joint import JointResponse
from mechdesign.families.mean import AttributeSampling, CensoringInterval, Duchi, Laplace
from mechdesign.families.shuffle import CntRR
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.shuffled_reports import Shuffled, known_randomizer
from mechdesign.primitives.finite import FiniteChannel
from tests.support.clients import CLIENTS

PROMISE = Promise(10_000, 0.5, 1e-6)


def test_both_guarantees_stand_beside_each_other():
    mechanism = Shuffled(Duchi(3.0), PROMISE)
    assert [item.property for item in mechanism.certificates()] == [
        "privacy",
        "unbiased",
        "central_privacy",
    ]
    assert mechanism.audit().epsilon == 3.0
    assert mechanism.central.figures["honest_users"] == 10_000
    assert "trusted to mix, 10000 honest reports" in mechanism.central.note
    assert mechanism.forecast().users == 10_000


@pytest.mark.parametrize(
    ("local", "promise"),
    [
        (Duchi(6.0), PROMISE),
        (Duchi(3.0), Promise(100, 0.5, 1e-6)),
        (Duchi(3.0), Promise(10_000, 0.5, 1e-6, honest=0.01)),
        (Laplace(6.0), PROMISE),
    ],
)
def test_what_is_not_proven_is_refused(local, promise):
    with pytest.raises(CertificateError, match="central_privacy: FAILS"):
        Shuffled(local, promise)


def test_a_local_guarantee_that_is_enough_by_itself_needs_nobody_else():
    assert Shuffled(Duchi(0.5), Promise(2, 0.5, 1e-30)).central.holds


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: CensoringInterval.from_interval(0.0, 0.1, 0.5, 0.1), "has delta = 0.1"),
        (
            lambda: JointResponse.of([2, 3], 4.0, redraw=0.5, keep=0.75, add=0.5, reports_per_user=5),
            "draw reports in the same way",
        ),
        (lambda: CntRR.calibrated(PROMISE), "draw reports in the same way"),
        (lambda: Shuffled(Duchi(3.0), PROMISE), "draw reports in the same way"),
        (
            lambda: md.solve(
                md.RandomizedResponse(
                    prior=[0.2, 0.3, 0.5], epsilon=1.0, distance=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]
                )
            ).mechanism(),
            "unit of distance",
        ),
    ],
)
def test_mechanisms_without_a_proof_are_refused(make, why):
    with pytest.raises(ParameterError, match=why):
        Shuffled(make(), PROMISE)


def test_what_is_known_of_a_randomizer_is_what_it_draws_from():
    response = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=2.0)
    assert known_randomizer(md.solve(response).mechanism()).size == 3
    channel = known_randomizer(md.solve(response, "lp").mechanism())
    assert [float(sum(row)) for row in channel.rows] == [1.0, 1.0, 1.0]
    assert known_randomizer(Duchi(1.0)).size == 2
    assert known_randomizer(CensoringInterval.from_interval(0.1, 0.12, 1.5)).size == 0
    # a question whose answers are not all reported is a response on fewer values
    skewed = md.solve(md.RandomizedResponse(prior=[0.6, 0.3, 0.1], epsilon=1.0)).mechanism()
    assert known_randomizer(skewed).size == skewed.weights.kept < 3


@pytest.mark.parametrize("kind", sorted(CLIENTS))
def test_the_epsilon_that_shuffling_amplifies_is_that_of_the_audit(kind):
    """A smaller one would promise more than is so; rows are those of the channel, exactly."""
    mechanism = CLIENTS[kind]()
    facts = mechanism.common_randomizer() if isinstance(mechanism, CollectingMechanism) else None
    if facts is None:
        return
    assert facts.epsilon == mechanism.audit().true_epsilon
    if facts.rows:
        channel = mechanism if isinstance(mechanism, FiniteChannel) else mechanism.channel
        assert [[int(chance * TOTAL) for chance in row] for row in facts.rows] == channel.weights.tolist()


def test_shuffling_knows_the_randomizers_that_all_users_run():
    known = {kind for kind in CLIENTS if isinstance(CLIENTS[kind](), CollectingMechanism)}
    known = {kind for kind in known if CLIENTS[kind]().common_randomizer() is not None}
    assert {"kary-response", "finite-channel", "duchi", "grid-mean", "subset-selection"} <= known
    assert known.isdisjoint({"joint-response", "survey", "shuffled"})


def test_a_file_keeps_the_central_guarantee_and_is_audited_again(tmp_path):
    path = tmp_path / "m.json"
    mechanism = Shuffled(AttributeSampling.of(Duchi, 3.0, ["steps", "pulse"], per_user=2), PROMISE)
    mechanism.save(path)
    loaded = Shuffled.load(path)
    assert loaded.promise == PROMISE
    assert loaded.fingerprint == mechanism.fingerprint
    assert loaded.certificates() == mechanism.certificates()
    document = json.loads(path.read_text())
    document["content"]["epsilon"] = 0.1
    document["sha256"] = _sum_of(document)
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="central_privacy: FAILS"):
        md.load_mechanism(path)


def shuffle(mechanism, *tables, **options):
    operation = next(item for item in mechanism.operations() if item.name == "shuffle")
    (block,) = operation.run([MemoryTable(table) for table in tables], Settings(options))
    return block


def test_shuffling_leaves_only_how_often_each_report_was_made():
    mechanism = Shuffled(Duchi(3.0, 0.0, 1.0), Promise(1000, 2.0, 1e-6))
    name = mechanism.operations()[0].gives[0].name
    reports = mechanism.randomize(np.linspace(0, 1, 1000), rng=1)
    table = {name: reports, "who": np.arange(1000)}
    shuffled = shuffle(mechanism, table)
    assert list(shuffled) == [name]
    assert (np.diff(shuffled[name]) >= 0).all()
    assert mechanism.estimate(shuffled[name]).value == mechanism.estimate(reports).value
    half = {name: reports[:500]}
    assert len(shuffle(mechanism, half, half)[name]) == 1000
    with pytest.raises(DataError, match="reports of 500 users, and the central guarantee is for 1000"):
        shuffle(mechanism, half)
    assert len(shuffle(mechanism, half, anyway=True)[name]) == 500
    with pytest.raises(DataError, match="has no reports of this mechanism"):
        shuffle(mechanism, {"who": np.arange(1000)})


def test_the_rows_of_a_user_stay_together():
    mechanism = Shuffled(AttributeSampling.of(Duchi, 3.0, 3, per_user=2), Promise(50, 2.9, 1e-2))
    reports = mechanism.randomize(np.zeros((50, 3)), rng=2)
    names = [column.name for column in mechanism.operations()[0].gives]
    table = dict(zip(names, (reports["attribute"], reports["report"]), strict=True))
    shuffled = shuffle(mechanism, table)

    def users(columns):
        return [tuple(map(int, row)) for row in np.stack(list(columns.values()), axis=1).reshape(50, 4)]

    assert users(shuffled) == sorted(users(table)) != users(table)
    for rows, why in ((98, "reports of 49 users"), (99, "99 rows, and 2 are a user's")):
        with pytest.raises(DataError, match=why):
            shuffle(mechanism, {key: values[:rows] for key, values in table.items()})
