"""The benchmarks of the cost model, as far as they go without a GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / script, *arguments], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_drawn_schedules_compile(tmp_path):
    path = tmp_path / "rows.json"
    code, said = run(
        "cost_model.py", "--dry", "--count", "6", "--only", "box_x4", "--workers", "1", "--output", str(path)
    )
    assert code == 0, said
    entry = json.loads(path.read_text())["cases"]["box_x4"]
    rows = entry["rows"]
    kinds = {row["schedules"][0][0] for row in rows}
    assert kinds == {"block_tile", "warp_tile", "warp_exchange"}
    chosen, *others = [row["predicted_us"][0] for row in rows]
    assert chosen == min([chosen, *others])
    # prefetches, which drawn schedules do not
    assert entry["compiled"]["small"]["predicted_us"] < chosen
    assert all("prefetch_rows = " in s for s in entry["compiled"]["small"]["schedules"])
    assert entry["compiled"]["large"]["predicted_us"] == rows[1]["predicted_us"][1]


def test_random_pipelines_compile_under_every_shape():
    code, said = run("random_pipelines.py", "--dry", "--count", "3", "--workers", "1")
    assert code == 0, said
    assert "3 pipelines compiled; legal: {'auto': 3, 'block_tile': 3" in said


@pytest.mark.parametrize("script", ["cost_model.py", "random_pipelines.py"])
def test_counts_below_one_are_refused(script):
    code, said = run(script, "--count", "0")
    assert (code, "argument --count: it is 1 at least, not 0" in said) == (2, True)


def test_rivals_compile_side_by_side_without_a_gpu():
    pytest.importorskip("halide")
    code, said = run(
        "beside_rivals.py", "--dry", "h200", "--only", "binomial", "--sizes", "small", "--against", "Li2018",
        "--workers", "2",
    )  # fmt: skip
    assert code == 0, said
    ours, by_halide = said.splitlines()[-2:]
    assert ours.startswith("binomial small tilefuse: {'kernels': [{"), said
    assert by_halide.startswith("binomial small Li2018: {'schedule':"), said
    assert ".gpu_blocks(" in by_halide


def test_a_rival_whose_result_differs_is_not_the_best(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from report import against_rivals, best_rival

    rivals = {"a": {"us": 9.0, "wrong": "it differs"}, "b": {"us": 20.0, "wrong": None}, "c": {"error": "no"}}
    figures = {"us": 10.0, "floor_us": 5.0, "wrong": None, "rivals": rivals}
    assert best_rival(figures) == ("b", 20.0)
    row = against_rivals({"cases": {"blur": {"small": figures}}}).splitlines()[1]
    assert row.split() == ["blur", "small", "10.0", "50", "0.50", "b", "9.0?", "20.0", "failed"]


def test_rivals_of_several_files_are_joined(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from beside_rivals import joined

    def file(gpu, **rivals):
        return {"environment": {"gpu": gpu}, "cases": {"blur": {"small": {"us": 10.0, "rivals": rivals}}}}

    ours = file("H200", torch={"us": 30.0}, JAX={"error": "no"})
    found = joined([ours, file("H200", torch={"us": 20.0}, JAX={"us": 25.0}), file("H200", JAX={"us": 5.0})])
    assert found["cases"]["blur"]["small"]["rivals"] == {"torch": {"us": 30.0}, "JAX": {"us": 25.0}}
    with pytest.raises(ValueError, match="figures of H100, beside those of H200"):
        joined([ours, file("H100")])


@pytest.mark.parametrize(
    ("found", "clean"),
    [
        ({"compared": {"wrong": None}, "memcheck": {}, "racecheck": {}}, True),
        ({"compared": {"wrong": "3 of 9 pixels differ"}, "memcheck": {}, "racecheck": {}}, False),
        ({"compared": {"wrong": None}, "memcheck": {}, "racecheck": {"error": "exit status 9"}}, False),
        ({"compared": {"error": "exit status 1"}}, False),
    ],
)
def test_a_case_is_clean_where_no_tool_finds_anything(found, clean, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from sanitize import is_clean

    assert is_clean(found) is clean


def test_the_dry_run_of_the_benchmark_agrees_with_numpy():
    code, said = run("run.py", "--dry-run", "--only", "harris", "--only", "box_x4", "--only", "binomial")
    assert code == 0, said
    assert said.count("CPU back end and NumPy agree") == 3


@pytest.mark.parametrize("wrong", [None, "3 of 9 pixels differ"])
def test_figures_with_fast_math_are_said_beside_the_others(wrong, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import report

    small = {"us": 18.4, "floor_us": 14.8, "copy_us": 16.7, "fast_math": {"us": 17.2, "wrong": wrong, "kernels": [{}]}}
    entry = {"small": small}
    assert report.failed(entry) == bool(wrong)
    (line,) = [line for line in report.lines("harris", entry) if "fast_math" in line]
    assert ("17.2 us in 1 kernels" in line, "3 of 9" in line) == (True, bool(wrong))
    heads, row, *_ = report.table({"cases": {"harris": entry}}).splitlines()
    assert row.split()[2:4] == ["18.4", "17.2!" if wrong else "17.2"]
    assert "fast us" in heads
    small["fast_math"] = {"error": "MemoryError: no"}
    assert report.failed(entry)
    assert any("fast_math=True: MemoryError" in line for line in report.lines("harris", entry))
    assert report.table({"cases": {"harris": entry}}).splitlines()[1].split()[3] == "-"


def test_the_time_to_the_first_picture_is_measured_by_phase(tmp_path):
    output = tmp_path / "first.json"
    code, text = run("first_picture.py", "--only", "harris", "--repeat", "1", "--output", str(output))
    assert code == 0, text
    found = json.loads(output.read_text())["subjects"]["harris"]
    assert set(found["cpu"]) == {"import", "schedule", "lower", "print", "machine code", "all"}
    assert all(seconds > 0 for seconds in [*found["cpu"].values(), found["wall"], found["first call on the CPU"]])
    # compiled once more with a bound of registers
    assert (found["kernels"], found["runs"]["machine code"]) == (1, 2)


def test_small_calls_are_beside_the_time_of_their_arithmetic(tmp_path):
    path = tmp_path / "small.json"
    code, said = run(
        "small_calls.py",
        "--only",
        "binomial",
        "--only",
        "canny",
        "--seconds",
        "0.05",
        "--size",
        "48x40",
        "--out",
        str(path),
    )
    assert code == 0, said
    found = json.loads(path.read_text())["examples"]
    assert 0 < found["binomial"]["floor"] < found["canny"]["floor"]
    assert all(row["us"] > 0 for row in found.values())
