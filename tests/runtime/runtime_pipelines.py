"""Texts of pipelines, and their definitions in NumPy."""

import numpy as np


def blur(boundary="repeat_edge", element="f32"):
    source = "%photo"
    head = f'%photo = img.input "photo" : !img.func<2x{element}>\n'
    if boundary:
        head += f"%clamped = img.boundary {boundary} %photo dims [0, 1] : !img.func<2x{element}>\n"
        source = "%clamped"

    def stage(name, of, first, second, third):
        return f"""
  %{name} = img.stage "{name}" (%x, %y) -> f32 {{
    %a = img.read {of}[{first}] : !img.func<2xf32>
    %b = img.read {of}[{second}] : !img.func<2xf32>
    %c = img.read {of}[{third}] : !img.func<2xf32>
    %three = arith.constant 3.0 : f32
    %ab = arith.addf %a, %b : f32
    %abc = arith.addf %ab, %c : f32
    %r = arith.divf %abc, %three : f32
    img.yield %r : f32
  }}"""

    return (
        "img.pipeline @blur {\n"
        + head
        + stage("blur_x", source, "%x - 1, %y", "%x, %y", "%x + 1, %y")
        + stage("blur_y", "%blur_x", "%x, %y - 1", "%x, %y", "%x, %y + 1")
        + '\nimg.return "blur_y" = %blur_y : !img.func<2xf32>\n}\n'
    )


def blurred(a):
    """Compute `blur` in the interior, where a 3x3 window fits."""
    three = np.float32(3)
    across = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) / three
    return (across[:-2] + across[1:-1] + across[2:]) / three


def blurred_edges(a):
    return blurred(np.pad(a, 1, mode="edge"))


def invert(layout=None, bounds="", rank=3):
    """255 - photo, of a u8 picture with channels."""
    attribute = "" if layout is None else f' {{img.array_layout = "{layout}"}}'
    coordinates = ", ".join(f"%{v}" for v in "xyzw"[:rank])
    return f"""
img.pipeline @invert {{
  %photo = img.input "photo" {bounds}{attribute} : !img.func<{rank}xui8>
  %inverted = img.stage "inverted" ({coordinates}) -> ui8 {{
    %a = img.read %photo[{coordinates}] : !img.func<{rank}xui8>
    %most = arith.constant 255 : i8
    %r = arith.subi %most, %a : i8
    img.yield %r : i8
  }}
  img.return "inverted" = %inverted : !img.func<{rank}xui8>
}}
"""


GRAY = """
img.pipeline @gray {
  %photo = img.input "photo" : !img.func<3xf32>
  %gray = img.stage "gray" (%x, %y) -> f32 {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %a = img.read %photo[%x, %y, %zero] : !img.func<3xf32>
    %b = img.read %photo[%x, %y, %one] : !img.func<3xf32>
    %c = img.read %photo[%x, %y, %two] : !img.func<3xf32>
    %ab = arith.addf %a, %b : f32
    %r = arith.addf %ab, %c : f32
    img.yield %r : f32
  }
  img.return "gray" = %gray : !img.func<2xf32>
}
"""

TWO_OUTPUTS = """
img.pipeline @edges {
  %photo = img.input "photo" : !img.func<2xf32>
  %twice = img.stage "twice" (%x, %y) -> f32 {
    %a = img.read %photo[%x, %y] : !img.func<2xf32>
    %r = arith.addf %a, %a : f32
    img.yield %r : f32
  }
  %step = img.stage "step" (%x, %y) -> f32 {
    %a = img.read %twice[%x, %y] : !img.func<2xf32>
    %b = img.read %twice[%x + 1, %y] : !img.func<2xf32>
    %r = arith.subf %b, %a : f32
    img.yield %r : f32
  }
  img.return "twice" = %twice : !img.func<2xf32>, "step" = %step : !img.func<2xf32>
}
"""

SCALED = """
img.pipeline @scaled {
  %photo = img.input "photo" : !img.func<2xui8>
  %gain = img.param "gain" of f32 : f32
  %offset = img.param "offset" of si16 : i16
  %bias = arith.constant 2 : i16
  %sum = arith.addi %offset, %bias : i16
  %scaled = img.stage "scaled" (%x, %y) -> f32 {
    %a = img.read %photo[%x, %y] : !img.func<2xui8>
    %f = arith.uitofp %a : i8 to f32
    %g = arith.mulf %f, %gain : f32
    %o = arith.sitofp %sum : i16 to f32
    %r = arith.addf %g, %o : f32
    img.yield %r : f32
  }
  img.return "scaled" = %scaled : !img.func<2xf32>
}
"""

CHAIN = """
img.pipeline @chain {
  %photo = img.input "photo" : !img.func<2xf32>
  %c0 = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %w = img.extent 0 of %photo : !img.func<2xf32>
  %h = img.extent 1 of %photo : !img.func<2xf32>
  %zero = arith.constant 0 : index
  %s1 = img.stage "s1" (%x, %y) -> f32 {
    %a = img.read %c0[%x - 1, %y] : !img.func<2xf32>
    %b = img.read %c0[%x + 1, %y] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  %c1 = img.boundary repeat_edge %s1 dims [0, 1] in [%zero, %zero] by [%w, %h] : !img.func<2xf32>
  %s2 = img.stage "s2" (%x, %y) -> f32 {
    %a = img.read %c1[%x, %y - 1] : !img.func<2xf32>
    %b = img.read %c1[%x, %y + 1] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  %c2 = img.boundary repeat_edge %s2 dims [0, 1] in [%zero, %zero] by [%w, %h] : !img.func<2xf32>
  %s3 = img.stage "s3" (%x, %y) -> f32 {
    %a = img.read %c2[%x - 2, %y] : !img.func<2xf32>
    %b = img.read %c2[%x, %y] : !img.func<2xf32>
    %r = arith.subf %a, %b : f32
    img.yield %r : f32
  }
  img.return "s3" = %s3 : !img.func<2xf32>
}
"""


def chained(a):
    p = np.pad(a, 1, mode="edge")
    s1 = p[1:-1, :-2] + p[1:-1, 2:]
    p = np.pad(s1, 1, mode="edge")
    s2 = p[:-2, 1:-1] + p[2:, 1:-1]
    p = np.pad(s2, ((0, 0), (2, 0)), mode="edge")
    return p[:, :-2] - s2


AS_IT_IS = """
img.pipeline @same {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  img.return "a" = %photo : !img.func<2xf32>, "b" = %clamped : !img.func<2xf32>,
    "c" = %photo : !img.func<2xf32>
}
"""
