"""Exports of survey tools, written here in the shapes that the tools' own exports have."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Sequence
from pathlib import Path

TOOLS = ("Mail", "Chat", "Phone (mobile, fixed)")
AGREE = (
    "Strongly disagree",
    "Somewhat disagree",
    "Neither agree nor disagree",
    "Somewhat agree",
    "Strongly agree",
)
WARDS = ("Care", "Surgery", "Office")
PEOPLE = 120


class Person:
    """The true answers of one person: a ward, an opinion, hours, tools."""

    def __init__(self, number: int) -> None:
        draw = random.Random(number)
        self.number = number
        self.ward = draw.choice(WARDS)
        self.opinion = draw.choice(AGREE) if draw.random() < 0.9 else ""
        self.hours = draw.randrange(10, 61)
        self.tools = [tool for tool in TOOLS if draw.random() < 0.5]
        self.email = f"person{number}@clinic.example"
        self.note = f"A remark of person {number}, in words of their own"
        self.time = f"2026-03-{number % 28 + 1:02d} 10:{number % 60:02d}:00"


def people() -> list[Person]:
    """Return the same people each time."""
    return [Person(number) for number in range(PEOPLE)]


def written(
    path: Path, rows: Sequence[Sequence[object]], delimiter: str = ",", encoding: str = "utf-8"
) -> Path:
    """Write rows as CSV."""
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    path.write_bytes(stream.getvalue().encode(encoding))
    return path


QUALTRICS = (
    ("StartDate", "Start Date", "startDate"),
    ("EndDate", "End Date", "endDate"),
    ("Status", "Response Type", "status"),
    ("IPAddress", "IP Address", "ipAddress"),
    ("Progress", "Progress", "progress"),
    ("Duration (in seconds)", "Duration (in seconds)", "duration"),
    ("Finished", "Finished", "finished"),
    ("RecordedDate", "Recorded Date", "recordedDate"),
    ("ResponseId", "Response ID", "_recordId"),
    ("RecipientLastName", "Recipient Last Name", "recipientLastName"),
    ("RecipientFirstName", "Recipient First Name", "recipientFirstName"),
    ("RecipientEmail", "Recipient Email", "recipientEmail"),
    ("LocationLatitude", "Location Latitude", "locationLatitude"),
    ("LocationLongitude", "Location Longitude", "locationLongitude"),
    ("DistributionChannel", "Distribution Channel", "distributionChannel"),
    ("UserLanguage", "User Language", "userLanguage"),
    ("Q1", "Where do\nyou work?", "QID1"),
    ("Q2", "I like my work.", "QID2"),
    ("Q3", "How many hours a week?", "QID3_TEXT"),
    ("Q4_1", "Which tools? - Selected Choice - Mail", "QID4_1"),
    ("Q4_2", "Which tools? - Selected Choice - Chat", "QID4_2"),
    ("Q4_3", "Which tools? - Selected Choice - Phone (mobile, fixed)", "QID4_3"),
    ("Q4_3_TEXT", "Which tools? - Other - Text", "QID4_3_TEXT"),
    ("Q5", "Anything else?", "QID5_TEXT"),
)


def qualtrics(path: Path, headers: int = 3) -> Path:
    """Write an export of Qualtrics: previews, unfinished and repeated answers are among the rows."""
    rows: list[list[object]] = [[name for name, _, _ in QUALTRICS]]
    if headers == 3:
        rows.append([text for _, text, _ in QUALTRICS])
    rows.append([json.dumps({"ImportId": key, "timeZone": "Europe/Zurich"}) for _, _, key in QUALTRICS])

    def row(person: Person, status: str = "IP Address", finished: str = "True") -> list[object]:
        ticks = [tool if tool in person.tools else "" for tool in TOOLS]
        hours = -99 if person.number % 20 == 7 else person.hours
        head = [person.time, person.time, status, f"10.0.0.{person.number}", 100, 61, finished, person.time]
        own = [f"R_{person.number}", "Doe", "Ann", person.email, "47.1", "7.2", "email", "EN"]
        return [*head, *own, person.ward, person.opinion, hours, *ticks, "", person.note]

    rows += [row(person) for person in people()]
    rows += [
        row(Person(500), "Survey Preview"),
        row(Person(501), "Survey Test"),
        row(Person(502), finished="False"),
    ]
    rows += [row(Person(3)), row(Person(4))]
    return written(path, rows)


def limesurvey(path: Path, answers: str = "full", heads: str = "code & text") -> Path:
    """Write an export of LimeSurvey: full answers or codes, headed by codes, codes and texts, or texts."""
    own = {
        "id": "Response ID", "submitdate": "Date submitted", "lastpage": "Last page",
        "startlanguage": "Start language", "seed": "Seed", "ipaddr": "IP address",
    }  # fmt: skip
    asked = {
        "G1Q1": "Where do you work?", "opinion": "I like my work.", "hours": "How many hours a week?",
        "tools[SQ001]": "Which tools? [Mail]", "tools[SQ002]": "Which tools? [Chat]",
        "tools[SQ003]": "Which tools? [Phone (mobile, fixed)]", "tools[other]": "Which tools? [Other]",
        "grid[A]": "How often? [Nights]", "grid[B]": "How often? [Weekends]", "more": "Anything else?",
        "interviewtime": "Total time",
    }  # fmt: skip
    if heads == "code":
        names = [*own, *asked]
    elif heads == "text":
        names = [*own.values(), *asked.values()]
    else:
        names = [f"{code}. {text}" for code, text in {**own, **asked}.items()]
    rows: list[list[object]] = [list(names)]
    often = ("Never", "Sometimes", "Always")
    for person in [*people(), Person(600)]:
        coded = answers == "codes"
        yes, no = ("Y", "") if coded else ("Yes", "No")
        place, opinion = (
            WARDS.index(person.ward) + 1,
            AGREE.index(person.opinion) + 1 if person.opinion else 0,
        )
        done = "" if person.number == 600 else person.time
        nights, ends = person.number % 3, person.number % 2
        rows.append(
            [
                person.number + 1, done, 3, "en", 1234567 + person.number, f"10.0.0.{person.number % 250}",
                f"A{place}" if coded else person.ward,
                (f"A{opinion}" if opinion else "") if coded else person.opinion,
                f"{person.hours},5" if person.number % 2 else person.hours,
                *(yes if tool in person.tools else no for tool in TOOLS), "",
                f"A{nights + 1}" if coded else often[nights], f"A{ends + 1}" if coded else often[ends],
                person.note, 60.5,
            ]
        )  # fmt: skip
    return written(path, rows, ";", "utf-8-sig")


def surveymonkey(path: Path) -> Path:
    """Write an export of SurveyMonkey: two header lines, ticks and a matrix."""
    own = "Respondent ID,Collector ID,Start Date,End Date,IP Address,Email Address,First Name,Last Name"
    first = [
        *own.split(","),
        "Custom Data 1",
        "Where do you work?",
        "",
        "I like my work.",
        "How many hours a week?",
    ]
    first += ["Which tools? Please select all that apply.", "", "", "", "How often?", "", "Anything else?"]
    second = [*[""] * 9, "Response", "Other (please specify)", "Response", "Open-Ended Response", *TOOLS]
    second += ["Other (please specify)", "Nights", "Weekends", "Open-Ended Response"]
    rows: list[list[object]] = [list(first), list(second)]
    often = ("Never", "Sometimes", "Always")
    for person in people():
        ticks = [tool if tool in person.tools else "" for tool in TOOLS]
        rows.append(
            [11_000_000_000 + person.number, 400_000, person.time, person.time, f"10.0.0.{person.number}",
             person.email, "Ann", "Doe", "", person.ward, "", person.opinion, person.hours, *ticks, "",
             often[person.number % 3], often[person.number % 2], person.note]
        )  # fmt: skip
    return written(path, rows)


def google_forms(path: Path, separator: str = ", ") -> Path:
    """Write an export of Google Forms: a column of timestamps, several answers in a cell."""
    rows: list[list[object]] = [
        ["Timestamp", "Email Address", "Where do you\nwork?", "I like my work.", "How many hours a week?",
         "Which tools?", "How often? [Nights]", "Anything else?"]
    ]  # fmt: skip
    often = ("Never", "Sometimes", "Always")
    for person in people():
        tools = separator.join(person.tools)
        when = f"{person.number % 12 + 1}/{person.number % 28 + 1}/2026 10:{person.number % 60:02d}:00"
        cells = [person.ward, person.opinion, person.hours, tools, often[person.number % 3], person.note]
        rows.append([when, person.email, *cells])
    return written(path, rows)


def redcap(path: Path, dictionary: Path, labelled: bool = False) -> Path:
    """Write an export of REDCap with a repeated instrument, and the data dictionary of its project."""
    choices = {
        "ward": " | ".join(f"{code}, {ward}" for code, ward in enumerate(WARDS, start=1)),
        "opinion": " | ".join(f"{code}, {text}" for code, text in enumerate(AGREE, start=1)),
        "tools": " | ".join(f"{code}, {tool}" for code, tool in enumerate(TOOLS, start=1)),
    }
    head = ["Variable / Field Name", "Form Name", "Section Header", "Field Type", "Field Label"]
    head += ["Choices, Calculations, OR Slider Labels", "Field Note"]
    head += ["Text Validation Type OR Show Slider Number", "Text Validation Min", "Text Validation Max"]
    head += ["Identifier?"]
    fields: list[list[object]] = [
        ["record_id", "base", "", "text", "Record ID", "", "", "", "", "", ""],
        ["email", "base", "", "text", "E-mail", "", "", "email", "", "", "y"],
        ["ward", "base", "", "radio", "Where do you work?", choices["ward"], "", "", "", "", ""],
        ["opinion", "base", "", "radio", "I like my work.", choices["opinion"], "", "", "", "", ""],
        ["hours", "base", "", "text", "How many hours a week?", "", "", "integer", 0, 80, ""],
        ["tools", "base", "", "checkbox", "Which tools?", choices["tools"], "", "", "", "", ""],
        ["note", "base", "", "notes", "Anything else?", "", "", "", "", "", ""],
        ["pulse", "visit", "", "text", "Pulse", "", "", "integer", 30, 220, ""],
    ]
    written(dictionary, [head, *fields])
    names = ["record_id", "redcap_repeat_instrument", "redcap_repeat_instance", "base_timestamp", "email"]
    names += ["ward", "opinion", "hours", *(f"tools___{code}" for code in (1, 2, 3))]
    names += ["note", "base_complete", "pulse", "visit_complete"]
    if labelled:
        names = ["Record ID", "Repeat Instrument", "Repeat Instance", "Survey Timestamp", "E-mail",
                 "Where do you work?", "I like my work.", "How many hours a week?",
                 *(f"Which tools? (choice={tool})" for tool in TOOLS), "Anything else?", "Complete?", "Pulse",
                 "Complete?"]  # fmt: skip
    rows: list[list[object]] = [list(names)]
    for person in people():
        ticks: list[object] = [int(tool in person.tools) for tool in TOOLS]
        place: object = WARDS.index(person.ward) + 1
        opinion: object = AGREE.index(person.opinion) + 1 if person.opinion else ""
        done: object = 2
        if labelled:
            ticks = ["Checked" if tool in person.tools else "Unchecked" for tool in TOOLS]
            place, opinion, done = person.ward, person.opinion, "Complete"
        base = [person.time, person.email, place, opinion, person.hours, *ticks, person.note, done]
        rows.append([person.number + 1, "", "", *base, "", ""])
        for instance in (1, 2):
            pulse = 60 + person.number % 40 + 50 * (instance - 1)
            visit = "Visit" if labelled else "visit"
            rows.append([person.number + 1, visit, instance, *[""] * 10, pulse, done])
    return written(path, rows)


def statistics_file(path: Path) -> Path:
    """Write a file of SPSS or Stata with labels, and codes for no answer; needs pyreadstat and pandas."""
    import pandas
    import pyreadstat

    table = pandas.DataFrame(
        {
            "id": [float(person.number + 1) for person in people()],
            "ward": [float(WARDS.index(person.ward) + 1) for person in people()],
            "opinion": [
                float(AGREE.index(person.opinion) + 1) if person.opinion else 99.0 for person in people()
            ],
            "hours": [float(person.hours) if person.number % 20 != 7 else -1.0 for person in people()],
            "email": [person.email for person in people()],
        }
    )
    labels = {
        "ward": {float(code): ward for code, ward in enumerate(WARDS, start=1)},
        "opinion": {**{float(code): text for code, text in enumerate(AGREE, start=1)}, 99.0: "refused"},
    }
    texts = ["Number", "Where do you work?", "I like my work.", "How many hours a week?", "E-mail"]
    if path.suffix == ".sav":
        missing = {"opinion": [99.0], "hours": [{"lo": -9.0, "hi": -1.0}]}
        pyreadstat.write_sav(
            table, str(path), column_labels=texts, variable_value_labels=labels, missing_ranges=missing,
            variable_measure={"opinion": "ordinal"},
        )  # fmt: skip
    else:
        table.loc[table["opinion"] == 99.0, "opinion"] = float("nan")
        table.loc[table["hours"] < 0, "hours"] = float("nan")
        labels["opinion"].pop(99.0)
        for name in ("ward", "opinion"):
            labels[name] = {int(code): text for code, text in labels[name].items()}
        table["ward"] = table["ward"].astype(int)
        pyreadstat.write_dta(table, str(path), column_labels=texts, variable_value_labels=labels)
    return path
