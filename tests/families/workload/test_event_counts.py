"""Counts of rare events: the optimum against an independent one, the bound, and the mechanism."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import CertificateError, DataError
from mechdesign.core.fields import replace_parameters
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.workload.event_counts import EventBound, _tops
from mechdesign.families.workload.event_decodings import PatternMaster, _new_points, solved_program
from mechdesign.families.workload.event_states import EventStates, EventWeights, listed_states, met


def alike(problem):
    """Return the same problem as linear queries about every state, without any symmetry."""
    states = listed_states(problem.states)
    rows = np.array([[float(state.count(slot)) for state in states] for slot in range(problem.slots)])
    totals = np.array([len(state) for state in states])
    population = problem.prior[totals] / np.bincount(totals)[totals]
    return md.LinearQueries(workload=rows, epsilon=problem.epsilon, population=population)


@pytest.mark.parametrize(
    ("slots", "prior", "epsilon", "method"),
    [
        (2, [0.7, 0.2, 0.1], 1.0, "cvxpy"),
        (3, [0.6, 0.3, 0.1], 2.0, "all-columns"),
        (4, [0.9, 0.1], 3.0, "cvxpy"),
    ],
)
def test_the_optimum_is_that_over_all_patterns_of_all_states(slots, prior, epsilon, method):
    problem = md.EventCounts(slots=slots, most=len(prior) - 1, prior=prior, epsilon=epsilon)
    solution = md.solve(problem)
    other = md.solve(alike(problem), method)
    assert solution.status == "optimal"
    assert solution.bound <= other.value * (1.0 + 1e-6)  # true of every unbiased private report
    assert solution.value == pytest.approx(other.value, rel=1e-3)
    assert all(certificate.holds for certificate in solution.certificates)


def test_orbits_of_many_slots_are_solved_and_proven():
    problem = md.EventCounts(slots=24, most=2, prior=[0.97, 0.02, 0.01], epsilon=8.0)
    assert problem.states.size == 325
    solution = md.solve(problem)
    assert solution.certificates[-1].holds
    assert 0.0 <= solution.gap <= 1e-3 * solution.value
    kary = md.solve(problem, "kary")
    assert kary.value > 4.0 * solution.value
    assert kary.mechanism().audit().holds


def test_reports_that_name_no_slot_keep_their_estimates_apart():
    """With as many events as slots, that many events happened says much, wherever they were."""
    solution = md.solve(md.EventCounts(slots=2, most=3, prior=[0.25] * 4, epsilon=3.0))
    assert solution.status == "optimal"
    assert all(certificate.holds for certificate in solution.certificates)


def test_patterns_reach_the_optimum_of_the_program_over_all_classes():
    problem = md.EventCounts(slots=5, most=2, prior=[0.8, 0.15, 0.05], epsilon=2.0)
    points = [(0, np.array([level])) for level in (0.0, -0.1, -8.0)]
    points += [(1, np.array([height, 0.0])) for height in (1.0, 2.0, 16.0, 5.0, -1.0)]
    masters = PatternMaster(problem.states, problem.prior, problem.epsilon, 1e-8)
    masters.solved(points)
    points = [*points, (1, np.array([3.0, -0.1])), (2, np.array([2.5, 2.0, -0.2]))]
    found = masters.solved(points)
    other = solved_program(problem.states, problem.prior, problem.epsilon, points)
    assert found.value == pytest.approx(other.value, rel=1e-7)
    assert found.prices.total == pytest.approx(other.prices.total, rel=1e-6)


def test_the_prices_of_the_bound_say_what_epsilon_is_worth():
    def solved_at(epsilon):
        return md.solve(md.EventCounts(slots=4, most=2, prior=[0.9, 0.08, 0.02], epsilon=epsilon))

    solution = solved_at(2.0)
    prices = solution.prices
    slope = (
        prices.lagrangian(changed(solution, 2.001)) - prices.lagrangian(changed(solution, 1.999))
    ) / 0.002
    # optima are off by some 1e-4 of the value, and the error falls like e^(-2 epsilon): 0.7 % for this step
    difference = (solved_at(2.1).value - solved_at(1.9).value) / 0.2
    assert slope == pytest.approx(difference, rel=0.02)
    assert prices.lagrangian(solution.problem) == pytest.approx(solution.value, rel=3e-4)
    assert prices.lagrangian(md.EventCounts(slots=5, most=2, prior=[0.9, 0.08, 0.02], epsilon=2.0)) is None


def changed(solution, epsilon):
    return replace_parameters(solution.problem, {"epsilon": epsilon})


def test_kary_response_has_the_variance_of_its_formula():
    problem = md.EventCounts(slots=5, most=1, prior=[0.5, 0.5], epsilon=2.0)
    size, power = 6, math.exp(2.0)
    flipped = size / (size - 1 + power)  # replaced by a uniform state
    share = 0.1
    # one slot: report 1 with probability f/n, or 1 - f + f/n; decoded as (report - f/n) / (1 - f)
    low, high = flipped / size, 1.0 - flipped + flipped / size
    variance = ((1 - share) * low * (1 - low) + share * high * (1 - high)) / (1.0 - flipped) ** 2
    assert md.solve(problem, "kary").value <= 5.0 * variance * (1.0 + 1e-9)
    # its own decoding is the only unbiased one: as many reports as states
    assert md.solve(problem, "kary").value == pytest.approx(5.0 * variance, rel=1e-9)


def test_a_bound_is_refused_when_its_prices_are_exceeded():
    problem = md.EventCounts(slots=4, most=2, prior=[0.8, 0.15, 0.05], epsilon=2.0)
    bound = md.solve(problem, "orbits").realisation
    assert EventBound.from_json(bound.as_json()).check(2.0) == bound.check(2.0)
    with pytest.raises(CertificateError, match="exceeded by a decoding"):
        replace(bound, sums=bound.sums + 0.01 * bound.total / len(bound.sums)).check(2.0)
    with pytest.raises(CertificateError, match="exceeded by a decoding"):
        bound.check(2.1)
    with pytest.raises(CertificateError, match="do not fit"):
        replace(bound, sums=bound.sums[1:]).check(2.0)


def test_no_point_of_a_box_exceeds_its_top():
    rng = np.random.default_rng(5)
    states = EventStates(24, 3)
    sums, unbiased = rng.normal(size=len(states.kinds)), rng.normal(size=len(states.pairs))
    forms = EventBound(states, np.array([0.9, 0.05, 0.03, 0.02]), sums, unbiased).forms(3)
    low = rng.normal(size=(200, 4)) * rng.choice([0.01, 1.0, 10.0], size=(200, 1))
    high = low + rng.exponential(size=(200, 4)) * rng.choice([1e-3, 0.1, 1.0], size=(200, 1))
    tops, _ = _tops(forms, 50.0, low, high)
    for _ in range(100):
        assert (forms.heights(low + (high - low) * rng.random((200, 4)), 50.0) <= tops).all()


@pytest.mark.parametrize(("slots", "most"), [(24, 3), (3, 2), (2, 3), (5, 1)])
def test_classes_cover_all_states_and_all_reports(slots, most):
    states = EventStates(slots, most)
    assert int(states.counts.sum()) == states.size
    for named in range(states.most_named + 1):
        classes = states.classes(named)
        assert int(classes.counts.sum()) == states.size
        for number, count in enumerate(classes.counts):
            both = math.perm(slots, named) * count
            assert both == states.counts[classes.kinds[number]] * met(states, classes, number)


def drawn(mechanism, name, users, seed):
    return np.bincount(mechanism.randomize([name] * users, rng=seed), minlength=mechanism.weights.reports)


def test_reports_are_drawn_with_their_weights():
    problem = md.EventCounts(slots=3, most=2, prior=[0.6, 0.3, 0.1], epsilon=2.0, labels=["a", "b", "c"])
    mechanism = md.solve(problem).mechanism()
    for name, state in (("b+b", (1, 1)), ("a+c", (0, 2)), ("none", ())):
        events = [state.count(slot) for slot in range(3)]
        counts = drawn(mechanism, name, 200_000, 1)
        # a report about slots: its weight by hand, through the class of the state
        for orbit, named in enumerate(mechanism.weights.named[:3]):
            classes = problem.states.classes(named)
            start = mechanism.weights.starts[orbit]
            for place, slots in enumerate(mechanism.weights.slots_of(orbit)):
                if len(set(slots.tolist())) < named:
                    assert counts[start + place] == 0
                    continue
                held = [events[slot] for slot in slots]
                rest = sorted((n for slot, n in enumerate(events) if n and slot not in slots), reverse=True)
                pairs = zip(classes.named.tolist(), classes.rests, strict=True)
                number = next(
                    i for i, (own, other) in enumerate(pairs) if (own, other) == (held, tuple(rest))
                )
                chance = int(mechanism.weights.weights[orbit][number]) / TOTAL
                error = math.sqrt(200_000 * chance * (1.0 - chance))
                assert abs(counts[start + place] - 200_000 * chance) <= 5.0 * error + 1.0  # 1e-6 each


def test_estimates_are_unbiased_and_their_intervals_cover():
    problem = md.EventCounts(slots=6, most=2, prior=[0.8, 0.15, 0.05], epsilon=3.0)
    mechanism = md.solve(problem).mechanism()
    users = ["none"] * 7_000 + ["0"] * 2_000 + ["1+1"] * 500 + ["2+5"] * 500
    truth = np.array([0.2, 0.1, 0.05, 0.0, 0.0, 0.05])
    rng = np.random.default_rng(3)
    errors, covered = [], []
    for _ in range(60):
        estimate = mechanism.estimate(mechanism.randomize(users, rng=rng))
        low, high = estimate.interval(0.95)
        errors.append((estimate.value - truth) / estimate.standard_error)
        covered.append((low <= truth) & (truth <= high))
    assert np.abs(np.mean(errors, axis=0)).max() < 4.0 / math.sqrt(60)  # 4e-4 for six slots
    assert np.mean(covered) > 0.91  # 360 intervals of 95 %: 1e-3


def test_counters_merge_and_files_come_back(tmp_path):
    mechanism = md.solve(md.EventCounts(slots=3, most=1, prior=[0.9, 0.1], epsilon=2.0), "kary").mechanism()
    path = tmp_path / "events.json"
    mechanism.save(path)
    assert md.load_mechanism(path) == mechanism
    reports = mechanism.randomize(["none", "0", "2"] * 50, rng=1)
    whole, first, second = (mechanism.aggregator() for _ in range(3))
    whole.update(reports)
    first.update(reports[:70])
    second.update(reports[70:])
    first.merge(second)
    assert (first.estimate().value == whole.estimate().value).all()


def test_impossible_weights_and_reports_are_refused():
    problem = md.EventCounts(slots=4, most=2, prior=[0.8, 0.15, 0.05], epsilon=2.0)
    mechanism = md.solve(problem, "kary").mechanism()
    pair = mechanism.weights.named.index(2)
    twice = mechanism.weights.starts[pair]  # names slot 0 twice
    with pytest.raises(md.DataError):
        mechanism.estimate([int(twice)])
    doubled = tuple(2 * weights for weights in mechanism.weights.weights)
    with pytest.raises(CertificateError, match="more than"):
        EventWeights(problem.states, mechanism.weights.named, doubled, mechanism.weights.decoded, 0.0)
    uneven = list(mechanism.weights.weights)
    uneven[0] = uneven[0].copy()
    uneven[0][0] //= 2
    changed = replace(mechanism.weights, weights=tuple(uneven))
    assert not changed.audit(2.0).holds


def test_parameters_are_checked():
    with pytest.raises(md.ParameterError, match="expected 3 shares"):
        md.EventCounts(slots=4, most=2, prior=[0.9, 0.1], epsilon=1.0)
    with pytest.raises(md.ParameterError, match="below 1e-07"):
        md.EventCounts(slots=4, most=1, prior=[1.0, 0.0], epsilon=1.0)
    with pytest.raises(md.ParameterError, match="could be a state"):
        md.EventCounts(slots=2, most=1, prior=[0.9, 0.1], epsilon=1.0, labels=["a+b", "c"])
    assert md.solve(md.EventCounts(slots=4, most=1, prior=[0.9, 0.1], epsilon=0.0)).status == "infeasible"


def test_a_count_that_names_a_report_twice_is_refused():
    mechanism = md.solve(md.EventCounts(slots=3, most=1, prior=[0.5, 0.5], epsilon=2.0)).mechanism()
    counted = mechanism.aggregator()
    counted.update(mechanism.randomize(["none", "2", "1"], rng=1))
    written = counted.as_json()
    assert type(counted).from_json(mechanism, written).users == 3
    with pytest.raises(DataError, match="names a report twice"):
        type(counted).from_json(mechanism, {**written, "made": [0, 0], "counts": [1, 2]})


@pytest.mark.parametrize("method", [None, "kary"])
def test_users_at_hand_are_without_the_noise_of_a_draw_from_a_population(method):
    """With at most one event, the squares of the numbers of events are these: all of that noise is known."""
    problem = md.EventCounts(slots=3, most=1, prior=[0.5, 0.5], epsilon=3.0)
    mechanism, users = md.solve(problem, method).mechanism(), 20_000
    reports = mechanism.randomize((["0"] * 2 + ["1"] + ["none"]) * (users // 4), rng=4)
    hand, population = mechanism.estimate(reports), mechanism.estimate(reports, population=True)
    drawn = (hand.value * (1.0 - hand.value) / users)[:2]
    more = (population.standard_error**2 - hand.standard_error**2)[:2]  # nobody has the third slot
    assert drawn[0] > 0.2 * population.standard_error[0] ** 2
    assert more == pytest.approx(drawn, rel=0.01)


def test_the_first_points_that_are_not_near_to_another_one_are_new():
    points = np.array([[1.0, 0.0], [1.0, 1e-9], [2.0, 0.0], [3.0, 0.0], [2.0, 1e-8], [4.0, 0.0]])
    new = _new_points(points, [np.array([3.0, 1e-9])])
    assert [point.tolist() for point in new] == [[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]]
    assert len(_new_points(np.arange(80.0).reshape(40, 2), [])) == 12
    assert _new_points(np.zeros((0, 2)), [np.zeros(2)]) == []
