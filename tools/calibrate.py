"""tilefuse-calibrate: fit the cost model to this machine's GPU or CPU."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilefuse.analysis.calibration import Calibration, calibration_text, user_file
from tilefuse.analysis.machine import machine
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.targets.cpus import RATES, host_cpu
from tilefuse.tools.calibration import cpu, fitting, gpu, measuring, workers
from tilefuse.tools.calibration.drawn import CALIBRATED_KINDS
from tilefuse.tools.calibration.pipelines import PIPELINES, QUICK, Subject

KEPT = 0.7
"""Share of the schedules that the constants are fitted to when the others are to be predicted."""


class NoImprovementError(Exception):
    """Error, with the report: fitted constants predict other schedules worse than the old constants."""


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="tilefuse-calibrate",
        description="Measure schedules of the examples on this GPU, fit the constants of the cost model to them, and "
        "write these where tilefuse finds them; or with --cpu the rates of this machine's CPU.",
    )
    parser.add_argument("--cpu", action="store_true", help="measure the CPU, in seconds; takes --out, --quick")
    parser.add_argument(
        "--quick", action="store_true", help="a third of the schedules and of the time, for a first look"
    )
    parser.add_argument("--out", type=Path, help="TOML to write (default: what tilefuse reads for this user and GPU)")
    parser.add_argument("--measured", type=Path, help="JSON to write: what was measured, as --from takes it")
    parser.add_argument("--from", dest="source", type=Path, help="fit to this JSON, and measure nothing")
    parser.add_argument("--fit-seconds", type=float, help="for each of two searches (default 40, quick 10)")
    workers.add_options(parser, "random schedules of all examples", 160, 150)
    parser.set_defaults(machine=None)
    options = parser.parse_args(argv)
    if options.quick:
        options.count, options.seconds = min(options.count, 60), min(options.seconds, 45)
    if options.fit_seconds is None:
        options.fit_seconds = 10.0 if options.quick else 40.0
    return options


def measured(options: argparse.Namespace, target: str) -> dict[str, Any]:
    """Measure drawn warp tiles on this machine's GPU; print progress and failures."""
    subjects = [Subject(name) for name in (QUICK if options.quick else PIPELINES)]
    results: dict[str, Any] = {"seed": options.seed, "cases": {}}
    if not options.dry:
        results["environment"] = gpu.environment()
    tasks = measuring.tasks(
        subjects, options.count, options.seed, target, options.seconds,
        repeat=options.repeat, dry=options.dry, kinds=CALIBRATED_KINDS[1:],
    )  # fmt: skip
    for task, entry in measuring.run_tasks(tasks, options.workers):
        results["cases"][task.subject.name] = entry
        print(measuring.said(task, entry), flush=True)
    return results


def calibrate(results: dict[str, Any], target: str, options: argparse.Namespace) -> tuple[Calibration, str]:
    """Fit constants to all measurements; return them and the report.

    PipelineError if there is nothing to fit to; NoImprovementError if they predict others worse than the old ones.
    """
    on = machine(target)
    examples = fitting.read_examples(results, target)
    all_points = fitting.points(examples, on)
    if not all_points:
        raise PipelineError(
            "there are no timings of warp tiles of pipelines that are one kernel: nothing to fit to. "
            "tilefuse-calibrate without --from measures some"
        )
    kept, held_out = fitting.split_schedules(examples, KEPT, options.seed)
    lines = [f"{len(all_points)} timings of {len(examples)} pipelines on {on.name}; errors are of the logarithm"]
    start = on.calibration
    if fitting.points(kept, on) and (others := fitting.points(held_out, on)):
        # The second search begins where the first ended: no time is lost by holding some out.
        start = fitting.fit(kept, on, start, options.fit_seconds, options.seed)
        before, after = (
            fitting.quality(p) for p in (others, fitting.points(held_out, fitting.with_constants(on, start)))
        )
        lines.append(
            f"held out, {len(others)} timings that constants fitted to the others predict: {changed(before, after)}"
        )
        if after.error + fitting.LOSS_WEIGHT * after.loss > before.error + fitting.LOSS_WEIGHT * before.loss:
            raise NoImprovementError("\n".join(lines))
    best = fitting.fit(examples, on, start, options.fit_seconds, options.seed + 1)
    final = fitting.quality(fitting.points(examples, fitting.with_constants(on, best)))
    lines.append(f"all, fitted to all of them: {changed(fitting.quality(all_points), final)}")
    return best, "\n".join(lines)


def changed(before: fitting.Quality, after: fitting.Quality) -> str:
    """Describe the change of both."""
    text = (
        f"error {before.error:.3f} before, {after.error:.3f} after; the choice loses {100 * before.loss:.1f} % before, "
    )
    text += f"{100 * after.loss:.1f} % after"
    if not math.isnan(before.correlation) and not math.isnan(after.correlation):
        text += f"; rank correlation {before.correlation:.2f} before, {after.correlation:.2f} after"
    return text


def measure_and_fit(options: argparse.Namespace) -> int:
    """Measure or read, fit, write, and report."""
    if options.cpu:
        return run_cpu(options)
    if options.source is not None:
        try:
            results = json.loads(options.source.read_text())
        except (OSError, ValueError) as error:
            raise PipelineError(f"--from {options.source}: {error}") from error
        target = options.machine or results.get("environment", {}).get("gpu", "h200")
    else:
        target = options.machine or "h200"
        if not options.dry:
            from tilefuse.runtime.cuda import devices

            devices.require_cupy("cuda")
            target = devices.model(devices.current_device())
        results = measured(options, target)
        if options.measured is not None:
            options.measured.write_text(json.dumps(results, indent=1) + "\n")
        if options.dry:
            return 0 if all(map(measuring.is_sound, results["cases"].values())) else 1
    best, report = calibrate(results, target, options)
    print(report)
    model = machine(target).name
    origin = f"{model}, measured {results.get('environment', {}).get('date', 'on an unknown day')}"
    write_constants(options.out or user_file(model), calibration_text(best, "\n# ".join([origin, *report.split("\n")])))
    return 0


def run_cpu(options: argparse.Namespace) -> int:
    """Measure the CPU, write its rates, and print the table's rates beside them."""
    there = host_cpu()
    found = cpu.measured_cpu(3 if options.quick else 10)
    print(f"{found.name}, {found.cores} cores, vectors of {found.vector_bytes} bytes")
    for rate in RATES:
        print(f"{rate:20}{getattr(found, rate):8.2f}   in targets/cpus.toml {getattr(there, rate):g}")
    day = datetime.date.today().isoformat()
    write_constants(
        options.out or user_file("cpu"), cpu.rates_text(found, f"{found.name}, {found.cores} cores, measured {day}")
    )
    return 0


def write_constants(output: Path, text: str) -> None:
    """Write a file of constants. Raises PipelineError if it cannot be written."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text)
    except OSError as error:
        raise PipelineError(f"the constants cannot be written: {error}; name another file with --out") from error
    print(f"written to {output}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; return the exit status: 0, 1 for a failed dry run or no improvement, 2 after an error."""
    from tilefuse.runtime.errors import TargetError

    options = parse(argv)
    try:
        return measure_and_fit(options)
    except NoImprovementError as report:
        print(f"{report}\nnothing is written: the constants that there were predict better; measure more (--count)")
        return 1
    except (PipelineError, TargetError) as error:
        print(f"tilefuse-calibrate: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
