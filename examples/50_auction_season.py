"""Buy data slot after slot: truthful payments, nobody waits too long, and a crash loses nothing."""

import tempfile
from pathlib import Path

import numpy as np

from mechdesign.families.auction import Bid, OnlineAuction, Season, needed

# An average noise level within 12 dB with probability 0.85, from values in [40, 90] at epsilon = 2.
count = needed(epsilon=2.0, alpha=12.0, delta=0.15, value_range=50.0)
auction = OnlineAuction(["noise"], [count], epsilon=2.0, participation=0.3, tradeoff=0.5, reserve=6.0)
print(auction)

# 90 users; costs are theirs to know, and it does not pay to bid anything else.
rng = np.random.default_rng(1)
bids = {f"user{n}": Bid(*rng.uniform(0.5, 1.5, 2).tolist(), ("noise",)) for n in range(90)}
path = Path(tempfile.mkdtemp()) / "season.json"
season = auction.season()
levels = rng.uniform(55.0, 75.0, 90)
device = auction.randomizer(40.0, 90.0)
for _ in range(30):
    decision = auction.step(season, bids)
    season.save(path)  # on the disk before anybody is told
    winners = [list(bids).index(name) for name in decision.winners]
    reports = device.randomize(levels[winners], rng=rng)  # drop rng= in deployment
print(decision)
print(f"noise: {device.estimate(reports).value:.1f} dB, of the winners {levels[winners].mean():.1f} dB")

# After a crash: the season goes on from its file, and a slot that was decided is only repeated.
again = Season.load(path, auction.fingerprint, season.share)
assert auction.step(again, bids, slot=30) == decision

longest = max(member.idle for member in again.members.values())
print(f"nobody lost more than {auction.longest_wait(4.5)} slots in a row; now the longest is {longest}")
print(again.participation())
assert longest <= auction.longest_wait(4.5)
assert again.participation().holds
assert all(certificate.holds for certificate in auction.audit_slot(again, bids))
assert abs(device.estimate(reports).value - levels[winners].mean()) < 12.0
