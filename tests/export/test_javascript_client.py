"""The JavaScript client in node: bit for bit the mechanism's reports, fast, and refusing what is wrong."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scipy import stats

from mechdesign.exact.randomness import TOTAL
from mechdesign.export import export
from mechdesign.export.clients import plain_json, sheet
from tests.support.clients import CLIENTS, LEAST, NAMES, write_modules

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(not NODE, reason="no node here (Debian: nodejs)")
VECTORS = Path(__file__).with_name("vectors.mjs")


def node(*arguments):
    done = subprocess.run(
        [NODE, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def run(tmp_path, name, body):
    (tmp_path / "client.mjs").write_text(export(CLIENTS[name](), "js"), encoding="utf-8")
    (tmp_path / "run.mjs").write_text(f'import * as client from "./client.mjs";\n{body}', encoding="utf-8")
    return node(tmp_path / "run.mjs")


@pytest.mark.everywhere
@needs_node
def test_the_same_bytes_give_the_same_report(tmp_path):
    write_modules(tmp_path)
    found = json.loads(node(VECTORS, tmp_path))
    assert len(found) == len(CLIENTS)
    assert {name: entry for name, entry in found.items() if entry["wrong"]} == {}
    assert min(entry["tried"] for entry in found.values()) >= LEAST


@needs_node
def test_a_million_draws_of_the_systems_generator_have_the_exact_law(tmp_path):
    """Chi-square against the integer weights: a correct client fails with probability 1e-6."""
    body = """
const counts = new Array(5).fill(0);
for (let turn = 0; turn < 1000000; turn++) counts[NAMES.indexOf(client.randomize(NAMES[1]))]++;
console.log(JSON.stringify(counts));
"""
    counts = json.loads(run(tmp_path, "kary-response", f"const NAMES = {json.dumps(NAMES)};{body}"))
    mechanism = CLIENTS["kary-response"]()
    low, high = mechanism.weights.low / TOTAL, mechanism.weights.high / TOTAL
    expected = [1e6 * (high if place == 1 else low) for place in range(5)]
    assert stats.chisquare(counts, expected).pvalue > 1e-6


@needs_node
def test_wrong_answers_and_damaged_tables_are_refused(tmp_path):
    body = """
for (const answer of ["nevr", 1, null, undefined, ["never"]]) {
  try { client.randomize(answer); console.log("drawn"); } catch (error) { console.log(error.message); }
}
try { client.randomize("never", () => new Uint8Array(3)); } catch (error) { console.log(error.message); }
"""
    lines = run(tmp_path, "kary-response", body).splitlines()
    assert [line.endswith("is not one of the answers") for line in lines] == [True] * 5 + [False]
    assert lines[-1] == "the source did not return 8 bytes"
    text = (tmp_path / "client.mjs").read_text(encoding="utf-8")
    low = CLIENTS["kary-response"]().recipe().steps["low"]
    (tmp_path / "client.mjs").write_text(text.replace(low, "0" + low[:-1]), encoding="utf-8")
    body = 'try { client.randomize("never"); } catch (error) { console.log(error.message); }'
    (tmp_path / "run.mjs").write_text(f'import * as client from "./client.mjs";\n{body}', encoding="utf-8")
    assert "its tables are not those that were exported" in node(tmp_path / "run.mjs")
    answer, used, report = sheet(CLIENTS["kary-response"]())["vectors"][0]
    vector, changed = (plain_json([answer, used, each]) for each in (report, "nothing"))
    assert text.count(vector) == 1
    (tmp_path / "client.mjs").write_text(text.replace(vector, changed), encoding="utf-8")
    assert "a test vector does not come out" in node(tmp_path / "run.mjs")


@needs_node
def test_without_a_secure_generator_nothing_is_drawn(tmp_path):
    body = """
Object.defineProperty(globalThis, "crypto", { value: undefined });
try { client.randomize("never"); } catch (error) { console.log(error.message); }
"""
    assert "no secure random generator" in run(tmp_path, "kary-response", body)


@needs_node
def test_a_permanent_response_is_kept_and_counted(tmp_path):
    body = """
const kept = new Map();
const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) };
await client.remember([1, 2], storage);
console.log((await Promise.all([1, 2, 3, 4, 5].map(() => client.report(storage)))).join("\\n"));
for (const late of [() => client.report(storage), () => client.remember([0, 0], storage)]) {
  try { await late(); } catch (error) { console.log(error.message); }
}
"""
    lines = run(tmp_path, "joint-response", body).splitlines()
    assert all(re.fullmatch("x[0-9a-f]{2}", line) for line in lines[:5])
    assert lines[5] == "the guarantee is for 5 reports, which were made"
    assert lines[6] == "a permanent response is kept already; it is never replaced"


@needs_node
def test_weekly_reports_come_from_kept_sets_and_stop_after_the_last_week(tmp_path):
    body = """
const kept = new Map();
const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) };
await client.remember(0, storage);
for (const answer of [0, 1, undefined, 2, 1, 0]) {
  try { console.log(await client.report(storage, undefined, answer)); }
  catch (error) { console.log(error.message); }
}
console.log([...kept.entries()].find(([key]) => key.startsWith("mechdesign permanent"))[1]);
"""
    mechanism = CLIENTS["weekly parts of sets"]()
    lines = run(tmp_path, "weekly parts of sets", body).splitlines()
    assert lines[2] == "the answer may have changed: give this week's"
    assert lines[3] == "the guarantee is for 2 different answers"
    assert lines[5] == "3 weeks were planned, and so many reports made"
    reports = [lines[place] for place in (0, 1, 4)]
    assert mechanism.read(reports).shape == (3, 4)
    state = json.loads(lines[6])
    assert (state["made"], sorted(state["sets"])) == (3, ["0", "1"])


SIZES = [
    *(
        "kary-response",
        "joint-response",
        "hist-dump",
        "survey",
        "linear-queries",
        "event-counts",
        "put",
        "prhr",
    )
]


@pytest.mark.parametrize("name", SIZES)
def test_the_program_is_small_and_samples_without_floating_point(name):
    mechanism = CLIENTS[name]()
    text = export(mechanism, "js").replace(plain_json(sheet(mechanism)), "")
    assert len(text.encode()) < 20_500
    assert "Math.random" not in text
    for line in text.splitlines():  # doubles only where a bound is computed from a number that was answered
        if "Math.floor(" in line and not any(word in line for word in ("unit", "scaled")):
            whole = ("seed / step.prime", "value / power", "rest / ", "place / ")
            assert any(word in line for word in whole)


@needs_node
@pytest.mark.parametrize("name", ["kary 64", "unary 64"])
def test_a_hundred_thousand_reports_a_second(tmp_path, name):
    """A tenth of the speed that is promised is asked for here, on a machine that is shared."""
    body = """
const start = process.cpuUsage().user;
for (let turn = 0; turn < 100000; turn++) client.randomize(turn % 64);
console.log((process.cpuUsage().user - start) / 1e6);
"""
    seconds = float(run(tmp_path, name, body))
    assert seconds < 10.0
