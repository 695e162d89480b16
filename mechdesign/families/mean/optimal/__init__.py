"""The channel for the mean of a number with the least worst variance, as ``mean-channel`` finds it."""

from mechdesign.families.mean.optimal.channel import best_channel, worst_variance_of

__all__ = ["best_channel", "worst_variance_of"]
