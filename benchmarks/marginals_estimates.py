"""Marginals from the same reports by several estimates, with mbi (private-pgm) where it is installed.

``python -m benchmarks.marginals_estimates [--retail retail.dat.xz] [--mbi STEPS]``; retail baskets are those
of the FIMI repository, of which the most frequent items are taken.
"""

from __future__ import annotations

import argparse
import lzma
import time
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.marginals import correlated, squared_error
from mechdesign.core.text import table
from mechdesign.mechanisms.marginals import MarginalRelease, make_consistent, maximum_entropy, non_negative
from mechdesign.mechanisms.marginals.estimates import ReleasedMarginals
from mechdesign.mechanisms.marginals.reconstruction import constraints_of

Codes = NDArray[np.int64]
USERS, WANTED = 1 << 16, 50


def retail(path: str, items: int) -> Codes:
    """Return which of the most frequent items each basket has."""
    with lzma.open(path, "rt") as file:
        baskets = [set(line.split()) for line in file]
    counts = Counter(item for basket in baskets for item in basket)
    kept = [item for item, _ in counts.most_common(items)]
    return np.array([[item in basket for item in kept] for basket in baskets], dtype=np.int64)


def views_of(attributes: int) -> list[tuple[int, ...]]:
    """Return 14 views of 4 of 8 attributes, some 57 of 4 of 12, or 10 of 6 of 16."""
    if attributes == 8:
        return [tuple(view) for view in combinations(range(8), 4) if np.bitwise_xor.reduce(view) == 0]
    size, count = (4, 60) if attributes == 12 else (6, 10)
    rng = np.random.default_rng(2)
    drawn = (rng.choice(attributes, size, replace=False) for _ in range(count))
    return sorted({tuple(sorted(int(item) for item in view)) for view in drawn})


def pairwise(found: ReleasedMarginals) -> Callable[[tuple[int, ...]], Any]:
    """Return CALM's own estimate: pairwise consistent non-negative views, then maximum entropy."""
    sizes = found.attributes.sizes
    tables = non_negative(found.views, found.unbiased, sizes, found.precision.tolist(), 1.0).tables

    def answer(wanted: tuple[int, ...]) -> Any:
        places = [place for _, place in constraints_of(wanted, found.views)]
        return maximum_entropy(wanted, [found.views[p] for p in places], [tables[p] for p in places], sizes)

    return answer


def by_mbi(found: ReleasedMarginals, wanted: list[tuple[int, ...]], steps: int) -> list[Any]:
    """Return the marginals of the model that mbi fits."""
    from mbi import estimation

    domain, measurements = found.to_mbi()
    model = estimation.MirrorDescent().estimate(domain, measurements, known_total=1.0, iters=steps)
    return [np.asarray(model.project(tuple(map(str, places))).datavector()) for places in wanted]


def case(name: str, data: Codes, epsilon: float, seed: int, steps: int) -> list[str]:
    """Return errors and seconds of one collection."""
    attributes, rng = data.shape[1], np.random.default_rng(seed)
    wanted = [tuple(sorted(rng.choice(attributes, 3, replace=False).tolist())) for _ in range(WANTED)]
    release = MarginalRelease.of([2] * attributes, views_of(attributes), epsilon)
    reports = release.randomize(data, rng=seed)
    found = release.estimate(reports)
    crossed = release.estimate(reports, penalty="cross-validated")
    linear = make_consistent(found.views, found.unbiased, [2] * attributes, found.precision.tolist(), 1.0)
    methods: dict[str, Callable[[], list[Any]]] = {
        "pairwise": lambda: list(map(pairwise(found), wanted)),
        "30": lambda: [found.marginal(one).value for one in wanted],  # type: ignore[union-attr]
        "CV": lambda: [crossed.marginal(one).value for one in wanted],  # type: ignore[union-attr]
    }
    if steps:
        methods["mbi"] = lambda: by_mbi(found, wanted, steps)
        methods["mbi"]()  # what it compiles is not counted
    row = [name, str(attributes), f"{epsilon:g}"]
    inside = [
        (one, place) for one in wanted for place, view in enumerate(found.views) if set(one) <= set(view)
    ]
    if inside:
        sums = [
            linear[place].sum(axis=tuple(a for a, x in enumerate(found.views[place]) if x not in one))
            for one, place in inside
        ]
        errors = [squared_error(s, data, list(one)) for s, (one, _) in zip(sums, inside, strict=True)]
        row.append(f"{np.mean(errors):.5f}")
    else:
        row.append("")
    for make in methods.values():
        start = time.process_time()
        tables = make()
        seconds = time.process_time() - start
        errors = [squared_error(value, data, list(one)) for value, one in zip(tables, wanted, strict=True)]
        row.append(f"{np.mean(errors):.5f} ({seconds:.2f})")
    predicted = np.mean([found.marginal(one).unpenalized_error ** 2 * 8 for one in wanted])  # type: ignore[union-attr]
    return [*row, f"{predicted:.5f}"]


def main() -> None:
    """Print a row a setting: squared errors of triples, processor seconds in brackets."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--retail")
    parser.add_argument("--mbi", type=int, default=0)
    parser.add_argument("--attributes", type=int, nargs="+", default=[8, 12, 16])
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    names = ["data", "d", "epsilon", "linear", "pairwise", "penalty 30", "CV"]
    names += ["mbi"] if given.mbi else []
    for attributes in given.attributes:
        for epsilon in (0.5, 1.0, 2.0):
            for seed in range(1, given.seeds + 1):
                sets = {"correlated": correlated(USERS, attributes, np.random.default_rng(seed))}
                if given.retail:
                    baskets = retail(given.retail, attributes)
                    sets["retail"] = baskets[np.random.default_rng(seed).permutation(len(baskets))[:USERS]]
                rows = [case(name, data, epsilon, seed, given.mbi) for name, data in sets.items()]
                print(table([*names, "predicted"], rows), flush=True)


if __name__ == "__main__":
    main()
