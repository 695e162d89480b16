"""The probability that a report says nothing at all about a question, exactly, from the steps of its client.

A client of several questions draws which of them to report before it reads the answers. What it does not draw
is not in the report: neither the answer nor anything computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from mechdesign.collect.kernel import Recipe
from mechdesign.exact.randomness import TOTAL

HEX = 16
"""Digits of an integer in a row of integers."""


def silences(recipe: Recipe, groups: Sequence[Sequence[int]] = ()) -> tuple[Fraction, ...]:
    """Return for each question the probability that nothing about it is sent; 0 where something always is.

    Of questions that are sampled it is that of uniform integers, of which the drawn ones differ by 2**-58.

    Parameters
    ----------
    recipe : Recipe
    groups : sequence of sequences of int, optional
        The inputs of each question; by default each input is one. About a question nothing is sent where
        none of its inputs is drawn.

    Examples
    --------
    >>> from mechdesign.families.survey import Question, SurveyMechanism
    >>> questions = [Question(name, labels=("no", "yes")) for name in ("a", "b", "c")]
    >>> recipe = SurveyMechanism.of(questions, 1.0, shares=[1, 1, 2]).recipe()
    >>> silences(recipe), silences(recipe, [(0, 1), (2,)])
    ((Fraction(3, 4), Fraction(3, 4), Fraction(1, 2)), (Fraction(1, 2), Fraction(1, 2)))
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> silences(KaryResponse.of(3, 1.0).recipe())
    (Fraction(0, 1),)
    """
    steps, count = recipe.steps, len(recipe.inputs)
    blocks = [set(group) for group in groups or [(place,) for place in range(count)]]
    if steps["step"] == "sample":
        size = steps["per_user"]
        return tuple(Fraction(comb(count - len(block), size), comb(count, size)) for block in blocks)
    if steps["step"] == "survey":
        reported = [{place for part in design for place in part["questions"]} for design in steps["designs"]]
    elif steps["step"] == "view":
        reported = [set(view) for view in steps["views"]]
    else:
        return (Fraction(0),) * len(blocks)
    weights = _weights(steps["ends"])
    return tuple(
        Fraction(
            sum(weight for weight, places in zip(weights, reported, strict=True) if not places & block), TOTAL
        )
        for block in blocks
    )


def _weights(ends: str) -> Sequence[int]:
    """Return the weights out of 2**62 whose increasing sums are a row of integers."""
    sums = [int(ends[start : start + HEX], HEX) for start in range(0, len(ends), HEX)]
    return [high - low for low, high in zip([0, *sums], sums, strict=False)]


def silence_percent(probability: Fraction) -> str:
    """Return a probability in percent, rounded down to one digit; empty below 0.1%.

    Examples
    --------
    >>> silence_percent(Fraction(3, 4)), silence_percent(Fraction(2, 3)), silence_percent(Fraction(1, 10**6))
    ('75', '66.6', '')
    """
    whole, tenth = divmod(1000 * probability.numerator // probability.denominator, 10)
    return "" if whole == tenth == 0 else f"{whole}.{tenth}".removesuffix(".0")
