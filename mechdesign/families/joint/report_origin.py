"""Whether the reports of a file are those of the probabilities of bits that a problem states.

The name of a column of reports ends in a mark of the mechanism and survey that made them. The mark covers
more than redraw, keep and add: epsilon, names and labels, and the identity of the survey. So these three
numbers do not give it, and a problem names the file of the mechanism to have them compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mechdesign.collect.base import load_mechanism
from mechdesign.collect.collecting import mark_of, other_reports
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.joint.one_hot import FileReports
from mechdesign.families.joint.response import JointResponse

SAME = 1e-6
"""Probabilities that differ by less are the same: those of a mechanism are often copied from six digits."""


def probabilities_of(mechanism: JointResponse) -> dict[str, float]:
    """Return redraw, keep and add of a mechanism; bit_redraw and bit_keep where two values have one bit.

    Examples
    --------
    >>> probabilities_of(JointResponse.of([2, 3], 4.1, redraw=0.5, keep=0.75, add=0.25))
    {'redraw': 0.5, 'keep': 0.75, 'add': 0.25}
    """
    weights = mechanism.weights
    numbers = {"redraw": 2 * weights.flip, "keep": weights.keep, "add": weights.add}
    if mechanism.bit is not None:
        numbers |= {"bit_redraw": 2 * mechanism.bit.flip, "bit_keep": mechanism.bit.keep}
    return {name: number / TOTAL for name, number in numbers.items()}


def require_maker(reports: FileReports, path: str, sizes: Sequence[int], stated: Mapping[str, float]) -> None:
    """Refuse reports that a mechanism did not make, and stated probabilities that are not its own.

    Parameters
    ----------
    reports : FileReports
    path : str
        The file of the mechanism.
    sizes : sequence of int
        Values of each attribute.
    stated : mapping
        ``redraw``, ``keep`` and ``add``, and ``bit_redraw`` and ``bit_keep`` for one bit of two values.

    Raises
    ------
    DataError
        When the file holds another mechanism, or the column's mark is not that of this mechanism and survey.
    ParameterError
        When the attributes or probabilities are not those of the mechanism.
    """
    maker = load_mechanism(path)
    if not isinstance(maker, JointResponse):
        raise DataError(path, f"holds a {maker.type}", "name the joint-response that made the reports")
    mark = reports.mark()
    if mark is not None and mark != mark_of(maker.survey_digest):
        raise DataError(
            reports.path,
            f"holds reports of {other_reports(maker, mark)}",
            "name the mechanism file they were made with",
        )
    own = list(maker.attributes.sizes)
    if own != list(sizes):
        raise ParameterError(
            "attributes", f"{list(sizes)}, but the mechanism of these reports has {own}", "give those"
        )
    probabilities = probabilities_of(maker)
    if probabilities.keys() != stated.keys():
        single = {name: value for name, value in probabilities.items() if name.startswith("bit_")}
        how = "one bit" if single else "one bit for each value"
        remedy = ", ".join(f"{name} = {value:.9g}" for name, value in single.items())
        raise ParameterError(
            "bit_redraw, bit_keep",
            f"the mechanism of these reports has {how} of an attribute with two values",
            f"set {remedy}" if single else "omit them",
        )
    other = [name for name in probabilities if abs(probabilities[name] - stated[name]) > SAME]
    if other:
        used = ", ".join(f"{name} = {probabilities[name]:.9g}" for name in other)
        instead = ", ".join(f"{name} = {stated[name]:g}" for name in other)
        raise ParameterError(
            ", ".join(other), f"the reports were made with {used}, not {instead}", f"set {used}"
        )


def maker_note(reports: FileReports) -> str:
    """Return what is known of the mechanism that the column names; empty for an unmarked column."""
    mark = reports.mark()
    if mark is None:
        return ""
    if reports.mechanism is not None:
        return f"redraw, keep and add are those of {reports.mechanism} ({mark}), which made the reports"
    return (
        f"the reports name their mechanism {mark}, and redraw, keep and add were not compared with it: "
        'add mechanism = "FILE" to reports'
    )
