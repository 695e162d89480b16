"""Find frequent words that nobody has listed, and estimate their shares, from one private report per user."""

import numpy as np

import mechdesign as md

problem = md.HeavyHitters(
    users=30_000, epsilon=4.0, alphabet="abcdefghijklmnopqrstuvwxyz", length=5, work=3e8, known=["radio"]
)
solution = md.solve(problem)
print(f"least share that is found with probability 90%: {solution.value:.2%}, bound {solution.bound:.2%}")
mechanism = solution.mechanism()

words = ["hello", "gif", "vlog", "emoji", "meme"] + [
    f"{a}{b}{c}" for a in "abcd" for b in "eiou" for c in "lmnprst"
]
shares = 1.0 / np.arange(1, len(words) + 1)
answers = np.random.default_rng(3).choice(words, size=30_000, p=shares / shares.sum())

reports = mechanism.randomize(answers, rng=1)  # on each device, without rng
print("a report:", mechanism.written(reports[:1])[0])

estimate = mechanism.estimate(reports)
print(estimate)
print("guesses beyond the list:", estimate.top(len(estimate.strings) + 3)[-3:])

common = [
    word for word, share in zip(words, shares / shares.sum(), strict=True) if share >= 1.5 * solution.value
]
assert set(common) <= set(estimate.strings)
low, high = estimate.interval()
for word, bottom, top in zip(estimate.strings, low, high, strict=True):
    assert bottom <= np.mean(answers == word) <= top, word
