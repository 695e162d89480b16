"""The closed form for the probability of a true report, any number of answers, any (epsilon, delta).

With the prior sorted descending and S_k the sum of its k largest entries,

    u*(pi, eps, delta) = delta + (1 - delta) max_k  e^eps S_k / (e^eps + k - 1).

Proof sketch (docs/families/response.md has it in full). Let m_j = min_i p_ij, M = sum_j m_j. Entry by entry,
p_ii <= min(e^eps m_i + delta, 1 - M + m_i). For fixed M the right side is concave and piecewise linear in m_i
with its kink at t = (1 - M - delta) / (e^eps - 1), so the most likely answers are filled to t first; between
full fillings, M = k t, the bound is linear in M. (Where t < 0, that is 1 - M < delta, the right side is
1 - M + m_i, which gives at most delta + (1 - delta) S_1.) Set by set is stricter, so the bound holds for both
notions; (1 - delta) P_0 + delta I attains it for both. For n = 2 these are eqs. (4) and (15) of Zhou, Lu,
Wu (2019).
"""

from __future__ import annotations

import math

import numpy as np

from mechdesign.collect.kary import KaryChannel
from mechdesign.core.method import Outcome
from mechdesign.families.response.randomized_response.problem import RandomizedResponse

DENSE_LIMIT = 1024
"""Up to this many answers the channel is a plain (n, n) array; above, a structured KaryChannel."""


def best_count(problem: RandomizedResponse) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.int64]], float]:
    """Return the number of answers to keep, all answers by falling prior, and the optimum u*."""
    order = np.argsort(-problem.prior, kind="stable")
    sums = np.cumsum(problem.prior[order], dtype=np.longdouble)
    # e^eps S / (e^eps + k - 1), divided through by e^eps so that nothing overflows
    others = np.arange(problem.size, dtype=np.float64) * math.exp(-problem.epsilon)
    values = (sums / (1.0 + others)).astype(np.float64)
    count = int(np.argmax(values)) + 1
    return count, order, problem.delta + (1.0 - problem.delta) * float(values[count - 1])


def run(problem: RandomizedResponse) -> Outcome:
    """Evaluate the closed form and build its channel."""
    count, order, optimum = best_count(problem)
    structured = KaryChannel(problem.size, order[:count].astype(np.int64), problem.epsilon, problem.delta)
    channel = structured.dense() if problem.size <= DENSE_LIMIT else structured
    return Outcome(
        status="optimal",
        variables={"channel": channel},
        bound=optimum,
        bound_source="the closed form's proof",
        solver="closed form",
        notes={"kept_answers": count},
        realisation=structured,
    )


def why_not(problem: RandomizedResponse) -> str | None:
    """Return why the closed form does not apply, or None."""
    if problem.is_extended:
        return "there are custom constraints or a custom utility"
    if not isinstance(problem.utility, str) or problem.utility != "truth":
        return "it is for the utility 'truth'"
    if problem.distance is not None:
        return "it is for plain, not for metric privacy"
    return None
