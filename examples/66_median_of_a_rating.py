"""A rating of five levels: the best report for its cumulative shares, and the interval of its median.

The report that is best for the shares of the single levels is not the best one for sums of them. Here the
workload is the cumulative distribution, and the value stands next to a bound for every private report.
"""

import numpy as np

import mechdesign as md


def main() -> None:
    """Design, randomize, estimate; print what was true next to what was found."""
    problem = md.LinearQueries(workload={"name": "likert", "size": 5}, epsilon=1.0)
    best, subset = md.solve(problem), md.solve(problem, method="subset")
    print(
        f"average error {best.value:.3f}, proven bound {best.bound:.3f}, subset selection {subset.value:.3f}"
    )

    mechanism = best.mechanism()
    answers = np.random.default_rng(1).choice(5, size=20_000, p=[0.1, 0.2, 0.3, 0.3, 0.1])
    estimate = mechanism.estimate(mechanism.randomize(answers, rng=2))
    truth = np.cumsum(np.bincount(answers, minlength=5) / len(answers))[:-1]
    for query, right, found, error in zip(
        mechanism.workload.names, truth, estimate.value, estimate.standard_error, strict=True
    ):
        print(f"{query}: {found:.3f} +- {error:.3f} (true {right:.3f})")
        assert abs(found - right) < 4.0 * error
    median = estimate.quantile(0.5)
    print(median)

    assert best.bound is not None
    assert best.value <= best.bound * 1.0001
    assert best.value < 0.9 * subset.value
    assert mechanism.audit().holds


if __name__ == "__main__":
    main()
