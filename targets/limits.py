"""Limits of CUDA that all GPUs share, for kernels where no GPU is named."""

STATIC_SHARED_LIMIT = 48 * 1024
"""Bytes of shared memory that a block may have without asking at its launch: all that static arrays can use."""

MAX_THREADS_PER_BLOCK = 1024
