"""Figures as text and as charts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SIZES = ("small", "large")
CALLS = {"call_us": "call us", "call_out_us": "out= us"}
"""The figures of a call as its user sees it, and their headings."""
UNALIGNED = ("odd_us", "unaligned_us")
RIVALS = ("torch", "torch.compile", "cupy")


def failed(entry: dict[str, Any]) -> bool:
    """Whether a case could not be measured, or gave a wrong result."""
    sizes = [entry.get(size, {}) for size in SIZES]
    parts = [entry, *sizes, *(size.get("fast_math", {}) for size in sizes)]
    return any(part.get("error") or part.get("wrong") for part in parts)


def lines(name: str, entry: dict[str, Any]) -> Iterator[str]:
    """Format the lines of a case after its measurement."""
    if "error" in entry:
        yield f"{name}: FAILED: {entry['error']}"
    for size in SIZES:
        figures = entry.get(size)
        if figures is None:
            continue
        if "error" in figures:
            yield f"{name} {size}: FAILED: {figures['error']}"
        if figures.get("wrong"):
            yield f"{name} {size}: WRONG: {figures['wrong']}"
        if "us" in figures:
            yield (
                f"{name} {size}: {figures['us']:.1f} us, a call {figures.get('call_us', 0):.1f} us, "
                f"with out= {figures.get('call_out_us', math.nan):.1f}; "
                f"floor {figures['floor_us']:.1f}, copy {figures['copy_us']:.1f}"
            )
        for kernel in figures.get("kernels", [])[:4]:
            tile, threads = ("x".join(map(str, kernel[k])) for k in ("tile", "threads"))
            yield (
                f"    {kernel['name']}: tile {tile}, {threads} threads, {kernel['registers']} registers, "
                f"{kernel['shared_bytes']} bytes shared, {kernel['spill_bytes']} spilled"
            )
        fast = figures.get("fast_math", {})
        if "error" in fast:
            yield f"    with fast_math=True: {fast['error']}"
        elif fast:
            wrong = f", WRONG: {fast['wrong']}" if fast["wrong"] else ""
            yield f"    with fast_math=True: {fast['us']:.1f} us in {len(fast['kernels'])} kernels{wrong}"
        for rival, found in figures.get("rivals", {}).items():
            if "error" in found:
                yield f"    {rival}: {found['error']}"
            else:
                wrong = f", WRONG: {found['wrong']}" if found.get("wrong") else ""
                yield f"    {rival}: {found['us']:.1f} us, a call {found['call_us']:.1f} us{wrong}"


def table(results: dict[str, Any]) -> str:
    """Format one row per case and size. A ratio is a rival's device time over tilefuse's."""
    heads = ["pipeline", "size", "us", "fast us", *CALLS.values(), "% floor", "% copy", "odd %", "unal. %"]
    rows = [[*heads, *(f"/ {r}" for r in RIVALS), "kernels", "registers"]]
    for name, entry in results["cases"].items():
        for size in SIZES:
            figures = entry.get(size)
            if figures is None or "us" not in figures:
                if figures is not None or ("error" in entry and size == SIZES[0]):
                    rows.append([name, size if figures else "", "failed"])
                continue
            us, kernels = figures["us"], figures.get("kernels", [])
            fast = figures.get("fast_math", {})
            ratios = [figures.get("rivals", {}).get(r, {}) for r in RIVALS]
            registers = sorted({k["registers"] for k in kernels if k["registers"] is not None})
            rows.append(
                [
                    name,
                    size,
                    f"{us:.1f}" + ("!" if figures.get("wrong") else ""),
                    f"{fast['us']:.1f}" + "!" * bool(fast["wrong"]) if "us" in fast else "-",
                    *(f"{figures[k]:.1f}" if k in figures else "-" for k in CALLS),
                    f"{100 * figures['floor_us'] / us:.0f}",
                    f"{100 * figures['copy_us'] / us:.0f}",
                    *(f"{100 * figures[k] / us - 100:+.0f}" if k in figures else "-" for k in UNALIGNED),
                    *(f"{r['us'] / us:.1f}" + "?" * bool(r.get("wrong")) if "us" in r else "-" for r in ratios),
                    str(len(kernels)),
                    "-".join(map(str, {registers[0]: 0, registers[-1]: 0} if registers else {})),
                ]
            )
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
    text = [
        "  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip()
        for row in rows
    ]
    return "\n".join([*text, "! wrong result   ? the rival's result differs from ours"])


def best_rival(figures: dict[str, Any]) -> tuple[str, float] | None:
    """Return the fastest rival with an equal result, and its time."""
    right = {name: found["us"] for name, found in figures["rivals"].items() if "us" in found and not found.get("wrong")}
    return min(right.items(), key=lambda item: item[1], default=None)


def against_rivals(results: dict[str, Any]) -> str:
    """Format one row per case and size: tilefuse, the best rival, and each rival's microseconds."""
    sizes = [(n, s, e[s]) for s in SIZES for n, e in results["cases"].items() if s in e]
    names = list(dict.fromkeys(r for *_, figures in sizes for r in figures["rivals"]))
    lines = [
        f"{'pipeline':26}{'size':7}{'us':>9}{'% floor':>9}{'ours/best':>11}  {'best':15}"
        + "".join(f"{n:>15}" for n in names)
    ]
    for name, size, figures in sizes:
        best, us = best_rival(figures), figures.get("us")
        row = f"{name:26}{size:7}"
        row += f"{us:9.1f}{100 * figures['floor_us'] / us:9.0f}" if us is not None else f"{'failed':>9}{'-':>9}"
        row += f"{us / best[1]:11.2f}  {best[0]:15}" if us is not None and best is not None else f"{'-':>11}  {'-':15}"
        for rival in names:
            found = figures["rivals"].get(rival, {})
            mark = "?" if found.get("wrong") else ""
            row += f"{found['us']:.1f}{mark}".rjust(15) if "us" in found else f"{'failed' if found else '-':>15}"
        lines.append(row + ("  WRONG" if figures.get("wrong") else ""))
    return "\n".join([*lines, "? the rival's result differs from ours; it is not the best"])


def plot_against_rivals(results: dict[str, Any], path: Path) -> None:
    """Plot bars of tilefuse's time over the best rival's, at all sizes, logarithmic: below 1 is faster."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        print(f"--plot needs matplotlib: {error}")
        return
    figure, panel = pyplot.subplots(figsize=(13, 5.5))
    names = list(results["cases"])
    for i, size in enumerate(SIZES):
        places, ratios = [], []
        for x, entry in enumerate(results["cases"].values()):
            best = best_rival(entry[size]) if "us" in entry.get(size, {}) else None
            if best is not None:
                places.append(x + 0.4 * i - 0.2)
                ratios.append(entry[size]["us"] / best[1])
                above = {"va": "bottom", "xytext": (0, 3)} if ratios[-1] > 1 else {"va": "top", "xytext": (0, -3)}
                panel.annotate(
                    best[0], (places[-1], ratios[-1]), rotation=90, fontsize=7, ha="center",
                    textcoords="offset points", **above,
                )  # fmt: skip
        panel.bar(places, [ratio - 1 for ratio in ratios], 0.4, bottom=1, label=size)
    panel.set_yscale("log", base=2)
    panel.yaxis.set_major_formatter("{x:g}")
    panel.margins(x=0.01, y=0.25)
    panel.axhline(1, color="black", linewidth=1)
    panel.grid(axis="y", alpha=0.4)
    panel.set_xticks(range(len(names)), names, rotation=40, ha="right")
    panel.set_ylabel("our time / the best rival's")
    panel.set_title(f"{results['environment']['gpu']}, {results['environment']['date'][:10]}: below 1 is faster")
    panel.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def plot(results: dict[str, Any], path: Path) -> None:
    """Plot bars of the fraction of the floor, of tilefuse and the rivals, one panel per size."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        print(f"--plot needs matplotlib: {error}")
        return
    sizes = [s for s in SIZES if any("us" in e.get(s, {}) for e in results["cases"].values())]
    if not sizes:
        print("--plot: nothing was measured")
        return
    figure, panels = pyplot.subplots(len(sizes), 1, figsize=(11, 3.6 * len(sizes)), squeeze=False)
    for size, panel in zip(sizes, panels[:, 0], strict=True):
        cases = {n: e[size] for n, e in results["cases"].items() if "us" in e.get(size, {})}
        for i, rival in enumerate(("tilefuse", *RIVALS)):
            heights = []
            for figures in cases.values():
                found = figures if rival == "tilefuse" else figures.get("rivals", {}).get(rival, {})
                heights.append(figures["floor_us"] / found["us"] if "us" in found else 0)
            panel.bar([x + 0.2 * i - 0.3 for x in range(len(cases))], heights, 0.2, label=rival)
        panel.set_xticks(range(len(cases)), list(cases), rotation=20)
        panel.set_ylabel("floor / time")
        panel.set_title(f"{size}: 1 is a copy of the same bytes at full bandwidth")
        panel.legend()
    figure.tight_layout()
    figure.savefig(path)
