"""The soak test's processes: whatever a check does, it is told of, and others go on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import soak_workers
from soak_workers import Task

TESTS = Path(__file__).parent


def outcomes(*tasks, jobs=2, seconds=60):
    found = []
    soak_workers.run(iter(tasks), jobs, seconds, found.append)
    return {outcome.task.about: outcome for outcome in found}


def test_all_ways_to_end(monkeypatch):
    monkeypatch.setattr(soak_workers, "RESIDENT", 300 << 20)
    found = outcomes(
        Task("os:abort", (), "dies"),
        Task("operator:truediv", (1, 0), "raises"),
        Task("time:sleep", (50,), "hangs", limit=1.5),
        Task("operator:mul", (b"x", 400 << 20), "is large"),
        Task("operator:add", (1, 2), "gives"),
        Task("subprocess:getoutput", ("sleep 50",), "waits for a process", limit=1.5),
    )
    assert found["gives"].failure is None
    assert found["gives"].value == 3
    assert found["dies"].failure.splitlines()[-1] == "the process ended with exit code -6"
    assert found["raises"].failure.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert found["hangs"].failure == found["waits for a process"].failure == "took longer than 1.5 s"
    assert "GiB of memory" in found["is large"].failure
    assert [name for name, outcome in found.items() if not outcome.died] == ["raises", "gives"]


def test_processes_are_used_again_and_exchanged(monkeypatch):
    monkeypatch.setattr(soak_workers, "TASKS", 2)
    found = outcomes(*(Task("os:getpid", (), n) for n in range(5)), jobs=1)
    pids = [found[n].value for n in range(5)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]
    assert os.getpid() not in pids


def test_ends_in_time():
    found = outcomes(*(Task("time:sleep", (0.01 if n < 2 else 50,), n) for n in range(9)), seconds=2)
    assert sorted(found) == [0, 1]


def test_command_line(tmp_path):
    told = tmp_path / "soak.json"
    command = [sys.executable, "soak.py", "names", "--count", "2", "--jobs", "1", "--json", str(told)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "names: 2 seeds, 0 failed\n"
    found = json.loads(told.read_text())
    assert found["checked"] == {"names": 2}
    assert found["failures"] == []
