"""What the cache is asked for, what it must not touch, and what it must not remember."""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import sys
import time
import types

import pytest

import mechdesign as md
from mechdesign.catalog import load_model
from mechdesign.core.errors import MethodError, RowError
from mechdesign.papers.claims import check_models
from mechdesign.papers.claims.runs import is_settled
from mechdesign.work import cache as foreign, cache as user_key
from mechdesign.work.cache import Cache, default_cache, key_of
from mechdesign.work.parallel import Task, run_tasks

FOREIGN = """
from dataclasses import dataclass

@dataclass
class Setting:
    size: int

def weight(setting):
    return {factor} * setting.size
"""


@pytest.fixture
def foreign_module(tmp_path, monkeypatch):
    """Give a function that writes a module of somebody else's and imports it, as a new process would."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(factor):
        (tmp_path / "somebody.py").write_text(FOREIGN.format(factor=factor))
        sys.modules.pop("somebody", None)
        importlib.invalidate_caches()
        foreign.source_digest.cache_clear()
        return importlib.import_module("somebody")

    yield write
    sys.modules.pop("somebody", None)
    foreign.source_digest.cache_clear()


def test_only_entries_are_ever_removed(tmp_path):
    kept = [tmp_path / "Documents", tmp_path / "0123456789abcdef", tmp_path / "link"]
    for folder in kept[:2]:
        folder.mkdir()
        (folder / "thesis.txt").write_text("years of work")
    old = tmp_path / ("a" * 16)
    old.mkdir()
    (old / ("b" * 64)).write_bytes(b"")
    kept[2].symlink_to(kept[0], target_is_directory=True)
    for folder in (*kept[:2], old):
        os.utime(folder, (0, time.time() - 90 * 86400))
    Cache(tmp_path).put(key_of("a"), 1)
    assert all((folder / "thesis.txt").exists() for folder in kept[:2])
    assert kept[2].is_symlink()
    assert not old.exists()


def test_a_group_that_may_write_by_default_does_not_spoil_the_cache(tmp_path):
    mask = os.umask(0o002)
    try:
        cache = Cache(tmp_path / "kept")
        cache.put(key_of("a"), 1)
    finally:
        os.umask(mask)
    assert cache.get(key_of("a")) == (1,)
    assert (cache.folder / key_of("a")).stat().st_mode & 0o077 == 0 or sys.platform == "win32"


class Command:
    """Runs when it is unpickled, as a forged entry would."""

    def __reduce__(self):
        return os.mkdir, (os.environ["FORGED"],)


@pytest.fixture
def forged(tmp_path, monkeypatch):
    """Give an entry's place in a private folder, and the folder that is there if its code has run."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FORGED", str(tmp_path / "ran"))
    cache = Cache(tmp_path / "kept")
    cache.put(key_of("a"), 1)
    assert cache.get(key_of("a")) == (1,)
    return cache, cache.folder / key_of("a"), tmp_path / "ran"


def test_a_forged_entry_runs_no_code(forged, tmp_path, monkeypatch):
    cache, entry, ran = forged
    text = pickle.dumps(Command())
    with monkeypatch.context() as other:
        other.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
        cache.put(key_of("a"), Command())  # sealed by another user's key
        sealed_elsewhere = entry.read_bytes()
    plain = hashlib.sha256(key_of("a").encode() + text).digest()  # what an earlier release took
    for content in (sealed_elsewhere, plain + text, text, bytes(32) + text, b""):
        entry.write_bytes(content)
        assert cache.get(key_of("a")) is None
        assert not ran.exists()
    cache.put(key_of("a"), Command())  # one's own runs, which shows that the others would have
    cache.get(key_of("a"))
    assert ran.exists()


def test_an_entry_is_good_in_its_place_only(forged):
    cache, entry, _ = forged
    other = Cache(cache.root)
    (cache.folder / key_of("b")).write_bytes(entry.read_bytes())
    (cache.folder / key_of("b")).chmod(0o600)
    assert other.get(key_of("b")) is None
    other.folder = cache.root / ("0" * 16)
    other.folder.mkdir(mode=0o700)
    (other.folder / key_of("a")).write_bytes(entry.read_bytes())
    (other.folder / key_of("a")).chmod(0o600)
    assert other.get(key_of("a")) is None
    entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    assert cache.get(key_of("a")) is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes are of Unix")
def test_without_a_private_key_nothing_is_kept(forged, tmp_path, monkeypatch):
    cache, entry, _ = forged
    key = user_key.key_path()
    assert key == tmp_path / "state" / "mechdesign" / "key"
    assert (key.stat().st_mode & 0o777, len(key.read_bytes())) == (0o600, user_key.SIZE)
    assert [path.name for path in key.parent.iterdir()] == ["key"]
    entry.unlink()
    for spoil in (lambda: key.chmod(0o640), lambda: key.write_bytes(b"short")):
        spoil()
        user_key._key.cache_clear()
        cache.put(key_of("a"), 1)
        assert not entry.exists()
        key.chmod(0o600)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "kept" / "a file" / "below"))
    (tmp_path / "kept" / "a file").write_text("")
    cache.put(key_of("a"), 1)
    assert not entry.exists()
    assert cache.get(key_of("a")) is None


def test_the_source_of_other_packages_counts(foreign_module):
    first = foreign_module(1)
    keys = [key_of("work", first.weight, first.Setting(3)), key_of("work", first.Setting(3))]
    again = foreign_module(1)
    assert [key_of("work", again.weight, again.Setting(3)), key_of("work", again.Setting(3))] == keys
    changed = foreign_module(2)
    assert key_of("work", changed.weight, changed.Setting(3)) != keys[0]
    assert key_of("work", changed.Setting(3)) != keys[1]


def test_what_cannot_be_told_from_its_successor_is_not_kept(tmp_path, monkeypatch):
    class Local:
        pass

    assert key_of(lambda value: value) == key_of(Local()) == ""
    notebook = types.ModuleType("notebook_cell")  # without a file
    exec("class Cell:\n    pass", vars(notebook))
    monkeypatch.setitem(sys.modules, "notebook_cell", notebook)
    assert key_of(notebook.Cell()) == ""
    cache = Cache(tmp_path / "kept")
    assert run_tasks([Task("a", "", len, ("abc",))], jobs=1, cache=cache) == [3]
    assert not (tmp_path / "kept").exists()


def test_a_model_that_cannot_be_pickled_is_checked_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("MECHDESIGN_CACHE", str(tmp_path / "kept"))
    model = load_model("response/zhou2019_survey")
    object.__setattr__(model, "source", {"read": lambda: None})
    assert check_models([model], jobs=1)[0].passed


def test_what_failed_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("MECHDESIGN_CACHE", str(tmp_path / "kept"))

    def out_of_memory(*_):
        raise MemoryError

    module = importlib.import_module("mechdesign.report.compare")
    with monkeypatch.context() as patched:
        patched.setattr(module, "solve", out_of_memory)
        assert not is_settled(check_models(["contract/three_types"], jobs=1)[0])
    assert check_models(["contract/three_types"], jobs=1)[0].passed


def test_the_variable_may_name_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MECHDESIGN_CACHE", "~/kept")
    assert default_cache().root == tmp_path / "kept"


def test_an_error_about_a_row_travels_to_other_processes():
    again = pickle.loads(pickle.dumps(RowError("answers", 4, "'x' is not a category")))
    assert (str(again), again.row) == ("answers: row 5: 'x' is not a category", 4)


def killed(number):
    time.sleep(0.6)
    if number == 3:
        os.kill(os.getpid(), 9)
    return number


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of Unix")
def test_a_killed_process_is_one_line_that_names_the_work(tmp_path):
    cache = Cache(tmp_path / "kept")
    work = [Task(f"piece {number}", key_of(number), killed, (number,)) for number in range(4)]
    with pytest.raises(MethodError, match=r"piece 3.*fewer jobs"):
        run_tasks(work, jobs=2, cache=cache)
    assert cache.get(key_of(0)) == (0,)


@pytest.mark.parametrize("content", ["flipped", "of another key", "unsealed"])
def test_an_entry_with_another_content_counts_as_missing(tmp_path, content):
    cache, key, other = Cache(tmp_path / "kept"), key_of("a"), key_of("b")
    cache.put(key, 0.5)
    cache.put(other, 2.5)
    place = cache.folder / key
    whole = bytearray(place.read_bytes())
    whole[-8] ^= 1  # in the middle of the number: still a pickle
    changed = {
        "flipped": bytes(whole),
        "of another key": (cache.folder / other).read_bytes(),
        "unsealed": pickle.dumps(2.5),
    }
    place.write_bytes(changed[content])
    assert cache.get(key) is None
    cache.put(key, 0.5)
    assert cache.get(key) == (0.5,)


@pytest.mark.parametrize(
    ("problem", "method"),
    [
        (md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0), "lp"),
        (load_model("contract/three_types").problem, None),
        (load_model("location/planar_laplace").problem, None),
        (load_model("shuffle/counting").problem, "cnt-rr"),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_a_solution_can_be_kept_and_solved_again_from_there(tmp_path, problem, method):
    """The functions of methods have no names of their own: a solution remembers the method by its name."""
    solution = md.solve(problem, method)
    cache = Cache(tmp_path / "kept")
    cache.put("a" * 64, solution)
    (kept,) = cache.get("a" * 64)
    assert kept.value == solution.value
    assert kept.again(problem).value == solution.value
