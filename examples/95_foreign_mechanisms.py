"""Audit mechanisms of other programs exactly, and build the optimum for the task of a deployed system."""

from fractions import Fraction

import numpy as np

import mechdesign as md
from mechdesign.foreign.black_box import attack_program
from mechdesign.foreign.channels import ForeignChannel
from mechdesign.foreign.rappor import Rappor

# A channel as a solver returned it: one entry is 0, its rows do not sum to one, and epsilon is infinite.
solved = ForeignChannel(np.array([[1.0, 0.0], [1.0 - 4.5e-8, 4.5e-8]]), answers=["no", "yes"])
print(solved.audit())

# Fractions stay exact.
third = Fraction(1, 3)
response = ForeignChannel([[2 * third, third], [third, 2 * third]])
print(response.audit())
print(response.audit().certificate(0.6931))

# RAPPOR as its repository configures it: one report, ten reports of one value, any number of them.
rappor = Rappor(bits=16, hashes=2, cohorts=64, p=Fraction(1, 2), q=Fraction(3, 4), f=Fraction(1, 2))
for reports in (1, 10, None):
    print(rappor.audit(reports).lines()[0])

# One bit is a boolean: true sets it, false does not. A million reports are compared by their logarithms.
boolean = Rappor(bits=1, hashes=1, p=Fraction(1, 4), q=Fraction(3, 4), f=Fraction(0))
print(boolean.audit(1))
print(boolean.audit(1_000_000).lines()[1])

# A program that is only run: a lower bound of its epsilon, with its confidence.
rng = np.random.default_rng(3)
shares = {"no": 0.8, "yes": 0.2}
runs = {answer: np.where(rng.random(20_000) < share, "A", "B").tolist() for answer, share in shares.items()}
attacked = attack_program(runs)
print(attacked)

# What the best mechanism for the task of Apple's count mean sketch would buy, and that mechanism.
model = md.load_model("deployed/apple_cms")
deployed, best = md.solve(model.problem, "as-deployed"), md.solve(model.problem)
print(f"{deployed.value / best.value:.2f} times the variance of the optimum")
mechanism = best.mechanism()
print(mechanism.audit())

assert solved.audit().infinite
assert response.audit().ratio == 2
assert not response.audit().keeps(0.6931)
assert rappor.audit(1).ratio == Fraction(5929, 2025)
assert rappor.audit(None).ratio == 81
assert boolean.audit(1).ratio == 3
assert boolean.audit(None).infinite
assert boolean.audit(1_000_000).keeps("1098612.29")
assert not boolean.audit(1_000_000).keeps("1098612.28")
assert 1.2 < attacked.epsilon < np.log(4.0)
assert 2.4 < deployed.value / best.value < 2.5
assert mechanism.audit().holds
