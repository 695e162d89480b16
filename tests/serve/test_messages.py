"""The server takes what ``estimate`` counts, and nothing else: for every mechanism with a client."""

from __future__ import annotations

import json
import random

import pytest

from mechdesign.collect.collecting import Settings
from mechdesign.collect.server import missing_rule, new_server
from mechdesign.core.errors import MethodError
from mechdesign.data.json_lines import JsonTable
from mechdesign.families.marginals.items.hashing import SetHashing
from tests.export.test_receiver import SHAPES, altered, genuine, is_counted
from tests.support.serving import asked, message, require_packages

require_packages()

from mechdesign.serve import Place  # noqa: E402 (needs the packages)
from mechdesign.serve.application import respondents_application  # noqa: E402


def test_what_has_no_page_is_not_served(tmp_path):
    with Place(tmp_path / "place") as place:
        with pytest.raises(
            MethodError, match="a page lists at most 2000 items to choose from, and there are 2001"
        ):
            place.adopt(SetHashing.of(2001, 1.0, 2, 100).described("Staff", id="staff-2026"), "staff")
        assert not place.surveys(), "no empty survey is left"


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_the_server_and_a_file_take_the_same_messages(name, tmp_path):
    rng = random.Random(f"served {name}")
    with Place(tmp_path / "place") as place:
        survey = place.adopt(SHAPES[name]().described("Staff", id="staff-2026"), "staff")
        survey.change(least=1)
        survey.begin()
        server, mechanism = respondents_application(place), survey.mechanism
        assert asked(server, "GET", "/s/staff/")[0] in (200, 404)  # some have clients for programs alone
        rows, statuses = genuine(mechanism), []
        for number in range(12):
            said = message(mechanism, rows[number % len(rows)], number)
            wrong = altered(said, rng) if number % 4 else said
            if number % 8 == 1:
                wrong = {**said, "survey": rng.choice(["", "staff-2025", None, 0, "Staff-2026"])}
            text = json.dumps(wrong)
            status, _, answer = asked(server, "POST", "/s/staff/reports", text.encode())
            statuses.append(status)
            assert (status == 204) == is_counted(mechanism, text, tmp_path / "one.jsonl"), (text, answer)
        assert set(statuses) == {204, 400}
        assert survey.count == statuses.count(204)
        survey.reports_file(tmp_path / "all.jsonl")
    assert users_of(mechanism, tmp_path / "all.jsonl") == statuses.count(204)


def users_of(mechanism, path):
    """Return for how many users a file of reports is counted."""
    server = new_server(mechanism)
    server.count_table(JsonTable(path, missing_rule(mechanism)), Settings())
    return server.users
