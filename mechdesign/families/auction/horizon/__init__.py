"""The problem ``auction-horizon`` and its methods."""
