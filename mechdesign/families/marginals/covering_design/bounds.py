"""Lower bounds on the number of blocks, in integers; each is proved on the family's page.

All are for C(d, k, l), the least number of l-subsets of d points that cover every k-subset.
"""

from __future__ import annotations

from functools import cache


def schoenheim(points: int, order: int, block: int) -> int:
    """Return Schoenheim's bound ceil(d/l ceil((d-1)/(l-1) ... ceil((d-k+1)/(l-k+1)))).

    Schoenheim (1964), theorem 1. For ``order`` 0 it is 1: some block is needed.

    Examples
    --------
    >>> schoenheim(8, 3, 4), schoenheim(16, 3, 4), schoenheim(7, 2, 4)
    (14, 140, 4)
    """
    bound = 1
    for left in range(order - 1, -1, -1):
        bound = -(-(points - left) * bound // (block - left))
    return bound


@cache
def lower_bound(points: int, order: int, block: int) -> tuple[int, str]:
    """Return the best of the proven bounds, and how it is proven.

    Schoenheim's step, C(d, k, l) >= d/l C(d-1, k-1, l-1), is applied to better bounds for pairs: one for
    points that lie in no more blocks than they must (:func:`rank_bound`), one for a single incidence too
    many (:func:`excess_bound`).

    Examples
    --------
    >>> lower_bound(8, 3, 4)
    (14, "Schoenheim's bound")
    >>> lower_bound(7, 2, 4)
    (5, 'rank of the incidence matrix')
    """
    best = (schoenheim(points, order, block), "Schoenheim's bound")
    if order == 2 and block < points:
        for value, source in (
            (excess_bound(points, block), "parity of the excess"),
            (rank_bound(points, block), "rank of the incidence matrix"),
        ):
            if value > best[0]:
                best = value, source
    elif order > 2:
        value, source = lower_bound(points - 1, order - 1, block - 1)
        lifted = -(-points * value // block)
        if lifted > best[0]:
            best = lifted, source if source.endswith("step") else f"{source}, then Schoenheim's step"
    return best


def excess_bound(points: int, block: int) -> int:
    """Return the bound for pairs where Schoenheim's leaves room for exactly one incidence too many; else 1.

    If r = (d-1)/(l-1) is whole and d r = -1 (mod l), ceil(d r / l) blocks would have d r + 1 incidences:
    one point in r + 1 blocks, all others in r. The others meet every point exactly once, so that one pair
    each is left for the first point, which has l - 1 places too many. Hanani's improvement, see Mills and
    Mullin (1992).

    Examples
    --------
    >>> excess_bound(13, 5)
    9
    """
    if block < 2 or (points - 1) % (block - 1):
        return 1
    degree = (points - 1) // (block - 1)
    return (points * degree + 1) // block + 1 if (points * degree + 1) % block == 0 else 1


def rank_bound(points: int, block: int) -> int:
    """Return ceil(d (r+1) / (l+1)) with r = ceil((d-1)/(l-1)), where r (l-1) - (d-1) < r - 1; else 1.

    Of b blocks with e = l b - d r incidences more than needed, at least d - e points lie in exactly r.
    Their rows of the incidence matrix have the Gram matrix (r-1) I + J + A, with A the adjacency matrix
    of pairs covered more than once, whose row sums are at most r (l-1) - (d-1). It is positive definite,
    so that b >= d - e. With e = 0 and A = 0 this is Fisher's inequality (1940).

    Examples
    --------
    >>> rank_bound(7, 4), rank_bound(16, 6)
    (5, 10)
    """
    if block < 2:
        return 1
    degree = -(-(points - 1) // (block - 1))
    surplus = degree * (block - 1) - (points - 1)
    return -(-points * (degree + 1) // (block + 1)) if surplus < degree - 1 else 1
