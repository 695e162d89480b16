"""Protocols by brute force: the exact law of all shuffled messages from that of one client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import comb, lcm
from operator import mul

from mechdesign.exact.randomness import exp_lower
from mechdesign.families import shuffle

PROTOCOLS = {
    "aut": (lambda promise: shuffle.AUT.calibrated(promise, 5), "AUT"),
    "cnt-rr": (shuffle.CntRR.calibrated, "CntRR"),
    "cnt-2m": (shuffle.Cnt2M.calibrated, "Cnt2M"),
    "cnt-bn": (shuffle.CntBN.calibrated, "CntBN"),
    "cnt-pure": (shuffle.CntPURE.calibrated, "CntPURE"),
    "cnt-sgm": (shuffle.CntSGM.calibrated, "CntSGM"),
    "distinct-parity": (lambda promise: shuffle.DistinctParity.calibrated(promise, 5), "DistinctParity"),
    "hist-dump": (lambda promise: shuffle.HistDump.calibrated(promise, 5), "HistDump"),
    "hist-flip": (lambda promise: shuffle.HistFlip.calibrated(promise, 5), "HistFlip"),
    "hist-kr": (lambda promise: shuffle.HistKR.calibrated(promise, 5), "HistKR"),
    "hist-mm": (lambda promise: shuffle.HistMM.calibrated(promise, 5), "HistMM"),
    "hist-rr": (lambda promise: shuffle.HistRR.calibrated(promise, 5), "HistRR"),
    "murs": (lambda promise: shuffle.MURS.calibrated(promise, 5), "MURS"),
    "prhr": (lambda promise: shuffle.PRHR.calibrated(promise, 5), "PRHR"),
    "pucm": (lambda promise: shuffle.PUCM.calibrated(promise, 5), "PUCM"),
    "put": (lambda promise: shuffle.PUT.calibrated(promise, 5), "PUT"),
    "range-tree": (lambda promise: shuffle.RangeTree.calibrated(promise, 5), "RangeTree"),
    "rsum-dsg": (lambda promise: shuffle.RSumDSG.calibrated(promise), "RSumDSG"),
    "rsum-kr": (lambda promise: shuffle.RSumKR.calibrated(promise), "RSumKR"),
    "rsum-pure": (lambda promise: shuffle.RSumPURE.calibrated(promise, 3), "RSumPURE"),
    "rsum-rm": (lambda promise: shuffle.RSumRM.calibrated(promise), "RSumRM"),
    "rsum-rr": (lambda promise: shuffle.RSumRR.calibrated(promise), "RSumRR"),
    "solh": (lambda promise: shuffle.SOLH.calibrated(promise, 5), "SOLH"),
    "uniformity-dump": (lambda promise: shuffle.UniformityDump.calibrated(promise, 5), "UniformityDump"),
}
"""By its type: a protocol for a promise, and the name of its class."""


@cache
def made(kind: str, promise: shuffle.Promise) -> shuffle.Protocol:
    """Return the protocol of a type for a promise; calibrated once."""
    return PROTOCOLS[kind][0](promise)


Outcome = tuple[int, ...]
Law = dict[Outcome, Fraction]
"""Of how often each message was sent."""


Whole = dict[int, int]
"""A law with each outcome as one number, and whole numbers in proportion to the chances."""


def whole_laws(laws: Sequence[Law], most: int) -> tuple[list[Whole], int]:
    """Return laws whose outcomes are added as numbers, with the number that a chance of 1 has become.

    Parameters
    ----------
    laws : sequence of Law
    most : int
        Number of messages that outcomes to be added have together.
    """
    one = lcm(*(share.denominator for law in laws for share in law.values()))
    digits = [(most + 1) ** place for place in range(len(next(iter(laws[0]))))]
    found = [
        {
            sum(map(mul, key, digits)): share.numerator * (one // share.denominator)
            for key, share in law.items()
        }
        for law in laws
    ]
    return found, one


def added(first: Whole, second: Whole) -> Whole:
    """Return the law of the messages of two crowds together."""
    total: Whole = {}
    for one, share in first.items():
        for other, part in second.items():
            key = one + other
            total[key] = total.get(key, 0) + share * part
    return total


def divergence(first: Whole, second: Whole, one: int, epsilon: float) -> Fraction:
    """Return sum (P - e^epsilon Q)_+ exactly, for the rational lower bound of e^epsilon; 1 is ``one``."""
    above, below = exp_lower(epsilon).as_integer_ratio()
    beyond = (below * share - above * second.get(key, 0) for key, share in first.items())
    return Fraction(sum(part for part in beyond if part > 0), below * one)


def worst_divergence(client: Callable[[int], Law], domain: int, users: int, epsilon: float) -> Fraction:
    """Return the largest divergence over all neighboring data of ``users`` users."""
    clients = [client(value) for value in range(domain)]
    most = users * max(sum(key) for law in clients for key in law)
    single, one = whole_laws(clients, most)
    crowds: dict[tuple[int, ...], Whole] = {(): {0: 1}}
    for others in range(1, users):
        crowds = {
            values: added(crowds[values[:-1]], single[values[-1]])
            for values in combinations_with_replacement(range(domain), others)
        }
    worst = Fraction(0)
    for rest in crowds.values():
        laws = [added(law, rest) for law in single]
        for first, second in permutations(laws, 2):
            worst = max(worst, divergence(first, second, one**users, epsilon))
    return worst


def law_of(pairs: Iterable[tuple[Iterable[int], Fraction]], alphabet: int) -> Law:
    """Return the law of counts from lists of messages with their chances."""
    total: Law = {}
    for messages, share in pairs:
        counts = Counter(messages)
        key = tuple(counts[symbol] for symbol in range(alphabet))
        total[key] = total.get(key, Fraction(0)) + share
    return total


# The law of one client's messages, as counts of each possible message


def thinned(trials: int, chance: Fraction) -> Iterator[tuple[int, Fraction]]:
    """Yield how many trials succeed, with their chances."""
    for count in range(trials + 1):
        yield count, comb(trials, count) * chance**count * (1 - chance) ** (trials - count)


def response_client(size: int, other: Fraction) -> Callable[[int], Law]:
    """Return the law of a randomized response."""
    own = 1 - (size - 1) * other
    return lambda value: law_of(
        [((symbol,), own if symbol == value else other) for symbol in range(size)], size
    )


def dummy_client(size: int, trials: int, chance: Fraction) -> Callable[[int], Law]:
    """Return the law of a true value among uniform dummies."""
    return lambda value: law_of(
        (
            ((value, *more), share / size**count)
            for count, share in thinned(trials, chance)
            for more in product(range(size), repeat=count)
        ),
        size,
    )


def one_presence_client(silent: Fraction) -> Callable[[int], Law]:
    """Return the law of a message for a 1, and of another one unless the user is silent."""
    return lambda bit: law_of([((0,) * (bit + 1), 1 - silent), ((0,) * bit, silent)], 1)


def unary_client(steps: int, flip: Fraction) -> Callable[[int], Law]:
    """Return the law of flipped bits, as many of them 1 as the value."""
    return lambda ones: law_of(
        (
            ((1,) * (kept + raised) + (0,) * (steps - kept - raised), share * other)
            for kept, share in thinned(ones, 1 - flip)
            for raised, other in thinned(steps - ones, flip)
        ),
        2,
    )
