"""Execution model `block_tile`: overlapped tiles in shared memory, several points per thread."""
