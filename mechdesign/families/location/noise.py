"""The problem ``location-noise``: private noise on a place in the plane, and how far it reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Protocol

from mechdesign.collect.codec import checked_area
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, UnknownNameError
from mechdesign.core.fields import amount, checked, frozen_problem, real
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables, companion
from mechdesign.core.solution import Solution
from mechdesign.families.location.lattice import PlanarLattice
from mechdesign.families.location.location_audit import LocationAudit
from mechdesign.families.location.mechanism import LocationMechanism, PlanarLaplace, planar_epsilon


class PublishedNoise(Protocol):
    """Noise of a source that is to be measured and refused."""

    radius: float

    @property
    def mean_distance(self) -> float:
        """The expected distance: (2 - (t^2 + 2 t + 2) e^-t) / (eps (1 - (1 + t) e^-t)), t = eps radius."""

    def audit(self) -> LocationAudit:
        """Return the audit, which fails: two places and a report that one of them excludes."""

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the certificate of its privacy, which fails."""

    def refusal(self) -> CertificateError:
        """Return the error that says why it is not built, with the witness."""


@frozen_problem()
class LocationNoise(Problem[LocationMechanism]):
    r"""Noise that makes places at the distance d differ by a factor e^(eps d) at most, with a short reach.

    ::

        minimize    the expected distance between place and report
        subject to  f(y | x) <= e^(eps \|x - x'\|) f(y | x')       for all places x, x' and reports y

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Andres et al. (2013), definition 3.1 and section 4; Zhang (2019), section 6.4, for the radius.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.LocationNoise(epsilon=2.0, area=[0.0, 0.0, 10.0, 10.0])
    >>> solution = md.solve(problem)
    >>> solution.method, round(solution.value, 3), solution.mechanism().audit().exact
    ('lattice', 1.006, True)
    """

    name: ClassVar[str] = "location-noise"
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 1.4, "area": [0.0, 0.0, 20.0, 20.0]}
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "expected distance of a report"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = "its noises are formulas; there is nothing left to choose"
    summary: ClassVar[str] = "planar Laplace noise on places, exact on a lattice, and its radius"
    compared_with: ClassVar[str] = "the kinds of noise that are built in"

    epsilon: float = amount(
        "> 0, per unit of length of the coordinates.",
        lambda _, epsilon: planar_epsilon(epsilon),
        form="float",
    )
    area: Sequence[float] = checked(
        "Area of the users. Reports outside are moved to its nearest location.",
        lambda _, area: checked_area(area),
        form="(x_low, y_low, x_high, y_high)",
    )
    beta: float = real(
        "In (0, 1): the radius around a report is the one that the noise exceeds with this probability.",
        low=0.0,
        high=1.0,
        low_open=True,
        high_open=True,
        default=0.05,
    )
    step: float | None = real(
        "Of the lattice on which the exact mechanism works; 1 / (8 epsilon) by default.",
        low=0.0,
        low_open=True,
        high_open=True,
        default=None,
    )

    @cached_property
    def lattice(self) -> PlanarLattice:
        """The exact mechanism."""
        return PlanarLattice(self.epsilon, self.area, self.step, self.beta)

    @cached_property
    def laplace(self) -> PlanarLaplace:
        """The mechanism of real numbers."""
        return PlanarLaplace(self.epsilon, self.beta, self.area)

    def noise(self, variables: Variables) -> LocationMechanism | PublishedNoise:
        """Return the noise that ``variables["noise"]`` names: lattice, laplace, or one of a source.

        Those of the sources are found by ``published_noise`` in a home.
        """
        name = variables["noise"]
        if name == "lattice":
            return self.lattice
        if name == "laplace":
            return self.laplace
        published = companion(type(self), "published_noise")
        others: Mapping[str, PublishedNoise] = {} if published is None else published(self)
        if name not in others:
            *names, last = "lattice", "laplace", *others
            raise UnknownNameError("noise", f"no '{name}'", f"use {', '.join(names)} or {last}")
        return others[name]

    def outcome(self, noise: str) -> Outcome:
        """Return the outcome of a method that takes a noise by its name; the problem judges it."""
        variables = {"noise": noise}
        return Outcome(
            status="feasible",
            variables=variables,
            solver="formula",
            notes={"radius": self.noise(variables).radius},
        )

    def objective(self, variables: Variables) -> float:
        return self.noise(variables).mean_distance

    def residuals(self, variables: Variables) -> dict[str, float]:
        return {"excluded_reports": float(not isinstance(self.noise(variables), LocationMechanism))}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        return self.noise(solution.variables).certificates()

    def mechanism(self, solution: Solution[Any]) -> LocationMechanism:
        """Return the mechanism that runs; noise of a source is refused with its witness."""
        noise = self.noise(solution.variables)
        if isinstance(noise, LocationMechanism):
            return noise
        raise noise.refusal()


def noise_on_a_lattice(problem: LocationNoise) -> Outcome:
    """Return the noise on a lattice."""
    return problem.outcome("lattice")


def noise_in_real_numbers(problem: LocationNoise) -> Outcome:
    """Return the noise in real numbers."""
    return problem.outcome("laplace")


METHODS = (
    Method("lattice", LocationNoise, "analytic",
           "discrete planar Laplace noise on a lattice, certified in integers",
           noise_on_a_lattice),
    # As published by Andres et al. (2013).
    Method("planar-laplace", LocationNoise, "analytic",
           "planar Laplace noise in real numbers: leaks through its last bits in floating point",
           noise_in_real_numbers),
)  # fmt: skip
