"""What a batch decides from heads and tails, number by number."""

from mechdesign.exact.draws import heads


def decided(weights, source):
    """Return whether each number is below its weight, and for how many of them the heads are equal."""
    drawn = heads(len(weights), source).tolist()
    equal = [row for row, head in enumerate(drawn) if head == weights[row] >> 46]
    rest = dict(zip(equal, source.integers(len(equal)).tolist() if equal else [], strict=True))
    found = [(head << 46) + (rest.get(row, 0) >> 16) < weights[row] for row, head in enumerate(drawn)]
    return found, len(equal)
