"""A fitness app wants the mean of private readings: which mechanism, and is the printed one private?"""

import numpy as np

import mechdesign as md
from mechdesign.families.mean import WORST_VARIANCES
from mechdesign.families.mean.channel import any_mechanism_bound
from mechdesign.families.mean.optimal_channel import best_mechanism

# 1. The published "optimal" one-bit interval and the private one, side by side.
comparison = md.compare(md.MeanInterval(epsilon=1.0, mean=0.5, attributes=36))
print(comparison)
runs = {run.method: run for run in comparison.runs}
private, printed = runs["closed-form"], runs["published"]
leak = printed.certificates[0]
print(f"\nprinted interval: true epsilon {leak.figures['true_epsilon']}, seen at {dict(leak.witness)}")
figure = private.quantities["published_value"]
print(f"n Var: private {private.value:.1f}, printed {figure:.1f} with the paper's own estimator")

# 2. The best mechanism of any form, beside the named ones, and what nobody can beat. Range [-1, 1].
print("\nepsilon    Duchi    piecew.  hybrid   solved   nobody below")
for epsilon in (0.5, 1.0, 2.0):
    solution = md.solve(md.MeanChannel(epsilon=epsilon, inputs=11))
    named = [float(WORST_VARIANCES[name](epsilon)) for name in ("duchi", "piecewise", "hybrid")]
    least = any_mechanism_bound(epsilon, inputs=11)
    shown = "".join(f"{value:9.3f}" for value in (*named, 4 * solution.value, 4 * least))
    print(f"{epsilon:7}{shown}")
    assert 4 * least <= 4 * solution.value < min(named)

# 3. Run it: 50 000 heart rates between 40 and 200, one report each.
mechanism = best_mechanism(1.0, low=40.0, high=200.0)
rates = np.clip(np.random.default_rng(7).normal(75.0, 12.0, 50_000), 40.0, 200.0)
estimate = mechanism.estimate(mechanism.randomize(rates, rng=8))
low, high = estimate.interval(0.99)
print(f"\nmean heart rate {rates.mean():.2f}")
print(f"from private reports {estimate.value:.2f}, 99 % interval {low:.1f} to {high:.1f}")

assert not leak.holds
assert private.certificates[0].holds
assert private.value < figure
assert low < rates.mean() < high
assert all(certificate.holds for certificate in mechanism.certificates())
