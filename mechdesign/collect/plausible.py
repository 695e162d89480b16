"""Estimates that cannot be true: far outside of where the truth must lie, so the reports are others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

FAR = 5.0
"""Largest possible standard errors outside of what is possible from which an estimate is flagged.

For a normal estimate the chance is below 1e-6, whatever the data.
"""

FEWEST = 30
"""Estimates from fewer users are not flagged: they are not normal."""


def implausible(
    names: Sequence[str], value: Any, error: Any, low: Any, high: Any, users: Any = FEWEST
) -> tuple[str, ...]:
    """Return a note when estimates lie many standard errors outside of what is possible, naming the worst.

    Parameters
    ----------
    names : sequence of str
        What each estimate is of.
    value, error : (n,) array
        Estimates, and the largest standard errors they can have.
    low, high : float or (n,) array
        Between which the truth lies.
    users : int or (n,) array
        How many reports each rests on.

    Examples
    --------
    >>> for note in implausible(["no", "yes"], [1.6, -0.6], [0.01, 0.01], 0.0, 1.0):
    ...     print(note)
    2 estimates are impossible, the worst 'no' with 1.6 (60 standard errors above 1): are these its reports?
    >>> implausible(["no", "yes"], [1.02, -0.02], [0.01, 0.01], 0.0, 1.0)
    ()
    """
    estimates, errors = np.atleast_1d(np.asarray(value, float)), np.atleast_1d(np.asarray(error, float))
    if not ((estimates < low) | (estimates > high)).any():
        return ()
    bounds = [np.broadcast_to(np.asarray(end, float), estimates.shape) for end in (low, high)]
    outside = np.maximum(bounds[0] - estimates, estimates - bounds[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(errors > 0.0, outside / errors, np.where(outside > 0.0, np.inf, 0.0))
    far = np.where(np.broadcast_to(np.asarray(users), far.shape) >= FEWEST, far, 0.0)
    wrong = far > FAR
    if not wrong.any():
        return ()
    worst = int(np.argmax(far))
    below = estimates[worst] < bounds[0][worst]
    where = f"below {bounds[0][worst]:g}" if below else f"above {bounds[1][worst]:g}"
    head = "the estimate is" if len(estimates) == 1 else f"{int(wrong.sum())} estimates are"
    whose = "" if len(estimates) == 1 else f" the worst '{names[worst]}' with"
    return (
        f"{head} impossible,{whose} {estimates[worst]:.4g} ({far[worst]:.0f} standard errors {where}): "
        "are these its reports?",
    )
