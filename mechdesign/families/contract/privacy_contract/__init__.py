"""The problem ``privacy-contract``: the best menu of privacy levels for finitely many types."""
