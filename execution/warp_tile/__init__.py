"""Execution model `warp_tile`: a tile in the registers of a block's warps."""
