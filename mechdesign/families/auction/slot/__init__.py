"""The problem ``auction-slot`` and its methods."""
