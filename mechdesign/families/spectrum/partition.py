"""Maps of an owner's place, a line or a grid: named priors, the sets that a cloak may be, and their costs.

Priors are uniform, random with a seed, or counts of a map. Sets are intervals of a line, rectangles and discs
of a grid. A set Q costs the places of the unbounded lattice that lose service: those within ``reach`` of Q,
less those within ``reach`` of one place, which are lost even where the owner's place is known.

The problem ``spectrum-partition``: how a map with a prior is divided into cloaks of its owner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import Generators, Kept, checked, choice, frozen_problem, real, related, whole
from mechdesign.core.problem import Outcome, Problem, Sense, Status, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import finite_array, in_range, integer, privacy_delta, probability_vector
from mechdesign.core.values import Matrix, Vector
from mechdesign.families.spectrum.geometry import rounded_down
from mechdesign.show.figure import Bars, Figure, Heat, Panel, Points

if TYPE_CHECKING:
    import cvxpy

Array = NDArray[np.float64]

MOST_PLACES = 400
"""Places of a map at most: the sets that are considered grow with a power of their number."""


def uniform(size: int, columns: int | None = None) -> Array:
    """Return equal probabilities, on a line or on a grid with this many columns.

    Examples
    --------
    >>> uniform(4), uniform(4, columns=2).shape
    (array([0.25, 0.25, 0.25, 0.25]), (2, 2))
    """
    count = integer("prior.size", size, 1, MOST_PLACES)
    return _laid_out(np.ones(count), columns)


def dirichlet(size: int, seed: int, concentration: float = 1.0, columns: int | None = None) -> Array:
    """Return a random prior from a symmetric Dirichlet distribution, repeatable by its seed.

    Examples
    --------
    >>> dirichlet(6, seed=1, columns=3).shape
    (2, 3)
    """
    count = integer("prior.size", size, 1, MOST_PLACES)
    alpha = in_range("prior.concentration", concentration, 0.0, 1e9, low_open=True)
    generator = np.random.default_rng(integer("prior.seed", seed, 0))
    return _laid_out(generator.gamma(alpha, size=count) + np.finfo(float).tiny, columns)


def counts(counts: Any, extra: float = 0.0, columns: int | None = None) -> Array:
    """Return probabilities proportional to counts, each enlarged by ``extra``.

    Examples
    --------
    >>> counts([3, 0, 1, 0], columns=2)
    array([[0.75, 0.  ],
           [0.25, 0.  ]])
    """
    numbers = finite_array("prior.counts", counts, 1)
    more = in_range("prior.extra", extra, 0.0, 1e100)
    if (numbers < 0).any():
        place = int(np.argmax(numbers < 0))
        raise ParameterError("prior.counts", f"entry {place} is negative", "give counts >= 0")
    if float(numbers.max()) > 1e100 or not (numbers + more).any():
        raise ParameterError("prior.counts", "are all 0 or above 1e100", "give counts of places")
    return _laid_out(numbers + more, columns)


def _laid_out(raw: Array, columns: int | None) -> Array:
    prior: Array = raw / raw.sum()
    if columns is None:
        return prior
    width = integer("prior.columns", columns, 1, MOST_PLACES)
    if len(prior) % width:
        raise ParameterError(
            "prior.columns", f"{width} columns do not divide {len(prior)} places", "give a divisor"
        )
    return prior.reshape(-1, width)


GENERATORS: Mapping[str, Callable[..., Any]] = {"uniform": uniform, "dirichlet": dirichlet, "counts": counts}


Members = NDArray[np.bool_]


@lru_cache(maxsize=4)
def candidate_sets(rows: int, columns: int) -> Members:
    """Return all intervals of a line, or all rectangles and discs of a grid, each once, a row per set.

    Discs have their centers at places, and halfway between neighbors, and are cut to the map.

    Examples
    --------
    >>> candidate_sets(1, 3).astype(int).tolist()
    [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    candidates = {row.tobytes() for row in _rectangles(rows, columns)}
    if rows > 1 and columns > 1:
        candidates |= {row.tobytes() for row in _discs(rows, columns)}
    every = np.array([np.frombuffer(row, dtype=np.bool_) for row in sorted(candidates)])
    every.setflags(write=False)
    return every


def _rectangles(rows: int, columns: int) -> list[Members]:
    vertical, horizontal = _intervals(rows), _intervals(columns)
    return [np.outer(v, h).ravel() for v in vertical for h in horizontal]


def _intervals(size: int) -> list[Members]:
    places = np.arange(size)
    return [(places >= low) & (places <= high) for low in range(size) for high in range(low, size)]


def _discs(rows: int, columns: int) -> list[Members]:
    y, x = np.divmod(np.arange(rows * columns), columns)
    discs = []
    for middle in range(2 * rows - 1):
        for center in range(2 * columns - 1):
            squares = (2 * y - middle) ** 2 + (2 * x - center) ** 2
            discs += [squares <= square for square in np.unique(squares).tolist()]
    return discs


def offsets(reach: float, grid: bool) -> list[tuple[int, int]]:
    """Return the steps (rows, columns) of the lattice within the reach; on a line along it only.

    Examples
    --------
    >>> len(offsets(2.0, True)), len(offsets(2.0, False))
    (13, 5)
    """
    most = math.floor(reach)
    across = range(-most, most + 1) if grid else (0,)
    return [(a, b) for a in across for b in range(-most, most + 1) if a * a + b * b <= reach * reach]


def losses(members: Members, rows: int, columns: int, reach: float) -> NDArray[np.int64]:
    """Return the cost of each set: the places within reach of it, less those within reach of one place.

    Examples
    --------
    >>> losses(np.ones((1, 100), dtype=bool), 10, 10, 2.0)
    array([171])
    """
    grid = rows > 1 and columns > 1
    lines = members if grid else members.reshape(len(members), -1)
    height, width = (rows, columns) if grid else (1, rows * columns)
    around = offsets(reach, grid)
    pad = math.floor(reach)
    above = pad if grid else 0
    covered = np.zeros((len(lines), height + 2 * above, width + 2 * pad), dtype=np.bool_)
    shaped = lines.reshape(len(lines), height, width)
    for a, b in around:
        covered[:, above + a : above + a + height, pad + b : pad + b + width] |= shaped
    return np.asarray(covered.sum(axis=(1, 2), dtype=np.int64) - len(around))


NOTIONS = ("partition", "cloak", "cap", "slack")

ROUNDING = 1e-12
"""A prior is rounded to doubles, so masses and posteriors this close to their limits keep them."""

FEASIBLE = 1e-9
"""What a solver of linear programs leaves of the inequalities of "cap" and "slack"."""

LARGEST_GRID = 144
"""Places of a grid at most: 12 by 12 has some 17,000 rectangles and discs."""

LARGEST_REACH = 100.0

LARGEST_EPSILON = 10.0
"""With more, e^epsilon is beyond what programs in double precision tell apart; delta alone would decide."""


def _prior(value: Any) -> Array:
    """Return a vector or a matrix of probabilities."""
    rows = value.ndim == 2 if isinstance(value, np.ndarray) else _has_rows(value)
    matrix = finite_array("prior", value, 2, rounded=True) if rows else None
    vector = probability_vector("prior", value if matrix is None else matrix.ravel())
    most = MOST_PLACES if matrix is None or 1 in matrix.shape else LARGEST_GRID
    if len(vector) > most:
        raise ParameterError(
            "prior", f"{len(vector)} places are more than {most}", "merge neighboring places"
        )
    return vector if matrix is None else vector.reshape(matrix.shape)


def _has_rows(value: Any) -> bool:
    first = value[0] if isinstance(value, (list, tuple)) and len(value) else None
    return isinstance(first, (list, tuple, np.ndarray))


def _epsilon(problem: SpectrumPartition, field: str, value: Any) -> float:
    _require_slack(problem, field)
    return in_range(field, value, 0.0, LARGEST_EPSILON)


def _delta(problem: SpectrumPartition, field: str, value: Any) -> float:
    _require_slack(problem, field)
    return privacy_delta(value, field)


def _require_slack(problem: SpectrumPartition, field: str) -> None:
    if problem.notion != "slack":
        raise ParameterError(field, "is for notion 'slack'", f"omit it for '{problem.notion}'")


@frozen_problem(eq=False)
class SpectrumPartition(Problem[Mechanism]):
    """The best way to release a region Q that contains the owner's place x, on a map with a prior.

    ::

        minimize  sum_x prior_x sum_Q K(Q | x) loss(Q)   with   sum_Q K(Q | x) = 1,  K(Q | x) = 0 unless x in
        Q

    loss(Q) counts the places that lose service because the database answers from Q: those within ``reach`` of
    Q, less those within ``reach`` of one place.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: docs/families/spectrum_cloak.md. The sets are all intervals of a line, and all rectangles and
    discs of a grid: an optimum is one among these sets. ``sets`` has a row of 0 and 1 per set that is
    released, ``channel`` K(Q | x) with a row per place. Where the whole map is not a cloak the status is
    ``infeasible``.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.SpectrumPartition(prior=[0.1, 0.4, 0.1, 0.1, 0.2, 0.1], least=0.4))
    >>> print(solution.variables["sets"].astype(int).tolist(), round(solution.value, 6))
    [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]] 2.0
    """

    name: ClassVar[str] = "spectrum-partition"
    example: ClassVar[Mapping[str, Any]] = {"prior": [0.1, 0.2, 0.3, 0.2, 0.2], "cap": 0.5}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon", "delta", "cap")
    value_name: ClassVar[str] = "places that lose service"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "how a map is divided into regions in which a channel's owner cannot be found"

    generators: ClassVar[Generators] = {"prior": GENERATORS}

    prior: Kept[Array, Vector | Matrix] = checked(
        "Where the owner is: a list for places on a line, a matrix for a grid, with steps of length 1.",
        lambda _, prior: _prior(prior),
        form="list or matrix of probabilities",
    )
    reach: float = real(
        "Users within this distance of Q are not served, in steps.",
        low=0.0,
        high=LARGEST_REACH,
        form="number >= 0",
        default=1.0,
    )
    notion: Literal["partition", "cloak", "cap", "slack"] = choice(
        'What is guaranteed. "partition": Q is the one cell of a public partition that has x. "cloak": '
        "K(Q | x) is the same for all x in Q, so the answers tell that x is in Q and nothing else, "
        'whatever the prior. "cap": for this prior no place has a posterior probability above '
        '``cap``. "slack": (epsilon, delta) for all pairs of places up to ``distance`` apart.',
        NOTIONS,
        default="partition",
    )
    cap: float = real(
        'The largest posterior probability of one place; for "partition" and "cloak" in each Q.',
        low=0.0,
        high=1.0,
        low_open=True,
        form="number in (0, 1]",
        default=1.0,
    )
    least: float = real("The least prior mass of Q.", low=0.0, high=1.0, form="number in [0, 1]", default=0.0)
    count: int = whole("The least number of places of Q.", low=1, default=1)
    epsilon: float | None = related(
        "P(Q in S | x) <= e^epsilon P(Q in S | x') + delta, with epsilon up to 10.",
        _epsilon,
        form='number, for "slack"',
        default=None,
        limits={"minimum": 0, "maximum": LARGEST_EPSILON},
    )
    delta: float | None = related(
        "P(Q in S | x) <= e^epsilon P(Q in S | x') + delta, with epsilon up to 10.",
        _delta,
        form='number, for "slack"',
        default=None,
        limits={"minimum": 0, "exclusiveMaximum": 1},
    )
    distance: int = whole(
        "The largest distance of such pairs, in steps.", low=1, form='int, for "slack"', default=1
    )

    def __attrs_post_init__(self) -> None:
        if self.notion == "slack" and (self.epsilon is None or self.delta is None):
            field = "epsilon" if self.epsilon is None else "delta"
            raise ParameterError(field, "is missing", "notion 'slack' needs epsilon and delta")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns; a line has one row."""
        rows, columns = self.prior.shape if self.prior.ndim == 2 else (1, len(self.prior))
        return rows, columns

    @property
    def on_line(self) -> bool:
        """Whether the places are on a line."""
        return 1 in self.shape

    @property
    def size(self) -> int:
        """The number of places."""
        return int(self.prior.size)

    @cached_property
    def masses(self) -> Array:
        """The prior, a number per place."""
        return np.asarray(self.prior.ravel())

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """The ordered pairs of places that "slack" is about, a row each."""
        y, x = np.divmod(np.arange(self.size), self.shape[1])
        near = (y[:, None] - y) ** 2 + (x[:, None] - x) ** 2 <= self.distance**2
        np.fill_diagonal(near, False)
        return np.argwhere(near)

    @cached_property
    def family(self) -> Members:
        """All admissible sets, a row per set."""
        every = candidate_sets(*self.shape)
        return np.asarray(every[self.admissible(every)])

    @cached_property
    def known(self) -> frozenset[bytes]:
        """The admissible sets, to look one up."""
        return frozenset(row.tobytes() for row in self.family)

    @cached_property
    def losses(self) -> NDArray[np.int64]:
        """The loss of each admissible set."""
        return losses(self.family, *self.shape, self.reach)

    def admissible(self, sets: Members) -> Members:
        """Return the sets with enough mass and locations and, where it is about sets, no likely location."""
        mass = sets @ self.masses
        allowed = (mass >= self.least - ROUNDING) & (sets.sum(axis=1) >= self.count)
        if self.notion in ("partition", "cloak"):
            likely = np.where(sets, self.masses, 0.0).max(axis=1, initial=0.0)
            allowed &= likely <= self.cap * mass + ROUNDING
        return np.asarray(allowed)

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        inside, ones = self.family.T.astype(float), np.ones((self.size, 1))
        if self.notion in ("partition", "cloak"):  # K(Q | x) is the same for all x in Q
            weights = cp.Variable((1, len(self.family)), name="weights", boolean=self.notion == "partition")
            channel, rows = cp.multiply(inside, ones @ weights), [weights >= 0]
        else:
            channel = cp.Variable(inside.shape, name="channel", nonneg=True)
            rows = [(cp.multiply(1 - inside, channel) == 0).set_label("x in Q")]
        if self.notion == "cap":
            joint = cp.multiply(self.masses[:, None], channel)
            rows.append((joint <= self.cap * ones @ cp.sum(joint, axis=0, keepdims=True)).set_label("cap"))
        elif self.notion == "slack":
            over = cp.pos(
                channel[self.pairs[:, 0]] - math.exp(self.epsilon or 0.0) * channel[self.pairs[:, 1]]
            )
            rows.append((cp.sum(over, axis=1) <= self.delta).set_label("privacy"))
        rows.append((cp.sum(channel, axis=1) == 1).set_label("channel"))
        lost = cp.multiply(np.outer(self.masses, self.losses), channel)
        return cp.Problem(cp.Minimize(cp.sum(lost)), rows)

    def why_no_statement(self) -> str | None:
        nothing = infeasible(self, "")
        return None if nothing is None else nothing.message

    def statement_size(self) -> int:
        pairs = len(self.pairs) if self.notion == "slack" else 0
        alone = self.notion in ("partition", "cloak")
        return len(self.family) * (1 if alone else self.size + pairs)

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        inside = self.family.T.astype(float)
        if self.notion == "partition":
            return cells_of(self.family[np.asarray(values["weights"])[0] > 0.5])
        if self.notion == "cloak":
            return released(self.family, inside * completed(self.family, values["weights"].ravel(), 1e-8))
        channel = inside * np.maximum(values["channel"], 0.0)
        return released(self.family, channel / channel.sum(axis=1, keepdims=True))

    def objective(self, variables: Variables) -> float:
        sets = np.asarray(variables["sets"], dtype=np.bool_)
        lost = losses(sets, *self.shape, self.reach)
        return math.fsum((self.masses[:, None] * np.asarray(variables["channel"]) * lost).ravel().tolist())

    def objective_scale(self) -> float:
        return float(losses(np.ones((1, self.size), dtype=np.bool_), *self.shape, self.reach)[0])

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much rows are off 1, sets miss the place or are not admissible, and notions fail."""
        sets, channel = np.asarray(variables["sets"], dtype=np.bool_), np.asarray(variables["channel"])
        strangers = sum(row.tobytes() not in self.known for row in sets)
        return {
            "rows": float(np.abs(channel.sum(axis=1) - 1.0).max()),
            "range": max(0.0, float(-channel.min())),
            "outside": float(np.where(sets.T, 0.0, channel).max()),
            "sets": float(strangers),
            self.notion: self.broken(sets, channel),
        }

    def broken(self, sets: Members, channel: Array) -> float:
        """Return by how much the notion's promise fails: 0 where it is kept."""
        inside = sets.T
        if self.notion == "partition":
            return float(np.abs(channel - inside).max())
        if self.notion == "cloak":
            high = np.where(inside, channel, -np.inf).max(axis=0)
            return float((high - np.where(inside, channel, np.inf).min(axis=0)).max())
        if self.notion == "cap":
            joint = self.masses[:, None] * channel
            return max(0.0, float((joint.max(axis=0) - self.cap * joint.sum(axis=0)).max()))
        assert self.epsilon is not None
        assert self.delta is not None
        first, second = self.pairs.T
        over = channel[first] - math.exp(self.epsilon) * channel[second]
        return max(0.0, float(np.maximum(over, 0.0).sum(axis=1).max(initial=0.0)) - self.delta)

    def among(self) -> str:
        return f"all partitions into {sets_of(self)}" if self.notion == "partition" else channels_over(self)

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        sets = np.asarray(solution.variables["sets"], dtype=np.bool_)
        channel = np.asarray(solution.variables["channel"])
        joint = self.masses[:, None] * channel
        released_mass = joint.sum(axis=0)
        posterior = float((joint.max(axis=0) / np.where(released_mass > 0, released_mass, 1.0)).max())
        figures = {
            "sets": len(sets),
            "least_mass": float((sets @ self.masses).min()),
            "least_count": int(sets.sum(axis=1).min()),
            "largest_posterior": posterior,
        }
        left = self.residuals(solution.variables)
        broken = max(left[self.notion], left["sets"], left["outside"], left["range"])
        note = (
            "for this prior"
            if self.notion == "cap"
            else "for every prior; masses and posterior are of this one"
        )
        privacy = Certificate(
            self.notion, broken <= self.allowance and left["rows"] <= FEASIBLE, False, figures, note=note
        )
        return privacy, self.optimality(solution, scale=self.objective_scale())

    @property
    def allowance(self) -> float:
        """By how much a guarantee may fail: not at all where K is constant by construction."""
        return 0.0 if self.notion in ("partition", "cloak") else FEASIBLE


def infeasible(problem: SpectrumPartition, solver: str) -> Outcome | None:
    """Return the outcome ``infeasible`` where not even the whole map is a cloak."""
    if problem.count > problem.size:
        text = f"no set has {problem.count} places: the map has {problem.size}; reduce count"
    elif problem.notion != "slack" and float(problem.masses.max()) > problem.cap + ROUNDING:
        place = int(problem.masses.argmax())
        text = (
            f"place {place} has the prior probability {problem.masses[place]:.4g}, above cap "
            f"{problem.cap:g}, even without any answer; raise cap or divide the place"
        )
    else:
        return None
    return Outcome(status="infeasible", solver=solver, message=text)


def outcome(
    problem: SpectrumPartition,
    variables: Variables,
    bound: Fraction | float,
    source: str,
    solver: str,
    is_best: bool | None = None,
    **more: Any,
) -> Outcome:
    """Return the outcome of a method: ``optimal`` where the bound proves it, or ``is_best`` says so."""
    scale = problem.objective_scale()
    proven = rounded_down(bound, scale)
    if is_best is None:
        is_best = problem.objective(variables) - proven <= problem.optimal_within * scale
    status: Status = "optimal" if is_best else "feasible"
    return Outcome(
        status=status, variables=variables, bound=proven, bound_source=source, solver=solver, **more
    )


def released(sets: Members, channel: Array) -> dict[str, Any]:
    """Return the variables: the sets that are used, and their columns."""
    used = (channel > 0).any(axis=0)
    return {"sets": sets[used], "channel": channel[:, used]}


def cells_of(sets: Members) -> dict[str, Any]:
    """Return the variables of a partition into these sets."""
    return released(sets, sets.T.astype(np.float64))


def completed(family: Members, weights: Array, negligible: float) -> Array:
    """Return a solver's weights without the negligible ones, moved as little as needed to sum to 1."""
    used = np.flatnonzero(weights > negligible)
    inside = family[used].T.astype(np.float64)
    values = weights[used]
    for _ in range(2):
        values = values + np.linalg.lstsq(inside, 1.0 - inside @ values, rcond=None)[0]
    result = np.zeros(len(weights))
    result[used] = np.where(np.abs(values - 1.0) <= ROUNDING, 1.0, values)
    return result


def sets_of(problem: SpectrumPartition) -> str:
    """Return the sets among which an optimum is the best one, in words."""
    kind = "intervals" if problem.on_line else "rectangles and discs"
    return f"{len(problem.family)} {kind}"


def channels_over(problem: SpectrumPartition) -> str:
    """Return the channels that a bound covers, in words."""
    return f"all channels over {sets_of(problem)}"


def figures(problem: SpectrumPartition, solution: Solution[Any]) -> list[Figure]:
    """Return the likeliest set of each place, by number on a grid and by ends on a line, and the prior."""
    channel, sets = np.asarray(solution.variables["channel"]), np.asarray(solution.variables["sets"])
    likeliest = channel.argmax(axis=1)
    percent = np.round(100.0 * problem.masses, 1)
    if problem.on_line:
        places = np.arange(problem.size)
        ends = sets[likeliest].argmax(axis=1), problem.size - 1 - sets[likeliest][:, ::-1].argmax(axis=1)
        marks = [
            Points(x=places, y=end, label=f"{name} place of its likeliest set")
            for name, end in zip(("first", "last"), ends, strict=True)
        ]
        panels = [
            Panel("place of the owner", "place", marks, title="what is released"),
            Panel("place of the owner", "prior (%)", [Bars(x=places, y=percent)], title="prior"),
        ]
    else:
        cells = Heat(likeliest.astype(np.float64).reshape(problem.shape), label="number of the set")
        prior = Heat(percent.reshape(problem.shape), label="prior (%)")
        panels = [
            Panel("column", "row", [cells], title="likeliest set of a place"),
            Panel("column", "row", [prior], title="prior"),
        ]
    return [
        Figure(
            "Where an owner hides", panels, f"The region that is released; the notion is {problem.notion}."
        )
    ]
