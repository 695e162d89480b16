"""Variances of unbiased shares from one-hot reports, per user, from those of a debiased bit."""

from __future__ import annotations

from collections.abc import Sequence


def single_spreads(own: float, other: float, size: int) -> tuple[float, float]:
    """Return the variances of a sum-to-one debiased bit: of the user's own value, and of another one.

    Of u[b] = (1 - 1/k) t[b] - (sum of the other t)/k + 1/k; over all values of the attribute they sum to
    (1 - 1/k) (s1 + (k - 1) s0), half of that of the bits t where k = 2.

    Parameters
    ----------
    own, other : float
        s1 and s0, the variances of a debiased bit t where the true one is 1, and where it is 0.
    size : int
        k.

    Examples
    --------
    >>> single_spreads(0.75, 0.75, 2)
    (0.375, 0.375)
    """
    keep, drop = (1.0 - 1.0 / size) ** 2, 1.0 / size**2
    return keep * own + (size - 1) * drop * other, keep * other + drop * (own + (size - 2) * other)


def joint_spread(own: float, other: float, sizes: Sequence[int]) -> float:
    """Return the variances of all joint cells of some attributes together, whatever the distribution.

    A product of independent factors has the product of their second moments: it is
    prod_j (1 + (1 - 1/k_j) (s1 + (k_j - 1) s0)) - 1.

    Examples
    --------
    >>> joint_spread(0.75, 0.75, [2]), joint_spread(0.75, 0.75, [2, 2])
    (0.75, 2.0625)
    """
    total = 1.0
    for size in sizes:
        inside, outside = single_spreads(own, other, size)
        total *= 1.0 + inside + (size - 1) * outside
    return total - 1.0
