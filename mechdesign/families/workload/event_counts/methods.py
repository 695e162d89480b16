"""The methods of ``event-counts``, in the order in which they are tried."""

from mechdesign.core.method import Method
from mechdesign.families.workload.event_counts.all_patterns import all_patterns, why_not_all_patterns
from mechdesign.families.workload.event_counts.columns import event_columns, why_not_event_columns
from mechdesign.families.workload.event_counts.kary import kary_response, why_not_kary
from mechdesign.families.workload.event_counts.orbits import generated_decodings
from mechdesign.families.workload.event_counts.problem import EventCounts

METHODS = (
    Method(
        name="all-patterns",
        problem=EventCounts,
        kind="numeric",
        summary="the best of all private reports, for one event a user or at most 20 states",
        run=all_patterns,
        why_not=why_not_all_patterns,
    ),
    Method(
        name="columns",
        problem=EventCounts,
        kind="numeric",
        summary="patterns of states generated modulo exchanges of slots, to a proven gap: up to 300 states",
        run=event_columns,
        why_not=why_not_event_columns,
    ),
    Method(
        name="orbits",
        problem=EventCounts,
        kind="numeric",
        summary="the best reports that single out few slots: decodings generated, bound over all real ones",
        run=generated_decodings,
    ),
    Method(
        name="kary",
        problem=EventCounts,
        kind="heuristic",
        summary="k-ary response over all states, with its best unbiased decoding",
        run=kary_response,
        why_not=why_not_kary,
    ),
)
