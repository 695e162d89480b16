"""Own utility and own constraint: no answer may be given up, and little may leak on average.

The most truthful channel drops rare answers at epsilon = 2. The mean logarithm of the chance of a true report
does not, as log 0 is minus infinity; it is concave. A cap on the mutual information of answer and report is a
convex constraint. Both are cvxpy expressions of the channel.
"""

import cvxpy as cp
import numpy as np

import mechdesign as md
from mechdesign.families.response import ExtendedResponse, mutual_information

ANSWERS = ["never", "yearly", "monthly", "weekly", "daily"]
PRIOR = np.array([0.55, 0.2, 0.12, 0.08, 0.05])
EPSILON = 2.0
CAP = 0.25  # bits


def fair_utility(channel: cp.Variable) -> cp.Expression:
    """Return the mean logarithm of the chance that a report is true."""
    return PRIOR @ cp.log(cp.diag(channel))


def capped_leakage(channel: cp.Variable) -> list[cp.Constraint]:
    """Allow at most CAP bits of mutual information."""
    return [mutual_information(PRIOR, channel) <= CAP]


def leakage(channel: np.ndarray) -> float:
    return float(mutual_information(PRIOR, cp.Constant(channel)).value)


def main() -> None:
    problems = {
        "most truthful": md.RandomizedResponse(prior=PRIOR, epsilon=EPSILON, labels=ANSWERS),
        "fair": ExtendedResponse(prior=PRIOR, epsilon=EPSILON, labels=ANSWERS, own_utility=fair_utility),
        "fair, capped": ExtendedResponse(
            prior=PRIOR,
            epsilon=EPSILON,
            labels=ANSWERS,
            own_utility=fair_utility,
            own_constraints=capped_leakage,
        ),
    }
    solutions = {name: md.solve(problem) for name, problem in problems.items()}
    print(f"{'channel':14} {'value':>9} {'bound':>9} {'bits':>7}   chance of a true report, by answer")
    for name, solution in solutions.items():
        channel = np.asarray(solution.variables["channel"])
        diagonal = " ".join(f"{chance:.3f}" for chance in channel.diagonal())
        print(f"{name:14} {solution.value:9.5f} {solution.bound:9.5f} {leakage(channel):7.4f}   {diagonal}")

    # What runs is audited exactly, whatever the solver did; the cap is met as the residual says.
    mechanism = solutions["fair, capped"].mechanism()
    print(mechanism.audit())
    answers = np.random.default_rng(11).choice(ANSWERS, size=100_000, p=PRIOR)
    print(mechanism.estimate(mechanism.randomize(answers, rng=12)))

    for solution in solutions.values():
        assert all(certificate.holds for certificate in solution.certificates)
    assert np.asarray(solutions["most truthful"].variables["channel"])[4, 4] == 0.0
    assert np.asarray(solutions["fair"].variables["channel"]).diagonal().min() > 0.3
    assert leakage(mechanism.channel) < CAP + 1e-6 < leakage(solutions["fair"].mechanism().channel)


if __name__ == "__main__":
    main()
