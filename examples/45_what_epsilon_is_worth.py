"""What a little more of epsilon or delta buys, where it buys nothing, and which constraints conflict."""

import math

import mechdesign as md
from mechdesign.families.response import ExtendedResponse

# A question with three answers: what would a weaker guarantee buy?
problem = md.RandomizedResponse(
    prior=[0.5, 0.3, 0.2], epsilon=1.0, delta=0.05, labels=["no", "yes", "unsure"]
)
solution = md.solve(problem, method="lp")
worth = solution.sensitivity
print(worth)

# The multipliers predict what solving again finds.
more = md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.01, delta=0.05), method="lp")
predicted, found = 0.01 * worth["epsilon"].slope, more.value - solution.value
print(f"raising epsilon by 0.01: predicted {predicted:.6f}, computed {found:.6f}")

# Where the rarer answers begin to be reported there is no derivative: each side has its own.
kink = md.solve(md.RandomizedResponse(prior=[0.5, 0.25, 0.25], epsilon=math.log(2.0)), method="lp")
print(kink.sensitivity["epsilon"])

# A budget has a price as well.
menu = md.solve(md.PrivacyContract(types=[1, 2, 3], counts=[100, 100, 100], budget=1000.0))
print(menu.sensitivity["budget"])

# Too much is asked of this channel; what of it cannot be had together?
asked = ExtendedResponse(
    prior=[0.5, 0.3, 0.2],
    epsilon=1.0,
    own_constraints=lambda channel: [channel[1, 1] >= 0.1, channel[0, 0] >= 0.9, channel[1, 0] <= 0.2],
)
refused = md.solve(asked)
print(refused.sensitivity)

assert all(item.agrees for item in worth.worths)
assert abs(predicted - found) < 1e-5
assert kink.sensitivity["epsilon"].is_kink
assert math.isclose(menu.sensitivity["budget"].range[0], -2.0 * menu.value / 1000.0, rel_tol=1e-5)
assert refused.sensitivity.conflict == ("custom constraint 1", "custom constraint 2", "epsilon")
