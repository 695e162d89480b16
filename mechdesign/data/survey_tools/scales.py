"""Answers that have a known order: scales of agreement, frequency and satisfaction."""

from __future__ import annotations

from collections.abc import Sequence

SCALES = tuple(
    tuple(text.split(" | "))
    for text in (
        "Strongly disagree | Disagree | Somewhat disagree | Neither agree nor disagree | Neutral | Undecided "
        "| Somewhat agree | Agree | Strongly agree",
        "Very dissatisfied | Dissatisfied | Somewhat dissatisfied | Neither satisfied nor dissatisfied | "
        "Neutral | Somewhat satisfied | Satisfied | Very satisfied",
        "Extremely dissatisfied | Somewhat dissatisfied | Neither satisfied nor dissatisfied | Somewhat "
        "satisfied | Extremely satisfied",
        "Never | Almost never | Rarely | Seldom | Sometimes | Occasionally | Often | Frequently | Usually | "
        "Very often | Almost always | Always",
        "Very unlikely | Unlikely | Somewhat unlikely | Neutral | Somewhat likely | Likely | Very likely",
        "Very poor | Poor | Fair | Average | Good | Very good | Excellent",
        "Not at all | A little | Slightly | Somewhat | Moderately | A lot | Very | Very much | Extremely",
        "Very unfavorably | Somewhat unfavorably | Neither favorably nor unfavorably (neutral) | Somewhat "
        "favorably | Very favorably",
        "low | medium | high",
        "Stimme überhaupt nicht zu | Stimme nicht zu | Stimme eher nicht zu | Teils, teils | Teils/teils | "
        "Neutral | Stimme eher zu | Stimme zu | Stimme voll und ganz zu",
        "Sehr unzufrieden | Unzufrieden | Eher unzufrieden | Teils, teils | Neutral | Eher zufrieden | "
        "Zufrieden | Sehr zufrieden",
        "Nie | Selten | Manchmal | Oft | Häufig | Sehr oft | Immer",
        "Jamais | Rarement | Parfois | Souvent | Très souvent | Toujours",
        "Pas du tout d'accord | Pas d'accord | Plutôt pas d'accord | Ni d'accord ni pas d'accord | Plutôt "
        "d'accord | D'accord | Tout à fait d'accord",
    )
)
"""Words from one end to the other; a question uses some of them."""


def scale_of(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the answers in the order of their scale; empty where they are not all of one.

    Examples
    --------
    >>> scale_of(["Always", "never", "Sometimes"]), scale_of(["Red", "Never"])
    (('never', 'Sometimes', 'Always'), ())
    """
    own = {" ".join(label.split()).casefold(): label for label in labels}
    for scale in SCALES:
        order = [word.casefold() for word in scale]
        if len(own) > 2 and all(word in order for word in own):
            return tuple(sorted(labels, key=lambda label: order.index(" ".join(label.split()).casefold())))
    return ()
