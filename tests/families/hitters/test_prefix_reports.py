"""The mechanism of frequent strings: hash functions, codes, server, estimates, files and wrong inputs."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import mechdesign as md
from mechdesign.core.errors import MechDesignError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.hitters import PrefixReports, StringCode, prefix_code
from mechdesign.families.hitters.prefix_hashing import (
    extension_supports,
    hashes,
    signed_table,
    text_supports,
    transformed,
)
from mechdesign.families.hitters.prefix_reports import PrefixCounts
from mechdesign.families.hitters.strings import SupportLimits

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ["hello", "selfie", "emoji", "vlog", "gif", "meme"]


def typed(users: int, seed: int = 1) -> list[str]:
    """Return answers: six frequent words, and many rare ones."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.2, 0.15, 0.12, 0.1, 0.08, 0.06])
    rare = ["".join(rng.choice(list(LETTERS), 5)) for _ in range(500)]
    weights = np.concatenate([shares, np.full(500, (1 - shares.sum()) / 500)])
    return rng.choice([*WORDS, *rare], size=users, p=weights).tolist()


MECHANISM = PrefixReports.of(3.0, LETTERS, 30, 4, [14, 30], [0.35, 0.65], [1e-3, 1e-9])


# Hash functions


@pytest.mark.parametrize(("length", "buckets"), [(3, 1), (3, 2), (4, 3)])
def test_two_strings_share_a_bucket_with_probability_one_over_the_buckets(length, buckets):
    """Over all seeds, exactly; and the hash of every string but 0 is uniform."""
    seeds = np.arange(1 << (length + buckets - 1), dtype=np.uint64)
    values = np.stack([hashes(seeds, np.uint64(text), buckets) for text in range(1 << length)])
    for first, second in itertools.combinations(range(1 << length), 2):
        assert (values[first] == values[second]).sum() * (1 << buckets) == len(seeds)


@pytest.mark.parametrize(("length", "step", "buckets"), [(6, 6, 1), (9, 4, 3), (40, 11, 6), (56, 5, 8)])
def test_supports_of_extensions_are_those_of_each_string(length, step, buckets, monkeypatch):
    rng = np.random.default_rng(4)
    seeds = rng.integers(0, 1 << (length + buckets - 1), 300, dtype=np.uint64)
    values = rng.integers(0, 1 << buckets, 300).astype(np.uint8)
    prefix = int(rng.integers(0, 1 << (length - step)))
    texts = np.uint64(prefix << step) | np.arange(1 << step, dtype=np.uint64)
    one_by_one = text_supports(seeds, values, texts, length, buckets)
    for word in ("off", "on"):
        monkeypatch.setenv("MECHDESIGN_KERNELS", word)
        assert (extension_supports(seeds, values, prefix, step, length, buckets) == one_by_one).all()
        assert signed_table(seeds, values, prefix, step, length, buckets).sum() == one_by_one[0] << buckets
        assert (transformed(transformed(np.arange(16))) == 16 * np.arange(16)).all()


# Privacy


def test_every_report_has_the_audited_ratio_at_most():
    """All reports of a small mechanism for all texts, in fractions."""
    mechanism = PrefixReports.of(1.5, "ab", 4, 2, [1, 4], [0.3, 0.7], [0.1, 0.1])
    codes = mechanism.code.encode(["a", "b", "aa", "ab", "ba", "bb"])
    own, other = Fraction(mechanism.weights.own, TOTAL), Fraction(mechanism.weights.other, TOTAL)
    worst = Fraction(1)
    for group, length in enumerate(mechanism.lengths):
        share = Fraction(mechanism.groups[group], TOTAL)
        seeds = np.arange(1 << (length + 1), dtype=np.uint64)
        rows = []
        for code in codes:
            bucket = hashes(seeds, code >> np.uint64(4 - length), 2)
            rows.append(
                [share / len(seeds) * (own if value == b else other) for b in bucket for value in range(4)]
            )
            assert sum(rows[-1]) == share
        for first, second in itertools.permutations(rows, 2):
            worst = max(worst, *(a / b for a, b in zip(first, second, strict=True)))
    assert worst == own / other
    assert math.isclose(math.log(worst), mechanism.audit().true_epsilon, rel_tol=1e-9)
    assert mechanism.audit().holds
    assert mechanism.weights.support_shares() == (own, Fraction(1, 4))


def test_weights_beyond_the_promise_are_refused():
    content = MECHANISM.content() | {"other": MECHANISM.other - 1}
    with pytest.raises(MechDesignError, match="not private as stated"):
        PrefixReports.from_content(content)


# Codes


@pytest.mark.parametrize("alphabet", ["abc", "utf-8", {"a": "1", "b": "011", "c": "010"}])
def test_codes_are_read_back_and_nothing_else_is_possible(alphabet):
    code = StringCode(alphabet, 8)
    everything = np.arange(1 << 8, dtype=np.uint64)
    possible = everything[code.are_possible(everything, 8)]
    texts = code.decode(possible)
    assert len(set(texts)) == len(texts) > 10
    assert (code.encode(texts) == possible).all()
    for length in range(1, 8):  # a prefix of a text is possible
        assert code.are_possible(possible >> np.uint64(8 - length), length).all()


def test_texts_are_composed_and_prefix_codes_are_short():
    code = StringCode("utf-8", 40)
    assert code.encode(["e\u0301"]) == code.encode(["é"])
    assert code.decode(code.encode(["日", "ab é"])) == ["日", "ab é"]
    frequencies = {"e": 12.0, "t": 9.0, "a": 8.0, "q": 0.1}
    words = prefix_code(frequencies, end=20.0)
    assert len(words["e"]) < len(words["q"])
    assert all("1" in word for word in words.values())
    kraft = sum(Fraction(1, 2 ** len(word)) for word in words.values())
    assert kraft < 1  # the rest is the end's
    assert StringCode(words, 30).decode(StringCode(words, 30).encode(["eat", "q"])) == ["eat", "q"]


# Server


def test_frequent_words_are_found_and_their_intervals_cover():
    answers = typed(60_000)
    truth = Counter(answers)
    estimate = MECHANISM.estimate(MECHANISM.randomize(answers, rng=2))
    assert set(estimate.strings) == set(WORDS)
    low, high = estimate.interval()
    shares = np.array([truth[word] / len(answers) for word in estimate.strings])
    assert ((low <= shares) & (shares <= high)).all()
    assert (estimate.standard_error < 0.006).all()
    narrow = estimate.interval(simultaneous=False)
    assert (narrow[0] > low).all()
    assert (narrow[1] < high).all()
    assert estimate.top(3) == ("hello", "selfie", "emoji")
    assert 0.2 < estimate.other < 0.4
    document = json.loads(json.dumps(estimate.as_json()))
    assert document["strings"] == list(estimate.strings)
    guesses = [text for text, _ in document["guesses"]]
    assert guesses
    assert not {*guesses} & {*estimate.strings}, "what is listed is no guess"
    assert list(estimate.to_frame()["category"]) == list(estimate.strings)


def test_parts_in_any_order_are_the_whole_and_a_file_is_a_copy():
    answers = typed(20_000)
    reports = MECHANISM.randomize(answers, rng=3)
    whole, parts = MECHANISM.aggregator(), [MECHANISM.aggregator() for _ in range(3)]
    whole.update(reports)
    for turn, part in enumerate(parts):
        part.update(reports[turn::3][::-1])
    first = parts[2]
    for part in parts[:2]:
        first.merge(PrefixCounts.from_json(MECHANISM, json.loads(json.dumps(part.as_json()))))
    assert first.as_json() == whole.as_json()
    assert str(first.estimate()) == str(whole.estimate())
    texts = MECHANISM.run("randomize", pd.DataFrame({"word": answers[:300]}), rng=1)
    server = MECHANISM.aggregator()
    server.update(texts)
    assert server.users == 300


def test_known_strings_are_estimated_in_any_case():
    mechanism = PrefixReports.of(3.0, LETTERS, 30, 4, [14, 30], [0.35, 0.65], [1e-3, 1e-9], ["rare", "hello"])
    estimate = mechanism.estimate(mechanism.randomize(typed(20_000), rng=2))
    origin = dict(zip(estimate.strings, estimate.origin, strict=True))
    assert origin["rare"] == origin["hello"] == "known"
    assert origin["selfie"] == "found"
    assert abs(estimate.value[estimate.strings.index("rare")]) < 0.03


def test_nothing_is_listed_where_no_prefix_is_left():
    """Without a report of the first group no prefix passes, and the others have nothing to extend."""
    reports = MECHANISM.randomize(typed(2000), rng=4)
    last = reports[MECHANISM.read(reports)[0] == len(MECHANISM.lengths) - 1]
    estimate = MECHANISM.estimate(last)
    assert (estimate.users, estimate.strings, estimate.top(5)) == (len(last), (), ())
    assert "no string has passed" in str(estimate)


def test_nothing_is_listed_where_all_answers_differ():
    rng = np.random.default_rng(1)
    answers = ["".join(rng.choice(list(LETTERS), 6)) for _ in range(5000)]
    estimate = MECHANISM.estimate(MECHANISM.randomize(answers, rng=1))
    assert estimate.strings == ()
    assert "no string has passed" in str(estimate)
    assert estimate.figures() == []
    assert len(estimate.top(5)) == 5  # guesses


def test_simultaneous_intervals_cover_all_strings_at_once():
    """200 collections of 40 shares and 10,000 strings of no user, listed where their count is large.

    The level is 95 %; fewer than 180 have a probability of 0.1 % at the level.
    """
    rng = np.random.default_rng(8)
    shares = np.concatenate([1.0 / np.arange(1, 41), np.zeros(10_000)])
    shares /= shares.sum() * 1.25
    own, other, reports = 0.5, 0.125, 30_000
    right = 0
    for _ in range(200):
        supports = rng.binomial(reports, other + shares * (own - other))
        listed = np.argsort(-supports)[:12]
        low, high = SupportLimits(supports[listed], reports, own, other, len(shares)).ends(0.025)
        right += bool(((low <= shares[listed]) & (shares[listed] <= high)).all())
    assert right >= 180


# Wrong inputs


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Hello", "'Hello' has 'H', which is not in the alphabet"),
        ("hello there", "has ' ', which is not in the alphabet"),
        ("abcdefg", "takes 35 bits, the code has 30; shorten it"),
        ("", "an empty text is no answer"),
        (None, "is missing"),
    ],
)
def test_answers_without_a_code_are_named(answer, text):
    with pytest.raises(MechDesignError, match="row 2: ") as caught:
        MECHANISM.randomize(["hello", answer])
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"known": []}, "known: is an empty list"),
        ({"known": ["TOO"]}, "known: 'TOO' has 'T', which is not in the alphabet"),
        ({"known": ["abcdefghij"]}, "known: 'abcdefghij' takes 50 bits"),
        ({"known": ["a", "a"]}, "known: 'a' appears twice"),
        ({"known": "a"}, "expected a list of strings"),
        ({"alphabet": "aba"}, "alphabet: 'a' appears twice"),
        ({"alphabet": ""}, "alphabet: 0 symbols"),
        ({"alphabet": {"a": "1", "b": "10"}}, "begins with that of 'a'"),
        ({"alphabet": {"a": "00", "b": "1"}}, "has zeros only"),
        ({"alphabet": "a\u0301b"}, "is not in composed form"),
        ({"length": 13}, "13 symbols take more than 62 bits; give at most 12"),
        ({"length": 0}, "bits: is missing"),
        ({"bits": 7}, "bits: 7 is not 30, that of the length"),
        ({"users": 5}, "users: 5 is not from 100"),
        ({"epsilon": 40.0}, "epsilon: 40 is outside"),
        ({"failure": 0.0}, "failure"),
    ],
)
def test_problems_without_a_meaning_are_refused(changes, text):
    given = {"users": 1000, "epsilon": 2.0, "alphabet": LETTERS, "length": 6}
    with pytest.raises(MechDesignError) as caught:
        md.HeavyHitters(**{**given, **changes})
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("lengths", "shares", "text"),
    [
        ([40], [1.0], "40 more bits at once"),  # a table of 2^40 counts
        ([30, 40], [0.5, 0.5], "30 more bits at once"),
        ([], [], "shares: is empty"),
        ([20, 10], [0.5, 0.5], "do not increase"),
        ([20, 40], [0.5, math.nan], "shares"),
        ([20, 40], [1.5, 0.5], "groups: weights"),
    ],
)
def test_levels_that_no_server_can_follow_are_refused(lengths, shares, text):
    with pytest.raises(MechDesignError) as caught:
        PrefixReports.of(2.0, LETTERS, 40, 3, lengths, shares, [0.01] * len(lengths))
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "report",
    [
        "x02" + "00" * 9,  # a group that does not exist
        "x00" + "ff" * 8 + "00",  # a seed of more bits than its group has
        "x01" + "00" * 8 + "10",  # a bucket that does not exist
        "x01",
        "hello",
        7,
    ],
)
def test_reports_that_no_client_sends_are_refused(report):
    server = MECHANISM.aggregator()
    with pytest.raises(MechDesignError):
        server.update(np.array([report], dtype=object))
    assert server.users == 0


def test_damaged_files_of_reports_are_refused():
    server = MECHANISM.aggregator()
    server.update(MECHANISM.randomize(["hello"] * 9, rng=1))
    document = server.as_json()
    groups = document["groups"]
    for damage in (
        {"users": 8},
        {"users": True},
        {"groups": groups[:1]},
        {"groups": [groups[0], [groups[1][0], ""]]},
        {"groups": [groups[0], ["!", "!"]]},
        {"groups": [groups[0], 3]},
        {"groups": groups[::-1]},
        {"mechanism": "x"},
    ):
        if damage == {"groups": groups[::-1]} and groups[0] == groups[1]:
            continue
        with pytest.raises(MechDesignError) as caught:
            PrefixCounts.from_json(MECHANISM, {**document, **damage})
        assert "\n" not in str(caught.value)
    with pytest.raises(MechDesignError, match="there are none"):
        MECHANISM.aggregator().estimate()
