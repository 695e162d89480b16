"""Rare events in many slots: reports that are patterns of states, next to the one about the whole state."""

import tempfile
from pathlib import Path

import numpy as np

import mechdesign as md

# Up to two conversions of a click, in four kinds and three windows of time; one click in 50 has any.
kinds = ["visit", "cart", "order", "review"]
slots = [f"{kind} day {day}" for kind in kinds for day in (2, 7, 30)]
problem = md.EventCounts(slots=12, most=2, prior=[0.98, 0.015, 0.005], epsilon=8.0, labels=slots)
best, kary = md.solve(problem), md.solve(problem, method="kary")
print(best)
print(f"variance of one report: {best.value:.4g}, of k-ary response: {kary.value:.4g}")

# Save, load (audited again), randomize on the devices, count on the server.
path = Path(tempfile.mkdtemp()) / "events.json"
best.mechanism().save(path)
mechanism = md.load_mechanism(path)

rng = np.random.default_rng(5)
states = {"none": 98_000, "visit day 2": 1_200, "visit day 2+order day 7": 500, "cart day 7": 300}
clicks = np.repeat(list(states), list(states.values()))
reports = mechanism.randomize(clicks, rng=rng)  # drop rng= in deployment
estimate = mechanism.estimate(reports)
print(estimate)

low, high = estimate.interval(0.999)
truth = np.zeros(12)
truth[[0, 4, 7]] = 0.017, 0.003, 0.005
assert best.status == "feasible"  # no bound for all reports proves it
assert best.value < 1.001 * md.solve(problem, method="orbits").value  # the best that treats slots alike
assert kary.value > 2.0 * best.value
assert ((low <= truth) & (truth <= high)).all()
