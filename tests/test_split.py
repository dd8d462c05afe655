"""`make test` and `make test-all` together run every test, and none twice."""

import re
from pathlib import Path

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[1]


def test_what_make_test_leaves_out_is_what_make_test_all_adds():
    makefile = (ROOT / "Makefile").read_text()
    halves = dict(re.findall(r"^(QUICK|SLOW) [:?]?= .*? -m ('[^']*'|\S+) \$\(PYTEST_ARGS\)$", makefile, re.MULTILINE))
    assert halves == {"QUICK": "'not slow'", "SLOW": "slow"}
    recipes = dict(re.findall(r"^(test|test-all):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE))
    ran = {name: re.findall(r"\$\((QUICK|SLOW)\)", recipe) for name, recipe in recipes.items()}
    assert ran == {"test": ["QUICK"], "test-all": ["QUICK", "SLOW"]}


def test_checks_run_all_tests():
    assert "make --no-print-directory test-all " in (ROOT / ".ci/run").read_text()


def test_of_a_sweep_the_first_case_is_quick(pytester):
    pytester.makeini("[pytest]\nmarkers =\n  slow\n  sweep\n  gpu\n")
    pytester.makeconftest((ROOT / "tests/conftest.py").read_text())
    pytester.makefile(".txt", slow="")
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.sweep

        @pytest.mark.parametrize("seed", range(3))
        def test_seeds(seed): pass

        def test_one(): pass
        """
    )
    quick, slow = (pytester.runpytest("-m", which) for which in ("not slow", "slow"))
    quick.assert_outcomes(passed=2, deselected=2)
    slow.assert_outcomes(passed=2, deselected=2)
