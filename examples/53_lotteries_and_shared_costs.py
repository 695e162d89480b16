"""Two goods are sold with a lottery, and the cost of a public good is divided; forecast, then run."""

from __future__ import annotations

from fractions import Fraction

import attrs
import pandas as pd

import mechdesign as md

# A museum sells two exhibitions; a lottery keeps two groups of visitors apart.
VISITORS = {(4, 3): 6, (4, 9): 52, (8, 6): 22, (12, 3): 82, (12, 9): 55, (16, 3): 23}
everyone = sum(VISITORS.values())
museum = md.DirectMechanism(
    environment={
        "name": "two-goods",
        "types": [list(pair) for pair in VISITORS],
        "prior": [f"{count}/{everyone}" for count in VISITORS.values()],
    }
)
sale, prices = md.solve(museum), md.solve(attrs.evolve(museum, outcomes="deterministic"))
menu = sale.mechanism()
for item, types in menu.menu().items():
    print(f"{item}: taken by {', '.join(types)}")
print(f"a lottery earns {sale.value / prices.value - 1:.1%} more than the best price list")
assert Fraction(sale.notes["exact_value"]) > Fraction(prices.notes["exact_value"])

shares = museum.environment.marginals[0]
mean = sum(share * price for share, price in zip(shares, menu.payments[:, 0], strict=True))
assert mean == Fraction(sale.notes["exact_value"])
day = pd.DataFrame({"buyer": list(museum.environment.types[0]) * 100})
sold = menu.run("run", day, rng=1)
print(f"expected {float(mean):.2f} for each visitor")
print(f"{len(sold)} visitors, as many of each type, pay {sold['pays_buyer'].sum():.0f}")

# Five equal households divide the cost of a cable; each is charged as its equals are.
cable = md.DirectMechanism(
    environment={
        "name": "public-good",
        "types": [0, 2, 4],
        "prior": ["1/4", "1/2", "1/4"],
        "agents": 5,
        "cost": 9,
    },
    goal="welfare",
    incentives="bayesian",
    budget="balanced",
)
rule = md.solve(cable, "symmetric")
outcome, paid = rule.mechanism().decide([4, 4, 4, 2, 0], rng=1)
print(f"{outcome}; paid {', '.join(map(str, paid))}")
assert sum(paid) == 9
assert paid[0] == paid[1] == paid[2]
print("a subsidy of 1 is worth", float(rule.prices.of_requirement("budget")))

# Every useful cable without a subsidy is more than can be had, and the answer is a proof.
conflict = md.solve(attrs.evolve(cable, efficient=True))
print(conflict.message)
assert conflict.realisation.proves_infeasibility()
