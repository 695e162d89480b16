"""Small maps with random priors, and their losses counted place by place."""

import math

import numpy as np

import mechdesign as md
from mechdesign.families.spectrum.partition import dirichlet


def line(seed, size=9, **changes):
    return md.SpectrumPartition(prior=dirichlet(size, seed, 2.0), **changes)


def grid(seed, rows=3, columns=4, **changes):
    return md.SpectrumPartition(prior=dirichlet(rows * columns, seed, 2.0, columns), **changes)


def served_less(problem, members):
    """Return the loss of a set by counting lattice places one by one."""
    rows, columns = problem.shape
    own = [divmod(place, columns) for place in np.flatnonzero(members).tolist()]
    far = math.floor(problem.reach)
    flat = problem.on_line
    near = [
        (a, b)
        for a in ([0] if flat and rows == 1 else range(-far, far + 1))
        for b in range(-far, far + 1)
        if a * a + b * b <= problem.reach**2
    ]
    return len({(y + a, x + b) for y, x in own for a, b in near}) - len(near)
