"""The methods of ``event-counts``, in the order in which they are tried."""

from mechdesign.core.method import Method
from mechdesign.problems.workload.event_counts import kary, orbits
from mechdesign.problems.workload.event_counts.problem import EventCounts

METHODS = (
    Method(
        name="orbits",
        problem=EventCounts,
        kind="numeric",
        summary="linear program over classes of states, decodings generated, bound over all real decodings",
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
