"""The sentences of the page in every language: complete, with their numbers; files of other languages."""

from __future__ import annotations

import copy
import html
import json
import re

import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.data.about import About, QuestionText
from mechdesign.export import ExportSettings, compare_export, export
from mechdesign.export.disclosure import limit_for_respondents, percent_sure
from mechdesign.export.form import page_texts
from mechdesign.export.texts import BRACED, LANGUAGES, template_of, texts_from, texts_from_file, texts_of
from mechdesign.primitives import KaryResponse
from tests.support.clients import CLIENTS

ENGLISH = texts_of("en")
OTHERS = sorted(set(LANGUAGES) - {"en"})
SAME = {"language", "experts"}
"""Sections with entries that can be equal in two languages."""


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_is_translated_with_its_parts(language):
    texts = texts_of(language)
    assert texts_from(texts.as_json()) == texts
    for section, entries in ENGLISH.tables.items():
        for name, sentence in entries.items():
            other = texts.tables[section][name]
            assert sorted(BRACED.findall(other)) == sorted(BRACED.findall(sentence)) or name == "digits"
            words = re.findall(r"[A-Za-z]{3,}", BRACED.sub("", sentence))
            if section not in SAME and len(words) > 2:
                assert other != sentence, f"{section}.{name}"
                assert "  " not in other


@pytest.mark.parametrize(
    ("language", "sure", "many"),
    [
        ("en", "98.3%", "1,000,000"),
        ("de", "98,3\u00a0%", "1.000.000"),
        ("fr", "98,3\u202f%", "1\u202f000\u202f000"),
        ("es", "98,3\u00a0%", "1\u202f000\u202f000"),
        ("it", "98,3%", "1.000.000"),
        ("zh", "98.3%", "1,000,000"),
    ],
)
def test_one_number_in_all_languages(language, sure, many):
    """The percentage of the page is that of build and of the summary page, as the language writes it."""
    assert percent_sure(4.0) == "98.3%"
    mechanism = KaryResponse.of(2, 4.0)
    assert sure in limit_for_respondents(mechanism, texts_of(language))
    page = html.unescape(export(mechanism, "html", ExportSettings(language=language)))
    assert re.search(r'<p id="leaves">(.*?)</p>', page).group(1).count(sure) == 1
    assert texts_of(language).number("1000000") == many
    assert texts_of(language).number("1234") == "1234"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("epsilon", [0.5, 4.0, 4.5, 10.0, 12.0, 500.0])
def test_the_limit_stands_there_at_every_epsilon_in_every_language(language, epsilon):
    words = texts_of(language)
    said = limit_for_respondents(KaryResponse.of(2, epsilon), words)
    percentage = re.search(r"[0-9.]+", percent_sure(epsilon)).group()
    assert words.percent(percentage) in said
    assert (words.say("limit.weak") in said) == (4.0 < epsilon <= 10.0)
    assert (words.say("limit.certain_one") in said) == (epsilon > 10.0)
    assert not BRACED.search(said)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("client", ["kary-response", "survey", "joint-response", "attribute-sampling"])
def test_no_english_sentence_is_left_on_a_page(language, client):
    texts = texts_of(language)
    page = html.unescape(export(CLIENTS[client](), "html", ExportSettings(language=language)))
    body = page[page.index("<body>") : page.index("<script")]
    content = json.loads(re.search(r"const PAGE =\n(.*?);\n", page, re.DOTALL).group(1))
    spoken = body + json.dumps(content["texts"], ensure_ascii=False) + json.dumps(content["blocks"])
    for section, entries in ENGLISH.tables.items():
        for name, sentence in entries.items():
            if len(sentence.split()) > 3 and sentence != texts.tables[section][name]:
                assert sentence not in spoken, f"{section}.{name}"
    assert f'<html lang="{texts.code}" dir="ltr">' in page


def test_the_language_of_the_survey_is_that_of_its_page():
    mechanism = CLIENTS["kary-response"]()
    for stated, code in (("de", "de"), ("fr-CA", "fr"), ("zh", "zh-Hans"), ("nl", "en"), ("", "en")):
        assert page_texts(mechanism.with_about(About(language=stated)), ExportSettings()).words.code == code


def test_texts_of_the_survey_come_in_the_language_of_the_page_where_it_has_them():
    about = About(
        "Mood",
        "How are you?",
        language="en",
        translations=[About("Stimmung", "Wie geht es Ihnen?", language="de")],
    )
    mechanism = CLIENTS["kary-response"]().with_about(about)
    german = export(mechanism, "html", ExportSettings(language="de"))
    assert "<h1>Stimmung</h1>" in german
    assert "How are you?" not in german
    french = export(mechanism, "html", ExportSettings(language="fr"))
    assert '<h1 lang="en">Mood</h1>' in french
    assert '"lang":"en"' in french


def test_what_is_exported_is_audited_as_the_same_page(tmp_path):
    mechanism = CLIENTS["survey"]()
    tables = texts_of("it").as_json()
    tables["language"]["code"] = "it-CH"
    for settings in (ExportSettings(language="de"), ExportSettings(texts=tables)):
        path = tmp_path / "page.html"
        path.write_text(export(mechanism, "html", settings), encoding="utf-8")
        assert compare_export(mechanism, path).holds


# A file of another language


def dutch():
    """Return tables that stand for another language: each sentence is marked."""
    tables = copy.deepcopy(ENGLISH.as_json())
    for section, entries in tables.items():
        if section != "language":
            tables[section] = {name: f"NL {sentence}" for name, sentence in entries.items()}
    tables["language"]["code"] = "nl"
    return tables


def write(path, tables):
    lines = []
    for section, entries in tables.items():
        lines += [f"[{section}]", *(f"{name} = {json.dumps(text)}" for name, text in entries.items())]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_file_of_another_language_is_the_page(tmp_path, capsys):
    CLIENTS["kary-response"]().save(tmp_path / "m.json")
    start = ["export", str(tmp_path / "m.json"), "--to"]
    assert main([*start, "texts", "-o", str(tmp_path / "template.toml")]) == 0
    assert (tmp_path / "template.toml").read_text("utf-8") == template_of()
    assert texts_from_file(tmp_path / "template.toml") == ENGLISH
    path = write(tmp_path / "nl.toml", dutch())
    assert main([*start, "html", "-o", str(tmp_path / "p.html"), "--texts", str(path)]) == 0
    page = html.unescape((tmp_path / "p.html").read_text("utf-8"))
    assert '<html lang="nl"' in page
    assert ">NL Make my report</button>" in page
    assert main(["audit", str(tmp_path / "m.json"), str(tmp_path / "p.html")]) == 0
    assert "the unchanged client" in capsys.readouterr().out


def changed_tables(change):
    tables = dutch()
    change(tables)
    return tables


WRONG = {
    "page.make: is missing; translate 'Make my report'": lambda t: t["page"].pop("make"),
    "limit.none: is missing (and 13 other sentences)": lambda t: t.pop("limit"),
    "page.mak: is not a sentence of the page; omit it": lambda t: t["page"].update(mak="x"),
    "form.errors_many: lacks {count}": lambda t: t["form"].update(errors_many="many are wrong"),
    "page.make: has {name}, which nothing fills": lambda t: t["page"].update(make="Make {name}"),
    "page.make: is empty": lambda t: t["page"].update(make=" "),
    "page.make: is not a sentence": lambda t: t["page"].update(make=3),
    "page.make: has a line break": lambda t: t["page"].update(make="a\nb"),
    "language.code: 'Dutch!' is not a language": lambda t: t["language"].update(code="Dutch!"),
    "language.direction: 'up'": lambda t: t["language"].update(direction="up"),
    "language.decimal: ';'": lambda t: t["language"].update(decimal=";"),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_file_that_is_not_complete_is_refused_in_one_line(said):
    with pytest.raises(ParameterError) as caught:
        texts_from(changed_tables(WRONG[said]))
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_errors_of_the_command_line_name_the_file(tmp_path, capsys):
    CLIENTS["kary-response"]().save(tmp_path / "m.json")
    start = ["export", str(tmp_path / "m.json"), "--to", "html", "-o", str(tmp_path / "p.html")]
    broken = tmp_path / "broken.toml"
    broken.write_text("[page\n")
    lacking = write(tmp_path / "lacking.toml", changed_tables(lambda tables: tables["page"].pop("make")))
    for arguments, said in (
        (["--texts", str(broken)], f"mechdesign: {broken}: is not TOML"),
        (
            ["--texts", str(lacking)],
            f"mechdesign: {lacking}: page.make: is missing; translate 'Make my report'",
        ),
        (["--texts", str(tmp_path / "none.toml")], f"mechdesign: {tmp_path / 'none.toml'}: file not found"),
        (
            ["--language", "nl"],
            "mechdesign: language: no sentences in 'nl'; there are en, de, fr, es, it, zh",
        ),
        (["--language", "de", "--texts", str(lacking)], f"mechdesign: {lacking}: page.make"),
    ):
        assert main([*start, *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith(said), error
        assert error.count("\n") == 1
    assert not (tmp_path / "p.html").exists()
    with pytest.raises(DataError, match="is not TOML"):
        texts_from_file(broken)


def test_labels_of_ends_and_bins_are_in_the_language_of_the_page():
    about = About(questions=[QuestionText("weight", "Wie viel?", ends=["leicht", "schwer"])])
    mechanism = CLIENTS["survey"]().with_about(about)
    page = export(mechanism, "html", ExportSettings(language="de"))
    content = json.loads(re.search(r"const PAGE =\n(.*?);\n", page, re.DOTALL).group(1))
    assert content["blocks"][0]["labels"] == [
        "30 bis 59 (leicht)",
        "60 bis 89",
        "90 bis 200 (schwer)",
        "keine Angabe",
    ]


def test_a_language_of_a_country_is_that_language():
    from mechdesign.export.texts import texts_of

    assert texts_of("de-AT").code == texts_of("DE").code == "de"
