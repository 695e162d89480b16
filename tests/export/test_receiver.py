"""What a receiver takes is what ``estimate`` counts: forty wrong messages for every type with a client."""

from __future__ import annotations

import json
import random
import time
from functools import partial

import numpy as np
import pytest

from mechdesign.collect.collecting import operation_of
from mechdesign.collect.server import missing_rule, new_server, rule_for
from mechdesign.core.errors import DataError, MechDesignError
from mechdesign.data.json_lines import JsonTable
from mechdesign.export import Receiver
from mechdesign.export.known_answers import self_check
from mechdesign.export.messages import MessageReader
from mechdesign.families.hitters import PrefixReports
from mechdesign.families.marginals.sets import ProductSet, SetResponse
from mechdesign.families.mean import DiscretePiecewise
from mechdesign.primitives import FiniteChannel
from mechdesign.primitives.finite import PrivacyTarget
from mechdesign.survey import next_wave
from tests.support.clients import CLIENTS, MESSAGES


def with_an_impossible_report():
    rows = np.array([[0.5, 0.25, 0.25, 0.0], [0.25, 0.5, 0.25, 0.0], [0.25, 0.25, 0.5, 0.0]])
    return FiniteChannel.from_floats(rows, PrivacyTarget(1.0))


SHAPES = {
    **{name: make for name, make in CLIENTS.items() if name not in MESSAGES},
    "impossible report": with_an_impossible_report,
    "sets of full bytes": lambda: SetResponse.of([8, 8], 2.0, ProductSet([2, 1])),
    "piecewise with a wide range": lambda: DiscretePiecewise(1.0, -1e6, 1e6),
    "texts of utf-8": lambda: PrefixReports.of(4.0, "utf-8", 16, 6, [8, 16], [0.4, 0.6], [0.01] * 2),
}
"""Those that clients are exported of, with texts of two bytes only: few reports leave all beginnings."""

TOO_FEW = ("; build a mechanism for this many users", "the last group has none; give more reports")
"""Why nothing is estimated from twenty reports of texts that are no draw: equal seeds, or one group."""

LABELS = [None, True, False, 0.5, 1.0, -1, -0.0, 1 << 40, 1 << 62, 1 << 63, 1 << 70, -(1 << 63), 1e300]
LABELS += [
    "",
    " ",
    "x",
    "0",
    "00",
    "01",
    "+1",
    "1.0",
    " 1",
    "1e0",
    "\u0661",
    "x\u0661\u0661",
    "nan",
    "\ud800",
    "\0",
]
LABELS += [
    [],
    [0],
    {},
    {"a": 0},
    "0:0",
    "00:1",
    "0:01",
    "0:0|0",
    "0:x0",
    ":",
    "0:",
    "9" * 400,
    "x" + "0" * 400,
]


def message(mechanism, rows):
    head = {"format": "mechdesign-report", "version": 1, "fingerprint": mechanism.fingerprint}
    return {**head, "rows": rows}


def genuine(mechanism):
    """Return the rows of some reports of a client."""
    recipe = mechanism.recipe()
    found = []
    for _, _, report in self_check(mechanism, 20)[:20]:
        listed = report if isinstance(report, list) else [report]
        table = listed if recipe.several else [listed]
        found.append([dict(zip(recipe.columns, row, strict=True)) for row in table])
    return found


def altered_value(value, rng):
    """Return a value that is changed at one place, or another one."""
    if rng.random() < 0.3:
        return rng.choice(LABELS)
    if isinstance(value, int):
        return rng.choice(
            [value + 1, value - 1, -value - 1, str(value), f"0{value}", float(value), value << 8]
        )
    place, letter = rng.randrange(len(value) + 1), rng.choice("0123456789abcdefABCDEFx:|.- \u0661")
    swapped = value[:place] + letter + value[place + 1 :]
    digits = [at for at, sign in enumerate(value) if sign.isdigit()] or [0]
    padded = rng.choice(digits)
    return rng.choice(
        [swapped, swapped, value[:-1], value + letter, value.upper(), value[:padded] + "0" + value[padded:]]
    )


def altered(said, rng):
    """Return a message that differs from a genuine one at one place."""
    rows = [dict(row) for row in said["rows"]]
    row = rng.randrange(len(rows))
    name = rng.choice(list(rows[row]))
    kind = rng.random()
    if kind < 0.75:
        rows[row][name] = altered_value(rows[row][name], rng)
    elif kind < 0.8:
        rows[row][rng.choice(["more", name.upper()])] = 0
    elif kind < 0.85:
        del rows[row][name]
    elif kind < 0.95:
        rows = rng.choice([rows[:-1], [*rows, rows[row]], [rows], [list(rows[0].values())], rows[0], None])
    else:
        key = rng.choice(["format", "version", "fingerprint"])
        return {**said, key: rng.choice([None, True, 1.0, 2, "1", "0" * 64, said["fingerprint"][:-1]])}
    return {**said, "rows": rows}


def is_counted(mechanism, text, path):
    """Whether ``estimate`` reads a file with this one line, as the command opens it."""
    path.write_text(text + "\n", encoding="utf-8")
    operation = operation_of(mechanism.operations(), "estimate", mechanism.type)
    settings = operation.settings({})
    rule = rule_for(mechanism, operation).with_messages(partial(MessageReader, mechanism))
    try:
        new_server(mechanism).count_table(JsonTable(path, rule), settings)
    except MechDesignError:
        return False
    return True


def is_received(mechanism, text):
    receiver = Receiver(mechanism)
    try:
        receiver.rows(receiver.parsed(text.encode()))
    except DataError:
        return False
    return True


def users_of(mechanism, rows, path):
    """Estimate from a file with these rows as the command does it, and return for how many users."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    operation = operation_of(mechanism.operations(), "estimate", mechanism.type)
    table, settings = JsonTable(path, missing_rule(mechanism)), operation.settings({})
    try:
        estimate = operation.run([table], settings)
    except DataError as error:
        if not (isinstance(mechanism, PrefixReports) and str(error).endswith(TOO_FEW)):
            raise
    else:
        assert estimate is not None
    server = new_server(mechanism)
    server.count_table(table, settings)
    return server.users


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_what_is_taken_can_be_estimated(name, tmp_path):
    mechanism, rng = SHAPES[name](), random.Random(name)
    receiver = Receiver(mechanism)
    taken = [receiver.rows(message(mechanism, rows)) for rows in genuine(mechanism)]
    assert taken == genuine(mechanism)
    refused = []
    for number in range(40):
        wrong = altered(message(mechanism, taken[number % 20]), rng)
        try:
            taken.append(receiver.rows(json.loads(json.dumps(wrong))))
        except DataError as error:
            refused.append(str(error))
    assert len(refused) >= 15
    assert all(text.startswith("message: ") and "\n" not in text for text in refused)
    every = [row for rows in taken for row in rows]
    assert users_of(mechanism, every, tmp_path / "all.jsonl") == len(taken)
    assert users_of(mechanism, taken[-1] * 20, tmp_path / "one.jsonl") == 20


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_a_server_and_a_file_take_the_same_messages(name, tmp_path):
    first, rng = SHAPES[name]().described("Staff", id="staff-2026"), random.Random(f"both {name}")
    mechanism = next_wave(SHAPES[name]().described("Staff", id="staff-2027"), "2027", first)
    rows, verdicts = genuine(mechanism), []
    for number in range(60):
        said = {**message(mechanism, rows[number % len(rows)]), "survey": "staff-2027"}
        wrong = altered(said, rng) if number % 6 else said
        if number % 6 == 1:
            wrong = {**said, "survey": rng.choice([None, "", "staff-2026", "STAFF-2027", 1])}
        text = json.dumps(wrong)
        verdicts.append(is_received(mechanism, text))
        assert is_counted(mechanism, text, tmp_path / "one.jsonl") == verdicts[-1], text
    assert sum(verdicts[::6]) == 10
    assert not any(verdicts[1::6])


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("{}", True),
        ("\ufeff{}", True),
        (" {} \r", True),
        ('{}{"a": 1}', False),
        ('{} "x"', False),
        ("[{}]", False),
        ('{"message": {}}', False),
    ],
)
def test_what_stands_around_a_message(text, is_taken, tmp_path):
    mechanism = SHAPES["kary-response"]()
    said = json.dumps(message(mechanism, genuine(mechanism)[0]))
    text = text.replace("{}", said)
    assert is_received(mechanism, text) is is_counted(mechanism, text, tmp_path / "one.jsonl") is is_taken


@pytest.mark.parametrize("digits", ["9" * 400, "-" + "9" * 4000])
def test_a_number_beyond_all_doubles_is_refused_in_one_line(digits, tmp_path):
    for name in ("duchi", "attribute-sampling", "kary 64"):
        mechanism = SHAPES[name]()
        rows = [dict.fromkeys(row, int(digits)) for row in genuine(mechanism)[0]]
        assert not is_received(mechanism, json.dumps(message(mechanism, rows)))
        assert not is_counted(mechanism, json.dumps(message(mechanism, rows)), tmp_path / "one.jsonl")
        assert not is_counted(mechanism, json.dumps(rows[0]), tmp_path / "row.jsonl")


def test_a_key_that_appears_twice_is_refused(tmp_path):
    mechanism = SHAPES["kary-response"]()
    said = json.dumps(message(mechanism, genuine(mechanism)[0]))
    for key in ("rows", "fingerprint", mechanism.recipe().columns[0]):
        text = said.replace(f'"{key}":', f'"{key}": 1, "{key}":')
        assert text != said
        assert not is_received(mechanism, text)
        assert not is_counted(mechanism, text, tmp_path / "one.jsonl")


@pytest.mark.parametrize(
    ("name", "report", "why"),
    [
        ("survey", "00:1|x80", "names no design"),
        ("survey", "0:01|xa4", "'01' is neither the number of a report nor a set"),
        ("survey", "0:+1|xa4", r"'\+1' is neither the number of a report nor a set"),
        ("survey", "0:1|xA4", "'xA4' is neither the number of a report nor a set"),
        ("subset-selection", "x0A00", "not a value that a client sends"),
        ("set-response", "x0000", "'x0000' is not a report"),
        ("set-response", "x000000", "holds 0 values of attribute 0, not 1"),
        ("impossible report", 3, "no answer can cause the report '3'"),
        ("duchi", "1", "not a value that a client sends"),
        ("duchi", 1.0, "not a value that a client sends"),
        ("duchi", True, "not a value that a client sends"),
        ("kary-response", 1, "not a value that a client sends"),
    ],
)
def test_the_reader_says_why(name, report, why):
    mechanism = SHAPES[name]()
    (column,) = mechanism.recipe().columns
    with pytest.raises(DataError, match=f"is not a report of this mechanism.*{why}"):
        Receiver(mechanism).rows(message(mechanism, [{column: report}]))


def test_a_user_reports_different_attributes():
    mechanism = SHAPES["attribute-sampling"]()
    first, second = next(rows for rows in genuine(mechanism))
    assert Receiver(mechanism).rows(message(mechanism, [second, first])) == [second, first]
    with pytest.raises(DataError, match="names an attribute twice"):
        Receiver(mechanism).rows(message(mechanism, [first, first]))


def test_a_message_takes_no_longer_for_a_large_channel():
    rng = np.random.default_rng(7)
    mechanism = FiniteChannel.from_floats(rng.dirichlet(np.ones(200), size=200), PrivacyTarget(1.5))
    receiver = Receiver(mechanism)
    said = message(mechanism, [{receiver.recipe.columns[0]: 17}])
    receiver.rows(said)
    begin = time.process_time()
    for _ in range(100):
        receiver.rows(said)
    assert time.process_time() - begin < 0.25  # 0.02 s; a digest of the channel for each message: 0.6 s
