"""An optimal auction with a reserve, exactly: solved, run, attacked; and what efficient trade would need."""

from __future__ import annotations

from fractions import Fraction

import mechdesign as md

BIDDERS = {"name": "single-item", "types": [1, 2, 3, 6], "prior": ["1/4", "1/2", "1/8", "1/8"], "agents": 2}

# The best rule under which the truth pays, and its value as a fraction with a proof in fractions.
auction = md.DirectMechanism(environment=BIDDERS)
solution = md.solve(auction)
print(solution.notes["exact_value"], "is the largest expected revenue")
assert solution.notes["exact_value"] == md.solve(auction, "myerson").notes["exact_value"] == "9/4"

# The mechanism: types in, an outcome and payments out; every deviation was audited.
rule = solution.mechanism()
outcome, payments = rule.decide(["6", "3"])
print(outcome, "wins and pays", max(payments))
print(rule.audit())

# Which lies cost the designer most: what one unit of utility in their rows is worth.
for lie, price in solution.prices.worst_lies()[:3]:
    print(f"{lie}: {price}")

# The rule without ironing is refuted by a lie.
(broken, *_) = md.solve(auction, "without-ironing").broken
print(broken)
assert broken.witness["gain"] > 0

# Trade that is always efficient needs a subsidy with these values: Myerson and Satterthwaite.
values = [Fraction(2 * place + 1, 12) for place in range(6)]
trade = md.DirectMechanism(
    environment={"name": "bilateral-trade", "seller": values, "buyer": values},
    goal="welfare",
    incentives="bayesian",
    participation="interim",
    budget="balanced",
    efficient=True,
)
conflict = md.solve(trade)
print(conflict.message)
assert conflict.status == "infeasible"
assert conflict.realisation.proves_infeasibility()

# A menu for a buyer of unknown type.
menu = md.solve(md.Screening(types=[1, 2, 3, 4, 5])).mechanism()
print(menu.choose([1, 3, 4.5]), [str(price) for _, price in menu.items])
assert menu.audit().holds
