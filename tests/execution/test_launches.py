"""What a launch may take beside functions and scalars: workspaces, cleared or not, and dynamic shared memory.

By an execution model of these tests alone, whose last block adds up what all blocks have left in a workspace.
"""

import shutil

import numpy as np
import pytest
from emulated_cuda import emulate
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i32
from xdsl.irdl import irdl_attr_definition

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.parsing import parse_module
from tilefuse.execution import registry
from tilefuse.execution.base import Code, Needs
from tilefuse.execution.tile_grid import tiles
from tilefuse.execution.tile_schedule import TileSchedule
from tilefuse.execution.tiled import TiledModel
from tilefuse.lowering.abi import kernel_name
from tilefuse.lowering.workspaces import Workspace
from tilefuse.passes.group_stages import GroupStages
from tilefuse.passes.pipeline import new_context, standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.launch import prepared
from tilefuse.runtime.launch.arena import ARENA_ALIGNMENT
from tilefuse.runtime.launch.plan import make_plan

WORDS = 15360
"""Elements of the array of a block: more than a kernel has without asking."""
SOURCE = """func.func @{name}(%p: memref<?xi32, strided<[1]>>, %p_min: index, %out: memref<?xi32, strided<[1]>>,
    %out_min: index, %count: memref<2xi32>, %sums: memref<?xi32>)
    attributes {{kernel.threads = array<i64: 32, 1, 1>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %words = arith.constant {words} : index
  %last_word = arith.constant {last_word} : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %n = memref.dim %out, %c0 : memref<?xi32, strided<[1]>>
  %up = arith.addi %n, %c31 : index
  %blocks = arith.divui %up, %c32 : index
  scf.for %bx = %c0 to %blocks step %c1 {{
    %own = memref.alloca() {{kernel.dynamic_shared}} : memref<{words}xi32, 3>
    scf.for %tx = %c0 to %c32 step %c1 {{
      scf.for %i = %tx to %words step %c32 {{
        memref.store %zero, %own[%i] : memref<{words}xi32, 3>
      }}
    }} {{kernel.level = "thread_x"}}
    "gpu.barrier"() : () -> ()
    scf.for %tx = %c0 to %c32 step %c1 {{
      %first = arith.muli %bx, %c32 : index
      %x = arith.addi %first, %tx : index
      %inside = arith.cmpi slt, %x, %n : index
      scf.if %inside {{
        %v = memref.load %p[%x] : memref<?xi32, strided<[1]>>
        %before = memref.atomic_rmw addi %v, %own[%last_word] : (i32, memref<{words}xi32, 3>) -> i32
      }}
    }} {{kernel.level = "thread_x"}}
    "gpu.barrier"() : () -> ()
    scf.for %tx = %c0 to %c32 step %c1 {{
      %is_first = arith.cmpi eq, %tx, %c0 : index
      scf.if %is_first {{
        %sum = memref.load %own[%last_word] : memref<{words}xi32, 3>
        memref.store %sum, %sums[%bx] : memref<?xi32>
        nvvm.memory.barrier <gpu>
        %ticket = memref.atomic_rmw addi %one, %count[%c1] : (i32, memref<2xi32>) -> i32
        %done = arith.addi %ticket, %one : i32
        %done_blocks = arith.index_cast %done : i32 to index
        %is_last = arith.cmpi eq, %done_blocks, %blocks : index
        scf.if %is_last {{
          nvvm.memory.barrier <gpu>
          %total = scf.for %b = %c0 to %blocks step %c1 iter_args(%so_far = %zero) -> (i32) {{
            %s = memref.load %sums[%b] : memref<?xi32>
            %next = arith.addi %so_far, %s : i32
            scf.yield %next : i32
          }}
          scf.for %x = %c0 to %n step %c1 {{
            memref.store %total, %out[%x] : memref<?xi32, strided<[1]>>
          }}
        }}
      }}
    }} {{kernel.level = "thread_x"}}
  }} {{kernel.level = "block_x"}}
  func.return
}}"""


@irdl_attr_definition(init=False)
class TotalsSchedule(TileSchedule):
    name = "schedule.totals"


class Totals(TiledModel):
    """Writes the sum of all inputs to each point."""

    name = "totals"
    schedule = TotalsSchedule
    words = WORDS

    def legal(self, facts):
        return None

    def candidates(self, facts, machine, options):
        return iter(())

    def code(self, group, model, *, warps):
        return Code(1, "out")

    def shared_memory(self, group, model):
        return Needs(4 * self.words, "out", 4 * self.words)

    def stack_memory(self, group, model):
        return Needs(0, "out")

    def workspaces(self, group):
        def blocks(call):
            return tiles(group, [call.boxes[f] for f in group.funcs])

        return (
            Workspace("count", MemRefType(i32, [2]), clear=0),
            Workspace("sums", MemRefType(i32, [DYNAMIC_INDEX]), blocks),
        )

    def dynamic_shared(self, group):
        return 4 * self.words

    def plan(self, group, model, differing):
        raise AssertionError("emit needs no plan")

    def emit(self, group, model, differing):
        text = SOURCE.format(name=kernel_name(group), words=self.words, last_word=self.words - 1)
        (kernel,) = parse_module(text, ctx=new_context()).body.block.ops
        assert isinstance(kernel, func.FuncOp)
        kernel.detach()
        return [kernel]


def passes(target):
    """By this model, which stores one stage, of tiles of 32 points."""
    change = {
        "tile": Tile(target=target, shape="totals", sizes=(32,), threads=(32,)),
        "group-stages": GroupStages(target=target, multiple_outputs=False),
    }
    return [change.get(p.name, p) for p in standard_passes(target)]


@pytest.fixture
def announced(monkeypatch):
    monkeypatch.setattr(registry, "_from_outside", lambda: {"totals": Totals()})


def pipeline(count=1):
    x, p = hl.Var("x"), hl.ImageParam(hl.Int(32), 1, "p")
    funcs = [hl.Func(f"out{i}") for i in range(count)]
    for i, f in enumerate(funcs):
        f[x] = p[x] + i
    return hl.Pipeline(funcs)


@pytest.mark.parametrize("target", ["cpu", "emulated"])
@pytest.mark.parametrize("count", [1, 3])
def test_workspaces_and_dynamic_shared_memory(announced, monkeypatch, tmp_path, target, count):
    if target == "emulated":
        if not shutil.which("g++"):
            pytest.skip("needs g++")
        emulate(monkeypatch, tmp_path)
    program = pipeline(count).compile("cpu", passes=passes("h200" if target == "emulated" else "cpu"))
    for n in (1000, 5, 1000, 33):
        values = np.arange(n, dtype=np.int32) - 7
        for out in np.atleast_2d(program(values)):
            np.testing.assert_array_equal(out, np.full(n, values.sum(), np.int32))


@pytest.mark.gpu
@pytest.mark.parametrize("count", [1, 3])
def test_on_a_gpu(announced, count):
    """One kernel is launched by itself, several as a graph, whose cleared memory moves from call to call."""
    cupy = pytest.importorskip("cupy")
    program = pipeline(count).compile("cuda", passes=passes("h200"))
    held = []
    for n in (100_000, 5, 100_000, 33, 100_000):
        values = cupy.arange(n, dtype=cupy.int32) - 7
        found = program(values)
        for out in [found] if count == 1 else found:
            assert bool((out == values.sum(dtype=cupy.int32)).all())
        held.append(cupy.empty(n * 64, cupy.uint8))  # the arena lies elsewhere then


def test_more_shared_memory_than_a_launch_can_ask_for(announced, monkeypatch):
    monkeypatch.setattr(Totals, "words", 64 * 1024)
    with pytest.raises(
        PipelineError,
        match=r"262144 bytes of shared memory, most of them for stage 'out', where a block has 232448 if its launch "
        r"asks for it on h200\. No smaller tile is left",
    ):
        pipeline().compile("h200", passes=passes("h200"))


def test_a_launch_asks_for_what_the_kernel_takes(announced, monkeypatch):
    """The plan and the text say the same; in C it is memory of the thread, not of its stack."""
    plans = []

    def planned(*args):
        plans.append(make_plan(*args))
        return plans[-1]

    monkeypatch.setattr(prepared, "make_plan", planned)
    program = pipeline().compile("cpu", passes=passes("cpu"))
    program(np.zeros(70, np.int32))
    [launch] = plans[-1].launches
    assert launch.shared_bytes == 4 * WORDS
    assert f"static _Thread_local unsigned char own_bytes_[{launch.shared_bytes}]" in program.source()
    [clear] = plans[-1].clears
    # the counter, and a sum for each block of 32
    assert (clear.size, clear.byte, plans[-1].arena_bytes) == (8, 0, ARENA_ALIGNMENT + 8)
