"""Methods of the protocols with the constants of their papers."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.shuffle.choosing import Choosing, protocol_method


def published_methods(problem: type[Choosing]) -> tuple[Method, ...]:
    """Return each protocol with the constants of its paper, in the order of the kinds."""
    return tuple(protocol_method(problem, kind) for kind in problem.kinds if kind.is_published)
