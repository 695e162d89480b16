"""Workloads of linear queries under local privacy: cumulative distributions, ranges, marginals, means."""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("LinearQueries", "EventCounts")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.workload.estimate import Quantile as Quantile, QueryEstimate as QueryEstimate
    from mechdesign.families.workload.event_counts import EventCounts as EventCounts
    from mechdesign.families.workload.linear_queries import LinearQueries as LinearQueries
    from mechdesign.families.workload.queries import Workload as Workload
    from mechdesign.families.workload.release import WorkloadRelease as WorkloadRelease
    from mechdesign.families.workload.weights import PatternWeights as PatternWeights
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "estimate": "Quantile QueryEstimate",
            "event_counts": "EventCounts",
            "linear_queries": "LinearQueries",
            "queries": "Workload",
            "release": "WorkloadRelease",
            "weights": "PatternWeights",
        },
    )
