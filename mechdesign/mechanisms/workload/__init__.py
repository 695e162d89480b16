"""Mechanisms for workloads of linear queries."""

from mechdesign.mechanisms.workload.estimate import Quantile, QueryEstimate
from mechdesign.mechanisms.workload.queries import Workload
from mechdesign.mechanisms.workload.release import WorkloadRelease
from mechdesign.mechanisms.workload.weights import PatternWeights

__all__ = ["PatternWeights", "Quantile", "QueryEstimate", "Workload", "WorkloadRelease"]
