import dataclasses
import re

import pytest

from tilefuse.analysis import calibration as files
from tilefuse.analysis.calibration import Calibration, calibration, calibration_text, read_calibration
from tilefuse.analysis.machine import machine
from tilefuse.dialects.diagnostics import PipelineError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """In the place of the user's folder; nothing is remembered from before, nor after."""
    monkeypatch.setattr(files, "user_file", lambda model: tmp_path / f"{model}.toml")
    calibration.cache_clear()
    yield tmp_path
    calibration.cache_clear()


def test_a_file_comes_back_as_it_was_written(tmp_path):
    given = Calibration(barrier=123.5, desynchronized=0.25)
    path = tmp_path / "some.toml"
    path.write_text(calibration_text(given, "of a test"))
    assert read_calibration(path) == given


def test_the_users_file_changes_what_schedules_cost(folder):
    assert machine("h200").calibration == Calibration()
    calibration.cache_clear()
    (folder / "h200.toml").write_text("tail_us = 1\n")
    assert machine("h200").calibration == dataclasses.replace(Calibration(), tail_us=1.0)
    assert machine("a100").calibration == Calibration()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tail_sec = 1", "no constant is called 'tail_sec'; there are"),
        ("tail_us = -1", "tail_us is -1; it takes a number that is not negative"),
        ("tail_us = true", "tail_us is True"),
        ("tail_us", "mend the file"),
    ],
)
def test_a_wrong_file_is_named(folder, text, said):
    (folder / "h200.toml").write_text(text)
    with pytest.raises(PipelineError, match=rf"h200\.toml: .*{re.escape(said)}"):
        machine("h200")
