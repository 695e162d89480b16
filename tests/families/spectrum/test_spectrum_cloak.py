"""Tiles in fractions: they cover and do not overlap; distances, crossings, cuts and slots by second ways."""

import json
import math
import random
from fractions import Fraction

import pytest

from mechdesign.collect.collecting import Settings
from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.export.messages import MemoryTable
from mechdesign.families.spectrum import SpectrumCloak, SpectrumDatabase, tiling as tile
from mechdesign.families.spectrum.geometry import in_rectangle, polygon_area, squared_distance_to
from mechdesign.families.spectrum.registration import read_registered
from mechdesign.families.spectrum.tiling import CutTiling, Tiling, tiles_the_plane

SQUARE = tuple(map(Fraction, (0, 0, 20, 20)))


def places(seed, count, reach=30.0):
    draw = random.Random(seed)
    return [(draw.uniform(-reach, reach), draw.uniform(-reach, reach)) for _ in range(count)]


@pytest.mark.parametrize("origin", [(0.0, 0.0), (0.3, -7.1)])
def test_every_place_has_one_tile_that_contains_it_and_the_center_is_near(origin):
    tiling = Tiling.of(1.7, origin)
    assert tiles_the_plane(tiling)
    for x, y in places(1, 300):
        found = tiling.tile_of(x, y)
        assert tiling.contains(found, x, y)
        center = tiling.center(found)
        assert math.hypot(x - center[0], y - center[1]) <= 1.7 * 1.0001
    for corner in tiling.vertices((3, -2)):
        shared = tiling.tiles_at(*corner)
        assert len(shared) == 3
        assert tiling.tile_of(*corner) == min(shared, key=tiling.center)


def test_hexagons_that_overlap_or_leave_gaps_are_not_taken_for_a_tiling(monkeypatch):
    class Stretched(Tiling):
        def vertices(self, tile):
            x = self.center(tile)[0]
            corners = super().vertices(tile)
            return tuple((x + factor * (a - x), b) for a, b in corners)

    uncached = tiles_the_plane.__wrapped__
    for factor in (Fraction(1), Fraction(101, 100), Fraction(99, 100)):
        assert uncached(Stretched(Fraction(2))) == (factor == 1)
    monkeypatch.setattr(tile, "WIDTH", Fraction(3, 4))  # any width tiles
    assert uncached(Tiling.of(2.0))


def test_distances_agree_with_those_to_the_polygon_by_its_sides():
    tiling, draw = Tiling.of(2.5, (0.1, 0.2)), random.Random(3)
    for x, y in places(2, 300):
        hexagon = (draw.randint(-4, 4), draw.randint(-4, 4))
        by_sides = squared_distance_to((Fraction(x), Fraction(y)), tiling.vertices(hexagon))
        assert tiling.squared_distance(hexagon, x, y) == by_sides


def test_a_line_crosses_the_tiles_that_its_points_lie_in_and_no_far_ones():
    tiling = Tiling.of(1.0)
    for (x, y), (u, v) in zip(places(4, 40, 8.0), places(5, 40, 8.0), strict=True):
        start, end = (Fraction(x), Fraction(y)), (Fraction(u), Fraction(v))
        found = list(tiling.crossed(start, end))
        assert len(found) == len(set(found))
        steps = [Fraction(k, 200) for k in range(201)]
        line = [(start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])) for t in steps]
        entered = {tiling.tile_of(*point) for point in line}
        assert entered <= set(found)
        for hexagon in set(found) - entered:  # these are cut near a vertex, between two of the points
            assert any(tiling.squared_distance(hexagon, *point) < Fraction(1, 10) for point in line[::2])


@pytest.mark.parametrize("cell", [0.9, 3.0, 15.0, 100.0])
def test_groups_cut_to_the_map_cover_it_and_no_group_is_a_sliver(cell):
    cut = CutTiling(Tiling.of(cell, (0.4, 1.1)), SQUARE)
    assert sum(cut.areas.values()) == 400
    assert sorted(t for group in cut.groups.values() for t in group) == sorted(set(cut._inside))
    assert cut.least_area >= min(cut.tiling.area / 2, 400 if len(cut.groups) == 1 else cut.tiling.area)
    for x, y in [*places(6, 40, 10.0), (-10.0, -10.0), (10.0, 10.0), (-10.0, 10.0)]:
        group = cut.group_of(x + 10.0, y + 10.0)
        assert cut.tiling.nearest(group, x + 10.0, y + 10.0) == 0
        whole = sum(polygon_area(in_rectangle(cut.tiling.vertices(t), SQUARE)) for t in group)
        assert whole == cut.areas[cut.root_of(x + 10.0, y + 10.0)]


def test_the_certificate_fails_for_too_little_area_and_too_few_places():
    assert SpectrumCloak(2.0, 1.0, area=[0, 0, 20, 20], least_area=5.0).audit().holds
    assert not SpectrumCloak(2.0, 1.0, area=[0, 0, 20, 20], least_area=6.0).audit().holds
    masts = [[1.0, 1.0], [1.2, 1.0], [9.0, 9.0]]
    few = SpectrumCloak(2.0, 1.0, area=[0, 0, 20, 20], places=masts, least_places=2)
    assert not few.audit().holds
    assert "least_places = 1" in str(few.audit())
    assert SpectrumCloak(2.0, 1.0, area=[0, 0, 20, 20], places=masts[:2], least_places=2).audit().holds


def test_owners_of_one_tile_register_the_same_and_classes_are_rounded_up():
    cloak = SpectrumCloak(2.0, [2.0, 1.0], area=[0, 0, 20, 20])
    one = cloak.register([{"name": "tv", "x": 10.0, "y": 4.0, "protection": 0.7}])
    assert one == cloak.register([{"name": "tv", "x": 9.2, "y": 3.1, "protection": 1.0}])
    assert one["tv"].protection == 1.0
    assert cloak.register([{"name": "tv", "x": 9.2, "y": 3.1, "protection": 1.5}])["tv"].protection == 2.0
    both = cloak.register([{"name": "tv", "x": 9.2, "y": 3.1}, {"name": "tv", "x": 1.0, "y": 18.0}])
    assert len(both["tv"].tiles) >= 2
    with pytest.raises(ParameterError, match="above the largest class 2"):
        cloak.register([{"name": "tv", "x": 9.2, "y": 3.1, "protection": 3.0}])
    with pytest.raises(DataError, match="outside the area"):
        cloak.register([{"name": "tv", "x": 20.1, "y": 3.1}])


def test_paths_with_the_same_tiles_are_registered_alike_and_contain_the_owner():
    cloak = SpectrumCloak(2.0, 1.0, slot=5.0)
    path = [{"name": "van", "time": t, "x": 0.9 * t, "y": 0.3 * t} for t in range(0, 30, 3)]
    found = cloak.visits(path)
    for half in range(54):
        time = half / 2
        tiles = found[int(time // 5)]["van"].tiles
        assert float(cloak.tiling.nearest(tiles, 0.9 * time, 0.3 * time)) < 1e-20
    near = [{**fix, "x": fix["x"] + 1e-9} for fix in path]
    assert cloak.visits(near) == found
    with pytest.raises(DataError, match="does not follow"):
        cloak.visits([path[1], path[0]])
    assert cloak.visits([path[0], {**path[2], "name": "other"}])[1]["other"].tiles


def test_tables_give_tiles_and_are_read_back_with_their_tiling():
    cloak = SpectrumCloak(2.0, 1.0, slot=10.0)
    register, sessions, visits = cloak.operations()
    owners = MemoryTable({"name": ["tv", "tv", "am"], "x": [1.0, 9.0, 5.0], "y": [0.0, 3.0, 5.0]})
    (block,) = register.run([owners], Settings())
    found, names = read_registered(MemoryTable(block), cloak.tiling)
    assert found == cloak.register(
        [{"name": n, "x": x, "y": y} for n, x, y in zip(*owners.table.values(), strict=True)]
    )
    assert names == {"tv", "am"}
    with pytest.raises(DataError, match="tile of another tiling"):
        read_registered(MemoryTable(block), Tiling.of(2.0, (0.5, 0.0)))
    times = {"start": [5.0, 0.0, 31.0], "end": [25.0, 1.0, 31.0]}
    (block,) = sessions.run([MemoryTable({**owners.table, **times})], Settings())
    assert sorted(set(block["slot"].tolist())) == [0, 1, 2, 3]
    found, names = read_registered(MemoryTable(block), cloak.tiling, slot=3)
    assert (sorted(found), names) == (["am"], {"tv", "am"})
    with pytest.raises(DataError, match="name one with slot="):
        read_registered(MemoryTable(block), cloak.tiling)
    moving = MemoryTable({"name": ["a", "a"], "time": [0.0, 10.0], "x": [0.0, 20.0], "y": [0.0, 0.0]})
    (block,) = visits.run([moving], Settings())
    assert (
        len(block["slot"])
        == len(
            cloak.visits(
                [
                    {"name": "a", "time": 0.0, "x": 0.0, "y": 0.0},
                    {"name": "a", "time": 10.0, "x": 20.0, "y": 0.0},
                ]
            )[0]["a"].tiles
        )
        + 1
    )


def test_the_file_gives_back_the_same_cloak_and_every_change_is_refused(tmp_path):
    path = tmp_path / "cloak.json"
    cloak = SpectrumCloak(0.7, [1, 2], [0.5, 0.25], [0, 0, 9, 9], [[1, 1]], 0.1, 1, 24.0)
    cloak.save(path)
    assert SpectrumCloak.load(path).content() == cloak.content()
    original = json.loads(path.read_text())
    for key, value in original["content"].items():
        document = json.loads(json.dumps(original))
        document["content"][key] = value[:-1] if isinstance(value, list) else value * 2
        path.write_text(json.dumps(document))
        with pytest.raises(MechDesignError, match="rebuild it"):
            SpectrumCloak.load(path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"cell": 0}, "cell: 0 is not positive"),
        ({"origin": 3}, r"origin: expected \[x, y\]"),
        ({"protection": []}, "protection: is an empty list"),
        ({"area": [0, 0, 0, 1]}, "expected .* low < high"),
        ({"area": [0, 0, 1e6, 1e6]}, "cell: the area has about"),
        ({"least_places": 2}, "no places are given"),
        ({"area": [0, 0, 5, 5], "places": [[6, 6]]}, "is outside the area"),
        ({"slot": -1}, "slot: -1 is not positive"),
    ],
)
def test_bad_parameters_are_one_line(change, text):
    with pytest.raises(ParameterError, match=text):
        SpectrumCloak(**{"cell": 1.0, "protection": 1.0, **change})


@pytest.mark.parametrize("other", [{"origin": (50.0, 0.0)}, {"cell": 3.0}, {"origin": (0.0, 1e-9)}])
def test_tiles_of_another_tiling_are_refused_as_objects_too(other):
    """They would protect another place than the owner's, with a certificate that holds."""
    cloak = SpectrumCloak(**{"cell": 2.0, "protection": 1.0, **other})
    database = SpectrumDatabase([{"name": "tv"}, {"name": "am"}], price=0.1, cell=2.0)
    registered = cloak.register([{"name": "tv", "x": 50.0, "y": 0.0}])
    own = SpectrumCloak(cell=2.0, protection=1.0)
    moves = [{"name": "tv", "time": t, "x": 50.0 + t, "y": 0.0} for t in (0.0, 2.0)]
    times = [{"name": "tv", "start": 0.0, "end": 1.0, "x": 50.0, "y": 0.0}]
    for found in (registered, cloak.visits(moves)[0], cloak.sessions(times)[0]):
        with pytest.raises(DataError, match=r"channel 'tv': tile of another tiling .*register with the cell"):
            database.register({"am": own.registration(0.0, 0.0), **found})
    assert database.registered() == {"tv": None, "am": None}, "nothing is registered"
    with pytest.raises(DataError, match="tile of another tiling"):
        registered["tv"].joined(own.registration(50.0, 0.0))
    database.register(own.register([{"name": "tv", "x": 50.0, "y": 0.0}]))
    assert database.room("tv", 50.0, 0.0) < 0.0


def test_between_two_rows_of_a_moving_owner_the_larger_radius_holds():
    cloak = SpectrumCloak(cell=2.0, protection=[1.0, 2.0, 3.0], slot=100.0)
    rows = [(0.0, 3.0), (450.0, 1.0), (850.0, 2.0)]
    fixes = [{"name": "van", "time": t, "x": t / 50.0, "y": 0.0, "protection": radius} for t, radius in rows]
    found = {slot: item["van"].protection for slot, item in cloak.visits(fixes).items()}
    assert found == {0: 3.0, 1: 3.0, 2: 3.0, 3: 3.0, 4: 3.0, 5: 2.0, 6: 2.0, 7: 2.0, 8: 2.0}
    back = [{**fix, "time": 850.0 - fix["time"]} for fix in reversed(fixes)]
    assert sorted(item["van"].protection for item in cloak.visits(back).values()) == sorted(found.values())
