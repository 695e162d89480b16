"""Any number of any mechanism file replaced: a line that says so or another mechanism, never a traceback."""

from __future__ import annotations

import copy
import json
import random

import pytest

from mechdesign.collect.base import _sum_of, load_mechanism
from mechdesign.core.errors import MechDesignError
from mechdesign.families.shuffle import CntSGM
from mechdesign.families.shuffle.promise import Promise
from tests.meta.test_shown import MECHANISMS

FORGED = (0, -1, 1e308, 5e-324, 10**40, 2**62, 2**63, 0.5, "0/0", "1/0", None, [], [1, 2], True)

EACH = 6
"""Forged files of each type: a seed chooses them from all."""


def places(value, path=()):
    """Yield the path of every entry of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from places(part, (*path, key))


def forged(document, path, value):
    """Return the document with one entry replaced and a digest that fits."""
    changed = copy.deepcopy(document)
    place = changed["content"]
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    place[path[-1]] = value(old) if callable(value) else value
    changed["sha256"] = _sum_of(changed)
    return changed


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", MECHANISMS)
def test_forged_numbers_end_in_one_line(kind, tmp_path):
    chosen, path = random.Random(kind), tmp_path / "forged.json"
    MECHANISMS[kind][0]().save(path)
    document = json.loads(path.read_text())
    everywhere = list(places(document["content"]))
    for _ in range(EACH):
        place = chosen.choice(everywhere)
        value = chosen.choice([*FORGED, lambda old: old[:-1] if isinstance(old, list) else 0])
        path.write_text(json.dumps(forged(document, place, value)))
        said = outcome(path)
        assert said == "" or (str(path) in said and "\n" not in said)


def outcome(path) -> str:
    """Return the refusal of a file, or nothing where a mechanism whose certificates hold was loaded."""
    try:
        loaded = load_mechanism(path)
    except MechDesignError as error:
        return str(error)
    return "" if all(item.holds for item in loaded.certificates()) else "fails"


@pytest.mark.parametrize("ratio", [0, 1, -1, 2**62, 2**62 - 1, 10**40])
def test_a_ratio_of_the_noise_that_divides_by_zero_is_refused(ratio, tmp_path):
    path = tmp_path / "count.json"
    CntSGM.calibrated(Promise(2000, 1.0, 1e-6)).save(path)
    path.write_text(json.dumps(forged(json.loads(path.read_text()), ("ratio",), ratio)))
    with pytest.raises(MechDesignError) as caught:
        load_mechanism(path)
    assert "\n" not in str(caught.value)
