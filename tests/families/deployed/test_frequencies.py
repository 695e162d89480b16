"""Deployed systems: variances by simulation and by brute force, exact epsilon, refusals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import ParameterError
from mechdesign.families.deployed.systems import filter_variance
from mechdesign.foreign.channels import ForeignChannel

RAPPOR = {"name": "rappor", "bits": 6, "hashes": 2, "cohorts": 4, "p": 0.25, "q": 0.75, "f": 0.25}
SKETCH = {"name": "count-mean-sketch", "given_epsilon": 2.0, "hashes": 64, "width": 8}
HADAMARD = {**SKETCH, "name": "hadamard-count-mean-sketch"}
FLIP = {"name": "d-bit-flip", "given_epsilon": 2.0, "bits": 3}
KARY = {"name": "k-ary", "p": 0.2, "states": 5}


def deployed(system: dict[str, Any], categories: int = 5) -> Any:
    return md.solve(md.DeployedFrequencies(system=system, categories=categories), "as-deployed")


def test_the_filter_is_the_chi_square_of_all_its_reports() -> None:
    bits, hashes, likely, rare = 5, 2, 0.7, 0.2
    sets = list(itertools.combinations(range(bits), hashes))
    reports = list(itertools.product((0, 1), repeat=bits))

    def law(chosen: tuple[int, ...]) -> np.ndarray[Any, Any]:
        shares = [likely if place in chosen else rare for place in range(bits)]
        return np.array(
            [math.prod(s if b else 1 - s for s, b in zip(shares, r, strict=True)) for r in reports]
        )

    own, others = law(sets[0]), np.mean([law(chosen) for chosen in sets], axis=0)
    expected = 1.0 / float(((own - others) ** 2 / others).sum())
    assert filter_variance(bits, hashes, likely, rare) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("system", [SKETCH, HADAMARD, FLIP, KARY])
def test_the_variance_is_that_of_simulated_reports(system: dict[str, Any]) -> None:
    """The last category is held by nobody; 40,000 users, and the spread of a variance estimate is 0.7%."""
    rng, users, categories = np.random.default_rng(11), 40_000, 5
    values = rng.integers(0, categories - 1, users)
    seen, own, other = simulated(system, values, categories, rng)
    scores = (seen - other) / (own - other)
    assert float(scores.mean()) == pytest.approx(0.0, abs=5.0 * float(scores.std()) / math.sqrt(users))
    assert float(scores.var()) == pytest.approx(deployed(system, categories).value, rel=0.05)


def simulated(
    system: dict[str, Any], values: Any, categories: int, rng: np.random.Generator
) -> tuple[Any, float, float]:
    """Return a number of each report that tells the last category, and its means with and without it."""
    users, last = len(values), categories - 1
    if system is KARY:
        noise = rng.random(users) < 0.2
        sent = np.where(noise, rng.integers(0, 5, users), values)
        return sent == last, 0.8 + 0.04, 0.04
    if system is FLIP:
        drawn = np.argsort(rng.random((users, categories)), axis=1)[:, :3]
        flip = 1 / (math.e + 1)
        ones = rng.random(users) < flip
        scores = np.where((drawn == last).any(axis=1), (ones - flip) / (1 - 2 * flip) * categories / 3, 0.0)
        return scores, 1.0, 0.0
    width = 8
    hashed, wanted = rng.integers(0, width, users), rng.integers(0, width, users)
    if system is SKETCH:
        flip = 1 / (math.e + 1)
        bit = (hashed == wanted) ^ (rng.random(users) < flip)
        return bit, 1 - flip, flip + (1 - 2 * flip) / width
    index = rng.integers(0, width, users)
    parity = np.array([bin(k).count("1") & 1 for k in range(width)])
    sign = parity[hashed & index] ^ (rng.random(users) < 1 / (math.e**2 + 1))
    keep = math.e**2 / (math.e**2 + 1)
    return sign == parity[wanted & index], keep, 0.5 + (keep - 0.5) / width


def test_the_bit_flip_of_one_bit_has_half_the_epsilon_by_its_channel() -> None:
    """Its channel for three buckets: which bucket, and its bit."""
    keep = math.e / (math.e + 1)
    rows = [
        [share / 3 for drawn in range(3) for share in ((keep, 1 - keep) if drawn == x else (1 - keep, keep))]
        for x in range(3)
    ]
    one = deployed({**FLIP, "bits": 1}).quantities["exact_epsilon"]
    assert ForeignChannel(rows).audit().epsilon == pytest.approx(one, rel=1e-14)
    assert deployed(FLIP).quantities["exact_epsilon"] == 2.0


def test_the_kary_randomizer_has_the_epsilon_of_its_channel() -> None:
    rows = [[Fraction(21, 25) if x == y else Fraction(1, 25) for y in range(5)] for x in range(5)]
    found = deployed(KARY).quantities["exact_epsilon"]
    assert found == pytest.approx(math.log(21), rel=1e-14)
    assert found >= ForeignChannel(rows).audit().epsilon


@pytest.mark.parametrize("system", [RAPPOR, SKETCH, HADAMARD, FLIP, KARY])
def test_no_system_is_below_the_bound_and_the_optimum_runs(system: dict[str, Any]) -> None:
    problem = md.DeployedFrequencies(system=system, categories=5)
    best, runs = md.solve(problem), md.solve(problem, "as-deployed")
    assert best.bound is not None
    assert best.value <= runs.value * (1 + 1e-12)
    assert runs.quantities["over_optimum"] >= 1.0
    assert all(item.holds for item in (*best.certificates, *runs.certificates))
    assert best.mechanism().audit().true_epsilon <= problem.exact_epsilon


def test_the_epsilon_of_rappor_is_that_of_the_decimals() -> None:
    found = deployed(RAPPOR).quantities
    assert found["ratio_of_any_number"] == str(Fraction(7) ** 4)
    assert found["epsilon_of_2"] < found["epsilon_of_10"] < found["epsilon_of_100"]
    lasting = deployed({**RAPPOR, "bits": 128, "hashes": 64, "p": 0.5, "q": 0.501, "f": 1e-300}).quantities
    assert lasting["ratio_of_any_number"] == "3.402823669e+38438"  # 2^128 times 10^38400
    assert lasting["epsilon_of_any_number"] == pytest.approx(128 * (301 * math.log(10) - math.log(5)))


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ({"name": "rapor"}, "no system 'rapor'; did you mean 'rappor'"),
        ({"name": "k-ary", "p": 0.5}, "system: states: is missing"),
        ({**KARY, "q": 1}, "system: q: is not a parameter"),
        ({**RAPPOR, "f": 1.5}, "system: f"),
        ({**RAPPOR, "hashes": 7}, "hashes: 7 is above 6"),
        ({**RAPPOR, "q": 0.25}, "its reports contain no information"),
        ({**KARY, "states": 6}, "5 for 6 states"),
        ({**FLIP, "bits": 9}, "9 of 5"),
        ("rappor", "expected a table"),
    ],
)
def test_impossible_systems_are_refused(system: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        md.DeployedFrequencies(system=system, categories=5)


def test_the_system_itself_is_not_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "x.json")
    assert main(["build", "deployed/apple_cms", "--method", "as-deployed", "-o", path]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["build", "deployed/microsoft_bit_flip", "-o", path]) == 0
    assert main(["compare", "deployed/microsoft_bit_flip"]) == 0
