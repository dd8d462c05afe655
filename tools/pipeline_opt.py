"""`pipeline-opt`: run passes on IR text and print the result, like any MLIR opt tool."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import IO, Any, ClassVar, NoReturn

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline
from xdsl.utils.exceptions import ParseError, ShrinkException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.parsing import LocatedParser, broken_package, replace_dialects
from tilefuse.dialects.verification import verify
from tilefuse.passes.pipeline_text import instantiate, load_row, normalised, parse_passes, parse_specs, unknown
from tilefuse.tools.diagnostics import InternalError, diagnosed, render
from tilefuse.tools.expected import check_expectations, parse_expectations
from tilefuse.tools.instrumentation import Dumps, Timing
from tilefuse.tools.listing import list_passes
from tilefuse.universe import UNIVERSE

_PIPELINE = "--pass-pipeline"
_SPLIT = re.compile(r"^[ \t]*// -----[ \t]*\r?$", re.MULTILINE)


class PipelineOpt(xDSLOptMain):
    """xDSL's opt tool with the passes of tilefuse, located errors, and MLIR's options."""

    version_format: ClassVar[str] = "pipeline-opt of tilefuse, with xDSL {xdsl_version}"

    def __init__(self, args: Sequence[str] | None, sources: dict[str, str]):
        """Parse the command line; `sources` is filled with the texts that errors point into."""
        self.timing = Timing()
        self.sources = sources
        super().__init__("Run passes on the IR of an image pipeline, or print it as CUDA or C.", args)

    # The rows of tilefuse come by its entry point; a checkout on the path, never installed, has none.

    def register_all_dialects(self) -> None:
        try:
            super().register_all_dialects()
        except Exception as error:
            raise broken_package(error) from error
        for name, factory in UNIVERSE.all_dialects.items():
            if name not in self.ctx.registered_dialect_names:
                self.ctx.register_dialect(name, factory)
        replace_dialects(self.ctx)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for name, factory in UNIVERSE.all_passes.items():
            self.available_passes.setdefault(name, factory)

    def register_all_targets(self) -> None:
        super().register_all_targets()
        for name, factory in UNIVERSE.all_targets.items():
            self.available_targets.setdefault(name, factory)

    def register_all_frontends(self) -> None:
        super().register_all_frontends()

        def parse_mlir(stream: IO[bytes]) -> ModuleOp:
            parser = LocatedParser(self.ctx, stream.read(), self.get_input_name())
            return parser.parse_module(not self.args.no_implicit_module)

        self.available_frontends["mlir"] = parse_mlir

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.prog = "pipeline-opt"
        arg_parser.error = _usage_error  # type: ignore[method-assign]
        # Several of xDSL's own options are replaced by what MLIR means by them.
        group = arg_parser.add_argument_group("passes and output, as in MLIR", conflict_handler="resolve")
        add = group.add_argument
        add(
            "-p",
            "--passes",
            _PIPELINE,
            default="",
            help="passes to run: 'a,b{x=1 y=2,3}', or 'builtin.module(a,b{x=1 y=2,3})'; see --list-passes",
        )
        targets = ", ".join(self.available_targets)
        add("-t", "--target", "--emit", type=self._target, default="mlir", help=f"what to print, one of: {targets}")
        add(
            "--verify-diagnostics",
            action="store_true",
            help="succeed if the errors are exactly those of the '// expected-error {{text}}' comments",
        )
        add(
            "--split-input-file",
            action="store_true",
            help="process the parts between '// -----' lines on their own",
        )
        add("--print-ir-before-all", "--print-between-passes", action="store_true", help="to stderr")
        add("--print-ir-after-all", action="store_true", help="to stderr")
        for when in ("before", "after"):
            add(
                f"--print-ir-{when}",
                metavar="PASS[,PASS]",
                action="append",
                default=[],
                help=f"print the IR {when} these passes to stderr",
            )
        add("--list-passes", action="store_true", help="print the passes with their options, and exit")
        add("--timing", "--time-passes", action="store_true", help="print the time of each step to stderr")
        add("--traceback", action="store_true", help="show where in the compiler an error was raised")

    def _target(self, text: str) -> str:
        """Check a target and its options; return its canonical text."""
        self.sources["--target"] = text
        specs = parse_specs(text, "--target")
        if len(specs) != 1:
            raise PipelineError(f"--target takes one target, not {len(specs)}")
        spec = specs[0]
        if spec.name not in self.available_targets:
            known = ", ".join(self.available_targets)
            raise PipelineError(f"{unknown('target', spec.name, self.available_targets)}; the targets are {known}")
        entry: Callable[..., Any] = self.available_targets[spec.name]
        if inspect.signature(entry).parameters:  # a plain function (module, stream): no options
            return text
        kind: type[Target] = load_row(f"target '{spec.name}'", entry)
        return str(instantiate(kind, spec, f"target '{spec.name}'"))

    def setup_pipeline(self) -> None:
        self.sources[_PIPELINE] = normalised(self.args.passes)
        self.pipeline = PassPipeline(parse_passes(self.args.passes, self.available_passes, source=_PIPELINE))
        names = {
            when: [n for text in getattr(self.args, f"print_ir_{when}") for n in text.split(",")]
            for when in ("before", "after")
        }
        for name in (*names["before"], *names["after"]):
            if name not in self.available_passes:
                raise PipelineError(unknown("pass", name, self.available_passes))
        self.dumps = Dumps(
            None if self.args.print_ir_before_all else names["before"],
            None if self.args.print_ir_after_all else names["after"],
            self.args.print_op_generic,
            self.args.print_debuginfo,
        )

    def get_input_name(self) -> str:
        path: str | None = self.args.input_file
        return "<stdin>" if path in (None, "-") else str(path)

    def run(self) -> int:
        """Process the input; return the exit status."""
        if self.args.list_passes:
            print(list_passes(self.available_passes))
            return 0
        text = self._read()
        self.sources[self.get_input_name()] = text
        outputs, problems = [], []
        try:
            for chunk in self._chunks(text):
                output, errors = self._process(chunk)
                outputs += output
                problems += self._unexpected(chunk, errors) if self.args.verify_diagnostics else errors
        except ShrinkException:
            if not self.args.shrink:
                raise
            # xDSL's protocol with shrinkray: status 0 says that the input still shows the case.
            print("Success, can shrink")
            return 0
        for problem in problems:
            print(render(problem, self.sources, self.get_input_name()), file=sys.stderr)
        if self.args.timing:
            print(self.timing.table(), file=sys.stderr)
        # An output file is written only when all went well, and then at once.
        if not (problems and self.args.output_file):
            self._write("// -----\n".join(outputs))
        return 1 if problems or self.args.shrink else 0

    def _read(self) -> str:
        name = self.get_input_name()
        try:
            if name == "<stdin>":
                return sys.stdin.buffer.read().decode("utf-8")
            with open(name, "rb") as file:
                return file.read().decode("utf-8")
        except OSError as error:
            raise PipelineError(f"cannot read '{name}': {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise PipelineError(f"'{name}' is not UTF-8 text: byte {error.start}: {error.reason}") from None

    def _write(self, text: str) -> None:
        path: str | None = self.args.output_file
        if path in (None, "-"):
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        try:
            with open(str(path), "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise PipelineError(f"cannot write '{path}': {error.strerror}") from None

    def _chunks(self, text: str) -> list[str]:
        if not self.args.split_input_file:
            return [text]
        chunks, start = [], 0
        for mark in [*_SPLIT.finditer(text), None]:
            end = mark.start() if mark else len(text)
            # Blank lines in front keep the line numbers those of the file.
            chunks.append("\n" * text.count("\n", 0, start) + text[start:end])
            start = mark.end() if mark else end
        return chunks

    def _process(self, chunk: str) -> tuple[list[str], list[PipelineError]]:
        """Parse, transform and print one chunk; return the output, and the error if there was one."""
        doing = "the parser"
        try:
            with self.timing.measure("parse"):
                module = self.parse_chunk(BytesIO(chunk.encode()), self._frontend())
            if module is None:
                return [], []
            self._verify(module)
            for step in self.pipeline.passes:
                doing = f"pass '{step.name}'"
                self.dumps.dump_before(step.name, module)
                with self.timing.measure(step.name):
                    step.apply(self.ctx, module)
                doing = f"the verifier after pass '{step.name}'"
                self.dumps.dump_after(step.name, module)
                self._verify(module)
            doing = f"target '{self.args.target}'"
            with self.timing.measure("print"):
                return [self.output_resulting_program(module)], []
        except ShrinkException:
            raise
        except ParseError as error:
            if self.args.parsing_diagnostics:
                print(error)
                return [], []
            return [], [diagnosed(error, doing)]
        except Exception as error:
            if self.args.traceback:
                traceback.print_exception(error)
            problem = diagnosed(error, doing)
            if doing.startswith("the verifier after"):
                problem.add_note(f"found by {doing}")
            return [], [problem]

    def _unexpected(self, chunk: str, errors: list[PipelineError]) -> list[PipelineError]:
        """Return mismatches between a chunk's errors and its expected-error comments; a defect always counts."""
        defects = [e for e in errors if isinstance(e, InternalError)]
        given = [e for e in errors if not isinstance(e, InternalError)]
        try:
            expected = parse_expectations(chunk, self.get_input_name())
        except PipelineError as error:
            return [*defects, error]
        return [*defects, *check_expectations(expected, given)]

    def _frontend(self) -> str:
        extension = os.path.splitext(self.get_input_name())[1].removeprefix(".")
        chosen: str = self.args.frontend or extension
        return chosen if chosen in self.available_frontends else "mlir"

    def _verify(self, module: ModuleOp) -> None:
        if not self.args.disable_verify:
            with self.timing.measure("verification"):
                verify(module)


def _usage_error(message: str) -> NoReturn:
    raise PipelineError(f"{message}; --help lists the options")


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool; return the exit status: 0, or 1 after an error on stderr."""
    sources: dict[str, str] = {}
    try:
        return PipelineOpt(args, sources).run()
    except PipelineError as error:
        print(render(error, sources, "pipeline-opt"), file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output, as `head` does, has enough of it; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
