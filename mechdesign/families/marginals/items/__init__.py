"""Sets of items and of keys with values: what people have of a long list, reported at once."""
