"""Model files: what is read, and every mistake named with file, table and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from mechdesign.catalog import load_model, models, shipped
from mechdesign.catalog.load import MODEL_KEYS, SIMULATION_KEYS
from mechdesign.catalog.shipped import ModelLine, _listed, listed_models, models_folder
from mechdesign.cli import main
from mechdesign.core.errors import MechDesignError, ModelFileError, UnknownNameError
from mechdesign.papers.claims.claim import COMPARISONS, TRENDS
from mechdesign.papers.claims.reading import CLAIM_KEYS

HEAD = '[model]\ntitle = "t"\nproblem = "randomized-response"\n'
PARAMETERS = "[parameters]\nprior = [0.5, 0.5]\nepsilon = 1.0\n"
CLAIM = '[[claim]]\nquantity = "value"\nvalue = 0.7\n'


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str) -> Path:
        path = tmp_path / "own.toml"
        path.write_text(text)
        return path

    return written


def test_an_own_file_by_its_path(write):
    model = load_model(write(HEAD + PARAMETERS + CLAIM + "[sweep]\nepsilon = [1, 2]\n"))
    assert model.problem.epsilon == 1.0
    assert model.sweep == {"epsilon": (1, 2)}
    assert model.claims[0].verdict == "holds"
    assert model.slug.endswith("own.toml")
    assert load_model(str(model.slug), {"epsilon": 2.0}).problem.epsilon == 2.0


def test_shipped_models_by_their_slug():
    assert "response/zhou2019_survey" in models()
    assert models("response") == [slug for slug in models() if slug.startswith("response/")]
    assert models("nothing") == []
    assert load_model("response/zhou2019_survey").family == "response"
    assert (models_folder() / "references.toml").is_file()
    with pytest.raises(UnknownNameError, match="did you mean 'response/zhou2019_survey'"):
        load_model("response/zhou2019_surve")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model\n", "is not valid TOML"),
        ("[modell]\n", "unknown key 'modell'; did you mean 'model'?"),
        (HEAD + 'titel = "t"\n' + PARAMETERS, "[model] unknown key 'titel'; did you mean 'title'?"),
        ('[model]\nproblem = "randomized-response"\n' + PARAMETERS, "[model] title: is missing"),
        ('[model]\ntitle = "t"\n' + PARAMETERS, "[model] problem: is missing"),
        (
            '[model]\ntitle = "t"\nproblem = "randomised-response"\n',
            "[model] problem: no 'randomised-response'",
        ),
        (HEAD + 'source = "zhou"\n' + PARAMETERS, "source: is not a table"),
        (HEAD + 'methods = "lp"\n' + PARAMETERS, "[model] methods: expected a list"),
        (HEAD + 'methods = ["lpp"]\n' + PARAMETERS, "[model] methods: no 'lpp'; did you mean 'lp'?"),
        (
            HEAD + "[parameters]\nprior = [0.5, 0.5]\nepsilom = 1.0\n",
            "[parameters] no parameter 'epsilom'; did you",
        ),
        (HEAD + "[parameters]\nprior = [0.5, 0.5]\n", "[parameters] parameter 'epsilon' is missing"),
        (
            HEAD + "[parameters]\nprior = [0.5, 0.4]\nepsilon = 1.0\n",
            "[parameters] prior: sums to 0.9, not 1",
        ),
        (
            HEAD + "[parameters]\nprior = [0.5, nan]\nepsilon = 1.0\n",
            "[parameters] prior: has NaN at index 1",
        ),
        (HEAD + "[parameters]\nprior = [0.5, 0.5]\nepsilon = inf\n", "[parameters] epsilon: is infinite"),
        ("model = 3\n", "model: is not a table; write [model]"),
        (HEAD + PARAMETERS + "[claim]\nquantity = 1\n", "[[claim]]: is a single table"),
        (HEAD + PARAMETERS + '[[claim]]\nquantity = "value"\n', "[claim 1] value: is missing"),
        (HEAD + PARAMETERS + CLAIM + CLAIM + "tolerence = 1\n", "[claim 2] unknown key 'tolerence'; did you"),
        (
            HEAD + PARAMETERS + CLAIM + 'origin = "papre"\n',
            "[claim 1] origin: 'papre' is not a choice; did you",
        ),
        (
            HEAD + PARAMETERS + CLAIM + 'verdict = "hold"\n',
            "[claim 1] verdict: 'hold' is not a choice; did you",
        ),
        (HEAD + PARAMETERS + CLAIM + 'verdict = "refuted"\n', "[claim 1] reason: a refuted claim needs one"),
        (
            HEAD + PARAMETERS + CLAIM + "tolerance = -1.0\n",
            "[claim 1] tolerance: -1.0 is not a finite number >= 0",
        ),
        (
            HEAD + PARAMETERS + CLAIM + "tolerance = nan\n",
            "[claim 1] tolerance: nan is not a finite number >= 0",
        ),
        (
            HEAD + PARAMETERS + CLAIM + 'relation = "=>"\n',
            "[claim 1] relation: '=>' is not a choice; did you",
        ),
        (
            HEAD + PARAMETERS + CLAIM + 'relation = "increasing"\n',
            "[claim 1] value: 'increasing' is about the",
        ),
        (HEAD + PARAMETERS + CLAIM + 'over = "epsilon"\n', "[claim 1] over: is for trends"),
        (
            HEAD + PARAMETERS + CLAIM + "tolerance = 1\nrelative_tolerance = 0.1\n",
            "[claim 1] tolerance: is given",
        ),
        (
            HEAD + PARAMETERS + CLAIM.replace("0.7", "[[1], [1, 2]]"),
            "[claim 1] value: the rows are of different",
        ),
        (HEAD + PARAMETERS + CLAIM.replace("0.7", "nan"), "[claim 1] value: has NaN"),
        (HEAD + PARAMETERS + "[[claim]]\nvalue = 1\n", "[claim 1] quantity: is missing"),
        (HEAD + PARAMETERS + CLAIM + "at = 3\n", "[claim 1] at: is not a table"),
        (
            HEAD + PARAMETERS + "[sweep]\nepsilom = [1]\n",
            "[sweep] unknown key 'epsilom'; did you mean 'epsilon'?",
        ),
        (HEAD + PARAMETERS + "[sweep]\nepsilon = []\n", "[sweep] epsilon: expected a non-empty list"),
        (HEAD + PARAMETERS + "[sweep]\nepsilon = 2\n", "[sweep] epsilon: expected a non-empty list"),
        (HEAD + PARAMETERS + "[sweep]\nepsilon = [1.0, 2, 1]\n", "[sweep] epsilon: 1 appears twice"),
        (HEAD + PARAMETERS + "[simulation]\nusers = 0\n", "[simulation] users: 0 is not a whole number >= 1"),
        (HEAD + PARAMETERS + "[simulation]\nseed = 1\n", "[simulation] users: is missing"),
        (
            HEAD + PARAMETERS + "[simulation]\nuser = 1\n",
            "[simulation] unknown key 'user'; did you mean 'users'?",
        ),
    ],
)
def test_every_mistake_names_file_table_and_key(write, text, message):
    path = write(text)
    with pytest.raises(MechDesignError) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_key_and_every_relation_is_documented():
    page = (models_folder() / "README.md").read_text(encoding="utf-8")
    for key in (*MODEL_KEYS, *CLAIM_KEYS, *SIMULATION_KEYS):
        assert f"`{key}`" in page, key
    for relation in (*COMPARISONS, *TRENDS):
        assert f'`"{relation}"`' in page, relation


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ModelFileError, match="file not found"):
        load_model(tmp_path / "none.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / "folder.toml")
    (tmp_path / "latin.toml").write_bytes(b"[model]\ntitle = '\xe9'\n")
    with pytest.raises(ModelFileError, match="not text in UTF-8"):
        load_model(tmp_path / "latin.toml")


def test_the_list_says_what_the_loaded_models_say():
    """It reads heads of files only; a statement may look like a table, and a text may hold a claim."""
    for line in listed_models():
        if line.claims > 40:
            continue  # long files take long to load; their claims are counted in the same way
        model = load_model(line.slug)
        assert (line.problem, line.claims, line.title) == (model.problem.name, len(model.claims), model.title)


def test_the_list_reads_a_whole_file_where_its_head_is_not_enough(tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text(
        "[model]\ntitle = 'a'\nproblem = 'b'\nstatement = '''\n[c] is a line\n[[claim]]\n'''\n"
        "[[claim]]\nquantity = 'value'\n[[claim]]\nquantity = 'x'\n",
        encoding="utf-8",
    )
    assert _listed("odd", path) == ModelLine("odd", "b", 2, "a")


def test_a_model_that_is_added_later_is_found(monkeypatch):
    assert not shipped.is_model("response/added")
    monkeypatch.setattr(shipped, "models", lambda family=None: ["response/added"])
    assert shipped.is_model("response/added")


DATED = """
[model]
title = "t"
problem = "randomized-response"
{model}
[parameters]
prior = [0.5, 0.5]
epsilon = 1.0
{parameters}
"""

DATES = {
    "[model] source where": ({"model": 'source = {cite = "x", where = 1979-05-27}'}, "1979-05-27"),
    "[model] statement": ({"model": "statement = 07:32:00"}, "07:32:00"),
    "[parameters] labels 2": ({"parameters": 'labels = ["a", 1979-05-27T07:32:00Z]'}, "1979-05-27 07:32"),
    "[sweep] epsilon 1": ({"parameters": "[sweep]\nepsilon = [1979-05-27]"}, "1979-05-27"),
    "[claim] 1 at x": ({"parameters": "[[claim]]\nat = {x = 1979-05-27}"}, "1979-05-27"),
    "[data] column": ({"parameters": "[data]\ncolumn = 1979-05-27"}, "1979-05-27"),
    "[unknown] a": ({"parameters": "[unknown]\na = 1979-05-27"}, "1979-05-27"),
}


@pytest.mark.parametrize("place", DATES)
@pytest.mark.parametrize("command", [["show"], ["show", "--json"], ["check"], ["sweep"], ["solve"]])
def test_a_date_is_refused_wherever_it_is(place, command, tmp_path, capsys):
    parts, date = DATES[place]
    path = tmp_path / "m.toml"
    path.write_text(DATED.format(**{"model": "", "parameters": "", **parts}))
    assert main([command[0], str(path), *command[1:]]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"mechdesign: {path}: {place}: {date}")
    assert "is a date or a time; put it in quotes" in said


def test_a_date_in_an_option_is_a_text(tmp_path, capsys):
    path = tmp_path / "m.toml"
    path.write_text(DATED.format(model="", parameters=""))
    assert main(["show", str(path), "--set", "epsilon=1979-05-27"]) == 2
    assert "epsilon: expected a number, got '1979-05-27'" in capsys.readouterr().err
