"""Compiled pipelines, called with arrays."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from tilefuse.analysis.bounds import Box
from tilefuse.analysis.requirements import drop_requirements
from tilefuse.dialects.parsing import parse_module
from tilefuse.dialects.verification import verify as verify_module
from tilefuse.passes.pipeline import DETERMINISM, PassTrace
from tilefuse.runtime import reporting, timing
from tilefuse.runtime.arrays.kept import OutputPool
from tilefuse.runtime.arrays.kinds import CPU, CUPY, NUMPY, TORCH, ArrayKind, ArrayView, Device, allocate, view
from tilefuse.runtime.arrays.layouts import ALIGNMENT, BufferSpec
from tilefuse.runtime.call.binding import Signature, check_devices, check_overlaps, span
from tilefuse.runtime.call.boxes import Request, resolve_boxes
from tilefuse.runtime.call.boxes_of_all import SparseBoxesError
from tilefuse.runtime.call.call_layouts import call_layouts
from tilefuse.runtime.call.guess import likely_specs
from tilefuse.runtime.call.requirements import Requirements
from tilefuse.runtime.call.scalars import Scalar, distinct, params_in_boxes
from tilefuse.runtime.compile.backend import find_backend
from tilefuse.runtime.compile.compiled import Compiled, Kernels, Settings
from tilefuse.runtime.compile.options import checked_options, checked_passes
from tilefuse.runtime.compile.specialize import find_pipeline, give_outputs_stages, specialize
from tilefuse.runtime.cuda import devices
from tilefuse.runtime.errors import CallError, CallMemoryError, CallTypeError, TargetError
from tilefuse.runtime.launch.call_cache import SEVERAL_OUTPUTS, CachedCall, CallCache
from tilefuse.runtime.launch.plan import CallArrays
from tilefuse.runtime.launch.prepared import Prepared, PreparedKernels, PreparedReference
from tilefuse.runtime.launch.reference import ReferenceRunner
from tilefuse.targets.gpus import gpu

if TYPE_CHECKING:
    import networkx as nx

_MOST_PREPARED = 128
"""Kinds of call that a program keeps prepared."""

_ArgumentSizes = dict[str, tuple[int, ...]]


def compile_pipeline(
    module: ModuleOp,
    target: str = "auto",
    *,
    strict_float: bool = False,
    verify: bool = False,
    passes: Sequence[ModulePass] | None = None,
    ahead: bool = True,
    **options: Any,
) -> Program:
    """Compile the one pipeline of `module`, which is not modified.

    `target`: `auto`, `cuda`, a GPU as in `cuda:sm_80` or `h200`, `cpu` or `reference`. `strict_float`: no
    contraction to fused multiply-adds. `verify`: verify the IR after each pass. `passes`: these instead of
    the standard ones. `ahead`: compile at once for a likely call, and not only for those that come. `options`: of the
    standard passes: `extent`, `algorithm`, `fast_math`, under which sums of floats may be regrouped, and `determinism`
    of sums over a domain: `run_to_run`, or `gpu_to_gpu` for its order.

    Raises PipelineError for a pipeline that is wrong, TargetError for a target that this machine lacks.
    """
    options = checked_options(options, strict_float=strict_float, has_passes=passes is not None)
    if not isinstance(module, ModuleOp):
        raise CallTypeError(
            f"compile_pipeline takes a module, not a {type(module).__name__}; make one with parse_module(text) "
            "or Pipeline.to_module()"
        )
    verify_module(module)
    return Program(module, Settings(find_backend(target), strict_float, verify, checked_passes(passes), options), ahead)


def _loaded(text: str, settings: Settings) -> Program:
    """Rebuild a pickled program."""
    return Program(parse_module(text), settings)


class Program:
    """A pipeline compiled for one target. Call it with arrays; see `__call__`."""

    def __init__(self, module: ModuleOp, settings: Settings, ahead: bool = True):
        self._written = self._module = module.clone()
        self._settings = settings
        self._pipeline = find_pipeline(self._module)
        self._requirements: Requirements | None = None
        if self._pipeline.requirements:
            self._requirements = Requirements(self._written, lambda module: Program(module, settings, ahead))
            self._module = self._written.clone()
            drop_requirements(self._module)
            self._pipeline = find_pipeline(self._module)
        give_outputs_stages(self._pipeline)
        self._signature = Signature(self._pipeline)
        self._params_in_boxes = params_in_boxes(self._pipeline)
        self._lock = threading.RLock()
        self._prepared: OrderedDict[Any, Prepared] = OrderedDict()
        self._seen = CallCache(len(self._signature.outputs), self._params_in_boxes, _MOST_PREPARED)
        self._kept = OutputPool()
        self._compiled: dict[Any, Compiled] = {}
        self._latest: Compiled | None = None
        self._last: Prepared | None = None
        self._seconds: float | None = None
        self._spare: list[Any] = []
        if ahead and settings.backend.name != "reference":
            self._compile_ahead()

    def __repr__(self) -> str:
        return f"<tilefuse.Program {self._signature}, for {self.target}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the IR and the settings: loading compiles again, or finds the machine code in the cache."""
        text = StringIO()
        Printer(text, print_generic_format=True, print_debuginfo=True).print_op(self._written)
        return _loaded, (text.getvalue(), self._settings)

    def _repr_html_(self) -> str:
        """Show the signature, the report, and the kernels' text in notebooks."""
        source = self.source() if self._settings.backend.name != "reference" else ""
        return reporting.report_html(repr(self), self.report(), self.kernels, source)

    def __call__(
        self,
        *arrays: Any,
        out: Any = None,
        sizes: Any = None,
        mins: Any = None,
        stream: Any = None,
        **named: Any,
    ) -> Any:
        """Run on arrays: inputs by position (in the order of `img.input`) or by name, parameters by name.

        Returns one new array per output, of the kind of the first input: NumPy, CuPy, torch, or what a
        library makes of it by DLPack. Nothing is copied on the way in or out. Several outputs come as a
        tuple.

        `out`: arrays to write instead (one, a tuple, or a dict by name); their shapes say what is computed.
        `sizes`: extents of the outputs, x first (a tuple, or a dict by name). Without either, an output is as
        large as the inputs allow. `mins`: dict by input or output of the least coordinates, x first; inputs
        begin at 0, outputs at the first point that the inputs allow. `stream`: of CuPy or torch, or a raw
        pointer; else the current one of torch if there are torch tensors, or of CuPy.

        Raises CallError before anything is launched or written.
        """
        signature = self._signature
        inputs, params = signature.bind(arrays, named)
        is_plain = sizes is None and mins is None
        requested = ({}, {}) if is_plain else (signature.sizes(sizes), signature.mins(mins))
        describe = self._seen.describe(inputs, out, params, requested) if self._requirements is None else None
        if describe is not None and describe.cached is not None and not describe.may_overlap:
            done = self._repeat(describe.cached, describe.pointers, inputs, out, params, stream)
            if done is not None:
                return done[0]
        views = [view(a, slot.what) for a, slot in zip(inputs, signature.inputs, strict=True)]
        originals = signature.per_output(out, "out") if out is not None else {}
        given = {name: view(array, f"out= of output '{name}'") for name, array in originals.items()}
        if self._requirements is not None:
            named_inputs = {slot.name: array for slot, array in zip(signature.inputs, inputs, strict=True)}
            self._requirements.check(self._request(views, given, requested), named_inputs, params, stream)
        everything = [*views, *given.values()]
        device = self._settings.backend.device_of(everything)
        prepared = self._prepare(views, given, requested, params, device)
        check_overlaps(signature, views, given)
        stream_kind = TORCH if any(v.kind is TORCH for v in everything) else CUPY
        raw = self._settings.backend.stream_of(stream, stream_kind, device)
        kind = next((v.kind for v in everything), NUMPY if device == CPU else CUPY)
        if describe is not None:
            items = [slot.itemsize for slot in (*signature.inputs, *signature.outputs)]
            spans = tuple(map(span, everything, items))
            new = () if given else self._shapes_of_new(prepared)
            self._seen.insert(describe, CachedCall(prepared, device, stream_kind, kind, new, spans, len(views)))
        finish = self._new_outputs(given, prepared, kind, device, raw, inputs)
        if any(given[name].pointer % ALIGNMENT for name in finish):
            # Kernels count on aligned new arrays; this library's allocator does not give them.
            prepared = self._prepare(views, given, requested, params, device)
        pointers = [*(v.pointer for v in views), *(given[slot.name].pointer for slot in signature.outputs)]
        self._run(prepared, pointers, params, device, raw)
        values = tuple(
            finish[slot.name]() if slot.name in finish else originals[slot.name] for slot in signature.outputs
        )
        return values[0] if len(values) == 1 else values

    def _shapes_of_new(self, prepared: Prepared) -> tuple[tuple[tuple[int, ...], str], ...]:
        """Return shape and type of the arrays that a call without `out=` makes."""
        outputs = zip(self._signature.outputs, prepared.out_shapes, strict=True)
        return tuple((shape, slot.dtype) for slot, shape in outputs)

    def _new_outputs(
        self,
        given: dict[str, ArrayView],
        prepared: Prepared,
        kind: ArrayKind,
        device: Device,
        raw: int | None,
        inputs: Sequence[Any],
    ) -> dict[str, Callable[[], Any]]:
        """Make the outputs missing from `given`, and add them; return converters to the caller's arrays by name."""
        finish: dict[str, Callable[[], Any]] = {}
        for slot, shape in zip(self._signature.outputs, prepared.out_shapes, strict=True):
            if slot.name not in given:
                given[slot.name], finish[slot.name] = allocate(kind, shape, slot.dtype, device, raw, inputs, slot.what)
        return finish

    def _run(
        self,
        prepared: Prepared,
        pointers: list[int],
        params: dict[str, Scalar],
        device: Device,
        raw: int | None,
    ) -> None:
        self._last = prepared
        start = 0.0 if device != CPU else time.perf_counter()
        try:
            prepared.run(pointers, params, raw)
        except MemoryError as error:  # of temporaries, which are there before anything is written
            raise CallMemoryError.of_temporaries(error, prepared.largest) from None
        if device == CPU:
            self._seconds = time.perf_counter() - start

    # --- calls like one before (docs/runtime.md) -----------------------------------------------------------

    def _repeat(
        self,
        cached: CachedCall,
        pointers: list[int],
        inputs: Sequence[Any],
        out: Any,
        params: dict[str, Scalar],
        stream: Any,
    ) -> tuple[Any] | None:
        """Run a call like the previous one; return its result as a tuple, or None if it differs."""
        raw = self._settings.backend.stream_of(stream, cached.stream_kind, cached.device)
        if out is not None:
            results = out
        else:
            # the current stream of the library that makes them need not be looked up again
            is_current = stream is None and cached.stream_kind is cached.kind
            made = self._kept.take(cached, raw) if cached.kind is CUPY else None
            if made is None:
                made = cached.make_outputs(None if is_current else raw, inputs)
                if made is None:
                    return None
                if cached.kind is CUPY:
                    self._kept.keep(cached, raw, *made)
            results = made[0]
            pointers = pointers + made[1]
        self._run(cached.prepared, pointers, params, cached.device, raw)
        if isinstance(results, SEVERAL_OUTPUTS):
            return (results[0] if len(results) == 1 else tuple(results),)
        return (results,)

    # --- what was compiled ---------------------------------------------------------------------------------

    @property
    def target(self) -> str:
        """The back end, and the machine for which it was scheduled."""
        return str(self._settings.backend)

    @property
    def on_gpu(self) -> bool:
        """Whether arrays must be on a GPU."""
        return self._settings.backend.name == "cuda"

    @property
    def passes(self) -> list[str]:
        """Names of the passes that ran, in order; `input` is the module before them."""
        return self._trace().passes

    def ir(self, after: str | None = None) -> str:
        """Return the IR after a pass (see `passes`), or at the end the scheduled IR with its kernels."""
        try:
            return self._trace().ir(after)
        except KeyError as error:
            raise ValueError(error.args[0]) from None

    def source(self) -> str:
        """Return the CUDA or C text of the last call's kernels (before any call: of a likely call's)."""
        return self._current_kernels().source

    @property
    def kernels(self) -> list[reporting.Kernel]:
        """Facts about each kernel, in launch order."""
        if self._settings.backend.name == "reference":
            return []
        plan = self._last.plan if isinstance(self._last, PreparedKernels) else None
        return reporting.kernels(self._current_kernels(), plan)

    def graph(self) -> nx.DiGraph:
        """Return the graph of inputs, stages and kernels, as last compiled (`analysis.graph.stage_graph`)."""
        # Late: networkx takes as long to import as a fifth of the compiler, and no call needs it.
        from tilefuse.analysis.graph import stage_graph

        return stage_graph(self._pipeline if self._settings.backend.name == "reference" else self._current().pipeline)

    def report(self) -> str:
        """Report kernels, tiles and memory, the last call's time (on a GPU: of `time`), and error bounds of sums."""
        s = self._settings
        determinism = "gpu_to_gpu" if s.strict_float else str(s.options.get("determinism", DETERMINISM[0]))
        return reporting.text(self._pipeline.sym_name.data, self.target, self.kernels, self._seconds, determinism)

    def time(self, *arrays: Any, repeat: int = 20, **named: Any) -> float:
        """Measure the median time of a call in seconds: on a GPU, the kernels' time alone."""
        out = self(*arrays, **named)
        names = [slot.name for slot in self._signature.outputs]
        named["out"] = dict(zip(names, out if len(names) > 1 else [out], strict=True))
        if self._settings.backend.name == "cuda":
            self._seconds = timing.device_seconds(lambda stream: self(*arrays, **{**named, "stream": stream}), repeat)
        else:
            self._seconds = timing.wall_seconds(lambda: self(*arrays, **named), repeat)
        return self._seconds

    def output_boxes(self, *arrays: Any, mins: Any = None, **named: Any) -> dict[str, Box]:
        """Return (min, extent) per dimension, x first, of each output of a call without `out` and `sizes`."""
        inputs, params = self._signature.bind(arrays, named)
        views = [view(a, slot.what) for a, slot in zip(inputs, self._signature.inputs, strict=True)]
        return resolve_boxes(self._pipeline, self._request(views, {}, ({}, self._signature.mins(mins))), params).outputs

    # --- preparing a call ----------------------------------------------------------------------------------

    def _prepare(
        self,
        views: Sequence[ArrayView],
        given: dict[str, ArrayView],
        requested: tuple[_ArgumentSizes, _ArgumentSizes],
        params: dict[str, Scalar],
        device: Device,
    ) -> Prepared:
        key = (
            tuple([(v.shape, v.strides, v.dtype, v.device, v.pointer % ALIGNMENT) for v in views]),
            tuple([(n, v.shape, v.strides, v.dtype, v.device, v.writable, v.pointer % ALIGNMENT)
                   for n, v in given.items()]) if given else (),
            tuple(tuple(sorted(part.items())) for part in requested),
            distinct(params, self._params_in_boxes),
            device,
        )  # fmt: skip
        found = self._prepared.get(key)
        if found is None:
            with self._lock:
                found = self._make_prepared(views, given, requested, params, device)
                self._prepared[key] = found
                if len(self._prepared) > _MOST_PREPARED:
                    self._prepared.popitem(last=False)
        return found

    def _request(
        self,
        views: Sequence[ArrayView],
        given: Mapping[str, ArrayView],
        requested: tuple[_ArgumentSizes, _ArgumentSizes],
    ) -> Request:
        shapes = {slot.name: v.shape for slot, v in zip(self._signature.inputs, views, strict=True)}
        return Request(shapes, {n: v.shape for n, v in given.items()}, *requested)

    def _make_prepared(
        self,
        views: Sequence[ArrayView],
        given: dict[str, ArrayView],
        requested: tuple[_ArgumentSizes, _ArgumentSizes],
        params: dict[str, Scalar],
        device: Device,
    ) -> Prepared:
        signature, backend = self._signature, self._settings.backend
        out_slots = {slot.name: slot for slot in signature.outputs}
        slots = [*signature.inputs, *(out_slots[n] for n in given)]
        everything = [*views, *given.values()]
        for slot, v in zip(slots, everything, strict=True):
            slot.check(v)
        kind = "cuda" if backend.name == "cuda" else "cpu"
        check_devices(everything, slots, kind, self.target, device)
        boxes = resolve_boxes(self._pipeline, self._request(views, given, requested), params)

        found = call_layouts(signature, boxes, views, given)
        if backend.name == "reference":
            runner = ReferenceRunner(self._pipeline, signature, boxes, found.inputs, found.outputs)
            return PreparedReference(runner, found.out_shapes)

        def prepared(several: bool) -> PreparedKernels:
            compiled = self._compile(found.input_specs, found.output_specs, several)
            arrays = CallArrays(boxes, found.inputs, found.outputs, found.may_host)
            return PreparedKernels(compiled, arrays, found.out_shapes, params, device, self._spare)

        with contextlib.suppress(SparseBoxesError):
            return prepared(True)
        return prepared(False)

    def _compile(self, inputs: dict[str, BufferSpec], outputs: Sequence[BufferSpec], several: bool = True) -> Compiled:
        key = (tuple(inputs.items()), tuple(outputs), several)
        if key not in self._compiled:
            module = specialize(self._module, inputs, outputs)
            self._compiled[key] = Compiled(module, replace(self._settings, several=several))
        self._latest = self._compiled[key]
        return self._latest

    def _compile_ahead(self) -> None:
        """Compile for a likely call, so that errors are raised now and a first call need not wait."""
        specs = likely_specs(self._pipeline, self._signature)
        if specs is None:
            self._latest = Compiled(self._module, self._settings)
            self._latest.lower()
            return
        compiled = self._compile(*specs)
        if self._settings.backend.name == "cpu":
            compiled.library(compiled.kernels(32))
        elif devices.available():
            compiled.kernels(32, devices.architecture(devices.current_device()))
        else:
            compiled.lower()

    def _current_kernels(self) -> Kernels:
        if isinstance(self._last, PreparedKernels):
            return self._last.kernels
        compiled = self._current()
        if self._settings.backend.name == "cuda" and not devices.available():
            try:
                return compiled.kernels(32, gpu(self._settings.backend.machine).arch)
            except TargetError:  # nor is there NVRTC: then the text, and no figures
                pass
        return compiled.latest()

    def _current(self) -> Compiled:
        if isinstance(self._last, PreparedKernels):
            return self._last.compiled
        if self._latest is None and self._settings.backend.name != "reference":
            self._compile_ahead()
        if self._latest is None:
            raise CallError("target 'reference' evaluates the pipeline as it is: there are no kernels")
        return self._latest

    def _trace(self) -> PassTrace:
        if self._settings.backend.name == "reference":
            return PassTrace([("input", self._module)])  # evaluated as it is
        return self._current().trace()
