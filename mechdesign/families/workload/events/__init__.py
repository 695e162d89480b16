"""Counts of rare events in many slots: a private report per user, unbiased for every slot."""

from mechdesign.families.workload.events.release import EventRelease
from mechdesign.families.workload.events.weights import EventWeights

__all__ = ["EventRelease", "EventWeights"]
