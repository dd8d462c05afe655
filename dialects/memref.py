"""The memref dialect: xDSL's, with the operations of MLIR that it lacks or cannot print."""

from xdsl.dialects.memref import MemRef
from xdsl.ir import Dialect

from tilefuse.dialects.memref_atomics import AtomicRMWOp
from tilefuse.dialects.memref_prefetch import PrefetchOp

_OWN = (PrefetchOp, AtomicRMWOp)
_NAMES = {op.name for op in _OWN}

MEMREF = Dialect("memref", [*(op for op in MemRef.operations if op.name not in _NAMES), *_OWN], [*MemRef.attributes])
