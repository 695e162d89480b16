"""Which questions to ask whom: plan views for the tables that are wanted, collect, and compare the errors."""

import numpy as np

import mechdesign as md

# 60000 users answer one small set of questions each; four tables are wanted, one of them most.
problem = md.MarginalViews(
    attributes=[6, 4, 5, 2],
    names=["age", "region", "income", "smokes"],
    users=60_000,
    epsilon=1.5,
    workload=[
        ["age", "smokes"],
        ["region", "smokes"],
        {"attributes": ["income", "smokes"], "weight": 3.0},
        ["age"],
    ],
)
print(md.compare(problem))
solution = md.solve(problem)
predicted = dict(zip(problem.targets, solution.quantities["predicted_error"], strict=True))
for view, share in zip(solution.variables["views"], solution.variables["shares"], strict=True):
    print(f"{share:6.1%} of the users report {', '.join(problem.shown_view(view))}")

# Simulated people; each client draws a view and reports its cell, and only that leaves the device.
rng = np.random.default_rng(7)
law = rng.dirichlet(np.ones(6 * 4 * 5 * 2)).reshape(6, 4, 5, 2)
cells = rng.choice(law.size, size=problem.users, p=law.ravel())
people = np.column_stack(np.unravel_index(cells, law.shape))

release = solution.mechanism()
estimate = release.estimate(release.randomize(people, rng=rng))  # drop rng= in deployment
ratios = []
for table, error in predicted.items():
    names = problem.shown_view(table)
    exact = law.sum(axis=tuple({0, 1, 2, 3} - set(table)))
    found = float(((estimate.marginal(names).value - exact) ** 2).sum())
    print(f"{' x '.join(names)}: squared error {found:.5f}, predicted of unbiased tables {error:.5f}")
    ratios.append(found / error)

assert max(ratios) < 3.0  # squared errors scatter around their mean; the estimate mends that
