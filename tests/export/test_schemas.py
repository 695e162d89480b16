"""JSON Schemas: every type has one, and its files fit it with nothing missing and nothing added."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator, ValidationError

from mechdesign.cli import main
from mechdesign.collect.base import mechanism_types
from mechdesign.core.errors import UnknownNameError
from mechdesign.data.intake import Intake
from mechdesign.export import schema
from mechdesign.export.schemas import SOMETIMES, TABLES
from tests.meta.test_shown import MECHANISMS
from tests.support.clients import CLIENTS

MODELS = ["response/zhou2019_survey", "contract/three_types"]


def test_every_type_has_a_schema_which_is_one():
    assert set(TABLES) == set(mechanism_types())
    for kind in TABLES:
        Draft202012Validator.check_schema(schema(kind))
    with pytest.raises(UnknownNameError, match="did you mean 'duchi'"):
        schema("ducki")


def filed(mechanism, path):
    mechanism.save(path)
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted({**MECHANISMS, **CLIENTS}))
def test_files_fit_their_schema_and_nothing_may_be_missing_or_added(name, tmp_path):
    mechanism = CLIENTS[name]() if name in CLIENTS else MECHANISMS[name][0]()
    document = filed(mechanism, tmp_path / "m.json")
    validator = Draft202012Validator(schema(mechanism.type))
    validator.validate(document)
    for key in document["content"]:
        rest = {other: value for other, value in document["content"].items() if other != key}
        missing = [] if key in SOMETIMES.get(mechanism.type, "").split() else [rest]
        for broken in (*missing, {**document["content"], key: {"no": "value"}}):
            assert not validator.is_valid({**document, "content": broken})
    assert not validator.is_valid({**document, "content": {**document["content"], "more": 1}})
    assert not validator.is_valid({**document, "version": 1})


def test_numbers_beyond_doubles_have_to_be_strings(tmp_path):
    document = filed(CLIENTS["finite-channel"](), tmp_path / "m.json")
    validator = Draft202012Validator(schema("finite-channel"))
    document["content"]["weights"][0][0] = int(document["content"]["weights"][0][0])
    with pytest.raises(ValidationError):
        validator.validate(document)


def test_titles_and_columns_fit(tmp_path):
    mechanism = CLIENTS["kary 64"]().for_data(Intake(("age",), "drop")).described("t", "q")
    document = filed(mechanism, tmp_path / "m.json")
    Draft202012Validator(schema("kary-response")).validate(document)
    assert (document["about"]["title"], document["data"]["columns"]) == ("t", ["age"])


@pytest.mark.parametrize("slug", MODELS)
def test_what_build_writes_fits(slug, tmp_path, capsys):
    path = tmp_path / "m.json"
    assert main(["build", slug, "-o", str(path), "--title", "A title", "--question", "Why?"]) == 0
    assert json.loads(path.read_text())["about"]["title"] == "A title"
    assert main(["export", str(path), "--to", "schema", "-o", str(tmp_path / "s.json")]) == 0
    Draft202012Validator(json.loads((tmp_path / "s.json").read_text())).validate(json.loads(path.read_text()))
    if slug.startswith("response"):
        assert main(["export", str(path), "--to", "html", "-o", str(tmp_path / "page.html")]) == 0
        assert "<h1>A title</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")
