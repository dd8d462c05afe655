"""tilefuse-calibrate, without a GPU: what it fits to measurements made up here, and what it says."""

import dataclasses
import json

import pytest

from tilefuse.analysis.calibration import read_calibration
from tilefuse.analysis.machine import machine
from tilefuse.execution.candidate import SearchOptions
from tilefuse.execution.search import schedules
from tilefuse.passes.tile import Tile
from tilefuse.runtime.program import compile_pipeline
from tilefuse.tools.calibrate import main
from tilefuse.tools.calibration import fitting
from tilefuse.tools.calibration.drawn import kind_of
from tilefuse.tools.calibration.measuring import EXTENTS
from tilefuse.tools.calibration.pipelines import PIPELINES, Subject, grouped
from tilefuse.tools.calibration.predicted import Predict, passes_with_prediction

TRUE = {"tail_us": 3.0, "issue_overhead": 1.6, "store_over_dram": 0.7}
"""How far the constants of the GPU that is made up here are from the H200's."""


def made_up(name, on):
    """Rows as a GPU would give them on which the cost model is right with constants of its own."""
    found = grouped(Subject(name).module(), "h200")
    times = {}
    for size in EXTENTS:
        for c in schedules(found.facts(size), on, SearchOptions("warp_tile")):
            times.setdefault((kind_of(c), c.tile, c.threads, c.vector), []).append(c.microseconds)
    return [{"schedules": [key], "us": us, "changed": False, "wrong": None} for key, us in times.items()]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A file of them."""
    h200 = machine("h200")
    c = h200.calibration
    slow = fitting.with_constants(h200, dataclasses.replace(c, **{k: getattr(c, k) * f for k, f in TRUE.items()}))
    path = tmp_path_factory.mktemp("measured") / "rows.json"
    cases = {name: {"rows": made_up(name, slow)} for name in ("blur_f32", "box_x4")}
    path.write_text(json.dumps({"environment": {"gpu": "NVIDIA H200", "date": "2026-01-02"}, "cases": cases}))
    return path


def errors(line):
    """Before and after, of a line of the report."""
    words = line.split("error ")[1].split()
    return float(words[0]), float(words[2])


def test_constants_are_fitted_and_the_held_out_error_falls(measured, tmp_path, capsys):
    out = tmp_path / "new" / "h200.toml"
    assert main(["--from", str(measured), "--fit-seconds", "2", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    held, final = (next(line for line in said.split("\n") if line.startswith(start)) for start in ("held out", "all,"))
    for line in (held, final):
        before, after = errors(line)
        assert after < 0.7 * before
        assert "rank correlation" in line
    fitted = read_calibration(out)
    assert fitted != machine("h200").calibration
    assert fitted.base_registers == pytest.approx(machine("h200").calibration.base_registers)
    assert out.read_text().startswith("# h200, measured 2026-01-02\n# ")


def test_the_users_file_is_what_is_written_and_read(measured, tmp_path, monkeypatch, capsys):
    from tilefuse.analysis import calibration

    monkeypatch.setattr(calibration, "user_file", lambda model: tmp_path / f"{model}.toml")
    monkeypatch.setattr("tilefuse.tools.calibrate.user_file", lambda model: tmp_path / f"{model}.toml")
    calibration.calibration.cache_clear()
    try:
        assert main(["--from", str(measured), "--fit-seconds", "0.5"]) == 0
        calibration.calibration.cache_clear()
        assert machine("h200").calibration == read_calibration(tmp_path / "h200.toml")
    finally:
        calibration.calibration.cache_clear()
    assert str(tmp_path / "h200.toml") in capsys.readouterr().out


def test_constants_that_predict_others_worse_are_not_written(measured, tmp_path, monkeypatch, capsys):
    c = machine("h200").calibration
    monkeypatch.setattr(fitting, "fit", lambda *_: dataclasses.replace(c, tail_us=0.0, issue_overhead=0.1))
    out = tmp_path / "h200.toml"
    assert main(["--from", str(measured), "--out", str(out)]) == 1
    assert "nothing is written" in capsys.readouterr().out
    assert not out.exists()


def test_a_schedule_is_either_fitted_to_or_held_out(measured):
    examples = fitting.read_examples(json.loads(measured.read_text()), "h200")
    kept, held = fitting.split_schedules(examples, 0.7, 0)
    for whole, a, b in zip(examples, kept, held, strict=True):
        assert not a.measured.keys() & b.measured.keys()
        assert {**a.measured, **b.measured} == whole.measured
        assert len(a.measured) == round(0.7 * len(whole.measured))


@pytest.mark.parametrize(
    ("a", "b", "expected"), [([1, 2, 3], [4, 5, 9], 1.0), ([1, 2, 3], [9, 5, 4], -1.0), ([1, 1, 2], [1, 2, 3], 0.866)]
)
def test_rank_correlation(a, b, expected):
    assert fitting.spearman(a, b) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"cases": {}}', "no timings of warp tiles"),
        ("[", "Expecting value"),
        (None, "No such file"),
    ],
)
def test_measurements_that_are_none(tmp_path, capsys, text, message):
    path = tmp_path / "rows.json"
    if text is not None:
        path.write_text(text)
    assert main(["--from", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("tilefuse-calibrate: ")
    assert message in said


def test_without_a_gpu_one_message_says_so(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    assert main([]) == 2
    assert "CuPy" in capsys.readouterr().err


@pytest.mark.parametrize("name", PIPELINES)
def test_each_pipeline_has_pictures(name):
    (picture,) = Subject(name).pictures(7, 5, 0)
    assert picture.shape[-2:] == (5, 7)
    assert Subject(name).differs(picture, picture) is None
    assert "pixels differ" in Subject(name).differs(picture, picture[..., ::-1])


@pytest.mark.parametrize("shape", ["block_tile", "warp_tile"])
@pytest.mark.parametrize("name", ["blur_f32", "box_x4"])
def test_what_tile_has_chosen_is_predicted(name, shape):
    """The cheapest of the search, in block tiles of several stages too."""
    predict = Predict("h200", EXTENTS[0])
    passes = [
        dataclasses.replace(p, shape=shape) if isinstance(p, Tile) else p for p in passes_with_prediction(predict)
    ]
    compile_pipeline(Subject(name).module(), "h200", passes=passes)
    found = grouped(Subject(name).module(), "h200")
    candidates = schedules(found.facts(EXTENTS[0]), machine("h200"), SearchOptions(shape))
    assert predict.record["predicted_us"] == min(c.by_itself(alone=True).microseconds for c in candidates)
    (schedule,) = predict.record["schedules"]
    assert schedule.startswith(f"#schedule.{shape}")


def test_a_dry_run_compiles_every_kind_of_warp_tile():
    assert main(["--dry", "--quick", "--count", "5", "--workers", "1"]) == 0


@pytest.mark.gpu
def test_a_few_schedules_are_measured_on_this_gpu(tmp_path):
    rows = tmp_path / "rows.json"
    # whether so few make anything better is open
    assert main(["--quick", "--count", "5", "--seconds", "30", "--fit-seconds", "1", "--measured", str(rows),
                 "--out", str(tmp_path / "gpu.toml")]) in (0, 1)  # fmt: skip
    cases = json.loads(rows.read_text())["cases"]
    assert all(case["rows"] and not case["failed"] for case in cases.values())
    assert not [row["wrong"] for case in cases.values() for row in case["rows"] if row["wrong"]]
