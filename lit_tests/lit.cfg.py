"""Lit's configuration: tests are shell lines over pipeline-opt and filecheck, in one folder per source folder."""

import atexit
import os
import shutil
import sys
import tempfile

import lit.formats
import lit.util

from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, supported_archs

config.name = "tilefuse"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))

# Outside the source tree, or an Output/ folder would appear beside each test.
config.test_exec_root = tempfile.mkdtemp(prefix="tilefuse-lit-")
atexit.register(shutil.rmtree, config.test_exec_root, ignore_errors=True)

# The tools beside the Python that runs lit, whatever is activated; so too the real mlir-opt of the test extra.
mlir_bin = os.path.join(os.path.dirname(os.path.dirname(lit.__file__)), "mlir", "bin")
config.environment["PATH"] = os.pathsep.join(
    [os.path.dirname(sys.executable), mlir_bin, os.environ.get("PATH", os.defpath)]
)
# The checkout that these tests lie in, whichever is installed.
config.environment["PYTHONPATH"] = os.path.dirname(config.test_source_root)
# Bytecode is compiled once for all runs of the tools, and leaves nothing in the source tree.
config.environment["PYTHONPYCACHEPREFIX"] = os.path.join(config.test_exec_root, "pycache")

# What is printed parses back to what is printed, in the custom and in the generic form.
opt = "pipeline-opt --split-input-file"
config.substitutions += [
    ("TILEFUSE_ROUNDTRIP", f"{opt} %s | {opt} | filecheck %s"),
    ("TILEFUSE_GENERIC_ROUNDTRIP", f"{opt} %s --print-op-generic | {opt} | filecheck %s"),
    ("TILEFUSE_INVALID", f"{opt} %s --verify-diagnostics -o /dev/null"),
]

try:
    supported_archs()
    config.available_features.add("nvrtc")
except NvrtcNotFound:
    pass
