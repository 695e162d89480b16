"""One bit for an attribute with two values: statement, audit, draws, estimates, files of both forms."""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.export.known_answers import vectors
from mechdesign.families.joint import JointEstimate, JointResponse
from mechdesign.families.joint.collection import variance
from mechdesign.families.joint.limits import BitMoments
from mechdesign.families.joint.one_bit import least_bit_flip, least_bit_variance
from mechdesign.families.joint.one_hot import bits_of
from mechdesign.families.joint.repeated import RepeatedBits, audit_repeated

MIXED = {"redraw": 0.25, "keep": 0.75, "add": 0.25, "bit_redraw": 0.25, "bit_keep": 0.875}


def mixed(**changes) -> JointResponse:
    """Return a response with a single bit, three one-hot bits and a single bit."""
    return JointResponse.of([2, 3, 2], **{"epsilon": 20.0, **MIXED, **changes})


def chance_of(mechanism: JointResponse, cell: tuple[int, ...], report: tuple[int, ...]) -> Fraction:
    """Return the probability of a report by the definition: every bit by itself, in fractions."""
    half = {True: Fraction(1, 8), False: Fraction(1, 8)}
    keep, add = {True: Fraction(7, 8), False: Fraction(3, 4)}, {True: Fraction(1, 8), False: Fraction(1, 4)}
    total, place = Fraction(1), 0
    for size, value in zip(mechanism.attributes.sizes, cell, strict=True):
        alone = size == 2
        for true in [value] if alone else [int(value == name) for name in range(size)]:
            kept_one = 1 - half[alone] if true else half[alone]
            one = kept_one * keep[alone] + (1 - kept_one) * add[alone]
            total *= one if report[place] else 1 - one
            place += 1
    return total


@pytest.fixture(scope="module")
def enumerated():
    """Every report and its probability by cell, (reports, cells)."""
    mechanism = mixed()
    reports = list(product((0, 1), repeat=mechanism.bits))
    cells = list(product(*(range(size) for size in mechanism.attributes.sizes)))
    chances = np.array([[float(chance_of(mechanism, cell, report)) for cell in cells] for report in reports])
    return mechanism, np.packbits(np.array(reports, dtype=np.uint8), axis=1), cells, chances


# Statement


@pytest.mark.parametrize("seed", range(12))
def test_a_bit_alone_reveals_what_all_sequences_of_its_reports_do(seed):
    """The audit's ratio, against the largest of all 2^R sequences of reports in fractions."""
    rng = np.random.default_rng(seed)
    total, reports = 64, int(rng.integers(1, 6))
    flip, keep = int(rng.integers(1, 31)), int(rng.integers(33, 64))
    bit = RepeatedBits(total, flip, keep, total - keep)
    h, q = Fraction(flip, total), Fraction(keep, total)
    ratios = []
    for sequence in product((0, 1), repeat=reports):
        of_kept = [math.prod(q if one == kept else 1 - q for one in sequence) for kept in (0, 1)]
        ratios.append(((1 - h) * of_kept[1] + h * of_kept[0]) / (h * of_kept[1] + (1 - h) * of_kept[0]))
    assert Fraction(*bit.odds_alone(reports)) == max(ratios) == 1 / min(ratios)
    assert Fraction(*bit.odds_alone(None)) >= max(ratios)
    exact = audit_repeated(RepeatedBits(8, 1, 6, 4), 1, reports, 50.0, bit=bit, alone=3)
    whole = RepeatedBits(8, 1, 6, 4).ratio(reports) * max(ratios) ** 3
    assert exact.true_epsilon == pytest.approx(math.log(whole), rel=1e-14)
    assert math.exp(exact.true_epsilon) >= whole * (1 - Fraction(1, 10**15))


@pytest.mark.parametrize("seed", range(8))
def test_the_least_flip_of_a_bit_meets_the_promise(seed):
    rng = np.random.default_rng(seed)
    x, ratio, reports = rng.uniform(0.0, 0.9), math.exp(rng.uniform(0.1, 4.0)), int(rng.integers(1, 7))
    h, total = float(least_bit_flip(x, ratio, reports)), 1 << 44
    keep = round(total / (1 + x))
    achieved = Fraction(*RepeatedBits(total, round(h * total), keep, total - keep).odds_alone(reports))
    if h > 0.0:
        assert float(achieved) == pytest.approx(ratio, rel=1e-8)
    else:
        assert float(achieved) <= ratio * (1 + 1e-8)


@pytest.mark.parametrize(
    ("epsilon", "reports", "single"),
    [(2.0, 1, None), (2.0, 6, None), (4.0, 20, 1.0), (1.0, 50, 0.2), (6.0, 3, 5.0), (3.0, 3, 1.0)],
)
def test_no_other_bit_is_better(epsilon, reports, single):
    """Random noise of every kind, symmetric or not, brought to the limits, stays above the bound."""
    problem = md.JointCollection(
        attributes=[2, 2], epsilon=2 * epsilon, report_epsilon=single and 2 * single, reports_per_user=reports
    )
    solution = md.solve(problem)
    assert solution.status == "optimal"
    assert all(certificate.holds for certificate in solution.certificates)
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0.0, 1.0, (2, 40_000)) ** rng.choice([0.2, 1.0, 5.0], (2, 40_000))
    y[::2] = x[::2]
    smaller = np.minimum(x, y)
    h = np.maximum(
        least_bit_flip(smaller, problem.ratio, reports), least_bit_flip(smaller, problem.report_ratio, 1)
    )
    values = 4 * variance(h, x, y, reports)[h < 0.499]
    assert values.min() >= solution.bound
    assert values.min() == pytest.approx(solution.value, rel=0.03)


@pytest.mark.parametrize("each", [0.05, 0.5, 1.0, 2.0, 5.0])
def test_the_formula_is_randomized_response_and_boxes_agree(each):
    e = math.exp(each)
    for reports, single in ((1, None), (9, None), (4, each / 4)):
        problem = md.JointCollection(
            attributes=[2, 2, 2],
            epsilon=3 * each,
            report_epsilon=single and 3 * single,
            reports_per_user=reports,
        )
        formula, boxes = md.solve(problem, "closed-form"), md.solve(problem, "branch-and-bound")
        one = math.exp(each / 4) if single else e
        assert formula.value == pytest.approx(6 * one / (one - 1) ** 2 / (4 if single else 1), rel=1e-9)
        assert boxes.bound <= formula.value * (1 + 1e-9)
        assert boxes.value == pytest.approx(formula.value, rel=1e-4)
    assert least_bit_variance(e) == pytest.approx(e / (e - 1) ** 2, rel=1e-9)


@pytest.mark.parametrize("each", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(("reports", "part"), [(1, None), (5, None), (2, 0.7), (5, 0.3), (50, 0.1)])
def test_two_bits_have_at_least_twice_the_variance(each, reports, part):
    """The optimum of one bit against that of two one-hot bits, both of the share of a value (sum to one)."""
    problem = md.JointCollection(
        attributes=[2],
        epsilon=each,
        report_epsilon=None if part is None else part * each,
        reports_per_user=reports,
    )
    pair = md.solve(md.JointCollection(**{**md.core.fields.parameters_of(problem), "two_valued": "one-hot"}))
    f, q, p = (pair.variables[name] for name in ("redraw", "keep", "add"))
    x, y = p / q, (1 - q) / (1 - p)
    both = sum(float(variance(np.float64(f / 2), one, zero, reports)) for one, zero in ((x, y), (y, x)))
    assert both / 4 >= 2 * md.solve(problem).value / 2 * (1 - 1e-4)


def test_the_step_of_the_proof_for_all_numbers_of_reports():
    """The bit (g', t') of the proof reveals at most twice as much with every R, and has a quarter of V."""
    g, tau = np.meshgrid(np.linspace(0.01, 0.999, 60), np.linspace(0.001, 0.999, 80))
    length, delta = 2 * np.arctanh(tau), 2 * g * tau / (1 + (g * tau) ** 2)
    new = 2 * g / np.sqrt(1 + 3 * g**2)
    new, turned = np.where(delta >= new, delta, new), np.minimum(delta / new, 1.0)
    with np.errstate(divide="ignore"):
        new_length = 2 * np.arctanh(turned)

    def value(flips, right, reports):
        return ((1 - 1 / reports) * (flips**-2 - 1) + ((flips * right) ** -2 - 1) / reports) / 4

    for reports in (1, 2, 3, 7, 30, 400):
        before = 2 * np.arctanh(g * np.tanh(reports * length / 2))
        after = 2 * np.arctanh(new * np.tanh(reports * new_length / 2))
        assert (after <= 2 * before * (1 + 1e-12) + 1e-12).all()
        assert (value(new, turned, reports) <= value(g, tau, reports) / 4 * (1 + 1e-9)).all()


# What is drawn


def test_each_bit_has_its_own_chances():
    mechanism, users = mixed(reports_per_user=2), 40_000
    kept = mechanism.remember([[1, 2, 0]] * users, rng=3)
    sent = bits_of(kept.report(rng=4), (2, 3, 2), (0, 1, 2), one_bit=True).mean(axis=0)
    held = bits_of(kept.bits, (2, 3, 2), (0, 1, 2), one_bit=True).mean(axis=0)
    flip, truth = 0.125, np.array([1, 0, 0, 1, 0])
    kept_one = np.where(truth, 1 - flip, flip)
    right = np.array([0.875, 0.75, 0.75, 0.75, 0.875])
    wrong = np.array([0.125, 0.25, 0.25, 0.25, 0.125])
    sent_one = kept_one * right + (1 - kept_one) * wrong
    for seen, chance in ((held, kept_one), (sent, sent_one)):
        assert (np.abs(seen - chance) < 4.5 * np.sqrt(chance * (1 - chance) / users)).all()
    assert mechanism.bits == 5
    assert [bits.alone for bits in mechanism.attribute_bits] == [True, False, True]


def test_noise_that_is_kept_alone_makes_every_report_the_same():
    mechanism = md.solve(md.JointCollection(attributes=[2] * 9, epsilon=18.0, reports_per_user=3)).mechanism()
    client = mechanism.remember([[0, 1, 1] * 3] * 50, rng=1)
    first, second = client.report(rng=2), client.report(rng=3)
    assert (first == second).all()
    assert client.left is None  # any number of reports reveals no more
    repeated = md.JointCollection(attributes=[2, 3], epsilon=4.0, reports_per_user=3)
    drawn_again = md.JointCollection(attributes=[2, 3], epsilon=4.0, report_epsilon=2.0, reports_per_user=3)
    assert "can be linked; set report_epsilon below epsilon" in str(md.solve(repeated).outlook())
    assert "linked" not in str(md.solve(drawn_again).outlook())
    assert mechanism.audit().any_reports <= 18.0


# What reports say


def test_the_likelihood_is_that_of_the_definition(enumerated):
    mechanism, packed, cells, chances = enumerated
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 9, len(packed))
    estimate = JointEstimate(mechanism, packed, counts)
    for shares in rng.dirichlet(np.ones(len(cells)), 3):
        exact = -(counts @ np.log(chances @ shares)) / counts.sum()
        assert estimate.model.value(estimate.model.densities(shares)) == pytest.approx(exact, rel=1e-12)


def test_unbiased_shares_moments_and_their_variance_are_those_of_all_reports(enumerated):
    mechanism, packed, cells, chances = enumerated
    single = np.array([mechanism.estimate(row[None])._shares((0, 1, 2)).ravel() for row in packed])
    means = chances.T @ single  # by true cell, of each cell
    assert np.abs(means - np.eye(len(cells))).max() < 1e-12
    squares = (chances.T @ single**2 - means**2).sum(axis=1)
    assert squares == pytest.approx(np.full(len(cells), mechanism.joint_variance()), rel=1e-12)
    for place, bits in enumerate(mechanism.attribute_bits):
        values = np.array([mechanism.estimate(row[None])._shares((place,)) for row in packed])
        moments = BitMoments.of_attribute(bits)
        for number, cell in enumerate(cells):
            for value in range(bits.size):
                exact = [chances[:, number] @ values[:, value] ** order for order in range(5)]
                stated = moments.true if cell[place] == value else moments.false
                assert stated == pytest.approx(exact, rel=1e-12, abs=1e-12)
    scores = mechanism.report_scores(packed)
    for place, score in enumerate(scores):
        exact = [[mean == cell[place] for mean in range(score.values.shape[1])] for cell in cells]
        assert chances.T @ score.values == pytest.approx(np.array(exact, dtype=float), abs=1e-12)


def test_effects_are_unbiased_and_have_their_variance_at_even_data(enumerated):
    mechanism, packed, _, chances = enumerated
    moments = mechanism.estimate(packed).moments
    assert len(moments.model.counts) == len(packed)
    order = np.lexsort((moments.model.place_2, moments.model.place_1))
    assert (order == np.arange(len(order))).all()
    counts = chances.mean(axis=1)[np.lexsort(np.array(np.unpackbits(packed, axis=1, count=5)).T[::-1])]
    even = moments.mean(counts)
    assert np.abs(even).max() < 1e-12
    assert moments._averaged(moments._first**2, moments._second**2, counts) == pytest.approx(
        moments._at_even_data(), rel=1e-12
    )


def test_linked_reports_have_less_error_and_cover():
    """Three reports together: errors as printed, and intervals that cover (40 repetitions, 12 cells)."""
    mechanism, rng = mixed(reports_per_user=3), np.random.default_rng(7)
    people = [[0, 2, 1]] * 150 + [[1, 0, 1]] * 100 + [[1, 1, 0]] * 50
    truth = np.zeros((2, 3, 2))
    truth[0, 2, 1], truth[1, 0, 1], truth[1, 1, 0] = 150 / 300, 100 / 300, 50 / 300
    inside, errors, once = 0, [], []
    for _ in range(40):
        client = mechanism.remember(people, rng=rng)
        tables = [client.report(rng=rng) for _ in range(3)]
        table = mechanism.estimate_linked(tables, penalty=100.0, reference="uniform").marginal([0, 1, 2])
        low, high = table.interval()
        inside += int(((low <= truth) & (truth <= high)).sum())
        errors.append(((table.unbiased - truth) / table.standard_error).ravel())
        one = mechanism.estimate(tables[0])._shares((0, 1, 2))
        once.append(((one - truth) ** 2).sum() / ((table.unbiased - truth) ** 2).sum())
    assert inside / 480 > 0.93
    assert np.mean(np.square(errors)) == pytest.approx(1.0, abs=0.15)
    assert np.median(once) > 1.3


def test_forecast_is_the_error_of_simulated_shares():
    mechanism = md.solve(md.JointCollection(attributes=[2, 2], epsilon=2.0)).mechanism()
    e, users, rng = math.e, 400, np.random.default_rng(2)
    forecast = mechanism.forecast(users)
    assert forecast.largest == pytest.approx(math.sqrt(e / (e - 1) ** 2 / users), rel=1e-6)
    squares = [
        (mechanism.estimate(mechanism.randomize([[0, 1]] * users, rng=rng))._shares((1,))[1] - 1.0) ** 2
        for _ in range(200)
    ]
    assert math.sqrt(np.mean(squares)) == pytest.approx(forecast.largest, rel=0.15)


# Files, old and new


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def test_the_form_of_former_files_is_what_it_was():
    """Fingerprint, known answers and reports of a seed of two one-hot bits, from version 06f924f2."""
    mechanism = JointResponse.of([2, 3], 4.0, 0.5, 0.75, 0.5, reports_per_user=5)
    assert mechanism.fingerprint.startswith("ede22317b5e8ee31")
    assert digest(vectors(mechanism)) == "5541ab3dc911f225"
    assert mechanism.randomize([[0, 0], [1, 1]], rng=7).tolist() == [[112], [224]]
    kept = mechanism.remember([[0, 0], [1, 1]], rng=3)
    assert (kept.bits.tolist(), kept.report(rng=3).tolist()) == ([[40], [112]], [[168], [248]])
    assert "bit" not in mechanism.content()
    assert md.solve(md.JointCollection(attributes=[4, 3], epsilon=2.0)).mechanism().content().keys() == (
        mechanism.content().keys()
    )


def test_the_new_form_stays_what_it_is():
    """Fingerprint, known answers and reports of a seed of one bit, with one-hot bits next to it and alone."""
    both = JointResponse.of([2, 3, 2], 9.0, 0.25, 0.75, 0.5, 5, bit_redraw=0.125, bit_keep=0.875)
    alone = JointResponse.of([2] * 9, 20.0, bit_redraw=0.25, bit_keep=1)
    stated = [
        (
            mechanism.fingerprint[:16],
            digest(vectors(mechanism)),
            mechanism.randomize([[1] * mechanism.attributes.count], rng=7).tolist(),
        )
        for mechanism in (both, alone)
    ]
    assert stated == PINNED


PINNED = [
    ("019803cca091c435", "98d88fdd8545dd76", [[184]]),
    ("1bb612c4e0e1d008", "af1c1f55f51482eb", [[190, 0]]),
]


def test_files_say_the_form_and_are_read_again(tmp_path):
    for number, mechanism in enumerate((mixed(), JointResponse.of([2, 2], 3.0, bit_redraw=0.5, bit_keep=1))):
        place = tmp_path / f"{number}.json"
        mechanism.save(place)
        again = md.load_mechanism(place)
        assert (again.fingerprint, again.bits) == (mechanism.fingerprint, mechanism.bits)
        content = json.loads(place.read_text())["content"]
        assert content["bit"].keys() == {"flip", "keep"}
        assert (content["flip"] is None) == (number == 1)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: mixed(epsilon=2.0), CertificateError, "not private as stated"),
        (lambda: mixed(bit_keep=0.5), ParameterError, "bit_keep: 0.5 is not above 1/2"),
        (lambda: mixed(bit_keep=1.5), ParameterError, "bit_keep: 1.5 is outside"),
        (lambda: mixed(bit_redraw=1), ParameterError, "bit_redraw: with 1 the kept bit is pure noise"),
        (lambda: JointResponse.of([3, 4], 20.0, **MIXED), ParameterError, "bit: no attribute has two values"),
        (lambda: JointResponse.of([2, 2], 20.0, **MIXED), ParameterError, "no attribute has one-hot bits"),
        (
            lambda: JointResponse(
                mixed().attributes, 20.0, None, TOTAL, 0, bit={"flip": 0, "keep": TOTAL - 9}
            ),
            ParameterError,
            "flip: is missing",
        ),
        (
            lambda: JointResponse(mixed().attributes, 20.0, 0, TOTAL, 1, bit={"flip": 0}),
            ParameterError,
            "bit: expected flip and keep",
        ),
        (
            lambda: JointResponse(
                mixed().attributes, 99.0, 0, TOTAL - 1, 1, bit={"flip": 0, "keep": TOTAL // 2}
            ),
            CertificateError,
            "keep",
        ),
    ],
)
def test_noise_that_cannot_be_is_one_line(make, error, text):
    with pytest.raises(error, match=text.replace("(", r"\(")) as caught:
        make()
    assert "\n" not in str(caught.value)


MODEL = """
[model]
title = "smoking and region"
problem = "joint-collection"
[parameters]
attributes = [2, 3]
epsilon = 4.0
labels = [["no", "yes"], ["n", "s", "w"]]
[data]
columns = ["smokes", "region"]
"""


def test_the_shell_builds_collects_and_estimates(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text(MODEL)
    (tmp_path / "old.toml").write_text(MODEL.replace("[data]", 'two_valued = "one-hot"\n[data]'))
    (tmp_path / "people.csv").write_text("smokes,region\n" + "no,n\nyes,s\nno,w\n" * 2000)
    errors = {}
    for name in ("m", "old"):
        assert main(["build", f"{name}.toml", "-o", f"{name}.json"]) == 0
        assert (
            main(["run", f"{name}.json", "randomize", "people.csv", "-o", f"{name}.csv", "--seed", "1"]) == 0
        )
        capsys.readouterr()
        estimate = ["run", f"{name}.json", "estimate", f"{name}.csv", "--marginal", "smokes", "--json"]
        assert main(estimate) == 0
        table = json.loads(capsys.readouterr().out)
        table = table.get("tables", [table])[0]
        low, high = np.array(table["low"]), np.array(table["high"])
        assert (low < [0.667, 0.334]).all()
        assert (high > [0.666, 0.333]).all()
        errors[name] = table["standard_error"][0]
    assert errors["old"] > 1.8 * errors["m"]
    assert main(["run", "old.json", "estimate", "m.csv"]) == 2
    assert "of another mechanism" in capsys.readouterr().err


def test_joint_distribution_reads_both_kinds_of_bits(tmp_path, monkeypatch):
    """The problem's maximum is that of ``estimate``; probabilities are compared with the mechanism."""
    monkeypatch.chdir(tmp_path)
    mechanism = mixed()
    mechanism.save("m.json")
    (tmp_path / "people.csv").write_text("0,1,2\n" + "0,2,1\n1,0,1\n1,1,0\n" * 300)
    assert main(["run", "m.json", "randomize", "people.csv", "-o", "r.csv", "--seed", "3"]) == 0
    rows = (tmp_path / "r.csv").read_text().split()[1:]
    likeliest = mechanism.estimate(rows, estimator="maximum-likelihood")
    stated = {"attributes": [2, 3, 2], **MIXED}
    reports = {"name": "file", "path": "r.csv", "mechanism": "m.json"}
    problem = md.core.fields.problem_from(md.JointDistribution, {**stated, "reports": reports})
    values = [md.solve(problem, method).value for method in ("active-set", "statement")]
    assert values == pytest.approx([likeliest.maximum.value] * 2, abs=3e-6)
    assert problem.debiased.sum() == pytest.approx(3.0, abs=0.2)
    packed, counts = mechanism.read(rows), np.ones(len(rows), dtype=int)
    patterns = bits_of(packed, (2, 3, 2), (0, 1, 2), one_bit=True)
    listed = md.JointDistribution(**stated, patterns=patterns.tolist(), counts=counts.tolist())
    assert md.solve(listed).value == pytest.approx(values[0], abs=1e-6)


def test_simulated_reports_with_one_bit_speak_for_their_users():
    truth = np.random.default_rng(1).dirichlet(np.ones(12))
    reports = {"name": "simulated", "distribution": truth.tolist(), "users": 60_000, "seed": 2}
    problem = md.core.fields.problem_from(
        md.JointDistribution, {"attributes": [2, 3, 2], **MIXED, "reports": reports}
    )
    table = truth.reshape(2, 3, 2)
    singles = np.concatenate([table.sum(axis=(1, 2)), table.sum(axis=(0, 2)), table.sum(axis=(0, 1))])
    assert problem.debiased == pytest.approx(singles, abs=0.03)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"bit_keep": None, "patterns": [[1, 0] + [0] * 5]}, "bit_redraw, bit_keep: one is missing"),
        ({"bit_keep": 0.4}, "bit_keep: 0.4 is not above 1/2"),
        ({"bit_redraw": 0.0, "bit_keep": 1.0}, "bit_redraw: with 0, and bit_keep = 1"),
        ({"attributes": [3, 4]}, "no attribute has two values"),
        ({"attributes": [2, 2], "patterns": [[1, 0]]}, "no attribute has one-hot bits"),
        ({"patterns": [[1, 0, 0, 1, 0, 1]]}, "these attributes have 5, one per value, or one for two"),
    ],
)
def test_probabilities_of_bits_that_cannot_be_are_one_line(changes, text):
    arguments = {"attributes": [2, 3, 2], **MIXED, "patterns": [[1, 0, 0, 1, 0]], **changes}
    with pytest.raises(ParameterError, match=text) as caught:
        md.JointDistribution(**arguments)
    assert "\n" not in str(caught.value)
