"""Write the ladder of solved channels for a number from which ``mean-channel`` and surveys start.

    python -m benchmarks.mean_ladder

Every rung is solved from the one below; a few minutes in all.
"""

from __future__ import annotations

import numpy as np

from mechdesign.core.errors import MethodError
from mechdesign.families.mean.column_generation import (
    ChannelDesign,
    Generated,
    default_inputs,
    generate_columns,
    refined,
    symmetric_grid,
)
from mechdesign.families.mean.optimal_channel import ACCURACY, FILE, deployed

RUNGS = sorted(
    {
        *(number / 20 for number in range(1, 21)),
        *(number / 10 for number in range(10, 81)),
        *(number / 2 for number in range(16, 25)),
    }
)


def next_rung(epsilon: float, before: Generated | None) -> Generated:
    """Return the best columns at an epsilon, with those of the rung below to start from."""
    size = default_inputs(epsilon)
    if before is None or before.patterns.shape[1] != size:
        return refined(lambda count: ChannelDesign(epsilon, symmetric_grid(count), "worst"), size, ACCURACY)
    design = ChannelDesign(epsilon, symmetric_grid(size), "worst")
    design.begin()
    design.add(before.outputs, before.patterns)
    try:
        return generate_columns(design, ACCURACY)
    except MethodError:  # the linear program gave up, which depends on where it starts
        return refined(lambda count: ChannelDesign(epsilon, symmetric_grid(count), "worst"), size, ACCURACY)


def main() -> None:
    """Solve every rung and write the file."""
    found: list[Generated] = []
    for epsilon in RUNGS:
        found.append(next_rung(epsilon, found[-1] if found else None))
    variances = [
        4.0 * deployed(one, epsilon, epsilon).worst_variance()
        for one, epsilon in zip(found, RUNGS, strict=True)
    ]
    bits = [np.packbits(one.patterns) for one in found]
    arrays = {
        "epsilons": np.array(RUNGS),
        "variances": np.array(variances),
        "starts": np.cumsum([0, *(len(one.outputs) for one in found)]),
        "outputs": np.concatenate([one.outputs for one in found]),
        "amounts": np.concatenate([one.amounts for one in found]),
        "patterns": np.concatenate(bits),
        "bytes": np.cumsum([0, *map(len, bits)]),
    }
    record = np.zeros((), dtype=[(name, array.dtype, array.shape) for name, array in arrays.items()])
    for name, array in arrays.items():
        record[name] = array
    np.save(FILE, record, allow_pickle=False)


if __name__ == "__main__":
    main()
