"""Execution model `reduce`: a reduction domain distributed over lanes, warps and blocks."""
