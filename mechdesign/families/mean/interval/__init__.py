"""The problem ``mean-interval``: the best one-bit mechanism for a mean (Liu, Zhou 2023)."""
