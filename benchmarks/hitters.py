"""Frequent strings: F1 and errors of the ten most frequent words, next to pure-ldp's three and to Bitstogram.

Every method finds words of at most eight letters (40 bits) that it has no list of, with the same total
epsilon a user. Judged are the ten strings with the largest estimates: F1 against the ten most frequent
words, and the root mean squared error of the shares of these ten, a word that was not found counting as an
estimate of 0.

- *here*: the mechanism of ``heavy-hitters`` for these users, and ``top(10)`` of its estimate.
- *PEM*, *TreeHist*, *SFP*: pure-ldp 1.2.0, its own clients and servers with Apple's count-mean sketch, the
  only one of its oracles whose server does not go through all 2^40 strings. Steps of 8 bits (SFP: of two
  letters), 32 prefixes a step. With a million users one collection takes half a minute to two minutes;
  where its variance is nearly the same, TreeHist and SFP use the one-bit sketch there.
- *PEM (hashing)*: the method of Wang, Li and Jha (2019) with optimal local hashing, five equal groups, steps
  of 8 bits and 32 prefixes: written here, vectorised, for users by the million.
- *Bitstogram*: Bassily, Nissim, Stemmer and Thakurta (2017), written here from the paper: half of the users
  report a bucket of 8 bits of a public hash and one bit of their string by local hashing, the others the
  string.

Words: ``zipf`` has 10,000 words of random letters with shares 1/rank^1.1; ``real`` has the words of up to
eight letters of the documentation that comes with Python (``pydoc_data.topics``), with their frequencies.

The table is written to ``benchmarks/results/hitters.csv`` after every collection, which is printed as well;
``python -m benchmarks.hitters`` prints it in the form of the page of results.
"""

from __future__ import annotations

import csv
import itertools
import math
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from mechdesign.families.hitters.prefix_hashing import (
    BucketWeights,
    extension_supports,
    hashes,
    text_supports,
)
from mechdesign.families.hitters.string_code import StringCode
from mechdesign.show.tables import table

TITLE = "Frequent strings: F1 and error of the top ten, 40 bits"

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LENGTH, BITS, WORDS, TOP, BEAM = 8, 40, 10_000, 10, 32
USERS, EPSILONS = (100_000, 1_000_000), (1.0, 2.0, 4.0)
TURNS = 5
SLOW_TURNS = {100_000: 2, 1_000_000: 1}
"""Collections of each setting that are averaged, and those of pure-ldp by the number of users."""

PROCESSES = 2

MOST_ONE_BIT = 1.0
"""Up to this epsilon of a sketch TreeHist and SFP use the one-bit sketch (HCMS) for a million users.

It is quicker. n Var is c(epsilon)^2, of the other sketch (c(epsilon / 2)^2 - 1)/4, with
c(x) = (e^x + 1)/(e^x - 1): 5 % less at epsilon 0.5, 16 % less at 1."""

WORK = 20_000.0
"""Additions of the server a user."""

RESULT = Path(__file__).parent / "results" / "hitters.csv"
HEADER = ["words", "users", "epsilon", "method", "collections", "F1", "error", "seconds"]

Words = NDArray[np.uint64]
Found = dict[str, float]
Setting = tuple[str, int, float, str]
Result = tuple[float, float, float]
CODE = StringCode(LETTERS, BITS)


def zipf_words() -> tuple[list[str], NDArray[np.float64]]:
    """Return made words and their shares."""
    rng = np.random.default_rng(7)
    words: dict[str, None] = {}
    while len(words) < WORDS:
        words["".join(rng.choice(list(LETTERS), size=rng.integers(3, LENGTH + 1)))] = None
    shares = 1.0 / np.arange(1, WORDS + 1) ** 1.1
    return list(words), shares / shares.sum()


def real_words() -> tuple[list[str], NDArray[np.float64]]:
    """Return the words of Python's own documentation and their shares."""
    from pydoc_data.topics import topics

    text = " ".join(topics.values()).lower()
    counts = Counter(word for word in re.findall("[a-z]+", text) if len(word) <= LENGTH)
    words, times = zip(*counts.most_common(WORDS), strict=True)
    return list(words), np.array(times) / sum(times)


SOURCES = {"zipf": zipf_words, "real": real_words}


# Methods: from the answers of all users to estimated shares


def here(answers: list[str], epsilon: float, rng: np.random.Generator) -> Found:
    """Return the strings and shares of the mechanism of this package."""
    work = WORK * len(answers)
    problem = md.HeavyHitters(users=len(answers), epsilon=epsilon, alphabet=LETTERS, length=LENGTH, work=work)
    mechanism = md.solve(problem, method="dynamic-program").mechanism()
    estimate = mechanism.estimate(mechanism.randomize(answers, rng=rng))
    return dict(zip(estimate.strings, estimate.value.tolist(), strict=True)) | dict(estimate.further)


class Hashing:
    """Optimal local hashing of strings of bits, vectorised: reports of a group and estimates."""

    def __init__(self, epsilon: float, texts: Words, length: int, rng: np.random.Generator) -> None:
        buckets = max(1, round(math.log2(math.exp(epsilon) + 1.0)))
        self.weights, self.length, self.users = BucketWeights.of(epsilon, buckets), length, len(texts)
        bits = length + buckets - 1
        self.seeds = rng.integers(0, 1 << bits, len(texts), dtype=np.uint64)
        own = hashes(self.seeds, texts, buckets)
        other = (own + rng.integers(1, 1 << buckets, len(texts))) % (1 << buckets)
        stays = rng.random(len(texts)) < float(self.weights.support_shares()[0])
        self.values = np.where(stays, own, other).astype(np.uint8)

    def _shares(self, supports: NDArray[Any]) -> NDArray[np.float64]:
        own, other = (float(share) for share in self.weights.support_shares())
        shares: NDArray[np.float64] = (supports / self.users - other) / (own - other)
        return shares

    def extensions(self, prefix: int, step: int) -> NDArray[np.float64]:
        """Return the estimates of all extensions of a prefix by ``step`` bits."""
        bits = self.weights.bits
        return self._shares(extension_supports(self.seeds, self.values, prefix, step, self.length, bits))

    def of(self, texts: Words) -> NDArray[np.float64]:
        """Return the estimates of some strings."""
        return self._shares(text_supports(self.seeds, self.values, texts, self.length, self.weights.bits))


def prefix_extension(answers: list[str], epsilon: float, rng: np.random.Generator) -> Found:
    """Return what PEM with local hashing finds: five equal groups, 32 prefixes."""
    codes = rng.permutation(CODE.encode(answers))
    kept, shares = np.zeros(1, dtype=np.uint64), np.zeros(1)
    for turn, group in enumerate(np.array_split(codes, BITS // 8)):
        length = 8 * (turn + 1)
        oracle = Hashing(epsilon, group >> np.uint64(BITS - length), length, rng)
        shares = np.concatenate([oracle.extensions(int(prefix), 8) for prefix in kept])
        extended = (kept[:, None] << np.uint64(8) | np.arange(256, dtype=np.uint64)).ravel()
        best = np.argsort(-shares)[:BEAM]
        kept, shares = extended[best], shares[best]
    return dict(zip(CODE.decode(kept), shares.tolist(), strict=True))


def bitstogram(answers: list[str], epsilon: float, rng: np.random.Generator) -> Found:
    """Return what Bitstogram finds: a bit of the string by a bucket of it, and a confirmation."""
    codes = rng.permutation(CODE.encode(answers))
    half = len(codes) // 2
    factor = int(rng.integers(1 << 40, 1 << 62)) | 1
    bucket = (codes * np.uint64(factor)) >> np.uint64(56)  # a public hash to 8 bits
    candidates = np.zeros(256, dtype=np.uint64)
    for place, group in enumerate(np.array_split(np.arange(half), BITS)):
        bit = codes[group] >> np.uint64(BITS - 1 - place) & np.uint64(1)
        shares = (
            Hashing(epsilon, bucket[group] << np.uint64(1) | bit, 9, rng).extensions(0, 9).reshape(256, 2)
        )
        candidates = candidates << np.uint64(1) | (shares[:, 1] > shares[:, 0]).astype(np.uint64)
    shares = Hashing(epsilon, codes[half:], BITS, rng).of(candidates)
    return dict(zip(CODE.decode(candidates), shares.tolist(), strict=True))


class _OldZeros:
    """numpy, whose ``zeros`` takes None for a shape, as it did before version 2."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def zeros(shape: Any) -> NDArray[np.float64]:
        return np.zeros(() if shape is None else shape)


def _bits_of(words: list[str]) -> dict[str, str]:
    return {word: f"{code:0{BITS}b}" for word, code in zip(words, CODE.encode(words).tolist(), strict=True)}


def _pure_ldp(kind: str, answers: list[str], epsilon: float, rng: np.random.Generator) -> Found:
    """Return what a method of pure-ldp finds, by its own clients and servers."""
    import random

    from pure_ldp import heavy_hitters as library
    from pure_ldp.core import _freq_oracle_server
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer

    _freq_oracle_server.np = _OldZeros()  # its servers without a domain need numpy before version 2
    seed = int(rng.integers(1 << 31))
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (the library draws from numpy's old generator)
    part = epsilon if kind == "PEM" else epsilon / 2.0
    one_bit = kind != "PEM" and len(answers) > 100_000 and part <= MOST_ONE_BIT
    sketch = CMSServer(part, 8, 1024, is_hadamard=one_bit)
    oracle = CMSClient(part, sketch.get_hash_funcs(), 1024, is_hadamard=one_bit)
    if kind == "SFP":
        alphabet = set(LETTERS)
        client: Any = library.SFPClient(epsilon, 2, LENGTH, alphabet, str, oracle)
        server: Any = library.SFPServer(epsilon, 2, LENGTH, set(LETTERS), str, sketch)
        texts = {word: word for word in set(answers)}
    else:
        texts = _bits_of(sorted(set(answers)))
        if kind == "PEM":
            client = library.PEMClient(epsilon, 0, BITS, 8, fo_client=oracle, index_mapper=str)
            server = library.PEMServer(epsilon, 0, BITS, 8, fo_server=sketch, index_mapper=str)
        else:
            client = library.TreeHistClient(epsilon, 8, BITS, fo_client=oracle, index_mapper=str)
            server = library.TreeHistServer(epsilon, BITS, 8, fo_server=sketch, index_mapper=str)
    for answer in answers:
        server.aggregate(client.privatise(texts[answer]))
    strings, times = server.find_heavy_hitters(k=BEAM)
    shares = np.asarray(times, dtype=np.float64) / len(answers)
    back = {text.rstrip("*"): word for word, text in texts.items()}
    return {
        back.get(str(text).rstrip("*"), str(text)): float(s) for text, s in zip(strings, shares, strict=True)
    }


Method = Callable[[list[str], float, np.random.Generator], Found]

METHODS: dict[str, Method] = {
    "here": here,
    "PEM (hashing)": prefix_extension,
    "Bitstogram": bitstogram,
    "PEM": lambda answers, epsilon, rng: _pure_ldp("PEM", answers, epsilon, rng),
    "TreeHist": lambda answers, epsilon, rng: _pure_ldp("TreeHist", answers, epsilon, rng),
    "SFP": lambda answers, epsilon, rng: _pure_ldp("SFP", answers, epsilon, rng),
}
SLOW = ("PEM", "TreeHist", "SFP")


def judged(found: Found, answers: list[str]) -> tuple[float, float]:
    """Return F1 of the ten largest estimates, and the error of the shares of the ten most frequent words.

    Examples
    --------
    >>> judged({"a": 0.5, "b": 0.25}, ["a"] * 3 + ["c"])
    (0.2, 0.11180339887498948)
    """
    truth = Counter(answers).most_common(TOP)
    listed = sorted(found, key=lambda text: -found[text])[:TOP]
    hits = sum(word in listed for word, _ in truth)
    errors = [found.get(word, 0.0) - times / len(answers) for word, times in truth]
    return hits / TOP, math.sqrt(math.fsum(error**2 for error in errors) / TOP)


@dataclass(frozen=True)
class Collection:
    """One collection: its words, users and epsilon, the method, and which repetition it is.

    The answers depend on the words, the users, epsilon and the repetition alone: all methods face the same.
    """

    words: str
    users: int
    epsilon: float
    method: str
    turn: int

    def measured(self) -> Result:
        """Return F1, error, and seconds of one processor."""
        words, shares = SOURCES[self.words]()
        rng = np.random.default_rng([self.turn, self.users, int(self.epsilon)])
        answers = np.array(words)[rng.choice(len(words), size=self.users, p=shares)].tolist()
        start = time.process_time()
        f1, error = judged(METHODS[self.method](answers, self.epsilon, rng), answers)
        return f1, error, time.process_time() - start


def turns(method: str, users: int, quick: bool) -> int:
    """Return how many collections are averaged."""
    if quick:
        return 1
    return TURNS if method not in SLOW else SLOW_TURNS[users]


def row(setting: Setting, results: list[Result]) -> list[str]:
    """Return a line of the table: averages over collections."""
    f1, error, seconds = np.mean(results, axis=0).tolist()
    name, users, epsilon, method = setting
    return [
        name,
        str(users),
        f"{epsilon:g}",
        method,
        str(len(results)),
        f"{f1:.2f}",
        f"{error:.5f}",
        f"{seconds:.0f}",
    ]


def run(quick: bool = False) -> None:
    """Print the table; without ``quick`` write it to the folder of results."""
    from benchmarks.rivals import version

    methods = [name for name in METHODS if name not in SLOW or (not quick and version("pure-ldp") != "-")]
    lines = list(itertools.product(SOURCES, (20_000,) if quick else USERS, EPSILONS, methods))
    jobs = [Collection(*line, turn) for line in lines for turn in range(turns(line[3], line[1], quick))]
    jobs.sort(key=lambda job: (job.turn, job.method in SLOW, job.users))  # every setting once, then again
    results: dict[Setting, list[Result]] = {line: [] for line in lines}
    with ProcessPoolExecutor(PROCESSES) as pool:
        futures = {pool.submit(job.measured): job for job in jobs}
        for future in as_completed(futures):
            job, result = futures[future], future.result()
            results[job.words, job.users, job.epsilon, job.method].append(result)
            print(job.words, job.users, job.epsilon, job.method, job.turn, *result, sep=", ", flush=True)
            rows = [row(setting, measured) for setting, measured in results.items() if measured]
            if not quick:
                with RESULT.open("w", encoding="utf-8", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    print(table(HEADER, rows))


def page_table() -> str:
    """Return the table of the page of results: F1, error in points and collections of every method."""
    with RESULT.open(encoding="utf-8", newline="") as file:
        entries = list(csv.DictReader(file))
    cells = {
        (entry["words"], entry["users"], entry["epsilon"], entry["method"]): (
            f"{float(entry['F1']):.2f}, {100.0 * float(entry['error']):.2f} ({entry['collections']})"
        )
        for entry in entries
        if entry["F1"]
    }
    lines = [f"| words, users, epsilon | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 1) + "|"]
    for name, users, epsilon in itertools.product(SOURCES, USERS, EPSILONS):
        setting = (name, str(users), f"{epsilon:g}")
        texts = [cells.get((*setting, method), "-") for method in METHODS]
        lines.append(f"| {name}, {users:,}, {epsilon:g} | {' | '.join(texts)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page_table())
