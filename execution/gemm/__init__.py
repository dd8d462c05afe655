"""Execution model `gemm`: a reduction of many pure points, blocks of which share their operands in registers."""
