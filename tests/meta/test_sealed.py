"""A mechanism does not change: it equals its copies, its pickle and its file; it is built once a solution."""

from __future__ import annotations

import gc
import pickle
from contextlib import suppress
from copy import copy
from types import FunctionType, ModuleType

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect.codec import Labels
from mechdesign.core.certificate import Certificate, PrivacyAudit
from mechdesign.core.problem import Problem
from mechdesign.data.intake import Intake
from mechdesign.families.auction import OnlineAuction
from mechdesign.families.mean import Duchi, Laplace, Piecewise
from mechdesign.families.shuffle import RSumRM
from mechdesign.families.shuffle.promise import Promise
from tests.meta.test_shown import MECHANISMS

COLUMNS = {"planar-laplace": ("x", "y"), "planar-lattice": ("x", "y")}


def columns_for(kind, mechanism):
    local = getattr(mechanism, "local", mechanism)
    count = getattr(getattr(local, "attributes", None), "count", getattr(local, "size", 1))
    if hasattr(local, "questions"):  # their names are the columns
        return local.questions.names
    several = hasattr(local, "attributes") or hasattr(local, "per_user")
    names = tuple(f"column {number}" for number in range(count if several else 1))
    return COLUMNS.get(kind, names)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_mechanism_is_what_it_was_built_as(kind, tmp_path):
    mechanism = MECHANISMS[kind][0]()
    mechanism.save(tmp_path / "file.json")
    loaded = type(mechanism).load(tmp_path / "file.json")
    for other in (pickle.loads(pickle.dumps(mechanism)), loaded, copy(mechanism)):
        assert other is not mechanism
        assert other == mechanism
        assert hash(other) == hash(mechanism)
        with pytest.raises(md.SealedError, match="does not change; build another one"):
            other.intake = Intake(("age",))
        with pytest.raises(md.SealedError):
            del other.intake
    wanted = Intake(columns_for(kind, mechanism), "drop")
    before = mechanism.content()
    made = mechanism.for_data(wanted)
    assert made is not mechanism
    assert made != mechanism
    assert made.data_columns == wanted.columns
    assert mechanism.data_columns == (wanted.columns if hasattr(mechanism, "questions") else ())
    assert mechanism.content() == before
    made.save(tmp_path / "file.json")
    assert type(mechanism).load(tmp_path / "file.json") == made


def arrays_of(value, seen):
    """Yield every array that an object holds, by the way it is reached."""
    if isinstance(value, np.ndarray):
        yield value
        return
    if id(value) in seen or isinstance(value, (str, type)):
        return
    seen.add(id(value))
    for part in gc.get_referents(value):
        if not isinstance(part, (type, ModuleType, FunctionType)):
            yield from arrays_of(part, seen)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_numbers_from_a_pickle_cannot_be_overwritten(kind):
    """As joblib and Dask send it: what was audited is what is sampled from."""
    sent = pickle.loads(pickle.dumps(MECHANISMS[kind][0]()))
    assert [array for array in arrays_of(vars(sent), set()) if array.flags.writeable] == []


def test_mechanisms_differ_by_type_and_by_content():
    assert Duchi(1.0) == Duchi(1.0)
    assert len({Duchi(1.0), Duchi(1.0), Duchi(1.5), Laplace(1.0)}) == 3
    assert Piecewise(1.0).content() == Laplace(1.0).content()
    assert Piecewise(1.0) != Laplace(1.0)
    assert Duchi(1.0) != Duchi(1.0, 0.0, 1.0)
    assert Duchi(1.0) != "duchi"
    assert OnlineAuction(["a"], [1], 1.0, 0.2) != OnlineAuction(["a"], [1], 1.0, 0.3)


@pytest.fixture
def builds(monkeypatch):
    """Count how often problems build mechanisms, by what they build them from."""
    counts: dict[int, int] = {}

    def counted(build):
        def wrapped(self, solution):
            counts[id(solution)] = counts.get(id(solution), 0) + 1
            return build(self, solution)

        return wrapped

    for kind in (md.RandomizedResponse, md.MeanChannel, md.FrequencyOracle, md.JointCollection):
        assert kind.mechanism is not Problem.mechanism
        monkeypatch.setattr(kind, "mechanism", counted(kind.mechanism))
    return counts


@pytest.mark.parametrize(
    "problem",
    [
        md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0),
        md.MeanChannel(epsilon=1.0, inputs=3),
        md.FrequencyOracle(categories=4, epsilon=1.0),
        md.JointCollection(attributes=[2, 2], epsilon=2.0),
    ],
    ids=lambda problem: problem.name,
)
def test_a_mechanism_is_built_once_a_solution(problem, builds):
    solution = md.solve(problem)
    assert str(solution)
    assert solution.forecast() is not None
    assert solution.forecast(50) is not None
    assert solution.quantities
    assert solution.mechanism() is solution.mechanism()
    assert list(builds.values()) == [1]
    builds.clear()
    comparison = md.compare(problem)
    found = [run for run in comparison.runs if run.found]
    assert comparison.text(100)
    assert comparison.text()
    assert comparison.as_dict()
    assert list(builds.values()) == [1] * len(found)


def test_databases_of_one_solution_have_budgets_of_their_own():
    """A database counts what its users spend; that of another one does not start where it is."""
    users = [{"x": 0, "y": 9, "radius": 5, "privacy": 0.5}, {"x": 7, "y": 0, "radius": 5, "privacy": 0.5}]
    problem = md.SpectrumChannel(price=0.1, privacy_cost=2, secondary=users, budget=0.5)
    solution = md.solve(problem)
    first, second = solution.mechanism(), solution.mechanism()
    assert first == second
    report = {"x": 0.0, "y": 9.0, "radius": 5.0, "privacy": 0.5, "epsilon": 0.5}
    assert first.query("ann", "channel", **report).status == "served"
    assert first.query("ann", "channel", **{**report, "x": 1.0}).status == "budget spent"
    assert second.query("ann", "channel", **report).status == "served"


STATE = {"spectrum-database": ("state", "owners")}
"""What moves all the same, or is looked up by name."""


def changeable(thing, skipped=(), path="", seen=None):
    """Yield the paths of lists, of arrays that can be written, and of objects whose attributes can be set.

    Names that begin with an underscore are kept results; of these the arrays alone are looked at.
    """
    seen = {} if seen is None else seen
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray) and thing.flags.writeable:
        yield path
    if isinstance(thing, (list, set)) and "._" not in path:
        yield path
    if isinstance(thing, (list, tuple)):
        for item in thing:
            yield from changeable(item, (), f"{path}[]", seen)
    if type(thing).__module__.startswith("mechdesign.") and hasattr(thing, "__dict__"):
        if "._" not in path and not isinstance(thing, (Certificate, PrivacyAudit)):
            with suppress(AttributeError, md.SealedError):
                thing.anything = 1
                yield path
        for name, value in list(vars(thing).items()):
            if name not in skipped:
                yield from changeable(value, (), f"{path}.{name}", seen)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_nothing_that_is_drawn_from_can_be_changed_after_the_audit(kind):
    mechanism = MECHANISMS[kind][0].__wrapped__()  # a new one: others keep what they have estimated with
    assert all(item.holds for item in mechanism.certificates())
    assert list(changeable(mechanism, STATE.get(kind, ()))) == []


def test_what_can_be_changed_is_found():
    promise = Promise(1000, 1.0, 1e-6)
    protocol = RSumRM.calibrated(promise)
    assert list(changeable(protocol)) == []
    vars(protocol)["open"] = [np.arange(2), (Labels(2),)]
    vars(vars(protocol)["open"][1][0]).pop("_sealed")
    assert list(changeable(protocol)) == [".open", ".open[]", ".open[][]"]
