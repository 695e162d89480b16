"""Places: noise certified exactly, noise that was published and is not private, and the best channel."""

import numpy as np

import mechdesign as md
from mechdesign.families.response.parameters import grid

# A town of 10 by 10 km; places 1 km apart may differ by a factor of 4 in what is reported.
problem = md.LocationNoise(epsilon=float(np.log(4.0)), area=[0.0, 0.0, 10.0, 10.0], beta=0.05)
print(md.compare(problem))

noise = md.solve(problem).mechanism()
people = np.random.default_rng(1).uniform(2.0, 8.0, (20_000, 2))
reports = noise.randomize(people, rng=2)  # drop rng= in deployment
distance = np.hypot(*(reports - people).T)
print(noise)
print(f"mean distance {distance.mean():.3f} km, {np.mean(distance > noise.radius):.2%} beyond the radius")

# Cut off at the radius it is not private: the audit names two places and a report.
try:
    md.solve(problem, method="truncated").mechanism()
    refused = ""
except md.MechDesignError as error:
    refused = str(error)
print(refused)

# Who knows where people usually are does better than noise: 25 places, most people in two of them.
prior = np.full(25, 0.6 / 23)
prior[[6, 18]] = 0.2
places = md.RandomizedResponse(
    prior=prior, epsilon=float(np.log(2.0)), utility="distance-loss", distance=grid(5, 5)
)
losses = {
    name: -md.solve(places, name).value for name in ("interior-point", "planar-remapped", "planar-laplace")
}
for name, loss in losses.items():
    print(f"{name:16} loses {loss:.3f} squares")

assert noise.audit().holds
assert noise.audit().exact
assert np.mean(distance > noise.radius) < 0.07
assert "FAILS (exact)" in refused
assert losses["interior-point"] < losses["planar-remapped"] < losses["planar-laplace"]
