"""The problem ``privacy-contract-continuous``: the best menu for types with a density."""
