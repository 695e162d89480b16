"""Count categories through a shuffler: choose a protocol, run it, and convict one that is built wrongly."""

import tempfile
from pathlib import Path

import numpy as np

import mechdesign as md
from mechdesign.families.shuffle import CntBN, HistDump
from mechdesign.families.shuffle.promise import Promise
from mechdesign.foreign.black_box import attack

# 20 000 people have one of six browsers; nobody may send more than two messages.
names = ["Chrome", "Edge", "Firefox", "Opera", "Safari", "none"]
problem = md.ShuffleHistogram(
    users=20_000, categories=6, epsilon=1.0, delta=1e-6, max_messages=2, labels=names
)
print(md.compare(problem, ["best", "hist-kr", "hist-kr-published", "hist-dump", "hist-flip"]))

protocol = md.solve(problem).mechanism()
print(protocol)

# Save it for the clients; loading proves its privacy again.
path = Path(tempfile.mkdtemp()) / "browsers.json"
protocol.save(path)
protocol = HistDump.load(path)

rng = np.random.default_rng(6)
answers = rng.choice(names, size=20_000, p=[0.6, 0.05, 0.1, 0.0, 0.2, 0.05])
messages = protocol.encode(answers, rng=rng)  # on people's devices: drop rng= in deployment
shuffled = protocol.shuffle(messages)
counters = [protocol.counter() for _ in range(2)]  # two machines count half of the messages each
for counter, part in zip(counters, np.array_split(shuffled, 2), strict=True):
    counter.update(part)
counters[0].merge(counters[1])
estimate = counters[0].estimate()
print(estimate)

# Three of four users drop out: what was noise enough for all of them is not enough any more.
promise = Promise(users=400, epsilon=0.5, delta=0.01)
for_all, for_quarter = CntBN.calibrated(promise), CntBN.calibrated(Promise(400, 0.5, 0.01, honest=0.25))


def seen(counting: CntBN, users: int, value: int) -> np.ndarray:
    """Ones and coins of ``users`` users that a shuffler lets through; all users but one hold 0."""
    coins = rng.binomial(users, float(counting.noise.chance), size=40_000)
    return np.stack([value + rng.binomial(coins, 0.5), coins], axis=1)


found = {
    name: attack(seen(counting, 100, 1), seen(counting, 100, 0), epsilon=0.5)
    for name, counting in {"for all": for_all, "for a quarter": for_quarter}.items()
}
for name, result in found.items():
    print(f"{name}: {result}")

true_counts = np.array([(answers == name).sum() for name in names])
assert (np.abs(estimate.value - true_counts) <= 5 * estimate.standard_error).all()
assert all(certificate.holds for certificate in protocol.certificates())
assert found["for all"].convicts(promise.delta)
assert not found["for a quarter"].convicts(promise.delta)
