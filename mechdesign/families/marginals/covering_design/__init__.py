"""The problem ``covering-design``: the fewest blocks that contain every small subset of points."""
