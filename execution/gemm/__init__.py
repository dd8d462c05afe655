"""Execution model `gemm`: a reduction of many pure points, in register blocks that share their operands."""
