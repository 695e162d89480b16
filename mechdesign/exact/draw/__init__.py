"""Drawing: bits, weights and sets from uniform integers."""
