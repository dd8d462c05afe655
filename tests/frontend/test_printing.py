"""print and print_when: the lines are those of Halide, once per point, on every back end."""

import os
import subprocess
import sys
import tempfile

import beside_halide
import numpy as np
import pytest
from emulated_cuda import emulate

import tilefuse
from tilefuse.dialects.diagnostics import PipelineError

halide = pytest.importorskip("halide")


def lines_of(run):
    """What `run` prints, by Python or by C, as lines in order."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        saved, stdout = os.dup(1), sys.stdout
        os.dup2(file.fileno(), 1)
        sys.stdout = os.fdopen(os.dup(1), "w")
        try:
            run()
            sys.stdout.flush()
            _flush_c()
        finally:
            sys.stdout.close()
            sys.stdout = stdout
            os.dup2(saved, 1)
            os.close(saved)
        file.seek(0)
        return file.read().decode().splitlines()


def _flush_c():
    import ctypes

    ctypes.CDLL(None).fflush(None)


PIXELS = np.array([[250, 251, 252, 253, 254], [0, 1, 2, 3, 4]], np.uint8)


def everything(hl):
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    image = hl.Buffer(PIXELS)
    first = hl.print(image[x, y], "at", x, y, "100%", hl.f32(x) / 3 - 1, hl.i8(image[x, y]))
    f[x, y] = first + hl.print_when(x == 2, hl.u8(x), '"two" \\ ü')
    return f


def by_coordinates_alone(hl):
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    f[x, y] = hl.print(x, "for each row") + y
    return f


def read_twice(hl):
    x, y, f, g = hl.Var("x"), hl.Var("y"), hl.Func("f"), hl.Func("g")
    f[x, y] = hl.print(x * 10 + y)
    g[x, y] = f[x, y] + f[x + 1, y]
    f.compute_root()
    return g


@pytest.mark.filterwarnings("ignore::tilefuse.ScheduleWarning")
@pytest.mark.parametrize("define", [everything, by_coordinates_alone, read_twice])
def test_lines_are_halides(define, monkeypatch, tmp_path):
    theirs = define(halide)
    # Halide's own lines come from its runtime, which may print to standard error
    with open(tmp_path / "halide", "w+b") as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            expected = lines_of(lambda: theirs.realize([5, 2]))
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        file.seek(0)
        expected += file.read().decode().splitlines()
    assert len(expected) >= 10
    ours = define(tilefuse)
    found = lines_of(lambda: ours.realize([5, 2], target="reference"))
    # the evaluator goes through all points for one print, then for the next
    assert sorted(found) == sorted(expected)
    assert found == expected or define is everything
    assert sorted(lines_of(lambda: ours.realize([5, 2], target="cpu"))) == sorted(expected)
    emulate(monkeypatch, tmp_path)
    again = define(tilefuse)
    assert sorted(lines_of(lambda: again.realize([5, 2], target="cpu"))) == sorted(expected)


def test_values_pass_through(monkeypatch, tmp_path):
    def printed(hl, a, b):
        return [hl.print_when(a > b, a * b) + b, hl.print_when(hl.Expr(False), b)]

    arrays = beside_halide.pairs("i16", "i16")
    lines_of(lambda: beside_halide.assert_back_ends_agree(arrays, printed, ["+", "b"], "print", monkeypatch, tmp_path))


def test_the_gpus_compiler_takes_it():
    source = tilefuse.Pipeline(everything(tilefuse)).compile(target="cuda:sm_90").source()
    assert 'printf("%llu at %lld %lld 100%% %f %lld\\n"' in source


def test_ir_round_trip(build):
    text = str(build(everything(tilefuse)))
    assert text.count("img.print") == 2


def test_errors(tmp_path):
    x = tilefuse.Var("x")
    with pytest.raises(PipelineError, match="print_when takes a bool first, not int32"):
        tilefuse.print_when(x, x)
    with pytest.raises(PipelineError, match="so it is an Expr and no text"):
        tilefuse.print("x", x)
    for format, message in (
        ("%s", "has a conversion other than %lld, %llu, %f and %%"),
        ("%f", "the format has 1 numbers (%f), not ['%lld']"),
        ("none", "the format has 0 numbers (none), not ['%lld']"),
    ):
        text = f"""img.pipeline @p {{
          %f = img.stage "f" (%x) -> i64 {{
            %n = arith.index_cast %x : index to i64
            %t = arith.constant true
            %v = img.print %n when %t, "{format}"(%n : i64) : i64
            img.yield %v : i64
          }}
          img.return "f" = %f : !img.func<1xi64>
        }}"""
        with pytest.raises(PipelineError) as raised:
            tilefuse.compile(text.replace("-> i64", "-> si64").replace("1xi64", "1xsi64"), "reference")
        assert message in str(raised.value)


def test_prints_reach_the_terminal():
    code = "import tilefuse as hl; x = hl.Var('x'); f = hl.Func('f'); f[x] = hl.print(x, 'here'); f.realize([3], '{}')"
    for target in ("reference", "cpu"):
        done = subprocess.run([sys.executable, "-c", code.format(target)], capture_output=True, text=True, check=True)
        assert sorted(done.stdout.splitlines()) == ["0 here", "1 here", "2 here"]
