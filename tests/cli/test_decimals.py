"""Epsilon and delta as they are written: built, counted and limited as decimals, not as doubles."""

from __future__ import annotations

import contextlib
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.collect.base import mechanism_of
from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.validation import as_written, exact_number, stated
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.families.mean import AttributeSampling, DiscretePiecewise, Duchi, Harmony, Laplace
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.ledger import ledger as ledgers
from mechdesign.ledger.account import total
from mechdesign.ledger.ledger import collected_of
from mechdesign.primitives import FiniteChannel, KaryResponse, PrivacyTarget

ASKED = [Question("a", labels=("x", "y", "z")), Question("n", "number", low=0, high=1)]
ROWS = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
BUILDERS = {
    "k-ary": lambda e: KaryResponse.of(5, e),
    "finite": lambda e: FiniteChannel.from_floats(ROWS, PrivacyTarget(e)),
    "hadamard": lambda e: HadamardResponse.of(6, e),
    "hashing": lambda e: LocalHashing.of(20, e, 3),
    "subset": lambda e: SubsetSelection.of(9, e, 3),
    "unary": lambda e: UnaryEncoding.optimised(5, e),
    "symmetric": lambda e: UnaryEncoding.symmetric(5, e),
    "duchi": Duchi,
    "piecewise": DiscretePiecewise,
    "laplace": Laplace,
    "attributes": lambda e: AttributeSampling.of(Duchi, e, 4, 3),
    "harmony": lambda e: Harmony(e, 4),
    "views": lambda e: MarginalRelease.of([2, 3], [(0,), (1,), (0, 1)], e),
    "survey": lambda e: SurveyMechanism.of(ASKED, e),
    "queries": lambda e: md.solve(md.LinearQueries(workload=np.eye(3).tolist(), epsilon=e)).mechanism(),
    "events": lambda e: md.solve(md.EventCounts(slots=2, most=1, prior=[0.5, 0.5], epsilon=e)).mechanism(),
}
WRITTEN = ("0.1", "0.2", "1/11", "1/13", "0.7", "1.1")


@pytest.mark.parametrize("name", BUILDERS)
def test_so_many_collections_as_a_limit_has_room_for_fit_into_it(name):
    for text in WRITTEN if name not in ("queries", "events") else WRITTEN[:1]:
        mechanism, times = BUILDERS[name](stated(text)), 11
        found = total([collected_of(mechanism, "m.json", times)]).guarantee
        assert found.epsilon <= times * exact_number("epsilon", text), text
        assert found.epsilon >= times * exact_number("epsilon", text) * Fraction(9, 10), text


@pytest.mark.parametrize("text", ["1e-7", "0.1", "1/3"])
def test_delta_is_counted_as_it_is_written(text):
    problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=0.5, delta=float(Fraction(text)))
    found = collected_of(md.solve(problem).mechanism(), "m.json", 3).together
    assert found.delta <= 3 * Fraction(text)


def test_what_was_built_for_the_double_loads_as_it_was():
    for make in (Duchi, DiscretePiecewise, lambda e, **how: Harmony(e, 4, **how)):
        for epsilon in (0.1, 1.1, 2.2):
            new, old = make(epsilon), make(epsilon, for_double=True)
            document = json.loads(json.dumps(old.document()))
            again = mechanism_of(document, "old.json")
            assert again.document() == document
            assert again.fingerprint == old.fingerprint
            assert old.audit().proof.true_epsilon > new.audit().proof.true_epsilon
        same, former = make(0.5), make(0.5, for_double=True)
        assert same.fingerprint == former.fingerprint


def run(*words: str) -> int:
    return main(list(words))


def test_ten_collections_fill_a_ledger_and_what_was_built_for_the_double_exceeds_it(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Duchi(0.1).save("new.json")
    Duchi(0.1, for_double=True).save("old.json")
    for path in ("new.json", "old.json"):
        assert run("ledger", "open", f"{path}.ledger", "--survey", "S", "--epsilon", "1", "--delta", "0") == 0
    for _ in range(10):
        assert run("ledger", "collect", "new.json.ledger", "new.json", "--group", "a") == 0
    assert run("ledger", "collect", "new.json.ledger", "new.json", "--group", "a") == 1
    capsys.readouterr()
    assert run("ledger", "collect", "old.json.ledger", "old.json", "--group", "a", "--times", "10") == 1
    line = capsys.readouterr().err
    assert "the limit is epsilon = 1, delta = 0; the sum of epsilon is " in line
    assert "e-17 above it" in line
    assert run("audit", "new.json", "--times", "10") == 0
    assert "all reports of a user together: epsilon = 1, delta = 0 (exact)" in capsys.readouterr().out


def test_limits_are_quotients_and_decimals_of_any_length(tmp_path):
    path = str(tmp_path / "l")
    for number, text in enumerate(("1/3", "0.30000000000000000001", "1e-30", "0.1")):
        made = ledgers.open_ledger(path + str(number), "S", text, "1e-7", False)
        again = ledgers.load_ledger(path + str(number))
        assert again == made
        assert again.limit.epsilon == exact_number("epsilon", text)
        assert again.limit.delta == Fraction(1, 10**7)
    for epsilon, delta in (
        ("0", "0"),
        ("-1", "0"),
        ("x", "0"),
        ("1", "1"),
        ("1", "-1"),
        ("1/0", "0"),
        ("inf", "0"),
    ):
        with pytest.raises(ParameterError):
            ledgers.open_ledger(path + "none", "S", epsilon, delta, False)
    assert not Path(path + "none").exists()


def test_a_ledger_of_version_1_is_read_with_its_doubles(tmp_path):
    collected = {"name": "m", "epsilon": 0.1, "delta": 0.0, "times": 9, "exact": True, "users": 0, "size": 0}
    entry = {"collected": collected, "mechanism": "0", "file": "m", "when": "2026-01-01T00:00:00Z"}
    document = {
        "format": "mechdesign-ledger",
        "version": 1,
        "survey": "S",
        "epsilon": 1.0,
        "delta": 0.0,
        "shuffled": False,
        "groups": {"a": [entry], "A ": [entry]},
    }
    path = tmp_path / "old.ledger"
    path.write_text(json.dumps({**document, "sha256": ledgers._digest(document)}))
    found = ledgers.load_ledger(str(path))
    assert found.limit.epsilon == 1
    assert found.total("a").guarantee.epsilon == 9 * Fraction(0.1)
    entry = ledgers.entry_of(collected_of(KaryResponse.of(2, 0.05), "k"), "1", "k")
    for group in ("a", "A "):
        assert ledgers.record_collection(str(path), group, entry)[1]
    with pytest.raises(ParameterError, match="'A' is not a group of this ledger, and"):
        ledgers.record_collection(str(path), "A", entry)
    assert ledgers.load_ledger(str(path)).total("a").guarantee.epsilon > 9 * Fraction(0.1)


@pytest.mark.parametrize("slip", ["panel ", " panel", "Panel", "PANEL", "pa nel", "ｐａｎｅｌ"])
def test_a_slip_in_the_name_of_a_group_gives_no_limit_of_its_own(slip, tmp_path, capsys):
    path = str(tmp_path / "l")
    ledgers.open_ledger(path, "S", 1, 0, False)
    entry = ledgers.entry_of(collected_of(KaryResponse.of(2, 0.4), "k"), "1", "k")
    assert ledgers.record_collection(path, "panel", entry)[1]
    with contextlib.suppress(ParameterError):
        ledgers.record_collection(path, slip, entry)
    assert list(ledgers.load_ledger(path).groups) == ["panel"]
    assert ledgers.record_collection(path, "panel 2", entry)[1]
    assert list(ledgers.load_ledger(path).groups) == ["panel", "panel 2"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.09861228866810969", 1.0986122886681096),
        ('"1/11"', 1 / 11),
        ("0.30000000000000001", 0.3),
        ("0.1", 0.1),
        ("0.29999999999999998", 0.3),
    ],
)
def test_a_model_promises_no_more_than_what_it_states(text, value, tmp_path):
    path = tmp_path / "m.toml"
    head = '[model]\ntitle = "t"\nproblem = "randomized-response"\n[parameters]\nprior = [0.5, 0.5]\n'
    path.write_text(f"{head}epsilon = {text}\n")
    problem = md.load_model(path).problem
    assert problem.epsilon == value or problem.epsilon == np.nextafter(value, 0.0)
    assert type(problem.epsilon) is float
    exact = exact_number("epsilon", text.strip('"'))
    assert as_written(problem.epsilon) <= exact
    assert md.solve(problem).mechanism().audit().proof.true_epsilon <= exact
    path.write_text(f"{head}epsilon = 1\n")
    assert as_written(md.load_model(path, {"epsilon": stated("1/3")}).problem.epsilon) <= Fraction(1, 3)


def test_options_read_quotients_and_refuse_what_is_no_number(capsys):
    assert run("choose", "--epsilon", "1/3", "--users", "1000") == 0
    assert "epsilon = 0.333333" in capsys.readouterr().out
    for wrong in ("x", "1/0", "nan"):
        with pytest.raises(SystemExit):
            run("choose", "--epsilon", wrong, "--users", "1000")
        assert "is not a number" in capsys.readouterr().err


NUMBERS = {
    "1/3": Fraction(1, 3),
    "2/6": Fraction(1, 3),
    "0.1": Fraction(1, 10),
    "1.09861228866810969": Fraction(109861228866810969, 10**17),
    "2": Fraction(2),
    "1e-3": Fraction(1, 1000),
}
NO_NUMBERS = ("1_0", "1,5", "50%", "0x1", "inf", "nan", "1/0", "1/2/3", "１", "−1", "-1", "", "true", "1e400")


def through_python(text: str, path: Path) -> Fraction:
    return as_written(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=text).epsilon)


def through_a_model(text: str, path: Path) -> Fraction:
    head = '[model]\ntitle = "t"\nproblem = "randomized-response"\n[parameters]\nprior = [0.5, 0.5]\n'
    path = path.with_suffix(".toml")
    path.write_text(f'{head}epsilon = "{text}"\n')
    return as_written(md.load_model(path).problem.epsilon)


def through_a_mechanism(text: str, path: Path) -> Fraction:
    return as_written(KaryResponse.of(3, text).epsilon)


def through_a_ledger(text: str, path: Path) -> Fraction:
    return ledgers.open_ledger(str(path), "S", text, "1e-6", False).limit.epsilon


def through_a_guarantee(text: str, path: Path) -> Fraction:
    return Guarantee(text).epsilon


DOORS = {
    name.removeprefix("through_"): door for name, door in list(globals().items()) if name[:8] == "through_"
}


@pytest.mark.parametrize("door", DOORS)
def test_one_rule_for_stated_numbers_whatever_the_door(door, tmp_path):
    for number, (text, exact) in enumerate(NUMBERS.items()):
        found = DOORS[door](text, tmp_path / str(number))
        assert found <= exact
        assert exact - found <= Fraction(np.spacing(float(exact)))
    for number, text in enumerate(NO_NUMBERS):
        with pytest.raises(MechDesignError, match="epsilon") as caught:
            DOORS[door](text, tmp_path / f"no{number}")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [*NUMBERS, *NO_NUMBERS])
def test_commands_read_stated_numbers_by_the_same_rule(text, tmp_path, capsys):
    path = tmp_path / "c.csv"
    path.write_text("0.5,0.5\n0.5,0.5\n")
    codes = []
    for words in (
        ["audit", str(path), f"--epsilon={text}"],
        ["choose", f"--epsilon={text}", "--users", "1000"],
        ["ledger", "open", str(tmp_path / "l"), "--survey", "S", f"--epsilon={text}"],
        ["show", "response/zhou2019_survey", "--set", f'epsilon="{text}"'],
    ):
        with contextlib.suppress(SystemExit):
            codes.append(run(*words))
        err = capsys.readouterr().err
        assert err.count("\n") == (0 if text in NUMBERS else 1), words
    assert codes == ([0, 0, 0, 0] if text in NUMBERS else [2] * len(codes))
