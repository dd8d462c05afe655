"""Limits of CUDA common to all GPUs, for kernels without a named GPU."""

STATIC_SHARED_LIMIT = 48 * 1024
"""Bytes of shared memory that a block may have without asking at its launch: all that static arrays can use."""

MAX_THREADS_PER_BLOCK = 1024
