"""What is wrong in a pipeline's text, in a call or on the machine gets one message that says where and what to do.

More wrong arrays and parameters of a call: tests/runtime/test_program.py; on a GPU: tests/runtime/test_gpu.py; wrong
definitions in Python: tests/frontend/test_errors.py; wrong options of the tool: lit_tests/tools.
"""

import re
import sys

import numpy as np
import pytest

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.parsing import parse_module
from tilefuse.passes.pipeline import new_context
from tilefuse.passes.validate_occupancy import ValidateOccupancy
from tilefuse.runtime.arrays import kinds
from tilefuse.runtime.cpu import c_compiler
from tilefuse.runtime.cuda import devices
from tilefuse.runtime.errors import CallError, CallTypeError, TargetError
from tilefuse.runtime.program import compile_pipeline
from tilefuse.tools.pipeline_opt import main

GROUP = 'img.group "g" schedule #schedule.block_tile<tile = [%s], threads = [%s]%s> {'


def pipeline(*body: str, out: str = "f", rank: int = 1) -> str:
    """Text whose body begins on line 3."""
    head = ["img.pipeline @p {", '  %a = img.input "a" : !img.func<1xf32>']
    return "\n".join([*head, *body, f'  img.return "{out}" = %{out} : !img.func<{rank}xf32>', "}"])


def stage(name: str, *body: str, header: str = "") -> list[str]:
    return [f'  %{name} = img.stage "{name}" (%x) -> f32 {header}{{', *body, "    img.yield %v : f32", "  }"]


def grouped(sizes: str, threads: str, more: str = "") -> str:
    inner = stage("h", "    %v = img.read %a[%x] : !img.func<1xf32>", header="place #img.place<block, shared> ")
    last = stage(
        "k",
        "    %u = img.read %h[%x - 1] : !img.func<1xf32>",
        "    %w = img.read %h[%x + 1] : !img.func<1xf32>",
        "    %v = arith.addf %u, %w : f32",
    )
    return pipeline(
        "  %f = " + GROUP % (sizes, threads, more),
        *inner,
        *last,
        "  img.yield %k : !img.func<1xf32>",
        "  } : !img.func<1xf32>",
    )


READ = "    %v = img.read %a[%x] : !img.func<1xf32>"

GOOD = pipeline(*stage("f", READ))

# Text, line, part of the message.
TEXTS = {
    "cyclic": (
        pipeline(
            *stage("f", "    %v = img.read %g[%x] : !img.func<1xf32>"),
            *stage("g", "    %v = img.read %f[%x] : !img.func<1xf32>"),
        ),
        4,
        "used before it is defined",
    ),
    "undefined": (
        pipeline(*stage("f", "    %v = img.read %b[%x] : !img.func<1xf32>")),
        4,
        "%b is used but never defined",
    ),
    "ill-typed": (pipeline(*stage("f", READ, "    %w = arith.addi %v, %v : f32")), 5, "f32"),
    "wrong type of a read": (pipeline(*stage("f", "    %v = img.read %a[%x] : !img.func<1xf64>")), 4, "f64"),
    "wrong rank of a read": (
        pipeline(*stage("f", "    %v = img.read %a[%x, %x] : !img.func<1xf32>")),
        4,
        "2",
    ),
    "unbounded": (
        pipeline(
            *stage(
                "f",
                "    %w = img.read %a[%x] : !img.func<1xf32>",
                "    %n = arith.fptosi %w : f32 to i32",
                "    %i = arith.index_cast %n : i32 to index",
                "    %v = img.read %a[%i] : !img.func<1xf32>",
            )
        ),
        7,
        "nothing bounds; bound it with clamp(index, low, high)",
    ),
    "too many threads": (grouped("4096", "2048"), 3, "2048 threads, where a block has 1 to 1024"),
    "too much shared memory": (
        grouped("65536", "256"),
        3,
        "bytes of shared memory, most of them for stage 'h'",
    ),
    "threads that do not divide": (
        grouped("100", "32"),
        3,
        "a tile of 100 in dimension 0 is not divisible by 32 threads",
    ),
    "no threads": (grouped("128", "0"), 3, "tile, threads and vector must be positive"),
    "tile too large": (grouped("4294967296", "32"), 3, "4294967296 points in one dimension is too large; 1048576 at"),
    "negative tile": (grouped("-128", "32"), 3, "tile, threads and vector must be positive"),
    "no vector": (grouped("128", "32", ", vector = 0"), 3, "tile, threads and vector must be positive"),
    "too many blocks": (
        grouped("128", "64", ", blocks = 40"),
        3,
        "blocks = 40, where a multiprocessor holds 32 of 64 threads on ",
    ),
    "unknown field": (
        grouped("128", "32", ", vectr = 4"),
        3,
        "expected 'tile', 'threads', 'vector', 'unroll', 'blocks' or 'cache_inputs'",
    ),
    "tile of too many bits": (grouped(str(2**64), "32"), 3, f"a tile of {2**64} points in one dimension is too large"),
    "tile of another rank": (
        grouped("128, 4", "32, 1"),
        3,
        "group 'g': the schedule tiles 2 dimensions, stage 'k' has 1",
    ),
    "threads of another rank": (grouped("128", "32, 1"), 3, "tile has 1 dimensions but threads has 2"),
    "reads itself": (
        pipeline(*stage("f", "    %v = img.read %f[%x] : !img.func<1xf32>")),
        4,
        "%f is used before it is defined",
    ),
    "defined inside of its user": (
        "func.func @f() {\n  %c0 = arith.constant 0 : index\n  scf.for %i = %c0 to %n step %c0 {\n"
        "    %n = arith.constant 8 : index\n  }\n  func.return\n}\n",
        3,
        "%n is used before it is defined",
    ),
    "no index of memory": (
        "func.func @f(%m: memref<?xf32>, %v: f32) {\n  memref.store %v, %m[] : memref<?xf32>\n  func.return\n}\n",
        2,
        "memref.store: Expected an index for each dimension",
    ),
    "one name twice": (
        pipeline(*stage("f", READ), *stage("g", READ)).replace('"g"', '"f"'),
        1,
        "two stages, inputs or params are called 'f'",
    ),
    "brace left out": (GOOD.removesuffix("}"), 8, "expected an operation or '}'"),
    "misspelt": (GOOD.replace("img.read", "img.raed"), 4, "'img.raed'; did you mean 'img.read'?"),
}

FOR_GPU = {name for name, (text, _, _) in TEXTS.items() if "img.group" in text}
ONLY_COMPILED = {"unbounded"}
"""What reads need is worked out by the runtime, not by passes."""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name):
    text, line, message = TEXTS[name]
    out = np.full(5, 7, np.float32)

    def run():
        program = compile_pipeline(parse_module(text, "bad.mlir"), "sm_70" if name in FOR_GPU else "cpu")
        program(np.ones(5, np.float32), out=out)

    with pytest.raises((PipelineError, CallError), match=re.escape(message)) as caught:
        run()
    assert str(caught.value).startswith(f"bad.mlir:{line}:")
    assert "\n" not in str(caught.value)
    assert (out == 7).all()


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - ONLY_COMPILED))
def test_the_tool_says_the_same(name, tmp_path, monkeypatch, capsys):
    text, line, message = TEXTS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.mlir").write_text(text)
    assert main(["bad.mlir", "-p", "cse,validate-occupancy{target=sm_70}" if name in FOR_GPU else "cse"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"bad.mlir:{line}:")
    assert message in said.err
    assert said.err.count("error: ") == 1
    assert "internal error" not in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"algorithm": "best"},
            "group-stages: no algorithm is called 'best'; there are both, greedy, dp, none, all",
        ),
        (
            {"extents": (64, 64)},
            "compile has no option 'extents'; there are strict_float, .*, extent, algorithm",
        ),
        ({"extent": (0, 5)}, r"inline-stages: extent is \(0, 5\); give positive sizes"),
        ({"extent": 7}, "extent= takes sizes as a tuple of integers, x first, not 7"),
    ],
)
def test_options(options, message):
    with pytest.raises((PipelineError, CallError), match=message):
        compile_pipeline(parse_module(GOOD), "cpu", **options)


def test_a_fixing_pass_shrinks_only_what_is_not_kept():
    module = parse_module(TEXTS["too many threads"][0])
    ValidateOccupancy("sm_70", fix=True).apply(new_context(), module)
    module = parse_module(TEXTS["too many threads"][0])
    with pytest.raises(PipelineError, match="Its schedule is kept; write a smaller tile"):
        ValidateOccupancy("sm_70", fix=True, keep=("g",)).apply(new_context(), module)


def test_a_compiler_that_is_not_there(monkeypatch):
    monkeypatch.setenv("CC", "/nonexistent/cc")
    with pytest.raises(TargetError, match=r"\$CC names '/nonexistent/cc', which is not on this machine"):
        compile_pipeline(parse_module(GOOD), "cpu")


# --- the same through the front end, with arrays to write -----------------------------------------------------

x, y = hl.vars("x y")
SHAPE = (6, 8)


class OnGpu:
    """What a library's array on a GPU looks like, where there is no CuPy to read it."""

    def __init__(self) -> None:
        self.__cuda_array_interface__ = {
            "shape": SHAPE,
            "typestr": "<f4",
            "data": (2**40, False),
            "strides": None,
            "version": 3,
        }


class OnGpuByDLPack:
    """The same through the other protocol."""

    def __dlpack__(self, **_: object) -> object:
        raise AssertionError("only CuPy can take it")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def two_outputs() -> hl.Pipeline:
    photo, gain = hl.ImageParam(hl.Float(32), 2, "photo"), hl.Param(hl.Int(16), "gain")
    twice, sums = hl.Func("twice"), hl.Func("sums")
    twice[x, y] = photo[x, y] * hl.cast(hl.Float(32), gain)
    sums[x, y] = twice[x, y] + twice[x + 1, y]
    return hl.Pipeline([twice, sums])


@pytest.fixture(scope="module", params=["cpu", "reference"])
def program(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield two_outputs().compile(request.param)


def full(rows: int, columns: int, dtype: str = "f4") -> np.ndarray:
    return np.full((rows, columns), 7, dtype)


def read_only() -> np.ndarray:
    array = full(*SHAPE)
    array.flags.writeable = False
    return array


PHOTO = np.ones((6, 9), np.float32)

# One of two outputs, or the input, or another argument is wrong; the first output is right.
CALLS = {
    "dtype of input": ({"photo": PHOTO.astype("f8")}, None, "input 'photo' takes float32, not float64"),
    "rank of input": ({"photo": PHOTO[0]}, None, r"input 'photo' takes 2 dimensions, not 1 \(9,\)"),
    "input of no axis": ({"photo": np.array(1, "f4")}, None, r"input 'photo' takes 2 dimensions, not 0 \(\)"),
    "empty input": ({"photo": PHOTO[:0]}, None, r"input 'photo' is too small: 0 points in dimension 1 \(y\)"),
    "small input": ({"photo": PHOTO[:, :8]}, None, r"'photo' is read at 0 to 8 in dimension 0 \(x\), but holds"),
    "no array": ({"photo": "photo.png"}, None, "input 'photo' is a str, not an array; pass numpy.asarray"),
    "input on a GPU": ({"photo": OnGpu()}, None, "photo.* is on a GPU, and CuPy.* cannot be imported .*copy"),
    "input on a GPU by DLPack": ({"photo": OnGpuByDLPack()}, None, "input 'photo' is on a GPU, and CuPy"),
    "dtype of output": ({}, full(*SHAPE, "i4"), "output 'sums' takes float32, not int32; convert it first"),
    "byte order": ({}, full(*SHAPE, ">f4"), "output 'sums' takes float32, not >f4"),
    "rank of output": ({}, full(*SHAPE)[0], r"output 'sums' takes 2 dimensions, not 1 \(8,\)"),
    "large output": ({}, full(7, 8), r"input 'photo' is read at 0 to 6 in dimension 1 \(y\), but holds 0 to 5"),
    "empty output": ({}, full(0, 8), r"output 'sums': the array given as out= holds no points: .* \(0, 8\)"),
    "read-only output": ({}, read_only(), "output 'sums': the array given as out= is read-only"),
    "output on a GPU": ({}, OnGpu(), "sums.* is on a GPU, and CuPy.* cannot be imported .*copy"),
    "output is the input": ({}, PHOTO[:, :8], "output 'sums': .* out= shares memory with input 'photo'"),
    "output meets itself": (
        {},
        np.lib.stride_tricks.as_strided(full(1, 60), SHAPE, (8, 4)),
        r"elements of the array given as out= share memory \(strides \(8, 4\)\)",
    ),
    "parameter left out": ({"gain": None}, None, "param 'gain' takes a number of type si16, not a NoneType"),
    "parameter too large": ({"gain": 2**15}, None, "param 'gain' is 32768, outside of si16: -32768 to 32767"),
    "parameter is nan": ({"gain": float("nan")}, None, "param 'gain' takes an integer of type si16, not nan"),
    "unknown keyword": ({"gian": 2}, None, "no input or param is called 'gian'; there are 'photo', 'gain'"),
    "sizes besides": ({"sizes": (3, 3)}, None, r"out= of output 'twice' has shape \(6, 8\), but sizes= asks"),
}  # fmt: skip


@pytest.fixture
def no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    for cached in (devices._missing, kinds._cupy):
        cached.cache_clear()
    yield
    devices._missing.cache_clear()


@pytest.mark.parametrize("name", CALLS)
def test_calls(program, name, no_cupy):
    named, second, message = CALLS[name]
    buffer = full(2 * SHAPE[0], SHAPE[1])  # the first output is every other row of it
    second = full(*SHAPE) if second is None else second
    before = None if isinstance(second, OnGpu) else second.copy()
    with pytest.raises(CallError, match=message) as caught:
        program(**{"photo": PHOTO, "gain": 2} | named, out=(buffer[::2], second))
    assert "\n" not in str(caught.value)
    assert (buffer == 7).all()
    assert (PHOTO == 1).all()
    if before is not None:
        np.testing.assert_array_equal(second, before)


def test_rows_of_a_larger_array_are_an_output(program):
    buffer = full(2 * SHAPE[0], SHAPE[1])
    program(PHOTO, gain=2, out=(buffer[::2], full(*SHAPE)))
    assert (buffer[::2] == 2).all()
    assert (buffer[1::2] == 7).all()


@pytest.mark.parametrize("width", [2**62, 2**80])
def test_sizes_beyond_any_array(width):
    ramp = hl.Func("ramp")
    ramp[x] = x
    with pytest.raises(CallError, match=rf"output 'ramp' is too large for an array: \({width},\)"):
        ramp.realize([width], "reference")


@pytest.mark.parametrize("target", [None, 90])
def test_targets_that_are_no_text(target):
    with pytest.raises(TargetError, match=f"a target is a string such as 'auto', 'cpu', .*, not {target}"):
        two_outputs().compile(target)


@pytest.mark.parametrize("module", [GOOD, None, hl.Func("f")], ids=["text", "None", "Func"])
def test_what_is_no_module(module):
    with pytest.raises(CallTypeError, match=r"takes a module, not a \w+; make one with parse_module\(text\)"):
        compile_pipeline(module, "cpu")


def test_no_gpu_through_the_front_end(no_cupy):
    with pytest.raises(TargetError, match=r"target 'cuda': CuPy cannot be imported.*target='cpu'; a GPU's name"):
        two_outputs().compile("cuda")


def test_no_compiler_through_the_front_end(monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(c_compiler, "zig_command", lambda: None)
    with pytest.raises(TargetError, match="none of cc, gcc, clang is on PATH; install one"):
        two_outputs().compile("cpu")


def test_names_that_no_c_has_are_kept_apart():
    funcs = [hl.Func(name) for name in ("größe", "gr__e", "a b", "a_b")]
    for factor, func in enumerate(funcs):
        func[x] = factor * x
    for factor, values in enumerate(hl.Pipeline(funcs).realize([4], "cpu")):
        np.testing.assert_array_equal(values, factor * np.arange(4))
