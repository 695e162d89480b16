"""Where the error of CALM comes from, d = 16, k = 3: noise, consistency, cells of at least 0, reconstruction.

    python -m benchmarks.marginals_calm FOLDER --data retail
    python -m benchmarks.marginals_calm --frequency 0.05

The views are all 120 pairs, as algorithm 3.1 takes them at epsilon = 0.2. A marginal of three bits has seven
effects beside its sum (means of signs: three of bits, three of pairs, one of the triple), and its squared
error is that of the effects over 8. "views" is the part of the effects of bits and pairs as the tables come,
that of a bit from one view; "consistent" averages effects of bits over the 15 views that have them; beside
both stands their formula. "released" is what the release answers: cells of at least 0, then maximum entropy.
Its error is the sum of "bits and pairs" and "triple". "pairs known" is the error from the true pairs. "bits
alone" is the product of the shares of bits, which leaves all dependence out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.marginals_data import People, of_columns, read
from benchmarks.marginals_experiment import cell, random_marginals
from benchmarks.marginals_methods import THESIS_KINDS, by_views
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.estimates import ReleasedMarginals
from mechdesign.families.marginals.papers.rivals import true_marginal
from mechdesign.families.marginals.papers.rivals.entropy import maximum_entropy
from mechdesign.families.marginals.papers.rivals.fourier import transform
from mechdesign.families.marginals.views import effect_variance
from mechdesign.show.tables import table

Array = NDArray[np.float64]
D, K = 16, 3


def independent(frequency: float, users: int, rng: np.random.Generator) -> People:
    """Return people who have each of 16 items with the same probability, independently."""
    items = {f"item {place}": (rng.random(users) < frequency).astype(np.int64) for place in range(D)}
    return People(of_columns(items).codes, (2,) * D, tuple(items))


def effects(release: ReleasedMarginals) -> dict[tuple[int, ...], list[float]]:
    """Return the estimates of the effects of bits and pairs, one from each view that has it."""
    found: dict[tuple[int, ...], list[float]] = {}
    for (one, two), values in zip(release.views, release.unbiased, strict=True):
        _, second, first, both = transform(values.ravel())
        found.setdefault((one,), []).append(float(first))
        found.setdefault((two,), []).append(float(second))
        found[one, two] = [float(both)]
    return found


def parts(estimate: Array, truth: Array) -> tuple[float, float]:
    """Return the squared error of a marginal of three bits: of its six first effects, and of the triple's."""
    squares = transform((estimate - truth).ravel()) ** 2 / 8.0
    return float(squares[:7].sum()), float(squares[7])


def independent_bits(wanted: Sequence[int], found: dict[tuple[int, ...], list[float]]) -> Array:
    """Return the product of the shares of three bits, each from all views that have it, within [0, 1]."""
    shares = [min(max(0.5 + float(np.mean(found[bit,])) / 2.0, 0.0), 1.0) for bit in wanted]
    one, two, three = (np.array([share, 1.0 - share]) for share in shares)
    made: Array = one[:, None, None] * two[:, None] * three
    return made


def answers(
    release: ReleasedMarginals, people: People, truth: dict[tuple[int, ...], Array]
) -> dict[str, float]:
    """Return the mean squared errors of marginals, by what was done to the reports."""
    found, released = effects(release), by_views(release, people.sizes)
    known = {view: true_marginal(people.codes, people.sizes, view) for view in release.views}
    errors: dict[str, list[float]] = {}
    for wanted, own in truth.items():
        inside = list(combinations(wanted, 2))
        right = dict(zip(product((0, 1), repeat=3), transform(own.ravel()).tolist(), strict=True))
        chosen = {tuple(a for a, there in zip(wanted, one, strict=True) if there): one for one in right}
        six = [effect for effect in chosen if len(effect) in (1, 2)]
        exact = maximum_entropy(wanted, inside, [known[pair] for pair in inside], people.sizes)
        low, high = parts(released(wanted), own)
        made = {
            "views": sum((found[one][0] - right[chosen[one]]) ** 2 for one in six) / 8.0,
            "consistent": sum((np.mean(found[one]) - right[chosen[one]]) ** 2 for one in six) / 8.0,
            "released": low + high,
            "bits and pairs": low,
            "triple": high,
            "pairs known": sum(parts(exact, own)),
            "bits alone": float(((independent_bits(wanted, found) - own) ** 2).sum()),
        }
        for name, error in made.items():
            errors.setdefault(name, []).append(float(error))
    return {name: float(np.mean(values)) for name, values in errors.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments and print the parts of the error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where the data are")
    parser.add_argument("--data", default="retail")
    parser.add_argument("--frequency", type=float, help="simulated bits with this frequency instead of data")
    parser.add_argument("--users", type=int, default=1 << 18)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.2])
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--seed", type=int, default=2019)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    if options.frequency is None:
        people = read(options.folder, options.data).first(D).sampled(options.users, rng)
    else:
        people = independent(options.frequency, options.users, rng)
    print("frequencies:", " ".join(f"{share:.3f}" for share in people.codes.mean(axis=0)))
    rows = []
    for epsilon in options.epsilons:
        views = list(combinations(range(D), 2))
        release = MarginalRelease.of((2,) * D, views, epsilon, kinds=THESIS_KINDS)
        variance = effect_variance(release.oracles[0]) * 4 / (options.users / len(views))
        measured: dict[str, list[float]] = {}
        for _ in range(options.repetitions):
            wanted = random_marginals(D, K, rng)
            truth = {one: true_marginal(people.codes, people.sizes, one) for one in wanted}
            found = release.estimate(release.randomize(people.codes, rng=rng, anyway=True))
            for name, value in answers(found, people, truth).items():
                measured.setdefault(name, []).append(value)
        shown = [cell(values) for values in measured.values()]
        predicted = (3 + 3 / 15) * variance / 8
        rows.append(
            [
                f"{epsilon:g}",
                f"{6 * variance / 8:.3g}",
                f"{predicted:.3g}",
                *shown,
            ]
        )
    names = ["epsilon", "views, predicted", "linear, predicted", *measured]
    print(table(names, rows), flush=True)


if __name__ == "__main__":
    main()
