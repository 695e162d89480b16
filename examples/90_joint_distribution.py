"""Ask for combinations of attributes, twice: what is kept, what is reported, and what can be estimated."""

import tempfile
from pathlib import Path

import numpy as np

import mechdesign as md
from mechdesign.families.joint import JointResponse, PermanentResponse

# Two questions, asked twice; both reports of a user together are 6-private, each single one 4-private.
problem = md.JointCollection(
    attributes=[2, 3],
    epsilon=6.0,
    report_epsilon=4.0,
    reports_per_user=2,
    labels=[["no", "yes"], ["low", "mid", "high"]],
)
print(md.compare(problem))  # the paper's keep = 0.75, add = 0.5 beside the best
mechanism = md.solve(problem).mechanism()
print(mechanism.audit())

# Save it, load it at the client (audited again); what the client keeps survives a restart.
folder = Path(tempfile.mkdtemp())
mechanism.save(folder / "survey.json")
mechanism = JointResponse.load(folder / "survey.json")

people = [["no", "low"]] * 4000 + [["no", "mid"]] * 3000 + [["yes", "high"]] * 3000
clients = mechanism.remember(people, rng=1)  # drop rng= in deployment
first = clients.report(rng=2)
clients.save(folder / "kept.json")
clients = PermanentResponse.load(mechanism, folder / "kept.json")
second = clients.report(rng=3)
print(clients)

# The server: the distribution of penalized likelihood, unbiased shares with intervals, and conditionals.
estimate = mechanism.estimate(first)
print(estimate.marginal([0, 1]))
print(estimate.by("maximum-likelihood").marginal([0, 1]))
print(estimate.conditional([1], given=[0]))

# The most likely distribution is certified by its likelihood ratios, and far from the truth; see the page.
names = ("active-set", "printed-em", "lremh", "lasso")
reports = {"name": "simulated", "distribution": "mixture", "users": 20_000, "seed": 1}
likeliest = md.JointDistribution(attributes=[4, 4, 4], redraw=0.3, keep=0.75, add=0.5, reports=reports)
found = {name: md.solve(likeliest, name) for name in names}
for name, solution in found.items():
    print(f"{name:10} {solution.value:.6f}, largest ratio {solution.quantities['largest_ratio']:.6f}")

penalized = md.solve(
    md.JointDistribution(
        attributes=[4, 4, 4],
        redraw=0.3,
        keep=0.75,
        add=0.5,
        reports=reports,
        penalty=100,
        reference="product",
    )
)
apart = {name: solution.quantities["variation_distance"] for name, solution in found.items()}
print(f"from the truth: {penalized.quantities['variation_distance']:.3f} penalized, {apart}")

truth = np.array([[0.4, 0.3, 0.0], [0.0, 0.0, 0.3]])
table = estimate.marginal([0, 1])
assert mechanism.audit().holds
assert clients.left == 0
assert (first != second).any()
assert (np.abs(table.unbiased - truth) < 5 * table.standard_error).all()
assert min(found, key=lambda name: found[name].value) == "active-set"
assert penalized.quantities["variation_distance"] < apart["active-set"]
assert found["active-set"].quantities["largest_ratio"] < 1 + 1e-6
