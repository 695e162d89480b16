"""As of two hundred times the users: what a shuffler brings for a mean, with both guarantees in the file.

Twenty thousand people report a number between 0 and 100. The shuffled reports have to keep epsilon 0.5 and
delta 1e-6, even if a tenth of the people tell the attacker everything.
"""

import tempfile
from pathlib import Path

import numpy as np

import mechdesign as md
from mechdesign.families.shuffle.shuffled_reports import Shuffled


def main() -> None:
    problem = md.MeanChannel(epsilon=0.5, inputs=4)
    design = md.shuffled(problem, users=20_000, delta=1e-6, honest=0.9)
    print(design)
    assert design.local_epsilon > design.any_epsilon > 0.5
    assert design.gain["users_ratio"] > 100

    # The same by ranking all mechanisms for means, in the units of the data.
    promise = {"shuffled": 20_000, "delta": 1e-6, "honest": 0.9}
    ranking = md.choose(0.5, 20_000, low=0.0, high=100.0, channel=False, **promise)
    print(ranking)
    path = Path(tempfile.mkdtemp()) / "mean.json"
    ranking.mechanism().save(path)

    mechanism = Shuffled.load(path)  # both guarantees are proven again
    people = np.random.default_rng(3).normal(40.0, 12.0, 20_000).clip(0.0, 100.0)
    reports = np.sort(mechanism.randomize(people, rng=1))  # the shuffler's part, here by sorting
    estimate = mechanism.estimate(reports)
    print(estimate)
    assert abs(estimate.value - people.mean()) < 5.0 * estimate.standard_error
    assert estimate.standard_error < 0.2 < ranking.unshuffled.error
    assert mechanism.central.holds


if __name__ == "__main__":
    main()
