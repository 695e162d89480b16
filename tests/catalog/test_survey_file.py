"""Survey files: [survey] and [[questions]] at the top level, and what is wrong with them in one line."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

import mechdesign as md
from mechdesign.catalog.survey_file import survey_schema
from mechdesign.core.errors import MechDesignError
from mechdesign.data.about import LONGEST

HEAD = '[survey]\ntitle = "Mood"\nepsilon = 2.0\n'
CHOICE = '[[questions]]\nname = "mood"\ntext = "How are you?"\nlabels = ["bad", "good"]\n'
NUMBER = '[[questions]]\nname = "hours"\ntext = "How long?"\nrange = [0, 24]\n'
ORDERED = '[[questions]]\nname = "pain"\nkind = "ordered"\nlabels = ["none", "some", "much"]\n'
TICKS = '[[questions]]\nname = "tools"\nkind = "several"\nlabels = ["mail", "chat"]\n'


@pytest.fixture
def load(tmp_path):
    def load(*parts, **overrides):
        path = tmp_path / "mood.toml"
        path.write_text("".join(parts), encoding="utf-8")
        return md.load_model(path, overrides)

    return load


def test_one_question_has_the_problem_for_one(load):
    model = load(HEAD, "users = 500\n", CHOICE)
    assert (model.problem.name, model.problem.labels) == ("frequency-oracle", ("bad", "good"))
    assert (model.problem.epsilon, model.problem.planned_users) == (2.0, 500)
    assert model.about.question == "How are you?"
    assert model.data.intake.columns == ("mood",)
    model = load(HEAD, "users = 500\n", NUMBER)
    assert (model.problem.name, model.about.users) == ("mean-channel", 500)
    assert model.data.ranges == ((0.0, 24.0),)


@pytest.mark.parametrize("more", ["skip = true\n", "error = 0.03\n", "frequencies = [0.5, 0.5]\n"])
def test_one_question_that_needs_more_is_a_survey(load, more):
    assert load(HEAD, CHOICE, more).problem.name == "survey-design"


def test_an_ordered_question_alone_keeps_its_median(load):
    assert load(HEAD, ORDERED).problem.name == "survey-design"


@pytest.mark.parametrize("question", [CHOICE, NUMBER, ORDERED, TICKS])
def test_one_question_is_built_with_its_words(load, question):
    """The same error whether it is designed alone or as a survey of one question."""
    model = load(HEAD, "users = 1000\n", question)
    survey = md.Survey(model=model).build()
    (text,) = survey.questions
    assert text.text in (model.about.question or text.name, text.name)
    assert survey.mechanism.about.users == 1000


def test_a_survey_is_the_model_of_survey_design(load):
    survey = load(HEAD, "users = 800\n", CHOICE, NUMBER, "hint = 'about'\n", TICKS)
    long = load(
        '[model]\ntitle = "Mood"\nproblem = "survey-design"\n[parameters]\nepsilon = 2.0\nusers = 800\n',
        '[[parameters.questions]]\nname = "mood"\nlabels = ["bad", "good"]\n',
        '[[parameters.questions]]\nname = "hours"\nrange = [0, 24]\n',
        '[[parameters.questions]]\nname = "tools: mail"\nlabels = ["no", "yes"]\n',
        '[[parameters.questions]]\nname = "tools: chat"\nlabels = ["no", "yes"]\n',
    )
    assert survey.problem == long.problem
    built, other = md.solve(survey.problem).mechanism(), md.solve(long.problem).mechanism()
    assert built.fingerprint == other.fingerprint
    assert [question.columns for question in survey.about.questions] == [
        ("mood",),
        ("hours",),
        ("tools: mail", "tools: chat"),
    ]


def test_parameters_can_be_overridden(load):
    assert load(HEAD, CHOICE, epsilon=0.5).problem.epsilon == 0.5
    assert load(HEAD, CHOICE, NUMBER, users=77).problem.users == 77


def test_texts_of_other_languages(load):
    german = '[survey.translations.de]\ntitle = "Stimmung"\n[survey.translations.de.questions.mood]\n'
    german += 'text = "Wie geht es?"\nlabels = ["schlecht", "gut"]\n'
    about = load(HEAD, 'language = "en"\n', german, CHOICE).about
    assert about.languages == ("en", "de")
    other = about.in_language("de")
    assert (other.title, other.question) == ("Stimmung", "Wie geht es?")
    assert other.question_text("mood").labels == ("schlecht", "gut")
    both = load(HEAD, german, CHOICE, NUMBER).about.in_language("de")
    assert [both.question_text(name).text for name in ("mood", "hours")] == ["Wie geht es?", "How long?"]


TITLES = [
    "quotes \\\" and '",
    "</script><script>alert(1)</script>",
    "\\U0001F600 emoji",
    "\\u0645\\u0631\\u062D\\u0628\\u0627 right to left",
    "a line\\nand another",
    "@@SCRIPT@@ {count}",
    "x" * LONGEST,
    "\\u0007 bell",
]


@pytest.mark.parametrize("title", TITLES)
def test_a_title_with_any_character_is_read_built_and_shown(load, title, tmp_path):
    model = load(f'[survey]\ntitle = "{title}"\nepsilon = 2.0\n', CHOICE)
    survey = md.Survey(model=model).build()
    survey.save(tmp_path / "mood.json")
    assert md.Survey.load(tmp_path / "mood.json").title == survey.title
    page = survey.page()
    assert page.count("</script>") == 1
    assert "<script>alert" not in page
    assert "\n" not in survey.title


WRONG = {
    'titel = "x"': "did you mean 'title'?",
    "questions = 3": "did you mean",
    "epsilonn = 1.0": "did you mean 'epsilon'?",
    "introduction = 3": "expected a string, got 3",
    "language = 'deutsch!'": "is not the tag of a language",
    "id = 'a b'": "cannot be the identity of a survey",
    "users = 0": "0 is not from 1 to",
    "wave = 2026": "expected a string, got 2026; put it in quotes",
    "translations = 3": "is not a table of languages",
    "translations.de.titel = 'x'": "did you mean 'title'?",
    "translations.de.questions.moood.text = 'x'": "no question 'moood'; did you mean 'mood'?",
    "translations.de.questions.mood.labels = ['a']": "expected 2 texts",
    "translations.de.questions.mood.labels = ['a', 'a ']": '"a" stands for two answers',
    "translations.de.questions.mood.text = 3": "expected a string, got 3",
    "contact = '" + "x" * (LONGEST + 1) + "'": "has 1001 letters; give at most 1000",
    "tables = [['mood', 'x']]": "no question 'x'",
    "goal = 'wurst'": "did you mean 'worst'?",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_in_survey_is_one_line(load, line):
    with pytest.raises(MechDesignError) as error:
        load(HEAD, line, "\n", CHOICE, NUMBER)
    assert WRONG[line] in str(error.value)
    assert "\n" not in str(error.value)
    assert "mood.toml" in str(error.value)


ODD = {
    'question = "x"\n': "no key 'question'; write text = ...",
    "lables = 3\n": "did you mean 'labels'?",
    'kind = "severall"\n': "did you mean 'several'?",
    "ends = ['a']\n": "expected the labels of both ends of a scale, got 1 text",
    "ends = 'ab'\n": "expected a list",
    "text = 3\n": "expected a string, got 3",
    "error = -1\n": "error",
    "range = [0, 1]\n": "a number has none",
}


@pytest.mark.parametrize("line", ODD)
def test_what_is_wrong_in_a_question_is_one_line(load, line):
    question = CHOICE.replace('text = "How are you?"\n', "") if line.startswith("text") else CHOICE
    with pytest.raises(MechDesignError) as error:
        load(HEAD, question, line, NUMBER)
    assert ODD[line] in str(error.value)
    assert "mood" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ((CHOICE,), "[survey]: is missing"),
        ((HEAD,), "questions: are missing; write [[questions]]"),
        ((HEAD, "[questions]\n", 'name = "a"\n'), "are not a list of tables"),
        ((HEAD, CHOICE, '[model]\ntitle = "x"\n'), "has both [survey] or [[questions]] and [model]"),
        ((HEAD, CHOICE, "[parameters]\nepsilon = 1.0\n"), "and [parameters]"),
        (('[survey]\ntitle = "x"\n', CHOICE), "epsilon: is missing"),
        (("[survey]\nepsilon = 1.0\n", CHOICE), "title: is missing"),
        ((HEAD, CHOICE, CHOICE), "'mood' appears twice"),
        ((HEAD, '[[questions]]\nlabels = ["a", "b"]\n'), "one has no name"),
        ((HEAD, '[[questions]]\nname = "a"\nkind = "several"\n'), "labels: are missing or not texts"),
        ((HEAD, CHOICE, '[data]\ncolumns = ["x"]\n'), "is stated by the questions"),
        (("[[survey]]\n", CHOICE), "is not one table"),
    ],
)
def test_a_file_that_is_no_survey_is_one_line(load, parts, what):
    with pytest.raises(MechDesignError) as error:
        load(*parts)
    assert what in str(error.value)
    assert "\n" not in str(error.value)


def test_the_schema_knows_what_is_read(load, tmp_path):
    """What it has a key for is read, and what is refused as unknown is refused by it as well."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(survey_schema())
    validator.check_schema(survey_schema())
    for text in (
        HEAD + CHOICE,
        HEAD + NUMBER + TICKS,
        HEAD + 'wave = "1"\n' + ORDERED + "ends = ['a', 'b']\n",
    ):
        load(text)
        assert validator.is_valid(tomllib.loads(text)), text
    example = files("mechdesign.report") / "examples" / "staff.toml"
    assert validator.is_valid(tomllib.loads(example.read_text(encoding="utf-8")))
    for line in (
        'titel = "x"',
        "introduction = 3",
        "users = 0",
        "wave = 2026",
        "translations.de.titel = 'x'",
    ):
        assert not validator.is_valid(tomllib.loads(f"{HEAD}{line}\n{CHOICE}")), line
    for line in ('question = "x"\n', "lables = 3\n", 'kind = "severall"\n', "ends = ['a']\n"):
        assert not validator.is_valid(tomllib.loads(HEAD + CHOICE + line)), line
    known = survey_schema()["properties"]["questions"]["items"]["properties"]
    assert all("description" in entry for entry in known.values())
