"""Classification from a noisy marginal (Zhang 2019, section 3.4.4), with scikit-learn.

    python -m benchmarks.marginals_classification FOLDER --data adult --copies 1 4 16

Five features and the label make a marginal of six attributes, which each method releases from four fifths of
the people. Rows are drawn from it, a support vector machine is trained on them, and its share of errors is
measured on the people who were left out. "NoNoise" trains on the true marginal, "Majority" says the more
frequent label.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.marginals_data import CATEGORICAL, People, read
from benchmarks.marginals_experiment import Errors, show
from benchmarks.marginals_methods import Method, Setting, make
from mechdesign.core.errors import MissingPackageError
from mechdesign.families.marginals.papers.rivals import nearest_table, true_marginal
from mechdesign.work.bars import progress

FEATURES = {
    "adult": ("age", "workclass", "education", "education-num", "occupation"),
    "acs": ("AGEP", "MSP", "EDU", "INDP_CAT", "DPHY"),
}
LABEL = "income"
ATTRIBUTES = 8
METHODS = ("CALM", "FC", "AM", "FT")


def one_hot(cells: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Return a column per value for rows of codes."""
    parts = [np.eye(size)[cells[:, place]] for place, size in enumerate(sizes)]
    return np.concatenate(parts, axis=1)


def misclassified(marginal: NDArray[np.float64], rows: int, test: People, rng: np.random.Generator) -> float:
    """Return the share of test people that a machine gets wrong which is trained on rows of a marginal.

    Equal rows are given once, with their number as the weight, which is the same for the classifier.
    """
    try:
        from sklearn.svm import SVC
    except ImportError as error:
        raise MissingPackageError("scikit-learn: is not installed; pip install scikit-learn") from error
    sizes = test.sizes
    drawn = rng.multinomial(rows, nearest_table(marginal).ravel())
    kept = np.flatnonzero(drawn)
    cells = np.column_stack(np.unravel_index(kept, sizes))
    if len(np.unique(cells[:, -1])) < 2:
        return float((test.codes[:, -1] != cells[0, -1]).mean())
    # The penalty is per row; its mean over the rows is what matters, whatever their number.
    machine = SVC(kernel="rbf", gamma="scale", C=10.0)
    machine.fit(
        one_hot(cells[:, :-1], sizes[:-1]), cells[:, -1], sample_weight=drawn[kept] * len(kept) / rows
    )
    numbers = np.ravel_multi_index(tuple(test.codes.T), sizes)
    distinct, counts = np.unique(numbers, return_counts=True)
    people = np.column_stack(np.unravel_index(distinct, sizes))
    wrong = machine.predict(one_hot(people[:, :-1], sizes[:-1])) != people[:, -1]
    return float(counts[wrong].sum() / counts.sum())


def halved(people: People) -> People:
    """Return attributes of two values: each cut where the two parts are most nearly of equal size."""
    columns = []
    for column, size in zip(people.codes.T, people.sizes, strict=True):
        below = np.array([(column < cut).mean() for cut in range(1, size)])
        columns.append((column > np.argmin(abs(below - 0.5))).astype(np.int64))
    return People(np.column_stack(columns), (2,) * len(columns), people.names)


def split(people: People, rng: np.random.Generator) -> tuple[People, People]:
    """Return four fifths of the people, and the rest."""
    order = rng.permutation(len(people.codes))
    cut = len(order) * 4 // 5
    parts = (people.codes[order[:cut]], people.codes[order[cut:]])
    return People(parts[0], people.sizes, people.names), People(parts[1], people.sizes, people.names)


def run(people: People, name: str, copies: int, options: argparse.Namespace) -> None:
    """Print the shares of errors by epsilon."""
    rng = np.random.default_rng(options.seed)
    wanted = tuple(sorted(people.names.index(item) for item in (*FEATURES[name], LABEL)))
    # The label comes last in the marginal's order of attributes.
    assert people.names[wanted[-1]] == LABEL
    columns: list[Errors] = []
    refusals = set()
    for epsilon in options.epsilons:
        found = Errors()
        for _ in progress(range(options.repetitions), options.repetitions, f"epsilon {epsilon:g}"):
            train, test = split(people, rng)
            asked = People(
                test.codes[:, list(wanted)], tuple(test.sizes[item] for item in wanted), FEATURES[name]
            )
            codes, rows = np.repeat(train.codes, copies, axis=0), len(train.codes) * copies
            true = true_marginal(train.codes, train.sizes, wanted)
            more = int(true.reshape(-1, 2).sum(axis=0).argmax())
            found.setdefault("NoNoise", []).append(misclassified(true, rows, asked, rng))
            found.setdefault("Majority", []).append(float((asked.codes[:, -1] != more).mean()))
            for method in METHODS:
                made = make(method, Setting(people.sizes, len(wanted), rows, epsilon))
                if not isinstance(made, Method):
                    refusals.add(made)
                    continue
                answer = made.collect(codes, rng)[method]
                found.setdefault(method, []).append(misclassified(answer(wanted), rows, asked, rng))
        columns.append(found)
    kind = ", two values each" if options.binary else ""
    print(f"\n{name}{kind}: {len(people.codes)} people x {copies}, {options.repetitions} repetitions")
    show(columns, [f"{epsilon:g}" for epsilon in options.epsilons], "errors")
    for reason in sorted(refusals):
        print(f"  {reason}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments and print a table a data set and number of copies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the data are")
    parser.add_argument("--data", action="append", choices=CATEGORICAL)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.2, 0.8, 1.4, 2.0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--binary", action="store_true", help="cut every attribute into two values")
    parser.add_argument("--seed", type=int, default=2019)
    options = parser.parse_args(arguments)
    for name in options.data or CATEGORICAL:
        people = read(options.folder, name).first(ATTRIBUTES)
        people = halved(people) if options.binary else people
        for copies in options.copies:
            run(people, name, copies, options)


if __name__ == "__main__":
    main()
