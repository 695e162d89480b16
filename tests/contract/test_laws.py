"""Every type of mechanism that draws: what is drawn, against the numbers that are audited.

One comparison or more for each saved type. A type without one is declared, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import signal, stats

from benchmarks.coverage_shuffle import again
from mechdesign.exact.randomness import TOTAL, bit_source
from mechdesign.families.contract import ContractMenu
from mechdesign.families.hitters import PrefixReports
from mechdesign.families.hitters.prefix_hashing import hashes
from mechdesign.families.location import PlanarLaplace, PlanarLattice
from mechdesign.families.location.lattice_noise import spline_weights
from mechdesign.families.marginals.items.selection import KeyValueSelection
from mechdesign.families.marginals.oracles import SupportOracle
from mechdesign.families.mean import CensoringInterval, GridMean
from mechdesign.families.mean.means import FormulaMechanism
from mechdesign.families.shuffle import Protocol
from mechdesign.families.shuffle.count_limits import Sum
from mechdesign.families.shuffle.messages import BatchShuffler
from mechdesign.families.spectrum.secondary import SpectrumUser
from mechdesign.families.workload import WorkloadRelease
from mechdesign.families.workload.event_release import EventRelease
from mechdesign.primitives import FiniteChannel, KaryResponse
from tests.contract.test_every_mechanism import KINDS, USERS, made, values_for
from tests.support.channels import dense_weights

ERROR = 1e-7
"""How often a correct program would fail one comparison with a law: some 120 comparisons are made, so that
all of them together fail with a probability below 2e-5. The seeds are fixed."""

NOTHING_DRAWN = {
    "online-auction": "decides about bids; nothing is randomized",
    "spectrum-cloak": "registers tiles; nothing is randomized",
    "spectrum-database": "answers questions; nothing is randomized",
}

OTHER_LAW = {
    **NOTHING_DRAWN,
    "direct-mechanism": "its lotteries: tests/families/incentives/test_direct_rule.py",
    "screening-menu": "its lotteries: tests/families/incentives/test_screening.py",
    "joint-response": "its bits against their chances: tests/families/joint/test_joint_response.py",
    "set-response": "its sets against the whole channel: tests/families/marginals/test_sets.py",
    "weekly-response": "its two laws by enumeration: tests/families/marginals/test_weekly.py",
    "put": "always as many messages: tests/families/shuffle/test_shuffle_uniformity_bits.py",
    "survey": "of several mechanisms, each with its law: tests/families/survey/test_survey.py",
}
"""Types whose law is not looked at here, and why."""


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
    """Whether something with this chance can happen ``count`` times: the exact binomial test."""
    return float(stats.binomtest(int(count), trials, float(chance)).pvalue) > ERROR


DRAWS, FINE = 20_000, 2_000
"""Reports of a value, and cells of a bin over which a density is added up."""


Client = Callable[..., Any]


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


def text_law(mechanism: PrefixReports) -> None:
    """Groups, and buckets that are the answer's own, against the integers of the file."""
    for text in mechanism.codec.examples(3).tolist():
        group, seeds, values = mechanism.read(mechanism.randomize(np.array([text] * DRAWS), rng=1))
        assert agrees(np.bincount(group, minlength=len(mechanism.groups)), np.array(mechanism.groups)), text
        cuts = np.array([mechanism.bits - length for length in mechanism.lengths], dtype=np.uint64)
        prefixes = mechanism.code.encode([text])[0] >> cuts[group]
        own = int((hashes(seeds, prefixes, mechanism.buckets) == values).sum())
        assert happens(own, DRAWS, mechanism.weights.own / TOTAL), text


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


def pair_law(mechanism: KeyValueSelection) -> None:
    """How many reports hold an end of the own key, the other end, both, and the same of another key."""
    (own, other), (both, neither) = mechanism.support_shares(), mechanism.both_shares()
    keys = mechanism.labels.shown()
    for place, key in enumerate(keys):
        for end, value in enumerate((mechanism.domain.low, mechanism.domain.high)):
            reports = mechanism.read(mechanism.randomize([f"{key}={value:g}"] * DRAWS, rng=1))
            ends = np.unpackbits(reports, axis=1, count=2 * len(keys)).astype(bool)
            pair, last = ends[:, 2 * place : 2 * place + 2], ends[:, 2 * place - 2 : 2 * place or None]
            assert happens(int(pair[:, end].sum()), DRAWS, own), (key, end)
            assert happens(int(pair[:, 1 - end].sum()), DRAWS, other), (key, end)
            assert happens(int(pair.all(axis=1).sum()), DRAWS, both), (key, end)
            assert happens(int(last[:, end].sum()), DRAWS, other), (key, end)
            assert happens(int(last.all(axis=1).sum()), DRAWS, neither), (key, end)


def density_law(mechanism: FormulaMechanism, client: Client | None = None) -> None:
    """Reports in 20 bins, against the integral of the density whose logarithm is audited; atoms apart."""
    randomize = mechanism.randomize if client is None else client
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
        reports = randomize(np.full(DRAWS, value), rng=1)
        smooth = reports[~np.isin(reports, atoms)]
        counts = [*np.histogram(smooth, edges)[0], *(int((reports == atom).sum()) for atom in atoms)]
        outside = max(0.0, 1.0 - float(chances.sum()) - float(np.sum(alone)))
        assert outside < 0.02, "the density is one"
        assert agrees([*counts, DRAWS - sum(counts)], [*chances, *alone, outside]), value


def menu_law(menu: ContractMenu) -> None:
    """Reports of each item's buyers, against the density of the randomizer that is audited for this item."""
    for item in range(len(menu.items)):

        def bought(answers: Any, rng: int, item: int = item) -> Any:
            return menu.randomize(answers, np.full(len(answers), item), rng=rng)

        density_law(menu.randomizer(item), bought)


def plane_law(mechanism: PlanarLaplace) -> None:
    """Reports in 10 rings and 8 directions, against the integral of the audited density."""
    place = np.array([3.0, -2.0])
    apart = mechanism.randomize(np.tile(place, (10 * DRAWS, 1)), rng=1) - place
    rings = np.linspace(0.0, 4.0 / mechanism.epsilon, 11)
    cells = np.linspace(0.0, rings[-1], 10 * FINE + 1)
    middles = (cells[:-1] + cells[1:]) / 2.0
    density = np.exp(mechanism.log_density(np.zeros(len(middles)), middles)) * 2.0 * math.pi * middles
    chances = density.reshape(10, FINE).mean(axis=1) * np.diff(rings)
    ring = np.searchsorted(rings, np.hypot(*apart.T)) - 1
    sector = np.floor(np.arctan2(apart[:, 1], apart[:, 0]) / (math.pi / 4.0)).astype(int) % 8
    assert agrees(np.bincount(ring, minlength=11), [*chances, 1.0 - chances.sum()])
    inside = ring < 10
    assert agrees(np.bincount(8 * ring[inside] + sector[inside], minlength=80), np.repeat(chances, 8))


def lattice_chances(mechanism: PlanarLattice, place: tuple[Fraction, Fraction]) -> Any:
    """Return the chance of each place of the lattice, from the integers, for a person at a place in steps."""
    table, reach = mechanism.weights, mechanism.reach
    above = {
        square: weight - table.floor for square, weight in zip(table.squares, table.weights, strict=True)
    }
    longest = math.isqrt(table.squares[-1])
    side = range(-longest, longest + 1)
    vectors = np.array([[above.get(row * row + column * column, 0) for column in side] for row in side])
    middle = [round(number) for number in place]
    rounded = [
        np.array([float(weight) for weight in spline_weights(number - near)])
        for number, near in zip(place, middle, strict=True)
    ]
    moved = signal.convolve2d(vectors / table.total, np.outer(*rounded))
    found = np.zeros((mechanism.rows, mechanism.columns))
    even = np.full((mechanism.rows + 2 * reach, mechanism.columns + 2 * reach), table.floor / table.total)
    starts = [near - longest - 1 for near in middle]
    for part, (top, left) in ((moved, starts), (even, (-reach, -reach))):
        rows = np.clip(top + np.arange(part.shape[0]), 0, mechanism.rows - 1)
        columns = np.clip(left + np.arange(part.shape[1]), 0, mechanism.columns - 1)
        np.add.at(found, (rows[:, None], columns[None, :]), part)
    return found


def lattice_law(mechanism: PlanarLattice, client: Client | None = None) -> None:
    """Reports from between places of the lattice and from a corner, against rounding and vectors together.

    The places of the lattice are sorted by their chance and put together to cells of a fortieth or more, so
    that each cell has places of every direction.
    """
    randomize = mechanism.randomize if client is None else client
    high, step = np.array(mechanism.area[2:]), mechanism.step
    assert mechanism.area[:2] == (0.0, 0.0)
    last = np.array([mechanism.rows, mechanism.columns]) - 1
    inside = (
        Fraction(mechanism.rows // 2) + Fraction(1, 4),
        Fraction(mechanism.columns // 2) - Fraction(3, 8),
    )
    for place in (inside, (Fraction(0), Fraction(0))):
        point = [float(number * Fraction(step)) for number in place]
        exact = tuple(Fraction(number) / Fraction(step) for number in point)
        chances = lattice_chances(mechanism, exact)
        assert abs(chances.sum() - 1.0) < 1e-12
        reports = randomize(np.tile(point, (DRAWS, 1)), rng=1)
        places = np.where(reports == high, last, np.rint(reports / step)).astype(int)
        assert np.array_equal(np.minimum(places * step, high), reports)
        flat = chances.ravel()
        order = np.argsort(-flat, kind="stable")
        cell = np.empty(len(flat), dtype=int)
        cell[order] = np.minimum(np.cumsum(flat[order]) * 40.0, 39.0).astype(int)
        rows, columns = np.indices(chances.shape)
        quarter = 2 * (rows.ravel() > place[0]) + (columns.ravel() > place[1])
        bins = 4 * cell + quarter
        drawn = np.bincount(bins[places[:, 0] * mechanism.columns + places[:, 1]], minlength=160)
        expected = np.bincount(bins, weights=flat, minlength=160)
        likely = expected * DRAWS >= 5.0
        assert agrees(
            [*drawn[likely], drawn[~likely].sum()], [*expected[likely], max(0.0, expected[~likely].sum())]
        ), place


def user_law(user: SpectrumUser) -> None:
    """Queries of many users from the same places, against the lattice; one report for each user and place."""

    def asked(points: Any, rng: int) -> Any:
        rows = [
            {"user": str(number), "channel": "tv", "x": x, "y": y} for number, (x, y) in enumerate(points)
        ]
        return np.array([[query["x"], query["y"]] for query in user.queries(rows, rng)])

    lattice_law(user.noise, asked)
    ann = {"user": "ann", "channel": "tv", "x": 3.0, "y": 4.0}
    first, again = user.queries([ann, {**ann, "channel": "radio"}], rng=1)
    assert (first["x"], first["y"]) == (again["x"], again["y"])


def batch_law(shuffler: BatchShuffler) -> None:
    """How many messages are dropped, against the integers of the promise; which ones is drawn evenly."""
    source, count = bit_source(1), 300
    kept = [shuffler.released_places(count, source) for _ in range(DRAWS // 10)]
    fewer = [count - len(places) for places in kept]
    weights = np.array(shuffler.weights, dtype=float)
    likely = weights / TOTAL * len(kept) >= 5.0
    drawn = np.bincount(fewer, minlength=len(weights))
    assert len(drawn) == len(weights)
    assert agrees(
        [*drawn[likely], drawn[~likely].sum()], [*weights[likely], max(0.0, weights[~likely].sum())]
    )
    left = np.bincount(np.concatenate(kept), minlength=count)
    thirds = (len(kept) - left).reshape(10, -1).sum(axis=1)
    assert agrees(thirds, np.ones(10))


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
        if drawn.noise.dummy_messages:
            low, high = Sum(drawn.noise.dummy_messages).quantiles(ERROR / 2)
            assert low <= len(messages) - USERS * drawn.noise.least_messages <= high
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
    (KeyValueSelection, pair_law),
    (SupportOracle, support_law),
    (WorkloadRelease, pattern_law),
    (EventRelease, event_law),
    (PrefixReports, text_law),
    (ContractMenu, menu_law),
    (PlanarLaplace, plane_law),
    (PlanarLattice, lattice_law),
    (SpectrumUser, user_law),
    (BatchShuffler, batch_law),
    (GridMean, knot_law),
    (CensoringInterval, bit_law),
    (FormulaMechanism, density_law),
    ((FiniteChannel, KaryResponse), table_law),
)


def test_only_known_types_are_left_out():
    assert set(OTHER_LAW) <= set(KINDS)


def test_rounding_is_seen_where_a_step_of_the_lattice_is_long():
    """By default a step is an eighth of 1 / epsilon, and 20 000 reports would not tell its rounding apart."""
    lattice_law(PlanarLattice(2.0, [0, 0, 10, 10], step=0.5))


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
