"""The problem ``randomized-response``: the best channel for a categorical answer."""
