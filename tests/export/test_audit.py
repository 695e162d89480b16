"""``mechdesign export`` and ``audit`` on the command line: one mechanism in file, page, and scripts."""

from __future__ import annotations

import json

import pytest

from mechdesign.cli import main
from mechdesign.export import export
from tests.support.clients import CLIENTS, NAMES

KINDS = {
    "js": "client.js",
    "html": "page.html",
    "python": "client.py",
    "r": "client.R",
    "vectors": "vectors.json",
}


@pytest.fixture
def files(tmp_path):
    CLIENTS["kary-response"]().save(tmp_path / "m.json")
    for kind, name in KINDS.items():
        given = ["--title", f"A -- {NAMES[3]}", "--question", "Why?", "--post", "https://x.org/r"]
        assert (
            main(["export", str(tmp_path / "m.json"), "--to", kind, "-o", str(tmp_path / name), *given]) == 0
        )
    return tmp_path


def audit(files, capsys, *options):
    capsys.readouterr()
    paths = [str(files / name) for name in ("m.json", *KINDS.values())]
    code = main(["audit", *paths, *options])
    return code, capsys.readouterr().out


def test_the_page_and_the_scripts_are_those_of_the_file(files, capsys):
    code, text = audit(files, capsys)
    assert code == 0
    assert text.count("the same mechanism, and the unchanged client") == len(KINDS)
    assert f"fingerprint {CLIENTS['kary-response']().fingerprint}" in text


def test_another_mechanism_is_told(files, capsys):
    CLIENTS["kary kept"]().save(files / "m.json")
    code, text = audit(files, capsys, "--json")
    checks = json.loads(text)["exports"]
    assert code == 1
    assert [(check["tables"], check["program"]) for check in checks] == [(False, False)] * len(KINDS)


@pytest.mark.parametrize("kind", ["js", "html", "python"])
def test_a_changed_program_and_a_changed_table_are_told_apart(files, capsys, kind):
    path = files / KINDS[kind]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("Change nothing", "Change something"), encoding="utf-8")
    code, said = audit(files, capsys)
    assert code == 1
    assert f"{path}: the same tables, but ANOTHER PROGRAM" in said
    low = CLIENTS["kary-response"]().recipe().steps["low"]
    path.write_text(text.replace(low, "0" + low[:-1]), encoding="utf-8")
    code, said = audit(files, capsys)
    assert code == 1
    assert f"{path}: ANOTHER MECHANISM" in said


def test_what_is_no_export_is_refused(files, capsys):
    (files / "client.js").write_text("export const x = 1;", encoding="utf-8")
    assert main(["audit", str(files / "m.json"), str(files / "client.js")]) == 2
    assert "client.js: is not an export; name a file written by export" in capsys.readouterr().err


def test_an_existing_file_and_a_mechanism_without_client_are_refused(files, capsys):
    target = files / "client.js"
    before = target.read_text(encoding="utf-8")
    assert main(["export", str(files / "m.json"), "--to", "js", "-o", str(target)]) == 2
    assert target.read_text(encoding="utf-8") == before
    from mechdesign.families.mean import Laplace

    Laplace(1.0).save(files / "laplace.json")
    capsys.readouterr()
    assert main(["export", str(files / "laplace.json"), "--to", "js", "-o", str(files / "new.js")]) == 2
    assert "reports are real numbers: build 'duchi'" in capsys.readouterr().err
    assert not (files / "new.js").exists()


def test_an_export_is_the_same_each_time():
    for kind in KINDS:
        made = [export(CLIENTS["subset-selection"](), kind) for _ in range(2)]
        assert made[0] == made[1]
