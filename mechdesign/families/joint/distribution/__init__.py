"""The problem ``joint-distribution``: the most likely joint distribution, given reports."""
