"""How little noise is enough when reports are shuffled, and what a published theorem would have cost.

A million people answer a question with ten options. The shuffled reports are to keep epsilon 0.5, delta 1e-9.
"""

import mechdesign as md

OPTIONS = {"name": "k-ary", "size": 10}


def main() -> None:
    problem = md.ShuffleLocalBudget(users=1_000_000, central_epsilon=0.5, delta=1e-9, randomizer=OPTIONS)
    solution = md.solve(problem)
    print(f"local epsilon {solution.value:.4f} is proven to be enough, {solution.bound:.4f} is attacked")

    theorem = md.solve(problem, "theorem-4")
    print(f"theorem 4 of the survey allows {theorem.value:.4f}")
    for local in (solution.value, theorem.value):
        oracle = md.FrequencyOracle(categories=10, epsilon=local, users=1_000_000)
        error = 1e6 * md.solve(oracle, "randomized-response").quantities["standard_error"]
        print(f"  with {local:.4f} a rare option is counted with a standard error of {error:.1f} people")

    # If a third of the users may collude, the others have to hide among themselves.
    fewer = md.solve(
        md.ShuffleLocalBudget(
            users=1_000_000, central_epsilon=0.5, delta=1e-9, randomizer=OPTIONS, honest=2 / 3
        )
    )
    print(f"with two thirds of honest users {fewer.value:.4f} is enough")

    # The other way round: what these reports keep once they are shuffled.
    back = md.solve(
        md.ShuffleAmplification(users=1_000_000, local_epsilon=solution.value, delta=1e-9, randomizer=OPTIONS)
    )
    assert back.certificates[0].holds
    assert back.bound <= back.value <= 0.5 * (1 + 1e-4)
    assert theorem.value < fewer.value < solution.value < solution.bound


if __name__ == "__main__":
    main()
