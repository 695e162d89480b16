"""What a solution must keep before a mechanism is built from it."""

from __future__ import annotations

from mechdesign.core.certificate import Certificate
from mechdesign.core.solution import Solution


def broken_certificates(solution: Solution) -> tuple[Certificate, ...]:
    """Return the certificates that fail although the method promises what they are about.

    Optimality is promised by the status ``optimal``, and by no heuristic; everything else by every method.
    ``build`` refuses a solution that breaks one.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.PrivacyContract(types=[1, 2, 2.1], counts=[100, 1, 100], budget=1000)
    >>> broken_certificates(md.solve(problem))
    ()
    >>> [certificate.property for certificate in broken_certificates(md.solve(problem, method="published"))]
    ['incentive_compatibility', 'monotonicity']
    """
    claims_optimality = solution.status == "optimal" and solution.kind != "heuristic"
    return tuple(
        certificate
        for certificate in solution.certificates
        if not certificate.holds and (claims_optimality or certificate.property != "optimality")
    )
