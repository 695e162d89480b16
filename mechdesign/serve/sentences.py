"""The sentences of the design room: a draft, its margins and what changes them, in the owner's language."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import margin_text
from mechdesign.export.disclosure import CERTAIN, MOST_SURE, WEAK, sure_percentage
from mechdesign.export.texts import texts_of
from mechdesign.report.phrases import ISOLATED
from mechdesign.serve.draft import GOALS_WITH_ERRORS, HEAD, QUESTIONS, DraftFault, value_text
from mechdesign.serve.pages import Words
from mechdesign.serve.planning import JOINT, names_in, result_places

STRONG, MODERATE = 1.0, 2.0
"""Up to these epsilons, protection is called strong or moderate; beyond, up to ``WEAK``, limited."""

LONGEST_SUBJECT = 120
"""Letters of a question in a table or a list."""

USELESS = 50.0
"""A margin of so many points tells nothing of a share, or of a mean."""

FEW_PEOPLE = 30


def fault_said(fault: DraftFault, words: Words) -> dict[str, Any]:
    """Return a fault as the page shows it next to an entry."""
    text = words.say(f"design.{fault.key}", **(fault.parts or {})) if fault.key else fault.text
    return {"place": fault.place, "text": text, "remark": fault.is_remark, "english": not fault.key}


def number_said(value: float, words: Words, digits: int = 6) -> str:
    """Return a number as the language writes it."""
    return texts_of(words.language).number(f"{value:.{digits}g}" if abs(value) < 10**6 else f"{value:.0f}")


def points_said(points: float | None, words: Words) -> str:
    """Return a margin in points as text; what tells nothing is called so."""
    if points is None or points >= USELESS:
        return words.say("design.useless")
    number = texts_of(words.language).number(margin_text(points, False)[1:])
    return words.say("design.points", number=number)


def _margin_said(row: Mapping[str, Any], words: Words) -> str:
    """Return the margin of a result: points of a share, units of a mean."""
    if row["is_share"] or row["points"] is None or row["points"] >= USELESS:
        return points_said(row["points"], words)
    margin, points = (
        texts_of(words.language).number(margin_text(value, False)[1:])
        for value in (row["margin"], row["points"])
    )
    return words.say("design.units", number=margin, points=points)


def risk_of(epsilon: Any, words: Words) -> dict[str, str] | None:
    """Return what an epsilon means, in a number and in words; None for what is no epsilon."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float)) or not 0.0 < epsilon < math.inf:
        return None
    limits = ((STRONG, "strong"), (MODERATE, "moderate"), (WEAK, "limited"), (CERTAIN, "weak"))
    level = next((name for limit, name in limits if epsilon <= limit), "none")
    percentage = sure_percentage(float(epsilon))
    texts = texts_of(words.language)
    percent = texts.percent(MOST_SURE if percentage is None else str(percentage))
    kind = "more" if percentage is None else "sentence"
    return {
        "level": level,
        "percent": percent,
        "verdict": words.say(f"design.risk_{level}"),
        "sentence": words.say(f"design.risk_{kind}", percent=percent),
        "short": words.say(f"design.short_{level}"),
    }


def line_of(document: Mapping[str, Any], words: Words, plan: Mapping[str, Any] | None = None) -> str:
    """Return all choices in one line."""
    head, questions = document[HEAD], document[QUESTIONS]
    parts = [ISOLATED.format(value_text(head.get("title"))), _count("questions", len(questions), words)]
    joint = sum(len(head[key]) for key in JOINT if isinstance(head.get(key), list))
    parts += [_count("joint", joint, words)] if joint else []
    skips = sum(item.get("skip") is True for item in questions)
    parts += [words.say("design.line_skips", number=str(skips))] if skips else []
    goal = head.get("goal", "mean")
    users, epsilon = head.get("users", 10_000), head.get("epsilon")
    if plan is not None:
        epsilon = plan["epsilon"]
    if isinstance(users, int):
        parts.append(_count("people", users, words))
    risk = risk_of(epsilon, words)
    if risk is not None and isinstance(epsilon, (int, float)):
        name = "line_epsilon" if sure_percentage(float(epsilon)) is not None else "line_epsilon_more"
        stated = {"epsilon": number_said(epsilon, words), "risk": risk["short"], "percent": risk["percent"]}
        parts.append(words.say(f"design.{name}", **stated))
    parts.append(_range_said(plan, words))
    parts.append(_goal_said(goal, plan, words))
    return " · ".join(filter(None, parts))


def _count(name: str, number: int, words: Words) -> str:
    kind = "one" if number == 1 else "many"
    return words.say(f"design.line_{name}_{kind}", number=texts_of(words.language).number(str(number)))


def _range_said(plan: Mapping[str, Any] | None, words: Words) -> str:
    if plan is None:
        return words.say("design.line_open")
    return words.say("design.line_margins", range=_ends_said(plan, words))


def _ends_said(plan: Mapping[str, Any], words: Words) -> str:
    """Return the smallest and the largest margin, in points."""
    points = [math.inf if row["points"] is None else row["points"] for row in plan["results"]]
    ends = [points_said(end, words) for end in (min(points), max(points))]
    if ends[0] == ends[1]:
        return words.say("design.range_one", margin=ends[0])
    return words.say("design.range_two", first=ends[0], last=ends[1])


def _goal_said(goal: Any, plan: Mapping[str, Any] | None, words: Words) -> str:
    if goal not in ("mean", *GOALS_WITH_ERRORS):
        return ""
    if goal in ("mean", "worst"):
        return words.say(f"design.line_goal_{goal}")
    if plan is None:
        return words.say("design.line_goal_open", what=words.say(f"design.goal_{goal}"))
    if goal == "users":
        return words.say("design.line_goal_users", number=number_said(plan["needed"], words))
    return words.say("design.line_goal_epsilon", epsilon=number_said(plan["epsilon"], words))


def margins_said(document: Mapping[str, Any], plan: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """Return the margins of a draft in words, with what was computed for its goal."""
    names = _names_of(document, words)
    rows = [
        {
            "place": row["place"],
            "name": _subject(document, row, names),
            "text": _margin_said(row, words),
            "points": row["points"],
            "useless": row["points"] is None or row["points"] >= USELESS,
            "needed": _needed_said(row, plan, words),
        }
        for row in plan["results"]
    ]
    remarks = []
    if plan["users"] < FEW_PEOPLE:
        remarks.append({"place": f"{HEAD}.users", "text": words.say("design.users_few")})
    return {
        "rows": rows,
        "line": line_of(document, words, plan),
        "live": words.say("design.computed", range=_ends_said(plan, words)),
        "risk": risk_of(plan["epsilon"], words),
        "remarks": remarks,
        **_computed(plan, words),
    }


def _computed(plan: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """Return what the goal computed, in words, and how to use it."""
    epsilon, users = number_said(plan["epsilon"], words), number_said(plan["users"], words)
    if plan["goal"] == "users" and plan["needed"] is not None:
        number = number_said(plan["needed"], words)
        fewer = "_fewer" if plan["needed"] < plan["users"] else ""
        sentence = words.say(f"design.needed_users{fewer}", number=number, epsilon=epsilon)
        use = words.say("design.use_users", number=number)
        return {"computed": sentence, "use": {"text": use, "key": "users", "value": plan["needed"]}}
    if plan["goal"] == "epsilon":
        sentence = words.say("design.needed_epsilon", epsilon=epsilon, number=users)
        use = words.say("design.use_epsilon", epsilon=epsilon)
        return {"computed": sentence, "use": {"text": use, "key": "epsilon", "value": plan["epsilon"]}}
    return {"computed": "", "use": None}


def _needed_said(row: Mapping[str, Any], plan: Mapping[str, Any], words: Words) -> str:
    """Return how many people take a result to its margin; empty where none is stated."""
    if row["target"] is None:
        return ""
    if row["users"] is None:
        return words.say("design.people_none")
    if row["users"] <= plan["users"]:
        return words.say("design.enough")
    return words.say("design.people_needed", number=number_said(row["users"], words))


def ways_said(document: Mapping[str, Any], ways: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """Return the ways to a margin in sentences."""
    texts = texts_of(words.language)
    names = _names_of(document, words)

    def points(value: float) -> str:
        return texts.number(margin_text(value, False)[1:]) if math.isfinite(value) else "∞"

    def dropped(places: Sequence[str]) -> str:
        return texts.listed([texts.quote(names[place]) for place in places])

    now, goal = points(ways["now"]), texts.number(f"{ways['points']:g}")
    sets = [
        words.say("design.ways_set", names=dropped(drop["places"]), points=points(drop["points"]))
        for drop in ways["sets"]
    ]
    if ways["now"] <= ways["points"]:
        heading = words.say("design.ways_reached")
    elif not sets:
        heading = words.say("design.ways_no_set")
    else:
        heading = words.say("design.ways_sets" if ways["is_smallest"] else "design.ways_sets_unproven")
    more = []
    if ways["now"] > ways["points"]:
        people, epsilon = ways["people"], ways["epsilon"]
        risk = risk_of(epsilon, words)
        more.append(
            words.say("design.ways_people_none")
            if people is None
            else words.say("design.ways_people", number=number_said(people, words))
        )
        more.append(
            words.say("design.ways_epsilon_none")
            if risk is None
            else words.say("design.ways_epsilon", epsilon=number_said(epsilon, words), risk=risk["short"])
        )
    return {
        "now": words.say("design.ways_now", now=now, points=goal),
        "heading": heading,
        "sets": sets,
        "more": more,
        "singles": [
            [names[drop["places"][0]], words.say("design.points", number=points(drop["points"]))]
            for drop in ways["singles"]
        ],
    }


def _subject(document: Mapping[str, Any], row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return what a result is about: the question as respondents read it, with the item of a tick."""
    table, _, number = row["place"].rpartition(".")
    item = ""
    if table == QUESTIONS:
        name = str(document[QUESTIONS][int(number)].get("name"))
        item = value_text(str(row["name"]).removeprefix(name).removeprefix(": "), LONGEST_SUBJECT)
    return " – ".join(filter(None, [names[row["place"]], item]))


def _names_of(document: Mapping[str, Any], words: Words) -> dict[str, str]:
    """Return what the questions and joint results of a draft are called, by their places: by their texts."""
    result, texts = {}, {}
    for number, question in enumerate(document[QUESTIONS]):
        text, name = question.get("text"), value_text(question.get("name"), LONGEST_SUBJECT)
        is_text = isinstance(text, str) and text.strip()
        result[f"{QUESTIONS}.{number}"] = value_text(text, LONGEST_SUBJECT) if is_text else name
        texts[str(question.get("name"))] = result[f"{QUESTIONS}.{number}"]
    quote = texts_of(words.language).quote
    for key in JOINT:
        for number, item in enumerate(document[HEAD].get(key, [])):
            first, *rest = (quote(texts.get(name, value_text(name))) for name in names_in(item))
            name, parts = "joint_cross", {"first": first, "second": ", ".join(rest)}
            if key == "group_means":
                name, parts = "joint_by", {"number": first, "by": ", ".join(rest)}
            result[f"{HEAD}.{key}.{number}"] = words.say(f"design.{name}", **parts)
    return {place: result[place] for place in dict.fromkeys(result_places(document))}


def audit_said(certificate: Certificate, words: Words) -> list[str]:
    """Return what a certificate states, and whether it holds."""
    known = {"privacy": "audit_privacy", "normalization": "audit_normalization"}
    what = certificate.property.replace("_", " ")
    if certificate.property in known:
        epsilon = certificate.figures.get("epsilon")
        parts = {"epsilon": "" if epsilon is None else number_said(float(epsilon), words)}
        what = words.say(f"design.{known[certificate.property]}", **parts)
    verdict = "audit_fails"
    if certificate.holds:
        verdict = "audit_exact" if certificate.exact else "audit_holds"
    return [what, words.say(f"design.{verdict}")]
