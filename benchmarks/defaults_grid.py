"""Problems of every class, in several sizes and at several epsilons, on which defaults are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from mechdesign.catalog import load_model, models
from mechdesign.catalog.sweeping import sweep_points, sweep_problem
from mechdesign.core.fields import problem_from
from mechdesign.core.problem import Problem
from mechdesign.families import problem_class

Parameters = Mapping[str, Any]

EPSILONS = (0.25, 1.0, 3.0, 6.0)
FEW_EPSILONS = (1.0, 4.0)


def problems(quick: bool = False, only: Sequence[str] = ()) -> Iterator[tuple[str, Problem[Any]]]:
    """Yield the problems of the grid, each with a name; with ``quick`` the few small ones of the tests.

    With ``only`` those of some classes.
    """
    for name, points in GRID.items():
        if only and name not in only:
            continue
        kind = problem_class(name)
        yield f"{name}: example", problem_from(kind, dict(kind.example))
        for parameters in points(quick):
            yield f"{name}: {_label(parameters)}", problem_from(kind, dict(parameters))


def catalog_problems(only: Sequence[str] = ()) -> Iterator[tuple[str, Problem[Any]]]:
    """Yield the problem of every catalog model, and the first, middle and last point of its sweep."""
    for slug in models():
        model = load_model(slug)
        if only and model.problem.name not in only:
            continue
        yield slug, model.problem
        points = sweep_points(model) if model.sweep else []
        for place in sorted({0, len(points) // 2, len(points) - 1}) if points else ():
            yield f"{slug}: {_label(points[place])}", sweep_problem(model, points[place])


def _label(parameters: Parameters) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in parameters.items())


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(_short(entry) for entry in value.values())
    if isinstance(value, (list, tuple)) and len(repr(value)) > 24:
        return f"({len(value)})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def crossed(**values: Any) -> Iterator[dict[str, Any]]:
    """Yield the parameters of every combination of the values.

    Examples
    --------
    >>> list(crossed(a=[1], b=[2, 3]))
    [{'a': 1, 'b': 2}, {'a': 1, 'b': 3}]
    """
    for chosen in product(*values.values()):
        yield dict(zip(values, chosen, strict=True))


def zipf(size: int) -> list[float]:
    """Return shares that fall like 1/rank."""
    shares = 1.0 / np.arange(1, size + 1)
    return [float(share) for share in shares / shares.sum()]


def line_loss(size: int) -> list[list[float]]:
    """Return the utility minus |i - j|."""
    places = np.arange(size, dtype=np.float64)
    return [[float(-entry) for entry in row] for row in np.abs(places[:, None] - places)]


# One function a family of parameters


def _responses(quick: bool) -> Iterator[Parameters]:
    sizes = (3, 40) if quick else (2, 3, 5, 10, 30, 100)
    for size, epsilon in product(sizes, (1.0,) if quick else EPSILONS):
        yield {"prior": zipf(size), "epsilon": epsilon}
    if not quick:
        yield from crossed(prior=[zipf(4), zipf(12)], epsilon=EPSILONS, delta=[0.05, 0.2])
        yield from crossed(prior=[zipf(3), zipf(6)], epsilon=EPSILONS, utility=["mutual-information"])
        yield from crossed(prior=[zipf(5), zipf(20)], epsilon=EPSILONS, utility=["absolute-loss"])
    for size, epsilon in product(
        (24, 48) if quick else (4, 16, 32, 40, 64, 80, 100), (0.3,) if quick else (0.1, 0.3, 1.0, 3.0)
    ):
        yield {"prior": zipf(size), "epsilon": epsilon, "distance": "line", "utility": line_loss(size)}
        if not quick:
            yield {
                "prior": [1.0 / size] * size,
                "epsilon": epsilon,
                "distance": "line",
                "utility": "absolute-loss",
            }
    sides = ((6, 6),) if quick else ((3, 3), (5, 6), (7, 7), (9, 10))
    for (rows, columns), epsilon in product(sides, (0.5,) if quick else (0.2, 0.5, 1.5)):
        size = rows * columns
        places = np.column_stack(np.divmod(np.arange(size), columns)).astype(float)
        apart = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
        yield {
            "prior": zipf(size),
            "epsilon": epsilon,
            "distance": {"name": "grid", "rows": rows, "columns": columns},
            "utility": (-apart).tolist(),
        }


def _slots(quick: bool) -> Iterator[Parameters]:
    users = (5, 7) if quick else (3, 5, 7, 12, 30, 100)
    for count, tasks, seed in product(users, (2, 4), range(4)):
        if tasks > count:
            continue
        rng = np.random.default_rng([count, tasks, seed])
        able = [sorted(rng.choice(tasks, rng.integers(1, tasks + 1), False).tolist()) for _ in range(count)]
        offers = [sum(task in own for own in able) for task in range(tasks)]
        needs = [int(rng.integers(0, min(2 + seed % 2, offer) + 1)) for offer in offers]
        bids = (rng.integers(1, 16, (count, 2)) / 8).tolist()
        backlog = (rng.integers(0, 8, count) / 4).tolist() if seed % 3 == 2 else None
        yield {
            "bids": bids,
            "epsilon": float(rng.choice([0.5, 1.0, 3.0])),
            "tasks": able,
            "requirements": needs,
            "backlog": backlog,
        }


def _horizons(quick: bool) -> Iterator[Parameters]:
    sizes = ((6, 2, 4),) if quick else ((6, 2, 4), (8, 2, 10), (12, 3, 40), (40, 5, 100))
    for (users, tasks, slots), epsilon in product(sizes, (1.0,) if quick else (0.25, 1.0, 4.0)):
        yield {"users": users, "tasks": tasks, "slots": slots, "epsilon": epsilon, "seed": 3}


def _direct_mechanisms(quick: bool) -> Iterator[Parameters]:
    numbers = (2, 3) if quick else (2, 3, 5, 8)
    for bidders, values, incentives in product((1, 2), numbers, ("dominant", "bayesian")):
        yield {
            "environment": {"name": "single-item", "types": list(range(1, values + 1)), "agents": bidders},
            "incentives": incentives,
        }


def _screenings(quick: bool) -> Iterator[Parameters]:
    for types in (2, 3, 5) if quick else (2, 3, 5, 12, 40):
        for seed in range(2):
            chances = np.random.default_rng([types, seed]).integers(1, 9, types).tolist()
            prior = [f"{chance}/{sum(chances)}" for chance in chances]
            yield {"types": list(range(1, types + 1)), "prior": prior, "quantities": list(range(types + 1))}


def _contracts(quick: bool) -> Iterator[Parameters]:
    for count in (4,) if quick else (2, 5, 20):
        rng = np.random.default_rng(count)
        types = np.cumsum(rng.integers(1, 5, count)).astype(float).tolist()
        counts = rng.integers(1, 200, count).tolist()
        for information, budget in product(("incomplete", "complete"), (10.0, 1000.0, 1e5)):
            yield {"types": types, "counts": counts, "budget": budget, "information": information}
        yield {"types": types, "counts": counts, "budget": 1000.0, "epsilon_max": 0.5}
        yield {"types": types, "counts": counts, "budget": 1000.0, "participation_cost": 0.1}


def _densities(quick: bool) -> Iterator[Parameters]:
    named = [{"name": "uniform", "low": 5.0, "high": 15.0}]
    if not quick:
        named.append({"name": "uniform", "low": 0.5, "high": 20.0})
    yield from crossed(density=named, budget=[5.0] if quick else [0.5, 5.0, 100.0])


def _systems(quick: bool) -> Iterator[Parameters]:
    rappor = {"name": "rappor", "bits": 16, "hashes": 2, "cohorts": 64, "p": 0.5, "q": 0.75, "f": 0.5}
    yield from crossed(system=[rappor], categories=[10] if quick else [10, 100, 1000])


def _histograms(quick: bool) -> Iterator[Parameters]:
    yield from crossed(
        users=[10_000] if quick else [1000, 10_000, 10**6],
        epsilon=[0.5] if quick else [0.25, 1.0, 3.0],
        delta=[1e-8],
    )


def _collections(quick: bool) -> Iterator[Parameters]:
    attributes = [[2, 2]] if quick else [[2], [2, 2], [4, 3], [2] * 8, [10, 10, 5]]
    yield from crossed(attributes=attributes, epsilon=FEW_EPSILONS if quick else EPSILONS)
    for epsilon in (2.0,) if quick else (1.0, 2.0, 6.0):
        yield {"attributes": [4, 3], "epsilon": epsilon, "report_epsilon": epsilon / 2, "reports_per_user": 7}


def _distributions(quick: bool) -> Iterator[Parameters]:
    for attributes, add in product([[2, 2]] if quick else [[2], [2, 2], [3, 2], [4, 3, 2]], (0.25, 0.4)):
        rng = np.random.default_rng(len(attributes))
        columns = np.concatenate([[0], np.cumsum(attributes)[:-1]])
        bits = np.zeros((300, sum(attributes)), dtype=bool)
        for column, size in zip(columns, attributes, strict=True):
            bits[np.arange(300), column + rng.choice(size, 300, p=zipf(size))] = True
        fresh = rng.random(bits.shape) < np.where(bits, 0.75, add)
        patterns, counts = np.unique(fresh.astype(int), axis=0, return_counts=True)
        yield {
            "attributes": attributes,
            "redraw": 0.0,
            "keep": 0.75,
            "add": add,
            "patterns": patterns.tolist(),
            "counts": counts.tolist(),
        }


def _noises(quick: bool) -> Iterator[Parameters]:
    yield from crossed(epsilon=[1.4] if quick else [0.1, 1.4, 5.0], area=[[0.0, 0.0, 20.0, 20.0]])


def _coverings(quick: bool) -> Iterator[Parameters]:
    sizes = ((7, 2, 3), (9, 3, 4)) if quick else (
        (6, 2, 3), (7, 2, 3), (8, 2, 4), (9, 3, 4), (10, 2, 4), (10, 3, 5), (11, 2, 5), (12, 3, 6),
        (13, 2, 4), (16, 2, 6), (16, 3, 8), (20, 2, 5), (20, 3, 6),
        (30, 2, 6), (32, 2, 8), (32, 3, 8), (45, 2, 8),
    )  # fmt: skip
    for points, order, block in sizes:
        yield {"points": points, "order": order, "block": block}


def _oracles(quick: bool) -> Iterator[Parameters]:
    sizes = [2, 64, 5000] if quick else [2, 3, 5, 10, 40, 64, 200, 1000, 5000, 30_000, 1 << 20]
    yield from crossed(categories=sizes, epsilon=FEW_EPSILONS if quick else (0.1, *EPSILONS, 9.0))
    bits = [20] if quick else [6, 10, 17, 20, 24, 32, 45, 64]
    yield from crossed(categories=[64, 30_000], epsilon=[1.0] if quick else [1.0, 3.0], max_report_bits=bits)


def _weeks(quick: bool) -> Iterator[Parameters]:
    sizes = [2, 10, 100] if quick else [2, 3, 5, 10, 20, 100, 1000]
    pairs = [(2.0, 1.5)] if quick else [(1.0, 0.5), (2.0, 1.0), (2.0, 1.5), (4.0, 2.0), (4.0, 3.0), (6.0, 3)]
    for every, week in pairs:
        epsilons = {"epsilon_all": [every], "epsilon_week": [week]}
        yield from crossed(categories=sizes, **epsilons, weeks=[10] if quick else [2, 10, 52])
        yield from crossed(categories=[5, 40], **epsilons, weeks=[26], distinct=[2] if quick else [2, 4])


def _item_sets(quick: bool) -> Iterator[Parameters]:
    sizes = [12, 300] if quick else [4, 12, 30, 300, 5000, 100_000]
    for most in (2,) if quick else (1, 2, 4):
        yield from crossed(categories=sizes, most=[most], epsilon=FEW_EPSILONS if quick else EPSILONS)
    yield from crossed(categories=[30], sizes=[[0.2, 0.5, 0.2, 0.1]], epsilon=[1.0], users=[100, 10**6])
    bits = [200] if quick else [20, 60, 200]
    yield from crossed(categories=[sizes[-1]], most=[2], epsilon=[1.0], max_report_bits=bits)


def _key_values(quick: bool) -> Iterator[Parameters]:
    sizes = [4, 50] if quick else [4, 6, 50, 2000]
    for most in (2,) if quick else (1, 2, 4):
        yield from crossed(categories=sizes, most=[most], epsilon=FEW_EPSILONS if quick else EPSILONS)


def _views(quick: bool) -> Iterator[Parameters]:
    shapes = [[2] * 4] if quick else [[2] * 4, [2] * 8, [2] * 16, [3, 2, 4, 5], [10, 4, 4, 2, 2]]
    epsilons = (1.0,) if quick else (0.25, 1.0, 4.0)
    yield from crossed(
        attributes=shapes,
        users=[10_000] if quick else [10_000, 10**6],
        epsilon=epsilons,
        order=[2] if quick else [2, 3],
    )
    workload = [[0, 1], [1, 2], [0, 3]]
    yield from crossed(
        attributes=[[2] * 4, [3, 2, 4, 5]], users=[20_000], epsilon=epsilons, workload=[workload]
    )
    if not quick:
        yield from crossed(
            attributes=[[2] * 6, [3, 2, 4, 5]],
            users=[20_000],
            epsilon=epsilons,
            order=[2],
            criterion=["mean", "worst"],
        )


def _mean_channels(quick: bool) -> Iterator[Parameters]:
    yield from crossed(
        epsilon=[1.0] if quick else [0.1, 0.5, 1.0, 2.0, 4.0, 7.0], criterion=["worst", "average"]
    )
    yield from crossed(epsilon=[2.0] if quick else EPSILONS, inputs=[5, 11], outputs=[11])


def _mean_intervals(quick: bool) -> Iterator[Parameters]:
    yield from crossed(
        epsilon=[0.1, 1.0, 5.0],
        delta=[0.0, 0.1],
        mean=[0.1, [0.0, 1.0]],
        attributes=[1, 4],
        estimator=["self-normalized", "scaled"],
    )
    if not quick:
        yield from crossed(epsilon=EPSILONS, mean=[0.01, 0.5, [0.2, 0.4]], notion=["one-sided"])


def _randomizers() -> list[Any]:
    return ["any", {"name": "k-ary", "size": 2}, {"name": "k-ary", "size": 16}]


def _amplifications(quick: bool) -> Iterator[Parameters]:
    yield from crossed(
        users=[10_000] if quick else [20, 1000, 10_000, 10**6],
        local_epsilon=[1.0] if quick else [0.25, 1.0, 3.0],
        delta=[1e-6],
        randomizer=_randomizers(),
    )


def _local_budgets(quick: bool) -> Iterator[Parameters]:
    yield from crossed(
        users=[10_000] if quick else [20, 1000, 10_000, 10**6],
        central_epsilon=[0.5] if quick else [0.1, 0.5, 1.0],
        delta=[1e-6],
        randomizer=_randomizers(),
    )


def _counts(quick: bool) -> Iterator[Parameters]:
    yield from crossed(
        users=[1000] if quick else [100, 10_000, 10**6],
        epsilon=[1.0] if quick else [0.1, 1.0, 4.0],
        delta=[1e-6],
    )
    yield {"users": 1000, "epsilon": 1.0, "delta": 1e-6, "pure": True}
    if not quick:
        yield from crossed(users=[10_000], epsilon=[0.5, 2.0], delta=[1e-6], max_messages=[1, 3])


def _sums(quick: bool) -> Iterator[Parameters]:
    yield from _counts(quick)


def _shuffled_tables(quick: bool) -> Iterator[Parameters]:
    yield from crossed(
        users=[10_000] if quick else [1000, 10_000, 10**6],
        categories=[16] if quick else [4, 64, 1000],
        epsilon=[1.0] if quick else [0.25, 1.0, 4.0],
        delta=[1e-6],
    )


def _secondaries(quick: bool) -> Iterator[Parameters]:
    yield from crossed(price=[0.1], reward=[0.05, 0.2, 1.0], privacy_cost=[0.1, 1.0, 10.0], radius=[1.0, 5.0])


def _primaries(quick: bool) -> Iterator[Parameters]:
    yield from crossed(
        price=[0.1], privacy_cost=[0.5, 2.0], radius=[2.0, 5.0], location_privacy=[0.5],
        distance=[2.0, 6.0, 12.0],
        widening=["mean", "exponential"],
    )  # fmt: skip


def _cloaks(quick: bool) -> Iterator[Parameters]:
    shapes = ["hexagon"] if quick else ["hexagon", "square", "disc"]
    yield from crossed(
        price=[0.1], privacy_cost=[0.5, 2.0, 20.0], radius=[5.0], location_privacy=[0.5], protection=[1.0],
        density=[0.005, 0.05], shape=shapes,
    )  # fmt: skip


def _partitions(quick: bool) -> Iterator[Parameters]:
    for size, cap in product((5, 9) if quick else (5, 9, 14, 24, 60), (0.3, 0.6)):
        yield {"prior": zipf(size), "cap": cap}
        if not quick:
            yield {"prior": [1.0 / size] * size, "cap": cap, "reach": 2.0}


def _channels(quick: bool) -> Iterator[Parameters]:
    for count in (2, 4) if quick else (1, 2, 3, 5, 8, 12, 25, 60):
        for seed in range(1 if quick else 3):
            rng = np.random.default_rng([count, seed])
            users = [
                {"x": float(x), "y": float(y), "radius": float(radius), "privacy": 0.5}
                for x, y, radius in zip(
                    *rng.uniform(-12, 12, (2, count)).round(1), rng.uniform(2, 5, count).round(1), strict=True
                )
            ]
            base = {"price": 0.1, "privacy_cost": 2.0, "secondary": users}
            yield base
            yield {**base, "primary": {"x": 0.0, "y": 0.0, "protection": 1.0}}


def _surveys(quick: bool) -> Iterator[Parameters]:
    yes_no = {"labels": ["no", "yes"]}
    scale = {"labels": [str(level) for level in range(1, 6)]}
    age = {"range": [18, 90]}
    sets = (
        [[yes_no, age]]
        if quick
        else [[yes_no], [scale] * 3, [yes_no, age], [yes_no] * 8, [yes_no, scale, age, age]]
    )
    for kinds, epsilon in product(sets, (2.0,) if quick else (0.5, 2.0, 6.0)):
        yield {
            "questions": [{"name": f"q{place}", **kind} for place, kind in enumerate(kinds)],
            "epsilon": epsilon,
            "users": 10_000,
        }
        if not quick and len(kinds) > 1:
            labelled = [f"q{place}" for place, kind in enumerate(kinds) if "labels" in kind][:2]
            if len(labelled) == 2:
                yield {
                    "questions": [{"name": f"q{place}", **kind} for place, kind in enumerate(kinds)],
                    "epsilon": epsilon,
                    "users": 10_000,
                    "tables": [labelled],
                }


def _limits(quick: bool) -> Iterator[Parameters]:
    sets = [[2, 2, 4]] if quick else [[2, 2], [2, 2, 4], [3] * 4, [5] * 6, [2] * 12]
    yield from crossed(questions=sets, epsilon=[1.0] if quick else [0.5, 2.0, 5.0])
    if not quick:
        yield from crossed(questions=[[4, 4], [2, 3]], epsilon=[0.5, 2.0], tables=[[[0, 1]]])


def _events(quick: bool) -> Iterator[Parameters]:
    yield from crossed(
        slots=[4], most=[2], epsilon=[0.5, 2.0] if quick else EPSILONS, prior=[[0.9, 0.08, 0.02]]
    )
    if not quick:
        yield from crossed(slots=[2, 9, 20], most=[1], epsilon=[0.3, 2.0, 6.0], prior=[[0.7, 0.3]])


def _queries(quick: bool) -> Iterator[Parameters]:
    names = ("prefix", "ranges", "histogram")
    sizes = (5,) if quick else (2, 5, 8, 16, 20, 24, 40, 65, 96, 128, 129, 200, 256)
    for size, epsilon, name in product(sizes, (1.0, 8.0) if quick else (0.1, 1.0, 3.0, 8.0), names):
        yield {"workload": {"name": name, "size": size}, "epsilon": epsilon}
    for size, epsilon in product((3,) if quick else (3, 5, 6, 9, 24, 64), (8.0,) if quick else (3.0, 8.0)):
        yield {"workload": {"name": "prefix", "size": size}, "epsilon": epsilon, "population": "worst"}
        yield {"workload": {"name": "means", "sizes": [size]}, "epsilon": epsilon, "population": "worst"}
    for epsilon in (2.0,) if quick else EPSILONS:
        yield {"workload": {"name": "prefix", "size": 8}, "epsilon": epsilon, "population": zipf(8)}
    if not quick:
        yield from crossed(workload=[{"name": "likert", "size": 5}], epsilon=EPSILONS)
        yield from crossed(workload=list(_tables()), epsilon=(1.0, 3.0, 8.0))


def _tables() -> Iterator[Mapping[str, Any]]:
    """Yield workloads about tables, cubes and circles of types."""
    yield {"name": "means", "sizes": [8, 8]}
    for side in (5, 11, 16):
        yield {"name": "grid-ranges", "sizes": [side, side]}
        yield {"name": "marginals", "sizes": [side, side], "order": 1}
    for bits in (4, 6, 8):
        yield {"name": "marginals", "sizes": [2] * bits, "order": 2}
        yield {"name": "parities", "bits": bits, "order": 2}
    for size in (9, 24, 64, 200):
        yield {"name": "cyclic-ranges", "size": size}


def _strings(quick: bool) -> Iterator[Parameters]:
    for users, epsilon in product((300,) if quick else (300, 1000), FEW_EPSILONS):
        yield {"users": users, "epsilon": epsilon, "bits": 3, "alphabet": "a"}


GRID: dict[str, Callable[[bool], Iterator[Parameters]]] = {
    "randomized-response": _responses,
    "auction-slot": _slots,
    "direct-mechanism": _direct_mechanisms,
    "screening": _screenings,
    "auction-horizon": _horizons,
    "privacy-contract": _contracts,
    "privacy-contract-continuous": _densities,
    "deployed-frequencies": _systems,
    "deployed-histogram": _histograms,
    "joint-collection": _collections,
    "joint-distribution": _distributions,
    "location-noise": _noises,
    "covering-design": _coverings,
    "frequency-oracle": _oracles,
    "weekly": _weeks,
    "item-sets": _item_sets,
    "key-value": _key_values,
    "marginal-views": _views,
    "mean-channel": _mean_channels,
    "mean-interval": _mean_intervals,
    "shuffle-amplification": _amplifications,
    "shuffle-local-budget": _local_budgets,
    "shuffle-counting": _counts,
    "shuffle-sum": _sums,
    "shuffle-histogram": _shuffled_tables,
    "shuffle-range": _shuffled_tables,
    "shuffle-distinct": _shuffled_tables,
    "shuffle-uniformity": _shuffled_tables,
    "spectrum-channel": _channels,
    "spectrum-cloak": _cloaks,
    "spectrum-partition": _partitions,
    "spectrum-primary": _primaries,
    "spectrum-secondary": _secondaries,
    "survey-design": _surveys,
    "survey-limit": _limits,
    "event-counts": _events,
    "heavy-hitters": _strings,
    "linear-queries": _queries,
}
"""The points of the grid of each class of problems, besides its example."""
