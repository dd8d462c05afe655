"""A pipeline of one stage that adds two points of a row, in arrays whose rows start at multiples of some bytes."""

from xdsl.dialects.builtin import ModuleOp

from tilefuse.dialects.parsing import parse_module
from tilefuse.passes.tile import Tile


def two_reads(element: str, left: int, right: int, *, align: int = 1, output_align: int = 16) -> ModuleOp:
    """Return the points `left` columns before, and `right` after, of an input of `element`."""
    type, value = f"!img.func<2x{element}>", element.replace("ui", "i")
    add = "arith.addf" if element[0] == "f" else "arith.addi"
    return parse_module(f"""
    img.pipeline @p {{
      %in = img.input "in" {{img.align = {align} : i64}} : {type}
      %out = img.group "out" {{
        %s = img.stage "s" (%x, %y) -> {element} {{
          %a = img.read %in[%x - {left}, %y] : {type}
          %b = img.read %in[%x + {right}, %y] : {type}
          %c = {add} %a, %b : {value}
          img.yield %c : {value}
        }}
        img.yield %s : {type}
      }} : {type}
      img.return "out" = %out : {type} {{output_aligns = array<i64: {output_align}>}}
    }}""")


def two_rows_a_warp(vector: int) -> Tile:
    """Return a warp tile for it, of four warps."""
    return Tile(sizes=(0, 0), threads=(32, 4), vector=vector, shape="warp_tile", more="rows = 2")
