"""The orders and graphs of this package with networkx: the same results, and how long both take.

    python -m benchmarks.graphs

Views: the sets that views share, in an order in which every set comes after its subsets, by sorting and as a
topological order of the transitive reduction. Users of a channel: groups that are all in each other's way, by
the greedy pass of the package and as the largest cliques of networkx.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from mechdesign.families.marginals.papers.rivals.consistency import shared_sets
from mechdesign.families.spectrum.vertices import Conflicts, static_bounds
from mechdesign.show.tables import table

View = tuple[int, ...]


def seconds(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the least processor time of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        found = run()
        times.append(time.process_time() - start)
    return found, min(times)


def ordered_by_graph(sets: Sequence[View]) -> tuple[list[View], int]:
    """Return the sets in a topological order of the transitive reduction of inclusion, and its edges."""
    graph: nx.DiGraph[View] = nx.DiGraph()
    graph.add_nodes_from(sets)
    members = [set(one) for one in sets]
    for small, large in combinations(range(len(sets)), 2):
        if members[small] < members[large]:
            graph.add_edge(sets[small], sets[large])
        elif members[large] < members[small]:
            graph.add_edge(sets[large], sets[small])
    reduced = nx.transitive_reduction(graph)
    return list(nx.topological_sort(reduced)), reduced.number_of_edges()


def cliques(conflicts: Conflicts, users: Sequence[int]) -> list[list[int]]:
    """Return groups of mutual conflict: the largest clique of what is left, again and again."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(users)
    graph.add_edges_from((one, other) for one in users for other, _ in conflicts.neighbours[one])
    found = []
    while graph:
        found.append(max(nx.find_cliques(graph), key=len))
        graph.remove_nodes_from(found[-1])
    return found


def main() -> None:
    """Print both tables."""
    rng = np.random.default_rng(1)
    rows = []
    for attributes, size, count in ((16, 2, 120), (16, 3, 262), (16, 4, 140), (16, 6, 60)):
        every = list(combinations(range(attributes), size))
        views = [every[place] for place in sorted(rng.permutation(len(every))[:count].tolist())]
        sets, own = seconds(lambda views=views: shared_sets(views))
        (order, edges), graph = seconds(lambda sets=sets: ordered_by_graph(sets))
        place = {one: number for number, one in enumerate(order)}
        assert all(place[one] < place[two] for one in sets for two in sets if set(one) < set(two))
        rows.append([f"{count} views of {size}", str(len(sets)), str(edges), f"{own:.3f}", f"{graph:.3f}"])
    header = ["views of 16 attributes", "shared sets", "edges", "find and sort, s", "order by networkx, s"]
    print(table(header, rows), "\n")
    rows = []
    for users, side in ((60, 34.6), (200, 63.2), (500, 100.0)):
        spots = rng.uniform(0.0, side, size=(users, 2))
        far = np.hypot(*(spots[:, None] - spots[None]).transpose(2, 0, 1))
        margins = (far - 1.0 + np.where(np.eye(users) > 0, np.inf, 0.0)).tolist()
        caps = [5.0] * users
        conflicts = Conflicts.of(margins, caps)
        (_, groups), own = seconds(
            lambda c=conflicts, k=caps: static_bounds(lambda user, radius: radius**3, c, k)
        )
        found, graph = seconds(lambda c=conflicts, n=users: cliques(c, range(n)))
        rows.append([f"{users}", str(len(groups)), str(len(found)), f"{own:.3f}", f"{graph:.3f}"])
    print(table(["users", "groups", "cliques", "groups and bounds, s", "cliques by networkx, s"], rows))


if __name__ == "__main__":
    main()
