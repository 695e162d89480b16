"""Counts of rare events in many slots: a private report per user, unbiased for every slot."""

from mechdesign.mechanisms.events.release import EventRelease
from mechdesign.mechanisms.events.weights import EventWeights

__all__ = ["EventRelease", "EventWeights"]
