"""Every type of mechanism: files, copies, blocks, merged servers, and what is drawn against what is audited.

One small instance of each saved type. A type that is left out of a test is declared, with the reason; what
is declared and not true fails as well.
"""

from __future__ import annotations

import json
import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage_shuffle import again
from mechdesign.core.errors import MechDesignError
from mechdesign.core.randomness import TOTAL
from mechdesign.mechanisms import FiniteChannel, KaryResponse, load_mechanism
from mechdesign.mechanisms.base import CollectingMechanism, Mechanism, mechanism_types
from mechdesign.mechanisms.count_limits import Sum
from mechdesign.mechanisms.events import EventRelease
from mechdesign.mechanisms.mean import CensoringInterval, GridMean
from mechdesign.mechanisms.mean.base import FormulaMechanism
from mechdesign.mechanisms.oracles import SupportOracle
from mechdesign.mechanisms.shuffle import Protocol
from mechdesign.mechanisms.workload import WorkloadRelease
from tests.meta.test_shown import MECHANISMS
from tests.support.channels import dense_weights
from tests.support.mechanism_files import opened

KINDS = sorted(MECHANISMS)
USERS, ERROR = 1000, 1e-7
"""Users of a survey, and how often a correct program would fail one comparison with a law: about a hundred
comparisons are made, so that all of them together fail with a probability below 1e-5. The seeds are fixed."""

DECIDES = "decides about bids; nothing is randomized"
PLACES = "reports places; nobody counts them"
NO_SERVER = {
    "online-auction": DECIDES,
    "contract-menu": "the buyers' average is computed at once, from reports with what each was paid for",
    "batch-shuffler": "passes messages on",
    "planar-laplace": PLACES,
    "planar-lattice": PLACES,
    "spectrum-cloak": "registers tiles, which are kept and not counted",
    "spectrum-database": "answers questions; nothing is counted",
    "spectrum-user": PLACES,
}
"""Types without a server whose counts can be merged, and why."""

BY_CALL = {
    *("hadamard-response", "local-hashing", "projective-geometry", "subset-selection", "unary-encoding"),
    *("marginal-release", "marginal-rival", "joint-response", "set-response", "grid-mean"),
    "discrete-piecewise",
    *("attribute-sampling", "harmony", "survey"),
    *("aut", "cnt-rr", "cnt-2m", "cnt-bn", "cnt-sgm", "distinct-parity", "hist-dump", "hist-flip", "hist-mm"),
    *("hist-rr", "murs", "prhr", "pucm", "put", "range-tree", "rsum-dsg", "rsum-kr", "rsum-pure", "rsum-rm"),
    *("rsum-rr", "solh", "uniformity-dump"),
}
"""Types whose client takes several numbers a user from a generator, column by column for all users of a
call: two calls with one generator give other reports than one call. A table is cut into blocks of a fixed
size, so that this is nowhere seen."""

OTHER_LAW = {
    **NO_SERVER,
    "joint-response": "its bits against their chances: tests/mechanisms/test_joint_response.py",
    "set-response": "its sets against the whole channel: tests/mechanisms/test_sets.py",
    "put": "always as many messages: tests/mechanisms/test_shuffle_uniformity_bits.py",
    "survey": "of several mechanisms, each with its law: tests/mechanisms/survey/test_survey.py",
}
"""Types whose law is not looked at here, and why."""


@cache
def made(kind: str) -> Mechanism:
    return MECHANISMS[kind][0]()


def values_for(mechanism: Any, users: int = USERS) -> Any:
    """Return what users may hold: half of them the first value, half of them another one."""
    number = np.arange(users)
    if isinstance(mechanism, Protocol):
        return number % 2
    if mechanism.type in ("attribute-sampling", "harmony"):
        return np.repeat(number[:, None] % 2, mechanism.size, axis=1) * 2.0 - 1.0
    if mechanism.type in ("marginal-release", "marginal-rival", "joint-response", "set-response"):
        attributes = {"joint-response": 2}.get(mechanism.type, 3)
        return np.stack([(number + place) % 2 for place in range(attributes)], axis=1)
    if mechanism.type == "survey":
        labels = [question.labels for question in mechanism.questions]
        return np.array([[each[one % 2] for each in labels] for one in number.tolist()])
    if hasattr(mechanism, "labels"):
        return np.array(mechanism.labels.shown())[number % 2]
    domain = getattr(mechanism, "local", mechanism).domain
    return np.where(number % 2, domain.high, domain.low)


def client_of(mechanism: Any) -> Any:
    return mechanism.encode if isinstance(mechanism, Protocol) else mechanism.randomize


def server_of(mechanism: Any) -> Any:
    return mechanism.counter() if isinstance(mechanism, Protocol) else mechanism.aggregator()


def reports_of(mechanism: Any, seed: int = 3) -> Any:
    """Return the reports of all users, with the fakes of a shuffler that adds some."""
    reports = client_of(mechanism)(values_for(mechanism), rng=seed)
    if isinstance(mechanism, Protocol):
        return mechanism.with_fakes(reports, np.random.default_rng(seed))
    return reports


COUNTED = [kind for kind in KINDS if kind not in NO_SERVER]
PROTOCOLS = [kind for kind in KINDS if issubclass(mechanism_types()[kind], Protocol)]


def test_what_is_declared_is_of_known_types():
    assert set(KINDS) == set(mechanism_types())
    assert set(OTHER_LAW) | BY_CALL <= set(KINDS)
    for kind in KINDS:
        counts = isinstance(made(kind), CollectingMechanism | Protocol)
        assert counts == (kind not in NO_SERVER), kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_and_a_copy_are_the_same_mechanism(kind, tmp_path):
    """The same content, audited again with the same certificates, and the same reports for a seed."""
    mechanism, path = made(kind), tmp_path / "m.json"
    mechanism.save(path)
    document = opened(path)
    assert document["type"] == kind
    certificates = [str(item) for item in mechanism.certificates()]
    assert certificates
    for other in (load_mechanism(path), pickle.loads(pickle.dumps(mechanism))):
        assert type(other) is type(mechanism)
        assert other.content() == mechanism.content() == document["content"]
        assert other.fingerprint == mechanism.fingerprint
        assert [str(item) for item in other.certificates()] == certificates
        assert all(item.holds for item in other.certificates())
        assert str(other.audit()) == str(mechanism.audit())
        if kind in COUNTED:
            assert reports_of(other).tolist() == reports_of(mechanism).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_another_content_is_refused(kind, tmp_path):
    """The content is that of a number more or less, its digest is the old one."""
    path = tmp_path / "m.json"
    made(kind).save(path)
    document = json.loads(path.read_text())
    document["content"] = {**document["content"], "epsilon": 17.25}
    path.write_text(json.dumps(document))
    with pytest.raises(MechDesignError, match="rebuild it"):
        load_mechanism(path)


def shown(estimate: Any) -> str:
    """Return all that an estimate says; to the last digit where it is written to files."""
    if not hasattr(estimate, "as_json"):
        return str(estimate)
    return json.dumps(estimate.as_json(), sort_keys=True, default=lambda value: value.tolist())


@pytest.mark.parametrize("kind", COUNTED)
def test_a_server_in_blocks_and_merged_ones_say_the_same_as_one_at_once(kind):
    mechanism = made(kind)
    reports = reports_of(mechanism)
    whole, blocks, empty = (server_of(mechanism) for _ in range(3))
    whole.update(reports)
    parts = []
    for block in np.array_split(reports, [7, len(reports) // 3, len(reports) // 3]):
        blocks.update(block)
        parts.append(server_of(mechanism))
        parts[-1].update(block)
    for part in reversed(parts):
        empty.merge(part)
    assert blocks.as_json() == whole.as_json() == empty.as_json()
    assert shown(blocks.estimate()) == shown(whole.estimate()) == shown(empty.estimate())
    assert parts[0].as_json() != whole.as_json()


@pytest.mark.parametrize("kind", [kind for kind in COUNTED if kind not in PROTOCOLS])
def test_a_server_that_was_written_down_goes_on(kind):
    """Not of protocols: the shuffled messages of all are a table, and their counter is of one process."""
    mechanism = made(kind)
    first, second = np.array_split(reports_of(mechanism), 2)
    whole, half = server_of(mechanism), server_of(mechanism)
    half.update(first)
    again_read = type(half).from_json(half.mechanism, json.loads(json.dumps(half.as_json())))
    for server in (whole, again_read):
        server.update(second)
    whole.update(first)
    assert again_read.as_json() == whole.as_json()
    assert shown(again_read.estimate()) == shown(whole.estimate())


@pytest.mark.parametrize("kind", COUNTED)
def test_a_client_in_two_calls_gives_what_one_call_gives(kind):
    """Or is declared; in any case a seed repeats, another one differs, and no users have no reports."""
    mechanism = made(kind)
    client, values = client_of(mechanism), values_for(mechanism)
    rng = np.random.default_rng(5)
    parts = np.concatenate([client(values[:317], rng=rng), client(values[317:], rng=rng)])
    whole = client(values, rng=np.random.default_rng(5))
    same = parts.shape == whole.shape and parts.tolist() == whole.tolist()
    assert same == (kind not in BY_CALL)
    assert client(values, rng=1).tolist() == client(values, rng=1).tolist() != client(values, rng=2).tolist()
    assert len(client(values[:0], rng=1)) == 0


# What is drawn, against the numbers that are audited


def agrees(counts: Any, weights: Any) -> bool:
    """Whether counts are those of cells with these weights: Pearson's test; what has none is never seen."""
    counts, weights = np.asarray(counts, dtype=float), np.asarray(weights, dtype=float)
    possible = weights > 0
    assert not counts[~possible].any()
    if possible.sum() == 1:
        return True
    expected = counts.sum() * weights[possible] / weights.sum()
    return float(stats.chisquare(counts[possible], expected).pvalue) > ERROR


def happens(count: int, trials: int, chance: Any) -> bool:
    """Whether something with this chance can happen so often: the exact binomial test."""
    return float(stats.binomtest(int(count), trials, float(chance)).pvalue) > ERROR


DRAWS, FINE = 20_000, 2_000
"""Reports of a value, and cells of a bin over which a density is added up."""


def table_law(mechanism: Any) -> None:
    """Reports of every answer, against the row of integers that the audit looks at."""
    rows = mechanism.weights
    if isinstance(mechanism, KaryResponse):
        rows = dense_weights(mechanism.weights, mechanism.kept.tolist())
    labels = mechanism.labels.shown()
    for answer, row in zip(labels, rows, strict=True):
        reports = mechanism.randomize(np.array([answer] * DRAWS), rng=1).tolist()
        assert agrees([reports.count(report) for report in labels], row), answer


def knot_law(mechanism: GridMean) -> None:
    """Values at both ends are knots, whose rows are those of the channel."""
    for value, row in ((mechanism.domain.low, 0), (mechanism.domain.high, -1)):
        reports = mechanism.randomize(np.full(DRAWS, value), rng=1)
        weights = mechanism.channel.weights[row]
        assert agrees(np.bincount(reports, minlength=len(weights)), weights), value


def bit_law(mechanism: CensoringInterval) -> None:
    """The bit at both ends, with the two integers of the file."""
    for value, weight in ((mechanism.domain.low, mechanism.lo), (mechanism.domain.high, mechanism.hi)):
        ones = int(mechanism.randomize(np.full(DRAWS, value), rng=1).sum())
        assert happens(ones, DRAWS, weight / TOTAL), value


def pattern_law(mechanism: WorkloadRelease) -> None:
    """Reports of every type, against the integers of its row; the blank report is nearly never drawn."""
    for kind in range(mechanism.labels.size):
        reports = mechanism.randomize(np.full(DRAWS, kind), rng=1)
        row = mechanism.weights.row(kind)
        assert agrees(np.bincount(reports, minlength=len(row))[:-1], row[:-1]), kind


def event_law(mechanism: EventRelease) -> None:
    """Reports of every state, against the integers of its row."""
    for code, name in enumerate(mechanism.labels.shown()):
        row = mechanism.weights.row(code)
        assert int(row.sum()) == TOTAL
        reports = mechanism.randomize(np.array([name] * DRAWS), rng=1)
        assert agrees(np.bincount(reports, minlength=len(row)), row), name


def support_law(mechanism: SupportOracle) -> None:
    """How many reports support the own category, and another one."""
    own, other = mechanism.support_shares()
    for answer in range(mechanism.labels.size):
        values = np.array(mechanism.labels.shown())[np.full(DRAWS, answer)]
        server = mechanism.aggregator()
        server.update(mechanism.randomize(values, rng=1))
        supports = mechanism.supports(np.asarray(server.counts), DRAWS)
        assert happens(supports[answer], DRAWS, own), answer
        assert happens(supports[answer - 1], DRAWS, other), answer


def density_law(mechanism: FormulaMechanism) -> None:
    """Reports in 20 bins, against the integral of the density whose logarithm is audited; atoms apart."""
    domain, atoms = mechanism.domain, list(getattr(mechanism, "atoms", ()))
    reach = (
        domain.half
        + 4.0 * getattr(mechanism, "scale", 0.0)
        + 2.0 * domain.width * getattr(mechanism, "halfwidth", 0.0)
    )
    reach = getattr(mechanism, "reach", 0.0) * domain.half or reach
    edges = np.linspace(domain.middle - reach, domain.middle + reach, 21)
    cells = np.linspace(edges[0], edges[-1], 20 * FINE + 1)
    middles = (cells[:-1] + cells[1:]) / 2.0
    for value in (domain.low, domain.middle, domain.high):
        density = np.exp(mechanism.log_density(np.full(len(middles), value), middles))
        chances = density.reshape(20, FINE).mean(axis=1) * np.diff(edges)
        alone = np.exp(mechanism.log_density(np.full(len(atoms), value), np.array(atoms))) if atoms else []
        reports = mechanism.randomize(np.full(DRAWS, value), rng=1)
        smooth = reports[~np.isin(reports, atoms)]
        counts = [*np.histogram(smooth, edges)[0], *(int((reports == atom).sum()) for atom in atoms)]
        outside = max(0.0, 1.0 - float(chances.sum()) - float(np.sum(alone)))
        assert outside < 0.02, "the density is one"
        assert agrees([*counts, DRAWS - sum(counts)], [*chances, *alone, outside]), value


def part_law(mechanism: Any) -> None:
    """Which part of the question each user answers is drawn evenly; at an end, the bit with its integers."""
    field, count = PARTS[mechanism.type](mechanism)
    values = values_for(mechanism, DRAWS)
    reports = mechanism.randomize(values, rng=1)
    assert agrees(np.bincount(reports[field], minlength=count), np.ones(count))
    if field == "attribute":
        bits = mechanism.inner
        high = values[:, 0] > 0
        assert happens(int(reports["report"][high].sum()), int(high.sum()), bits.hi / TOTAL)
        assert happens(int(reports["report"][~high].sum()), int((~high).sum()), bits.lo / TOTAL)


PARTS = {
    "marginal-release": lambda mechanism: ("view", len(mechanism.views)),
    "marginal-rival": lambda mechanism: ("group", 12),
    "attribute-sampling": lambda mechanism: ("attribute", mechanism.size),
    "harmony": lambda mechanism: ("attribute", mechanism.size),
}
"""By type: the column of a report that says which part was asked, and how many there are."""

SURVEYS = 24


def protocol_law(protocol: Any) -> None:
    """How many messages there are, and estimates whose errors have mean 0 and the stated size.

    The number of messages is inside exact quantiles of its law. The mean of 24 errors is compared as a
    normal number and the sum of their squares as a chi-square, which holds nearly: 1000 users are added up.
    """
    truth, errors, sizes = TRUTHS.get(protocol.type, USERS // 2), [], []
    for survey in range(SURVEYS if protocol.quantity != "uniformity" else 2):
        drawn = again(protocol, survey)
        messages = drawn.encode(values_for(drawn), rng=survey)
        if drawn.dummy_messages:
            low, high = Sum(drawn.dummy_messages).quantiles(ERROR / 2)
            assert low <= len(messages) - USERS * drawn.least_messages <= high
        if protocol.quantity == "uniformity":
            continue
        estimate = drawn.analyze(drawn.with_fakes(messages, np.random.default_rng(survey)))
        if protocol.type == "range-tree":
            value, size = estimate.count(1, 1)
        else:
            value, size = (np.ravel(part) for part in (estimate.value, estimate.standard_error))
            value, size = value[min(1, len(value) - 1)], size[min(1, len(size) - 1)]
        errors.append(float(value) - truth)
        sizes.append(float(size))
    if errors:
        scaled = np.array(errors) / np.mean(sizes)
        assert abs(scaled.mean()) * np.sqrt(SURVEYS) < stats.norm.isf(ERROR / 2)
        low, high = stats.chi2.ppf([ERROR / 2, 1 - ERROR / 2], SURVEYS)
        assert low < (scaled**2).sum() < high


TRUTHS = {"distinct-parity": 2}
"""What is estimated when half of 1000 users hold the second value, where it is not their number."""

LAWS: tuple[tuple[type, Any], ...] = (
    (Protocol, protocol_law),
    (SupportOracle, support_law),
    (WorkloadRelease, pattern_law),
    (EventRelease, event_law),
    (GridMean, knot_law),
    (CensoringInterval, bit_law),
    (FormulaMechanism, density_law),
    ((FiniteChannel, KaryResponse), table_law),
)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(OTHER_LAW)))
def test_what_is_drawn_has_the_law_that_is_audited(kind):
    mechanism: Any = made(kind)
    if kind in PARTS:
        part_law(mechanism)
        return
    if kind == "shuffled":
        mechanism = mechanism.local
    law = next(law for types, law in LAWS if isinstance(mechanism, types))
    law(mechanism)
