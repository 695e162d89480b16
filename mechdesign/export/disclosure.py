"""What a report can reveal, in one number that all pages share: how sure an observer can be after it.

An observer who thinks two answers equally likely sees a report. With delta = 0 the odds are at most
e^epsilon afterwards, so one of the answers has a probability of at most e^epsilon / (1 + e^epsilon).

With delta > 0 no bound holds for every report. The probability to guess the right one of the two is
(1 + t) / 2, where t is the total variation distance of the two distributions of reports, and t is at most
(e^epsilon - 1 + 2 delta) / (e^epsilon + 1). So the guess is right with a probability of at most
(e^epsilon + delta) / (1 + e^epsilon), which randomized response that reveals the
answer with probability delta attains.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext

from mechdesign.collect.base import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.export.texts import DEFAULT, Texts, texts_of

WEAK = 4.0
"""Above this epsilon, protection is called weak."""

CERTAIN = 10.0
"""Above this epsilon, a report is said to show the answer: it does so under most mechanisms."""

DIGITS = 3
"""Digits after the point of a percentage; what is closer to 100% is more than 99.999%."""


def levels(certificate: Certificate) -> tuple[float | None, float]:
    """Return epsilon and delta that are promised; the true epsilon where it is finite and smaller.

    Delta is that of sets of reports, also where the promise is about single reports.

    Examples
    --------
    >>> levels(Certificate("privacy", True, True, {"epsilon": 1.0, "true_epsilon": 0.75}))
    (0.75, 0.0)
    """
    figures = certificate.figures
    epsilon, delta = figures.get("epsilon"), float(figures.get("delta", 0.0))
    true = figures.get("true_epsilon")
    if true is not None and math.isfinite(float(true)) and not delta:
        return float(true), 0.0
    return (None if epsilon is None else float(epsilon)), max(delta, float(figures.get("least_delta", 0.0)))


def sure_percentage(epsilon: float, delta: float = 0.0) -> Decimal | None:
    """Return (e^epsilon + delta) / (1 + e^epsilon) in percent, rounded up; None above 99.999%.

    It is rounded to one digit after the point, or to more near 100%.

    Examples
    --------
    >>> sure_percentage(1.0), sure_percentage(8.0), sure_percentage(12.0), sure_percentage(1.0, 1.0)
    (Decimal('73.2'), Decimal('99.97'), None, Decimal('100'))
    """
    with localcontext(Context(prec=60, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)) as context:
        factor = Decimal(min(epsilon, 1e6)).exp()
        context.rounding = ROUND_FLOOR
        doubt = 100 * (1 - Decimal(delta)) / (1 + factor)
        if doubt <= 0:
            return Decimal(100)
        digits = max(1, -doubt.adjusted())
        return None if digits > DIGITS else 100 - doubt.quantize(Decimal(10) ** -digits)


MOST_SURE = "99.999"
"""What is stated where the percentage is above it."""


def percent_sure(epsilon: float, delta: float = 0.0) -> str:
    """Return :func:`sure_percentage` as text.

    Examples
    --------
    >>> percent_sure(1.0), percent_sure(4.0), percent_sure(8.0), percent_sure(12.0), percent_sure(1.0, 0.01)
    ('73.2%', '98.3%', '99.97%', 'more than 99.999%', '73.4%')
    >>> percent_sure(50.0), percent_sure(1.0, 1.0), percent_sure(0.0)
    ('more than 99.999%', '100%', '50.0%')
    """
    percentage = sure_percentage(epsilon, delta)
    return f"more than {MOST_SURE}%" if percentage is None else f"{percentage}%"


def at_most(epsilon: float, delta: float = 0.0) -> str:
    """Return the words for the limit, also where it is next to none.

    Examples
    --------
    >>> at_most(1.0), at_most(50.0)
    ('at most 73.2%', 'possibly more than 99.999%')
    """
    sure = percent_sure(epsilon, delta)
    return f"possibly {sure}" if sure.startswith("more") else f"at most {sure}"


def privacy_of(mechanism: Mechanism) -> Certificate | None:
    """Return the certificate of what a user's own reports reveal; None where there is none."""
    return next((item for item in mechanism.certificates() if item.property == "privacy"), None)


def collected_levels(mechanism: Mechanism) -> tuple[float | None, float]:
    """Return epsilon and delta of what the collector sees of a user.

    Where a shuffler mixes the reports they are those of the shuffled ones. The epsilon is None for a
    mechanism without such a number: no certificate of privacy, or an epsilon per unit of distance.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> from mechdesign.families.shuffle.promise import Promise
    >>> from mechdesign.families.shuffle.shuffled_reports import Shuffled
    >>> local = Duchi(4.0)
    >>> collected_levels(local), collected_levels(Shuffled(local, Promise(100_000, 0.5, 1e-6)))
    ((4.0, 0.0), (0.5, 1e-06))
    """
    certificates = {item.property: item for item in mechanism.certificates()}
    privacy = certificates.get("central_privacy", certificates.get("privacy"))
    return (None, 0.0) if privacy is None or privacy.metric else levels(privacy)


def limit_for_respondents(mechanism: Mechanism, texts: Texts | None = None) -> str:
    """Return the limit of the protection as a respondent reads it, whatever epsilon and delta are.

    Parameters
    ----------
    mechanism : Mechanism
    texts : Texts, optional
        The language; English by default.

    Examples
    --------
    >>> from mechdesign.primitives import KaryResponse
    >>> limit_for_respondents(KaryResponse.of(3, 1.0))
    'Someone who saw your report, and thought two answers equally likely before, is at most 73.2% sure ...
    >>> limit_for_respondents(KaryResponse.of(3, 50.0))
    'This does not protect you: your report can show your answer with practical certainty. Someone ...
    >>> limit_for_respondents(KaryResponse.of(3, 5.0), texts_of("de")).split(".")[0]
    'Dieser Schutz ist schwach'
    """
    words = texts or texts_of(DEFAULT)
    privacy = privacy_of(mechanism)
    epsilon, delta = (None, 0.0) if privacy is None else levels(privacy)
    if privacy is None or epsilon is None:
        return words.say("limit.none")
    reports = privacy.figures.get("reports", 1) if "one_report" in privacy.figures else 1
    count = "" if reports == 1 else words.number(str(reports))
    sentences = [_verdict(epsilon, privacy.metric, count, words)]
    if privacy.metric:
        sentences.append(words.say("limit.metric"))
    sentences.append(_limit(epsilon, delta, privacy.metric, count, words))
    if delta:
        sentences.append(words.say("limit.delta", count=words.number(str(inverse(delta)))))
    return words.joined(sentences)


def is_certain(mechanism: Mechanism) -> bool:
    """Whether a report can show the answer with practical certainty."""
    privacy = privacy_of(mechanism)
    epsilon = None if privacy is None or privacy.metric else levels(privacy)[0]
    return epsilon is not None and epsilon > CERTAIN


def _verdict(epsilon: float, metric: bool, count: str, words: Texts) -> str:
    """Return in plain words that a guarantee is weak; the count of reports is empty for one."""
    if epsilon <= WEAK or metric:
        return ""
    if epsilon <= CERTAIN:
        return words.say("limit.weak")
    return words.say("limit.certain_many", count=count) if count else words.say("limit.certain_one")


def _limit(epsilon: float, delta: float, metric: bool, count: str, words: Texts) -> str:
    """Return how sure an observer can be."""
    percentage = sure_percentage(epsilon, delta)
    kind = "guess" if delta else "sure"
    return words.say(
        f"limit.{kind}_{'more' if percentage is None else 'most'}",
        reports=words.say("limit.many", count=count) if count else words.say("limit.one"),
        answers=words.say("limit.distance" if metric else "limit.two"),
        percent=words.percent(MOST_SURE if percentage is None else str(percentage)),
    )


def inverse(delta: float) -> int:
    """Return the N of a probability of 1 in N, rounded down."""
    return int(1 / Decimal(repr(min(delta, 1.0))))


def one_in(delta: float) -> str:
    """Return the N of a probability of 1 in N, rounded down, as text.

    Examples
    --------
    >>> one_in(1e-6), one_in(0.3)
    ('1,000,000', '3')
    """
    return f"{inverse(delta):,}"
