"""Small things that people met: close names, long listings, repeated reports, trade-offs of files."""

from __future__ import annotations

import json

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.cli.parser import parser
from mechdesign.collect.collecting import Settings
from mechdesign.data import identifiers as repeats
from mechdesign.families.mean import Duchi
from mechdesign.papers.shown.model import MOST_CLAIMS


def error_of(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err.strip()


@pytest.fixture
def survey(tmp_path, capsys):
    """A mechanism file and a file of answers."""
    path = tmp_path / "survey.json"
    md.solve(md.FrequencyOracle(labels=["no", "yes"], epsilon=1.0)).mechanism().save(path)
    (tmp_path / "people.csv").write_text("answer\n" + "no\nyes\n" * 20)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("list", "marginal"), "no family 'marginal'; did you mean 'marginals'?"),
        (("findings", "shufle"), "no family or source 'shufle'; did you mean 'shuffle'?"),
        (("show", "frequency"), "no model or problem 'frequency'; did you mean 'frequency-oracle'?"),
        (("compare", "marginal"), "no model or family 'marginal'; did you mean 'marginals'?"),
        (
            ("check", "census_views"),
            "no model or family 'census_views'; did you mean 'marginals/census_views'?",
        ),
        (("check", "zzz"), "no model or family 'zzz'; known: auction, contract"),
        (("solve", "zzz"), "no 'zzz'; run 'mechdesign list' to see all"),
        (("solve", "all.json"), "'all.json' is a mechanism file; name the model that it was built from"),
        (("solve", "response/nary", "--method", "closedform"), "did you mean 'closed-form'?"),
    ],
)
def test_every_wrong_name_is_answered_with_a_close_one(capsys, arguments, hint):
    text = error_of(capsys, *arguments)
    assert hint in text
    assert "\n" not in text


def test_a_model_of_many_claims_is_cut_and_says_how_to_see_all(capsys):
    name = "marginals/zhang2019_table_3_3"
    claims = len(md.load_model(name).claims)
    assert main(["show", name]) == 0
    short = capsys.readouterr().out
    assert short.count("  claim: ") == MOST_CLAIMS
    assert f"... and {claims - MOST_CLAIMS} more claims; 'mechdesign show {name} --all' shows them" in short
    assert main(["show", name, "--all"]) == 0
    assert capsys.readouterr().out.count("  claim: ") == claims
    assert main(["show", "response/nary"]) == 0
    assert "more claims" not in capsys.readouterr().out


def test_the_trade_off_of_a_mechanism_file_has_its_epsilon_alone(survey, capsys):
    path = str(survey / "survey.json")
    assert main(["tradeoff", path, "--users", "1000", "--error", "0.05", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    mechanism = md.load_mechanism(path)
    assert row["epsilon"] == 1.0
    assert row["error"] == mechanism.forecast(1000).largest
    (needed,) = row["needed"]
    assert mechanism.forecast(needed).largest <= 0.05 < mechanism.forecast(needed - 1).largest
    assert "is for models" in error_of(capsys, "tradeoff", path, "--set", "epsilon=2")
    assert "not > 0" in error_of(capsys, "tradeoff", path, "--error", "0")


@pytest.mark.parametrize("text", ["5%", "5 %", "0.05", "1/20", "5e-2"])
def test_a_target_error_may_be_a_percentage(survey, capsys, text):
    path = str(survey / "survey.json")
    assert main(["tradeoff", path, "--error", text]) == 0
    assert "users for 0.05" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["5,5%", "%", "", "x", "nan", "1e400", "1e400%", "5%%", "0x5"])
def test_what_is_neither_a_number_nor_a_percentage_is_refused(survey, capsys, text):
    told = error_of(capsys, "tradeoff", str(survey / "survey.json"), f"--error={text}")
    assert told.startswith("mechdesign: --error: ")
    assert told.endswith("is neither a number nor a percentage; write 0.03 or 3%")


def test_a_percentage_is_of_a_share(tmp_path, capsys):
    Duchi(1.0, 0.0, 100.0).save(tmp_path / "ages.json")
    path = str(tmp_path / "ages.json")
    told = error_of(capsys, "tradeoff", path, "--error", "3%")
    assert told.endswith("3% is of a share, and errors here are those of: mean; give it in their own units")
    assert main(["tradeoff", path, "--error", "3"]) == 0


def test_no_share_has_a_standard_error_of_one_or_more(survey, tmp_path, capsys):
    told = error_of(capsys, "tradeoff", str(survey / "survey.json"), "--error", "3")
    assert told.endswith("--error: 3 is no standard error of a share; write 0.03, or 3%")
    for error, words in (("3", "3 is no standard error of a share"), ('"3%"', "expected a number, got '3%'")):
        told = refused_survey(tmp_path, capsys, f'{{ name = "a", labels = ["x", "y"], error = {error} }}')
        assert f"question 'a': error: {words}; write " in told
        assert "0.03 for 3%" in told
    head = '[model]\ntitle = "t"\nproblem = "survey-design"\n[parameters]\nepsilon = 3.0\n'
    hours = 'questions = [{ name = "n", range = [0, 60], skip = true, error = 3 }]\n'
    (tmp_path / "n.toml").write_text(head + hours)
    assert main(["build", str(tmp_path / "n.toml"), "-o", str(tmp_path / "n.json")]) == 0


QUESTION = (
    '{ name = "a", labels = ["x", "y"] }, { name = "n", range = [0, 9] }, { name = "b", labels = ["x", "y"] }'
)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            '{ name = "c", questoin = "?" }',
            "question 'c': no key 'questoin'; known: bins, cumulative, error, frequencies, importance, kind, "
            "labels, name, open_ends, range, scores, skip, spread",
        ),
        ('{ name = "c", importence = 2 }', "question 'c': no key 'importence'; did you mean 'importance'?"),
        ('{ name = "c", errors = 0.1 }', "question 'c': no key 'errors'; did you mean 'error'?"),
    ],
)
def test_what_a_question_may_say_is_known_as_a_whole(tmp_path, capsys, more, told):
    assert told in refused_survey(tmp_path, capsys, f"{QUESTION}, {more}")


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ('tables = [{ questions = ["a", "b"], weight = 2 }]', "known: error, importance, questions"),
        ('tables = [{ questions = ["a", "b"], eror = 2 }]', "no key 'eror'; did you mean 'error'?"),
        ('group_means = [{ number = "n", by = "a", weight = 2 }]', "known: by, error, importance, number"),
        ('group_means = [{ number = "n", by = "a", eror = 2 }]', "no key 'eror'; did you mean 'error'?"),
    ],
)
def test_what_a_joint_result_may_say_is_known_as_a_whole(tmp_path, capsys, result, told):
    assert told in refused_survey(tmp_path, capsys, QUESTION, result)


def refused_survey(tmp_path, capsys, questions, more=""):
    text = f"epsilon = 3.0\nquestions = [{questions}]\n{more}\n"
    head = '[model]\ntitle = "t"\nproblem = "survey-design"\n[parameters]\n'
    (tmp_path / "s.toml").write_text(head + text)
    return error_of(capsys, "build", str(tmp_path / "s.toml"), "-o", str(tmp_path / "s.json"))


def test_a_second_report_of_the_same_file_says_what_it_costs(survey, capsys, monkeypatch):
    monkeypatch.setenv("MECHDESIGN_CACHE", str(survey / "cache"))
    command = ["randomize", str(survey / "survey.json"), str(survey / "people.csv"), "--force", "-o"]
    for number, words in enumerate(("", "once before; ", "2 times before; ")):
        assert main([*command, str(survey / f"reports{number}.csv")]) == 0
        said = capsys.readouterr().err
        assert bool(said) == bool(words)
        assert words in said
        assert not words or f"has epsilon = {number + 1} in all, not 1" in said
    (survey / "people.csv").write_text("answer\n" + "no\n" * 20)
    assert main([*command, str(survey / "others.csv")]) == 0
    assert main([*command, str(survey / "simulated.csv"), "--seed", "1"]) == 0
    assert capsys.readouterr().err == ""
    text = "".join(path.read_text() for path in (survey / "cache" / repeats.FOLDER).iterdir())
    assert set(text) <= set("[]1.0, "), "epsilons only, none of the data"


def test_many_files_that_were_randomized_before_are_one_line(survey, capsys, monkeypatch):
    monkeypatch.setenv("MECHDESIGN_CACHE", str(survey / "cache"))
    many = survey / "many"
    many.mkdir()
    for number in range(3):
        (many / f"{number}.csv").write_text("answer\n" + "no\n" * (20 + number))
    command = [
        "randomize",
        str(survey / "survey.json"),
        str(many),
        "--force",
        "-o",
        str(survey / "out") + "/",
    ]
    assert main(command) == 0
    assert "before" not in capsys.readouterr().err
    assert main(["randomize", *command[1:2], str(many / "1.csv"), "-o", str(survey / "one.csv")]) == 0
    assert f"{many / '1.csv'}: was randomized once before; " in capsys.readouterr().err
    (many / "3.csv").write_text("answer\n" + "no\n" * 30)
    assert main(command) == 0
    (note,) = [line for line in capsys.readouterr().err.splitlines() if "before" in line]
    assert f"{many / '0.csv'} and 2 more of 4 files: were randomized up to 2 times before; " in note
    assert "has epsilon = 3 in all, not 1" in note


def test_without_a_cache_nothing_is_remembered_and_a_damaged_record_is_no_error(survey, monkeypatch):
    people = survey / "people.csv"
    monkeypatch.setenv("MECHDESIGN_CACHE", "off")
    assert repeats.repeated_note([people], 1.0) == repeats.repeated_note([people], 1.0) == ""
    monkeypatch.setenv("MECHDESIGN_CACHE", str(survey / "cache"))
    assert repeats.repeated_note([people], 1.0) == ""
    (record,) = (survey / "cache" / repeats.FOLDER).iterdir()
    record.write_text("{")
    assert repeats.repeated_note([people], 1.0) == ""
    assert "epsilon = 3 in all" in repeats.repeated_note([people], 2.0)


def codes_file(folder, values) -> str:
    path = folder / "codes.csv"
    path.write_text("age\n" + "".join(f"{value}\n" for value in values))
    return str(path)


@pytest.mark.parametrize("kind", ["frequency", "views"])
def test_numbers_without_a_zero_are_no_codes_unless_it_is_said(tmp_path, capsys, kind):
    if kind == "frequency":
        mechanism = md.solve(md.FrequencyOracle(categories=74, epsilon=1.0)).mechanism()
    else:
        views = md.MarginalViews(attributes=[74], names=["age"], users=9999, epsilon=3.0, workload=[["age"]])
        mechanism = md.solve(views).mechanism()
    file, reports = str(tmp_path / "m.json"), str(tmp_path / "reports.csv")
    mechanism.save(file)
    ages = codes_file(tmp_path, range(17, 74))
    said = error_of(capsys, "randomize", file, ages, "-o", reports)
    assert "column 'age': numbers from 17 on, where codes of categories, 0 to 73, are expected" in said
    assert said.endswith("set labels in the model, or use --codes if these are codes")
    assert not (tmp_path / "reports.csv").exists()
    assert main(["randomize", file, ages, "-o", reports, "--codes"]) == 0
    for values in (range(74), [5] * 10):  # with a zero; too few rows to tell
        assert main(["randomize", file, codes_file(tmp_path, values), "-o", reports, "--force"]) == 0


def test_a_column_of_names_may_be_of_numbers(tmp_path):
    mechanism = md.solve(md.FrequencyOracle(labels=["1", "2", "3"], epsilon=1.0)).mechanism()
    mechanism.save(tmp_path / "m.json")
    people = codes_file(tmp_path, [1, 2, 3] * 20)
    assert main(["randomize", str(tmp_path / "m.json"), people, "-o", str(tmp_path / "r.csv")]) == 0


def test_one_is_singular_and_two_are_not(tmp_path, capsys, survey):
    """One report, one value; the same counts with an s where there are two."""
    mechanism = str(survey / "survey.json")
    for count, said in ((1, "1 report from 1 file"), (2, "2 reports from 1 file")):
        people, reports = codes_file(tmp_path, ["no"] * count), str(tmp_path / f"{count}.csv")
        assert main(["randomize", mechanism, people, "-o", reports]) == 0
        assert main(["count", mechanism, reports, "-o", str(tmp_path / f"{count}.json")]) == 0
        assert said in capsys.readouterr().out
    settings = Settings()
    settings.count("value(s) moved to [0, 12]", 1)
    assert settings.said() == ["1 value moved to [0, 12]"]
    settings.count("value(s) moved to [0, 12]", 1)
    assert settings.said() == ["2 values moved to [0, 12]"]


@pytest.mark.parametrize("more", [[], ["--ordered", "4"], ["--shuffled", "1000", "--delta", "1e-6"]])
def test_nothing_is_chosen_at_epsilon_0_and_the_error_says_what_to_do(capsys, more):
    said = error_of(capsys, "choose", "--epsilon", "0", "--users", "1000", *more)
    assert said == "mechdesign: epsilon: a report contains no information at 0; set epsilon > 0"


@pytest.mark.parametrize("ends", [("-1e-9", "1e-9"), ("-1.5E+3", "-1e3"), ("-.5", "5e-1")])
def test_negative_numbers_with_an_exponent_are_no_options(ends):
    found = parser("build").parse_args(["build", "m.toml", "-o", "m.json", "--range", *ends])
    assert [tuple(found.range[-1])] == [tuple(map(float, ends))]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("build m.toml -o m.json --methd x", "--method"),
        ("estimate m.json r.csv --columns a", "--column"),
        ("ledger collect a b --group g --tims 3", "--times"),
    ],
)
def test_a_misspelled_option_is_named(words, name, capsys):
    with pytest.raises(SystemExit):
        parser(words.split()[0]).parse_args(words.split())
    assert f"did you mean '{name}'?" in capsys.readouterr().err
