"""The table of execution models, one row each, and of their own passes; the only place that names models.

It imports nothing, so that tools list passes without loading a model.
"""

MODELS = {
    "warp_tile": ("warp_tile.model", "WarpTile"),
    "block_tile": ("block_tile.model", "BlockTile"),
    "reduce": ("reduce.model", "Reduce"),
    "row_strip": ("row_strip.model", "RowStrip"),
    "scatter": ("scatter.model", "Scatter"),
    "gemm": ("gemm.model", "Gemm"),
    "scan": ("scan.model", "Scan"),
    "in_order": ("in_order.model", "InOrder"),
}
"""Module and class by name, in order of preference: of schedules that cost the same the earlier model's is taken."""

PASSES = {
    "pack-subwords": ("warp_tile.pack_subwords", "PackSubwords"),
    "convert-early": ("warp_tile.convert_early", "ConvertEarly"),
    "roll-stages": ("warp_tile.roll_stages", "RollStages"),
    "lower-warp-tiles": ("warp_tile.lower_warp_tiles", "LowerWarpTiles"),
}
"""Module and class of a model's passes below `lower-groups` (`ExecutionModel.lowering_passes`)."""

DEFAULT_MODEL = "block_tile"
"""The model of a tile by hand that names none."""
