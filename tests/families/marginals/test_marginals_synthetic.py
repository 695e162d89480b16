"""Synthetic rows: which distribution they follow, exactly, and which marginals they have."""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.marginal_table import SyntheticModel

SIZES = [2, 3, 2, 2, 3]
VIEWS = [(0, 1, 2), (1, 2, 3), (0, 3), (3, 4), (0, 4)]


def tables_of(joint: np.ndarray) -> list[np.ndarray]:
    return [joint.sum(axis=tuple(a for a in range(5) if a not in view)) for view in VIEWS]


def law(model: SyntheticModel) -> np.ndarray:
    """Return the joint distribution of the rows: the product of the links' chances."""
    joint = np.ones(SIZES)
    for cell in np.ndindex(*SIZES):
        for link in model.links:
            given = new = 0
            for place in link.common:
                given = given * SIZES[place] + cell[place]
            for place in link.new:
                new = new * SIZES[place] + cell[place]
            joint[cell] *= link.chances[given, new]
    return joint


@pytest.mark.parametrize("seed", range(8))
def test_rows_have_the_marginals_of_all_cliques_exactly(seed):
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.full(72, 0.3)).reshape(SIZES)
    if seed % 2:
        joint[0, 1] = 0.0  # cells that never occur
        joint /= joint.sum()
    tables = tables_of(joint)
    model = SyntheticModel.of(VIEWS, tables, SIZES)
    made = law(model)
    assert made.sum() == pytest.approx(1.0)
    assert {place for clique in model.cliques for place in clique} == set(range(5))
    for clique in model.cliques:
        drop = tuple(a for a in range(5) if a not in clique)
        assert np.abs(made.sum(axis=drop) - joint.sum(axis=drop)).max() <= 1e-12
    assert any(len(clique) > 1 for clique in model.cliques[1:])


def test_each_link_is_given_part_of_one_earlier_clique():
    """The running intersection, without which conditional chances would not give the marginal."""
    joint = np.random.default_rng(3).dirichlet(np.ones(72)).reshape(SIZES)
    model = SyntheticModel.of(VIEWS, tables_of(joint), SIZES)
    for number, link in enumerate(model.links[1:], start=1):
        assert any(set(link.common) <= set(clique) for clique in model.cliques[:number])
        assert any(set(link.clique) <= set(view) for view in VIEWS)


def test_a_view_that_closes_a_circle_is_linked_to_one_clique():
    """0 - 1 - 2 are tied closely, 3 is alone: the last view meets two cliques in 0 and in 2, not in one."""
    tie = np.array([[0.45, 0.05], [0.05, 0.45]])
    joint = np.einsum("ab,bc,d->abcd", tie, tie * 2, [0.3, 0.7])
    joint[0, :, 0, 0] *= 1.2
    joint /= joint.sum()
    views = [(0, 1), (1, 2), (0, 2, 3)]
    tables = [joint.sum(axis=tuple(a for a in range(4) if a not in view)) for view in views]
    model = SyntheticModel.of(views, tables, [2, 2, 2, 2])
    assert len(model.links) == 3
    assert len(model.links[-1].common) == 1
    rows = model.sample(100_000, np.random.default_rng(2))
    for clique in model.cliques:
        chances = joint.sum(axis=tuple(a for a in range(4) if a not in clique)).ravel()
        cells = np.ravel_multi_index(rows[:, clique].T, [2] * len(clique))
        counts = np.bincount(cells, minlength=len(chances))
        assert (np.abs(counts - 1e5 * chances) <= 5.5 * (1e5 * chances * (1 - chances)) ** 0.5).all()


def test_a_chain_is_kept_whole():
    """Where the views are a chain, the rows follow it: counts within 5.5 deviations, with a fixed seed."""
    rng = np.random.default_rng(5)
    first, second = rng.dirichlet(np.ones(4)).reshape(2, 2), rng.dirichlet(np.ones(2), size=2)
    pair = first.sum(axis=0)[:, None] * second
    model = SyntheticModel.of([(0, 1), (1, 2)], [first, pair], [2, 2, 2])
    rows = model.sample(50_000, np.random.default_rng(1))
    counts = np.bincount(rows @ [4, 2, 1], minlength=8)
    chances = (first[:, :, None] * second[None]).ravel()
    for count, chance in zip(counts, chances, strict=True):
        assert abs(count - 50_000 * chance) <= 5.5 * (50_000 * chance * (1 - chance)) ** 0.5


def test_the_release_samples_labels_by_a_seed():
    release = MarginalRelease.of([2, 3], [(0,), (1,)], 3.0, ["a", "b"], [["no", "yes"], None])
    found = release.estimate(release.randomize([["yes", 2]] * 2000, rng=1))
    rows = found.sample(500, rng=4)
    assert rows.shape == (500, 2)
    assert (rows == found.sample(500, rng=4)).all()
    assert rows[:, 0].mean() > 0.9
    columns = release.attributes.decode(rows)
    assert set(columns["a"]) <= {"no", "yes"}
    with pytest.raises(ParameterError, match="rows: 0"):
        found.sample(0)


def test_attributes_that_nobody_reported_are_even():
    model = SyntheticModel.of([(0,)], [np.array([0.2, 0.8])], [2, 3])
    assert model.cliques == ((0,), (1,))
    assert model.links[1].chances.tolist() == [[1 / 3] * 3]
