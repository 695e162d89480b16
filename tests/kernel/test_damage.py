"""Contents that are damaged raise errors of this package, also where they are read without a file."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest

from mechdesign.core.errors import CertificateError, MechDesignError
from mechdesign.families.workload import patterns as value
from tests.contract.test_every_mechanism import made

KINDS = ["linear-queries", "event-counts", "attribute-sampling", "harmony", "shuffled"]
WRONG = [0, -1, 1e300, float("inf"), float("nan"), None, "x", [], {}, 1 << 70, True, [1, 2]]


def places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = content.items() if isinstance(content, dict) else enumerate(content)
    found = []
    for key, item in items:
        found += [(*path, key)] + (places(item, (*path, key)) if isinstance(item, (dict, list)) else [])
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_damaged_content_raises_is_an_error_of_this_package(kind):
    mechanism, draw = made(kind), random.Random(1)
    whole = mechanism.content()
    found, refused = places(whole), 0
    for _ in range(80):
        content = copy.deepcopy(whole)
        path = draw.choice(found)
        inside: Any = content
        for key in path[:-1]:
            inside = inside[key]
        if draw.random() < 0.2 and isinstance(inside, dict):
            del inside[path[-1]]
        else:
            inside[path[-1]] = draw.choice(WRONG)
        try:
            type(mechanism).from_content(content)
        except MechDesignError:
            refused += 1
    assert refused > 20


def test_a_matrix_that_cannot_be_inverted_is_damage(monkeypatch):
    def singular(*_: object) -> None:
        raise np.linalg.LinAlgError("Singular matrix")

    mechanism = made("linear-queries")
    content = mechanism.content()
    monkeypatch.setattr(value.np.linalg, "eigh", singular)
    monkeypatch.setattr(value.np.linalg, "cholesky", singular)
    with pytest.raises(CertificateError, match=r"content: is damaged \(Singular matrix\); rebuild it"):
        type(mechanism).from_content(content)
