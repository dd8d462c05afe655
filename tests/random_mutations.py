"""IR text with mistakes in it, from a seed: the tool must report errors at their lines, or process the text.

A file of the examples or of the lit tests, in which tokens and lines are left out, repeated, exchanged or replaced by
others, numbers by ones at the ends of their types, goes through passes and printers. A crash, an error that names no
place or one that is a defect of ours fails the seed. As files change, seeds have other texts: what one finds becomes a
test of its own.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import time
from functools import cache
from pathlib import Path
from random import Random

from tilefuse.passes.pipeline import lowering_passes, standard_passes
from tilefuse.tools.pipeline_opt import main

ROOT = Path(__file__).parents[1]
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[%@#!^]?[\w$.]+|->|\s+|.')
_NUMBERS = [0, 1, -1, 2, 3, 7, 8, 31, 64, 127, 128, 255, 1000, 32767, 65536, 2**31 - 1, 2**31, -(2**31), 2**32,
            2**63 - 1, 2**63, -(2**63), 10**30]  # fmt: skip
SECONDS = 40
"""Processor time that the tool may take for a text."""
_LONGEST = 12_000
"""Characters; longer texts are their own programs again, and take long."""


@cache
def _texts() -> list[str]:
    """Return the parts of all files, without comments and directives."""
    files = sorted([*ROOT.glob("examples/*.mlir"), *ROOT.glob("lit_tests/**/*.mlir")])
    parts = [part for file in files for part in re.split(r"^// -----.*$", file.read_text(), flags=re.MULTILINE)]
    plain = ["\n".join(re.sub(r"//.*", "", line) for line in part.splitlines() if line.strip()) for part in parts]
    return [text for text in plain if text.strip() and len(text) <= _LONGEST]


@cache
def _words() -> list[str]:
    """Return the tokens of all texts, once each."""
    return sorted({token for text in _texts() for token in _TOKEN.findall(text) if token.strip()})


def mutated(rng: Random) -> str:
    """Return a text with one to three mistakes."""
    text = rng.choice(_texts())
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        text = _by_lines(rng, text) if rng.random() < 0.2 else _by_tokens(rng, text)
    return text


def _by_lines(rng: Random, text: str) -> str:
    lines = text.splitlines() or [""]
    a, b = (rng.randrange(len(lines)) for _ in range(2))
    match rng.randrange(3):
        case 0:
            del lines[a]
        case 1:
            lines.insert(b, lines[a])
        case 2:
            lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _by_tokens(rng: Random, text: str) -> str:
    tokens = _TOKEN.findall(text)
    places = [n for n, token in enumerate(tokens) if token.strip()]
    if not places:
        return text
    a, b = rng.choice(places), rng.choice(places)
    numbers = [n for n in places if re.fullmatch(r"-?\d+", tokens[n])]
    draw = rng.random()
    if draw < 0.35 and numbers:
        tokens[rng.choice(numbers)] = str(rng.choice(_NUMBERS))
    elif draw < 0.75:
        kind = _kind(tokens[a])
        near = [tokens[n] for n in places] if rng.random() < 0.6 else _words()
        tokens[a] = rng.choice([t for t in near if _kind(t) == kind] or [tokens[a]])
    elif draw < 0.8:
        tokens[a] = rng.choice(_words())
    elif draw < 0.87:
        tokens[a], tokens[b] = tokens[b], tokens[a]
    elif draw < 0.94:
        del tokens[a]
    else:
        tokens[a] += f" {tokens[a]}"
    return "".join(tokens)


def _kind(token: str) -> str:
    """Return the kind of a token, of which any may replace another: value, type, operation, attribute or word."""
    if re.fullmatch(r"(memref|vector)?<?[\dx?]*(ui|si|i|f|bf)\d+", token):
        return "type"
    if re.fullmatch(r"[a-z]+\.\w+", token):
        return "operation"
    return token[0] if token[0] in '%@#!^"' else "word" if token[0].isalpha() else "sign"


def _options(rng: Random) -> list[str]:
    """Return arguments of the tool: no passes, the scheduling passes, or all passes, and a target."""
    target = rng.choice(["h200", "cpu"])
    passes = []
    if rng.random() < 0.8:
        passes += standard_passes(target)
    if passes and rng.random() < 0.7:
        passes += lowering_passes(warps=target != "cpu")
    given = ["-p", ",".join(str(p.pipeline_pass_spec()) for p in passes)] if passes else []
    if rng.random() < 0.5:
        given += ["-t", "cuda" if target != "cpu" else "c"]
    return given


def check(seed: int) -> dict[str, int]:
    """Run the tool on the text of a seed; raise AssertionError if it ends in anything but a located error or a text."""
    rng = Random(f"mutated {seed}")
    text, options = mutated(rng), _options(rng)
    out, err, began = io.StringIO(), io.StringIO(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated.mlir"
        path.write_text(text)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([str(path), *options])
    said = err.getvalue()
    what = f"{text}\n{' '.join(options)}\n{said}"
    assert time.process_time() - began < SECONDS, what
    assert "internal error" not in said, what
    assert "Traceback" not in said, what
    if status == 0:
        return {"taken": 1}
    assert re.search(r"error: \S", said), what
    return {"refused": 1}
