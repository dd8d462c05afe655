"""Register fit with NVRTC: for programs, and as the pass `fit-registers`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.machine import check_extent, check_target, is_cpu
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import GroupOp, PipelineOp
from tilefuse.lowering.abi import groups_of
from tilefuse.lowering.printers import print_cuda
from tilefuse.passes.chain_kernels import ChainKernels
from tilefuse.passes.fit_registers import fit_registers
from tilefuse.passes.kernel_compiler import KernelCompiler, Report
from tilefuse.passes.pipeline import lowering_passes, run_passes
from tilefuse.passes.promote_memory import PromoteMemory
from tilefuse.passes.tile import Tile
from tilefuse.passes.validate_occupancy import ValidateOccupancy
from tilefuse.runtime.cuda import cubins
from tilefuse.runtime.errors import BuildError, TargetError
from tilefuse.targets.gpus import gpu


class Cubins:
    """Compile kernels, and keep the machine code of each."""

    def __init__(self, arch: str, strict_float: bool):
        self._arch, self._strict_float = arch, strict_float
        self._latest: dict[str, cubins.Cubin] = {}

    def compile(self, name: str, text: str) -> Report | None:
        """Return the report on a kernel; None where tools such as compute-sanitizer suppress reports."""
        cubin = cubins.compile_cubins({name: text}, self._arch, strict_float=self._strict_float)
        self._latest[name] = cubin  # which is in before the next one of this name is compiled
        if name not in cubin.registers:
            return None
        figures = cubin.registers[name], cubin.spill_bytes[name], cubin.shared_bytes[name]
        return Report(*figures, cubin.own_spill_bytes.get(name))

    def of(self, names: Iterable[str]) -> cubins.Cubin:
        """Return the machine code of kernels in their latest form."""
        return cubins.join_cubins(self._latest[name] for name in names)


@dataclass(frozen=True)
class FitRegisters(ModulePass):
    """Fit schedules to the register counts that NVRTC reports for their kernels."""

    name = "fit-registers"

    target: str = "h200"
    """GPU's model or arch, for which NVRTC compiles; no GPU is needed."""
    search: bool = False
    """Whether spilling groups are tiled by a new search, as programs do. Otherwise they get fewer blocks, then smaller
    tiles."""
    keep: tuple[str, ...] = ()
    """Names of groups whose schedules are kept, such as those scheduled by hand. Their kernels may get a register
    bound."""
    extent: tuple[int, ...] = (1536, 2560)
    """Size of picture to optimise for, x first."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_target(self.target, self.name)
        check_extent(self.extent, self.name)
        if is_cpu(self.target):
            raise PipelineError(f"{self.name}: a C compiler allocates registers by itself; give a GPU as target=")
        pipelines = [p for p in op.body.block.ops if isinstance(p, PipelineOp)]
        if len(pipelines) != 1:
            raise PipelineError(f"{self.name} takes one pipeline, and there are {len(pipelines)}; use split files", op)

        def lower(scheduled: ModuleOp, known: Collection[str]) -> ModuleOp:
            return run_passes(scheduled, [*lowering_passes(warps=True, known=known), ChainKernels()])

        compiler = KernelCompiler(
            machine=self.target,
            print=lambda module, name: print_cuda(module, kernel=name),
            compile=Cubins(gpu(self.target).arch, strict_float=False).compile,
            lower=lower,
            tile=lambda note: self._tiled(op, note),
        )
        try:
            fitted = fit_registers(op, None, compiler, by_hand=self.keep).scheduled
        except (TargetError, BuildError) as error:
            raise PipelineError(f"{self.name}: {error}", pipelines[0]) from error
        if fitted is not op:
            op.body.erase_block(op.body.block)
            op.body.add_block(fitted.body.detach_block(0))

    def _tiled(self, scheduled: ModuleOp, note: Callable[[Sequence[GroupOp]], None]) -> ModuleOp | None:
        """Return the groups of a module scheduled by another search; None if none is requested."""
        if not self.search:
            return None
        module = scheduled.clone()
        groups = groups_of(next(p for p in module.body.block.ops if isinstance(p, PipelineOp)))
        for group in groups:
            if group.sym_name.data not in self.keep:
                group.schedule = None
                for stage in group.stages:
                    stage.place = None
        note(groups)
        tile = Tile(target=self.target, extent=self.extent)
        validate = ValidateOccupancy(target=self.target, fix=True, keep=self.keep)
        return run_passes(module, [tile, PromoteMemory(), validate], in_place=True)
