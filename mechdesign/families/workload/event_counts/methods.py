"""The methods of ``event-counts``, in the order in which they are tried."""

from mechdesign.core.method import Method
from mechdesign.families.workload.event_counts import all_patterns, columns, kary, orbits
from mechdesign.families.workload.event_counts.problem import EventCounts

METHODS = (
    Method(
        name="all-patterns",
        problem=EventCounts,
        kind="numeric",
        summary="the best of all private reports, for one event a user or at most 20 states",
        run=all_patterns.run,
        why_not=all_patterns.why_not,
    ),
    Method(
        name="columns",
        problem=EventCounts,
        kind="numeric",
        summary="patterns of states generated modulo exchanges of slots, to a proven gap: up to 300 states",
        run=columns.run,
        why_not=columns.why_not,
    ),
    Method(
        name="orbits",
        problem=EventCounts,
        kind="numeric",
        summary="the best reports that single out few slots: decodings generated, bound over all real ones",
        run=orbits.run,
    ),
    Method(
        name="kary",
        problem=EventCounts,
        kind="heuristic",
        summary="k-ary response over all states, with its best unbiased decoding",
        run=kary.run,
        why_not=kary.why_not,
    ),
)
