"""Survey of several columns: everybody reports one pair of columns; any table of the answers is estimated."""

import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np

from mechdesign.families.marginals import MarginalRelease

NAMES = ["age", "income", "region", "smokes"]
LABELS = [["young", "middle", "old"], ["low", "high"], None, ["no", "yes"]]
SIZES = [3, 2, 4, 2]

# 60 000 people; income grows with age, smoking falls with income.
rng = np.random.default_rng(7)
users = 60_000
age, region = rng.integers(0, 3, users), rng.integers(0, 4, users)
income = (rng.random(users) < 0.2 + 0.25 * age).astype(int)
smokes = (rng.random(users) < 0.4 - 0.25 * income).astype(int)
people = {
    "age": np.array(LABELS[0])[age],
    "income": np.array(LABELS[1])[income],
    "region": region,
    "smokes": np.array(LABELS[3])[smokes],
}

# Views: all pairs of columns. Each pair is reported by the frequency oracle of least variance for its cells.
release = MarginalRelease.of(SIZES, list(combinations(range(4), 2)), epsilon=2.0, names=NAMES, labels=LABELS)
print(release.forecast(users))
print(*release.certificates(), sep="\n")
path = Path(tempfile.mkdtemp()) / "release.json"
release.save(path)

# On people's devices: drop rng= in deployment. On the servers of two countries, merged.
client = MarginalRelease.load(path)
reports = client.randomize(people, rng=1)
here, there = client.aggregator(), client.aggregator()
here.update(reports[:20_000])
there.update(reports[20_000:])
here.merge(there)
found = here.estimate()

pair = found.marginal(["income", "age"])
print(pair)
print(found.marginal(["income", "age"], raw=True))
triple = found.marginal(["age", "income", "smokes"])  # in no view: a sum of the same distribution
print(triple)

# Synthetic rows are drawn from the distribution that all marginals are sums of.
rows = found.sample(20_000, rng=2)
print(found.synthetic)

truth = np.bincount(age * 4 + income * 2 + smokes, minlength=12).reshape(3, 2, 2) / users
assert pair.contained
assert not triple.contained
assert np.abs(pair.value.T - truth.sum(axis=2)).max() < 5 * pair.unpenalized_error
assert np.abs(triple.value - truth).max() < 0.02  # independence given income is true here
assert abs((rows[:, 3] == 1).mean() - smokes.mean()) < 0.05
assert release.audit().true_epsilon <= 2.0
