"""Execution model `reduce`: the points of a reduction domain shared out to lanes, warps and blocks."""
