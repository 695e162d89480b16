"""Buy privacy from users whose price for it is their secret: design, certify, run, check the theorem."""

import tempfile
from pathlib import Path

import numpy as np

import mechdesign as md
from mechdesign.families.contract import ContractMenu

# 200 users: 90 ask 1 per unit of epsilon, 20 ask 2, 90 ask 2.2. We have 800 to spend.
problem = md.PrivacyContract(types=[1.0, 2.0, 2.2], counts=[90, 20, 90], budget=800.0, data_range=10.0)

print(md.compare(problem, ["closed-form", "published"]))  # all methods: two convex programs more

menu = md.solve(problem).mechanism()
print(menu)

# Save the menu, load it on the platform (audited again), and run it on users with hidden prices.
path = Path(tempfile.mkdtemp()) / "menu.json"
menu.save(path)
menu = ContractMenu.load(path)

rng = np.random.default_rng(4)
prices = np.repeat([1.0, 2.0, 2.2], [90, 20, 90])
values = rng.uniform(0.0, 10.0, 200)
chosen = menu.choose(prices)  # everybody takes what is best for them
reports = menu.randomize(values, chosen, rng=rng)  # drop rng= in deployment
average = menu.estimate(reports, chosen)
print(f"true average {values.mean():.3f}, estimate {average.value:.3f} +- {average.alpha:.3f}")
print(f"paid {menu.payments(chosen).sum():.2f} of {problem.budget}")

# The printed formula drops a constraint: at these counts its menu invites a lie, and it is refused.
try:
    md.solve(problem, method="published").mechanism()
    refused = ""
except md.MechDesignError as error:
    refused = str(error)
print(refused)

assert all(certificate.holds for certificate in menu.certificates())
assert abs(average.value - values.mean()) <= average.alpha
assert menu.payments(chosen).sum() <= problem.budget
assert "incentive_compatibility: FAILS (exact)" in refused
