"""The client of a user: noise within the privacy radius, one report a place, its file, the problem's L."""

import json

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect.collecting import Settings
from mechdesign.core.errors import CertificateError, MechDesignError, ParameterError, RowError
from mechdesign.export.messages import MemoryTable
from mechdesign.families.spectrum import SpectrumDatabase, SpectrumUser

AREA = [0, 0, 20, 20]


@pytest.fixture(scope="module")
def user():
    return SpectrumUser.of(2.0, 5.0, AREA, beta=0.1)


def test_the_level_is_about_the_least_whose_noise_stays_within_the_radius(user):
    assert user.audit().holds
    assert 0.9 * 2.0 < user.noise.radius <= 2.0
    reports = user.noise.randomize([[10.0, 10.0]] * 20_000, rng=1)
    beyond = (np.hypot(*(reports - 10.0).T) > 2.0).mean()
    assert beyond < 0.1 + 4 * np.sqrt(0.1 * 0.9 / 20_000)  # four standard errors
    with pytest.raises(CertificateError, match="reaches too far"):
        SpectrumUser(1.0, 5.0, user.noise)


def test_a_place_has_one_report_whatever_channels_are_asked_for(user):
    rows = [("ann", "tv", 1.0), ("ann", "free", 1.0), ("ben", "tv", 1.0), ("ann", "tv", 2.0)]
    asked = [{"user": name, "channel": channel, "x": x, "y": 3.0} for name, channel, x in rows]
    found = user.queries(asked)
    places = [(query["x"], query["y"]) for query in found]
    assert places[0] == places[1]
    assert len(set(places)) == 3
    assert {query["privacy"] for query in found} == {2.0}
    channels = [{"name": "tv", "tiles": [[9, 9]], "protection": 1}, {"name": "free"}]
    base = SpectrumDatabase(channels, 0.1, budget=10.0)
    assert all(answer.status in ("served", "not served") for answer in base.answer(found[:3]))


def test_tables_may_name_their_radius_and_places_outside_are_refused(user):
    (operation,) = user.operations()
    table = {"user": ["a", "b"], "channel": ["tv", "tv"], "x": [1.0, 2.0], "y": [3.0, 4.0]}
    (block,) = operation.run([MemoryTable({**table, "radius": [1.0, 2.5]})], Settings({"seed": 3}))
    assert block["radius"].tolist() == [1.0, 2.5]
    (again,) = operation.run([MemoryTable(table)], Settings({"seed": 3}))
    assert (again["radius"].tolist(), again["x"].tolist()) == ([5.0, 5.0], block["x"].tolist())
    with pytest.raises(RowError, match=r"row 2.*\(21, 4\) is outside"):
        list(operation.run([MemoryTable({**table, "x": [1.0, 21.0]})], Settings()))


def test_the_file_gives_back_the_same_client_and_every_change_is_refused(user, tmp_path):
    path = tmp_path / "user.json"
    user.save(path)
    assert SpectrumUser.load(path).content() == user.content()
    original = json.loads(path.read_text())
    for key, value in (("privacy", 1.0), ("privacy", 3.0), ("radius", 6.0)):
        document = json.loads(json.dumps(original))
        document["content"][key] = value
        path.write_text(json.dumps(document))
        with pytest.raises(MechDesignError, match="rebuild it"):
            SpectrumUser.load(path)


def test_the_problem_of_a_user_gives_the_client_of_its_best_radius():
    problem = md.SpectrumSecondary(price=0.1, reward=0.2, privacy_cost=4.0, radius=5.0, beta=0.1, area=AREA)
    solution = md.solve(problem)
    client = solution.mechanism()
    assert client.privacy == solution.variables["privacy"]
    assert (client.radius, client.noise.beta, client.audit().holds) == (5.0, 0.1, True)
    with pytest.raises(ParameterError, match=r"area: .* does not fit a privacy radius"):
        SpectrumUser.of(1e-6, 5.0, AREA)
    with pytest.raises(ParameterError, match="area"):
        md.SpectrumSecondary(price=0.1, reward=0.2, privacy_cost=4.0, radius=5.0, area=[0, 0, 0, 1])
