"""Texts remembered by content: what is damaged, foreign, changed or cannot be written is made again."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mechdesign.work.texts import FOLDER, MOST, remembered_text


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    return folder


def entries(home: Path) -> list[Path]:
    return sorted((home / FOLDER).iterdir())


def again(home: Path, text: str = "made again", files=(), arguments=("name",)) -> str:
    return remembered_text(arguments, files, lambda: text, home)


def test_a_text_is_made_once(home):
    assert again(home, "é\n\ttext") == "é\n\ttext"
    assert again(home) == "é\n\ttext"
    assert again(home, arguments=("name", 1)) == "made again"
    assert [path.stat().st_mode & 0o777 for path in entries(home)] == [0o600, 0o600]


def test_another_content_is_another_text(home, tmp_path):
    model = tmp_path / "model.toml"
    model.write_text("epsilon = 1")
    times = os.stat(model)
    assert again(home, "one", [model]) == "one"
    model.write_text("epsilon = 2")
    os.utime(model, ns=(times.st_atime_ns, times.st_mtime_ns))  # the time alone does not count
    assert again(home, "two", [model]) == "two"
    model.write_text("epsilon = 1")
    assert again(home, files=[model]) == "one"


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "binary"])
def test_a_damaged_entry_is_ignored(home, damage):
    again(home, "right")
    (path,) = entries(home)
    content = path.read_bytes()
    wrong = {"cut": content[:-1], "flip": content[:-1] + b"T", "empty": b"", "binary": os.urandom(200)}
    path.write_bytes(wrong[damage])
    assert again(home) == "made again"
    assert again(home, "never made") == "made again"


def test_an_entry_of_another_key_is_ignored(home):
    again(home, "of one", arguments=("one",))
    (one,) = entries(home)
    again(home, "of two", arguments=("two",))
    (two,) = set(entries(home)) - {one}
    one.replace(two)
    assert again(home, arguments=("two",)) == "made again"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")
def test_what_others_can_write_is_not_read(home):
    again(home, "right")
    (path,) = entries(home)
    path.chmod(0o666)
    assert again(home) == "made again"
    path.chmod(0o600)
    (home / FOLDER).chmod(0o777)
    assert again(home, "once more") == "once more"


def test_without_a_place_to_write_it_works(tmp_path):
    file = tmp_path / "file"
    file.write_text("no folder")
    assert again(file) == "made again"
    assert again(file, "twice") == "twice"


def test_many_at_once_and_a_limit(home):
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda number: again(home, "same"), range(40)))
    assert set(texts) == {"same"}
    for number in range(MOST + 9):
        again(home, str(number), arguments=("number", number))
    assert len(entries(home)) == MOST
    assert not [path for path in entries(home) if path.name.startswith(".")]


@pytest.mark.parametrize(
    "words", [["sources"], ["findings", "response"], ["show", "response/zhou2019_survey"]]
)
def test_commands_print_the_same_when_they_remember(words, tmp_path):
    printed = []
    for setting in ("off", str(tmp_path / "c"), str(tmp_path / "c")):
        program = f"import sys\nfrom mechdesign.cli import main\nassert main({words!r}) == 0\n"
        program += "print('numpy' in sys.modules, file=sys.stderr)"
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "MECHDESIGN_CACHE": setting},
        )
        printed.append((done.stdout, done.stderr.split()[-1]))
    text = printed[0][0]
    assert printed == [(text, "True"), (text, "True"), (text, "False")]
