"""The table of all dialects, passes and targets for tools and Python code.

To add a pass: write `passes/<name>.py` and add a row here. A package outside tilefuse adds its own rows
through the `xdsl.universe` entry point.
"""

from collections.abc import Callable
from importlib import import_module

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

from tilefuse.execution.rows import PASSES


def _dialect(name: str) -> Callable[[], Dialect]:
    return lambda: getattr(import_module(f"tilefuse.dialects.{name}"), name.upper())


def _schedules() -> Dialect:
    return import_module("tilefuse.execution.registry").schedule_dialect()  # type: ignore[no-any-return]


def _pass(module: str, name: str) -> Callable[[], type[ModulePass]]:
    return lambda: getattr(import_module(f"tilefuse.passes.{module}"), name)


def _of_model(module: str, name: str) -> Callable[[], type[ModulePass]]:
    return lambda: getattr(import_module(f"tilefuse.execution.{module}"), name)


def _of_runtime(module: str, name: str) -> Callable[[], type[ModulePass]]:
    return lambda: getattr(import_module(f"tilefuse.runtime.{module}"), name)


def _source(name: str) -> Callable[[], type[Target]]:
    return lambda: getattr(import_module("tilefuse.tools.source_targets"), name)


def _dot() -> type[Target]:
    return import_module("tilefuse.tools.dot_target").DotTarget  # type: ignore[no-any-return]


UNIVERSE = Universe(
    all_dialects={
        "img": _dialect("img"),
        "nvgpu": _dialect("nvgpu"),
        "nvvm": _dialect("nvvm"),
        "schedule": _schedules,
        "warp": _dialect("warp"),
    },
    all_passes={
        "canonicalize-stages": _pass("canonicalize_stages", "CanonicalizeStages"),
        "chain-kernels": _pass("chain_kernels", "ChainKernels"),
        "compare-selects": _pass("compare_selects", "CompareSelects"),
        "convert-once": _pass("convert_once", "ConvertOnce"),
        "copy-updated": _pass("copy_updated", "CopyUpdated"),
        "drop-clamps": _pass("drop_clamps", "DropClamps"),
        "drop-requirements": _pass("drop_requirements", "DropRequirements"),
        "drop-unused-values": _pass("drop_unused_values", "DropUnusedValues"),
        "drop-zero-terms": _pass("drop_zero_terms", "DropZeroTerms"),
        "divide-by-product": _pass("divide_by_product", "DivideByProduct"),
        "expand-division": _pass("expand_division", "ExpandDivision"),
        "expand-shifts": _pass("expand_shifts", "ExpandShifts"),
        "fit-registers": _of_runtime("cuda.register_fit", "FitRegisters"),
        "fold-grids": _pass("fold_grids", "FoldGrids"),
        "group-stages": _pass("group_stages", "GroupStages"),
        "group-updates": _pass("group_updates", "GroupUpdates"),
        "thread-arrays": _pass("thread_arrays", "ThreadArrays"),
        "compute-in-steps": _pass("compute_in_steps", "ComputeInSteps"),
        "infer-bounds": _pass("infer_bounds", "InferBounds"),
        "inline-columns": _pass("inline_columns", "InlineColumns"),
        "inline-stages": _pass("inline_stages", "InlineStages"),
        "inline-windows": _pass("inline_windows", "InlineWindows"),
        "interleave-planes": _pass("interleave_planes", "InterleavePlanes"),
        "lower-groups": _pass("lower_groups", "LowerGroups"),
        "mask-selects": _pass("mask_selects", "MaskSelects"),
        "merge-sums": _pass("merge_sums", "MergeSums"),
        "merge-versions": _pass("merge_versions", "MergeVersions"),
        "narrow-integers": _pass("narrow_integers", "NarrowIntegers"),
        "pad-edges": _pass("pad_edges", "PadEdges"),
        "plain-extrema": _pass("plain_extrema", "PlainExtrema"),
        "plain-conversions": _pass("plain_conversions", "PlainConversions"),
        "promote-memory": _pass("promote_memory", "PromoteMemory"),
        "propagate-constants": _pass("propagate_constants", "PropagateConstants"),
        "raise-clamps": _pass("raise_clamps", "RaiseClamps"),
        "raise-exteriors": _pass("raise_exteriors", "RaiseExteriors"),
        "repeat-edges": _pass("repeat_edges", "RepeatEdges"),
        "separate-kernels": _pass("separate_kernels", "SeparateKernels"),
        "separate-steps": _pass("separate_steps", "SeparateSteps"),
        "row-pointers": _pass("row_pointers", "RowPointers"),
        "shift-inwards": _pass("shift_inwards", "ShiftInwards"),
        "specialize-stages": _pass("specialize_stages", "SpecializeStages"),
        "split-conversions": _pass("split_conversions", "SplitConversions"),
        "split-divisions": _pass("split_divisions", "SplitDivisions"),
        "split-lookups": _pass("split_lookups", "SplitLookups"),
        "stream-stores": _pass("stream_stores", "StreamStores"),
        "tile": _pass("tile", "Tile"),
        "unroll-reductions": _pass("unroll_reductions", "UnrollReductions"),
        "validate-occupancy": _pass("validate_occupancy", "ValidateOccupancy"),
        "widen-accesses": _pass("widen_accesses", "WidenAccesses"),
        "verify-dominance": _pass("verify_dominance", "VerifyDominance"),
        **{name: _of_model(*row) for name, row in PASSES.items()},
    },
    all_targets={"cuda": _source("CudaTarget"), "c": _source("CTarget"), "dot": _dot},
)
