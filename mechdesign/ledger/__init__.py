"""The ledger: what the collections of one group of people add up to, exactly."""
