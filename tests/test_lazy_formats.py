"""Assembly formats are read late, and each of them can be read."""

import subprocess
import sys

from tilefuse.dialects.lazy_formats import LazyFormat
from tilefuse.passes.pipeline import new_context


def test_making_cuda_text_reads_no_format():
    program = """
import sys
import tilefuse as hl
x = hl.Var("x")
f = hl.Func("f")
f[x] = hl.ImageParam(hl.UInt(8), 1, "image")[x] + 1
assert "__global__" in hl.Pipeline(f).compile(target="h200").source()
sys.exit("xdsl.irdl.declarative_assembly_format_parser" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_all_formats_of_our_dialects_can_be_read():
    formats = [
        cell.cell_contents
        for op in new_context().loaded_ops
        for cell in getattr(op.parse, "__func__", op.parse).__closure__ or ()
        if isinstance(cell.cell_contents, LazyFormat)
    ]
    assert len(formats) > 10  # ours at least: a test may have imported dialects of xDSL before
    for format in formats:
        assert format.program.stmts is not None
