"""Halide schedules of the examples for CPUs: the ones of Halide's apps, for the names of the examples here.

`SCHEDULES[pipeline](hl, output, funcs, lanes)`, of `funcs` by name (a second one of a name is `name_1`, what a
boundary makes of `name` is `name_edge`), and `lanes`: floats of a vector. Halide has none for bgu as it is written
here, binomial, canny, demosaic, pyramid_blend and stencil9: theirs are in the manner of the others. That of mat_mul is
its performance test's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Funcs = Mapping[str, Any]
Schedule = Callable[[Any, Any, Funcs, int], None]


def _vars(hl: Any, names: str) -> list[Any]:
    return [hl.Var(name) for name in names.split()]


def iir_blur(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule strips of columns: each goes down, up, and is transposed before the next one."""
    for number in ("", "_1"):
        blur, transpose = funcs[f"blur{number}"], funcs[f"transpose{number}"]
        x, y, c = transpose.args()
        xo, yo = _vars(hl, "xo yo")
        transpose.compute_root().tile(x, y, xo, yo, x, y, lanes, 4 * lanes).vectorize(x).parallel(yo).parallel(c)
        blur.compute_at(transpose, yo)
        for number_of_update in (1, 2):
            stage = blur.update(number_of_update)
            stage.reorder(blur.args()[0], blur.rvars(number_of_update)[0]).vectorize(blur.args()[0])


def max_filter(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule wide strips of columns of each channel in parallel; column maxima are kept per strip."""
    x, y, c = output.args()
    tx, t = _vars(hl, "tx t")
    funcs["slice_for_radius"].compute_root()
    funcs["filter_height"].compute_root()
    output.compute_root().split(x, tx, x, 256).reorder(x, y, c, tx).fuse(c, tx, t).parallel(t).vectorize(x, lanes)
    logs = funcs["vert_log"]
    logs.compute_at(output, t).vectorize(logs.args()[0], lanes)
    rx, ry = logs.rvars(0)
    logs.update().reorder(logs.args()[0], rx, ry, logs.args()[2]).vectorize(logs.args()[0], lanes)
    funcs["vert"].compute_at(output, y).vectorize(funcs["vert"].args()[0], lanes)


def lens_blur(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule the pyramid of each plane separately, all planes in parallel; aperture samples of 8 pixels at a time."""
    xi, yi, t = _vars(hl, "xi yi t")
    first = funcs["push_0"]
    x, y, z, c = first.args()
    first.compute_root().reorder(c, z, x, y).bound(c, 0, 2).unroll(c).vectorize(x, 16).parallel(y, 4)
    for name in ("cost", "confidence"):
        funcs[name].compute_at(first, x).vectorize(funcs[name].args()[0])
    pull = funcs["pull_1"]
    px, py, pz, pc = pull.args()
    for i in range(1, 8):
        pushed = funcs[f"push_{i}_edge"]
        pushed.compute_at(pull, t).vectorize(pushed.args()[0], 8)
        if i > 1:
            level = funcs[f"pull_{i}"]
            lx, ly = level.args()[:2]
            level.compute_at(pull, t).tile(lx, ly, xi, yi, 8, 2).vectorize(xi).unroll(yi)
    pull.compute_root().fuse(pz, pc, t).parallel(t).tile(px, py, xi, yi, 8, 2).vectorize(xi).unroll(yi)
    depth = funcs["depth"]
    dx, dy = depth.args()
    depth.compute_root().tile(dx, dy, xi, yi, 8, 2).vectorize(xi).unroll(yi).parallel(dy, 8)
    alpha = funcs["with_alpha"]
    ax, ay, ac = alpha.args()
    alpha.compute_root().reorder(ac, ax, ay).unroll(ac).vectorize(ax, 8).parallel(ay, 8)
    ox, oy, oc = output.args()
    output.compute_root().reorder(oc, ox, oy).bound(oc, 0, 3).unroll(oc).vectorize(ox, 8).parallel(oy)
    for name in ("worst_y", "worst"):
        funcs[name].compute_at(output, oy).vectorize(funcs[name].args()[0], 8)
    blurred = funcs["blurred"]
    bx, _, bc = blurred.args()
    blurred.compute_at(output, ox).vectorize(bx)
    blurred.update().reorder(bc, bx, blurred.rvars(0)[0]).vectorize(bx).unroll(bc)
    funcs["weight"].compute_at(blurred, bx).unroll(funcs["weight"].args()[0])
    funcs["places"].compute_at(blurred, bx).vectorize(funcs["places"].args()[0])


def depthwise_separable_conv(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule tiles of sums in registers; the depthwise convolution is computed per slice of the channel sum."""
    tile_d, tile_w, tile_h = (lanes, 6, 4) if lanes == 16 else (2 * lanes, 3, 2)
    di, xi, yi = _vars(hl, "di xi yi")
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    d, x, y, b = output.args()
    output.tile([d, x, y], [di, xi, yi], [tile_d, tile_w, tile_h]).vectorize(di).unroll(xi).unroll(yi)
    output.fuse(y, b, b).parallel(b)
    mixed, own, padded = funcs["mixed"], funcs["by_channel"], funcs["bounded"]
    d, x, y, b = mixed.args()
    rc = mixed.rvars(0)[0]
    mixed.compute_at(output, output.args()[0]).vectorize(d).unroll(x).unroll(y)
    mixed.update().reorder(d, x, y, rc, b).vectorize(d).unroll(x).unroll(y).split(rc, ro, ri, tile_d)
    rd, rx, ry = own.rvars(0)
    own.store_in(hl.MemoryType.Stack).bound_extent(d, tile_d).compute_at(mixed, ro)
    own.vectorize(d).reorder(x, y, d).unroll(x).unroll(y)
    own.update().vectorize(d).reorder(x, y, d, rd, rx, ry, b).unroll(x).unroll(y)
    padded.store_in(hl.MemoryType.Stack).compute_at(mixed, ro)
    padded.tile(d, x, di, xi, lanes, 4, hl.TailStrategy.RoundUp).vectorize(di).unroll(xi)


def camera_pipe(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule strips of 128 rows; rows of the sites roll, and tiles of two rows go from colours to bytes."""
    curved = funcs["curved"]
    x, y, c = curved.args()
    yo, yi, xi, yii = _vars(hl, "yo yi xi yii")
    wide = 4 * lanes  # twice as many as there are 16-bit numbers in a vector
    ox, oy, oc = output.args()
    output.bound(oc, 0, 3).reorder(oc, ox, oy).unroll(oc).vectorize(ox, wide).split(oy, yo, yi, 128).parallel(yo)
    curved.compute_at(output, yi).store_at(output, yo).reorder(c, x, y).unroll(c)
    curved.tile(x, y, xi, yii, wide, 2, hl.TailStrategy.RoundUp).vectorize(xi).unroll(yii)
    denoised, deinterleaved = funcs["denoised"], funcs["deinterleaved"]
    dx = denoised.args()[0]
    denoised.compute_at(output, yi).store_at(output, yo).vectorize(dx, wide)
    dx, dy, dc = deinterleaved.args()
    deinterleaved.compute_at(output, yi).store_at(output, yo).reorder(dc, dx, dy)
    deinterleaved.vectorize(dx, wide, hl.TailStrategy.RoundUp).unroll(dc)
    for name in ("g_r", "g_b"):
        green = funcs[name]
        green.compute_at(output, yi).store_at(output, yo).vectorize(green.args()[0], wide, hl.TailStrategy.RoundUp)
    for name in ("corrected", "demosaiced"):
        sx, sy, sc = funcs[name].args()
        funcs[name].compute_at(curved, x).reorder(sc, sx, sy).vectorize(sx).unroll(sy).unroll(sc)
    funcs["curve"].compute_root()
    funcs["matrix"].compute_root()
    funcs["strength_x32"].compute_root()
    blurred = funcs["unsharp_y"]
    blurred.compute_at(output, yi).vectorize(blurred.args()[0], wide)


def conv_layer(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule tiles of sums in registers; each vector of the filters is loaded once per tile."""
    tile_w, tile_h = (4, 5) if lanes == 16 else (3, 4)
    co, ci, xo, xi = _vars(hl, "co ci xo xi")
    c, x, y, n = output.args()
    output.split(c, co, ci, lanes * tile_w).split(x, xo, xi, tile_h).reorder(ci, xi, xo, y, n, co)
    output.vectorize(ci, lanes).unroll(ci).unroll(xi).parallel(y).parallel(n).parallel(co)
    conv = funcs["conv"]
    c, x, y, n = conv.args()
    channel, rx, ry = conv.rvars(0)
    conv.compute_at(output, xo).vectorize(c, lanes).unroll(c).unroll(x).unroll(y)
    conv.update().reorder(c, x, y, channel, rx, ry, n).vectorize(c, lanes).unroll(c).unroll(x).unroll(y)
    conv.update().unroll(channel, 2)


def bilateral_grid(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule rows of the grid in parallel, the first blur with the histogram, and the output by rows."""
    blurz, histogram = funcs["blurz"], funcs["histogram"]
    x, y, z, c = blurz.args()
    blurz.compute_root().reorder(c, z, x, y).bound(c, 0, 2).parallel(y).vectorize(x, 8).unroll(c)
    histogram.compute_at(blurz, y)
    hx, hy, hc = (histogram.args()[d] for d in (0, 1, 3))
    histogram.update().reorder(hc, *histogram.rvars(0), hx, hy).unroll(hc)
    for name in ("blurx", "blury"):
        x, y, z, c = funcs[name].args()
        funcs[name].compute_root().reorder(c, x, y, z).bound(c, 0, 2).parallel(z).vectorize(x, 8).unroll(c)
    x, y = output.args()
    output.compute_root().parallel(y).vectorize(x, 8)


def hist(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule a histogram per row, then their sum; the output by rows."""
    x, y = funcs["Y"].args()
    funcs["Y"].compute_root().parallel(y, 8).vectorize(x, 8)
    rows, table = funcs["hist_rows"], funcs["histogram"]
    rows.compute_root().vectorize(rows.args()[0], 8).parallel(rows.args()[1], 8)
    rows.update().parallel(rows.args()[1], 8)
    bins, ry = table.args()[0], table.rvars(0)[0]
    table.compute_root().vectorize(bins, 8)
    table.update().reorder(bins, ry).vectorize(bins, 8).unroll(bins, 4).parallel(bins).reorder(ry, bins)
    cdf = funcs["cdf"]
    cdf.bound(cdf.args()[0], 0, 256).compute_root()
    x, y, c = output.args()
    funcs["equalized"].compute_at(output, x).unroll(funcs["equalized"].args()[0])
    for name in ("Cb", "Cr"):
        funcs[name].compute_at(output, x).vectorize(funcs[name].args()[0])
    output.reorder(c, x, y).bound(c, 0, 3).unroll(c).parallel(y, 8).vectorize(x, 8)


def interpolate(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule the way down by strips of 8 rows, the way up by rows that roll in strips of 32."""
    yo, yi, xo, xi = _vars(hl, "yo yi xo xi")
    for level in range(1, 9):
        down = funcs[f"downsampled_{level}"]
        x, y, c = down.args()
        down.compute_root().reorder(x, c, y).split(y, yo, yi, 8).parallel(yo).vectorize(x, lanes)
    clone = funcs["downsampled_0"].clone_in(funcs["downx_1"])
    clone.store_at(funcs["downsampled_1"], yo).compute_at(funcs["downsampled_1"], yi)
    x, y, c = clone.args()
    clone.reorder(c, x, y).unroll(c).vectorize(x, lanes)
    x, y, c = output.args()
    output.bound(c, 0, 3).split(x, xo, xi, lanes).split(y, yo, yi, 32).reorder(xi, c, xo, yi, yo)
    output.unroll(c).vectorize(xi).parallel(yo)
    for level in range(1, 10):
        up = funcs[f"interpolated_{level}"]
        up.store_at(output, yo).compute_at(output, yi).vectorize(up.args()[0], lanes)


def local_laplacian(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule large levels of the pyramids by strips of rows; the output's levels roll in strips of 64."""
    yo = hl.Var("yo")
    funcs["remap"].compute_root()
    x, y, c = output.args()
    output.reorder(c, x, y).split(y, yo, y, 64).parallel(yo).vectorize(x, 8)
    gray = funcs["gray"]
    gray.compute_root().parallel(gray.args()[1], 32).vectorize(gray.args()[0], 8)
    for j in range(1, 5):
        of_input, processed, result = (funcs[f"{name}_{j}"] for name in ("gaussian", "processed", "result"))
        gx, gy = of_input.args()
        of_input.compute_root().parallel(gy, 32).vectorize(gx, 8)
        px, py, pk = processed.args()
        processed.compute_root().reorder_storage(px, pk, py).reorder(pk, py).parallel(py, 8).vectorize(px, 8)
        result.store_at(output, yo).compute_at(output, y).fold_storage(result.args()[1], 8)
        result.vectorize(result.args()[0], 8)
    funcs["result_0"].compute_at(output, y).vectorize(funcs["result_0"].args()[0], 8)
    for j in range(5, 8):
        funcs[f"gaussian_{j}"].compute_root()
        funcs[f"processed_{j}"].compute_root().parallel(funcs[f"processed_{j}"].args()[2])
        funcs[f"result_{j}"].compute_root()


def nl_means(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule tiles of 16 x 8 pixels, which loop over the shifts with all channels at once."""
    x, y, c = output.args()
    tx, ty = _vars(hl, "tx ty")
    output.compute_root().reorder(c, x, y).tile(x, y, tx, ty, x, y, 16, 8).parallel(ty).vectorize(x, 8)
    columns, difference, total, blur = (funcs[name] for name in ("blur_y", "difference", "total", "blur"))
    columns.compute_at(output, tx).reorder(columns.args()[1], columns.args()[0]).vectorize(columns.args()[0], 8)
    difference.compute_at(output, tx).vectorize(difference.args()[0], 8)
    sx, sy, sc = total.args()
    total.compute_at(output, x).reorder(sc, sx, sy).bound(sc, 0, 4).unroll(sc).vectorize(sx, 8)
    total.update().reorder(sc, sx, sy, *total.rvars(0)).unroll(sc).vectorize(sx, 8)
    blur.compute_at(total, sx).vectorize(blur.args()[0], 8)


def _rolling(hl: Any, output: Any, stages: Sequence[Any], lanes: int) -> None:
    """Schedule strips of 32 rows in parallel, in which each stage's rows roll."""
    y, yi = output.args()[1], hl.Var("yi")
    output.split(y, y, yi, 32).parallel(y).vectorize(output.args()[0], lanes)
    for stage in stages:
        stage.store_at(output, y).compute_at(output, yi).vectorize(stage.args()[0], lanes)


def blur(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule strips of rows; the sums along x roll."""
    _rolling(hl, output, [funcs["blur_x"]], lanes * 32 // output.type().bits())


def harris(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule strips of rows; brightness and gradients roll, all else is inlined."""
    _rolling(hl, output, [funcs[name] for name in ("gray", "Ix", "Iy")], lanes)


def binomial(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule strips of rows; all else rolls."""
    _rolling(hl, output, [f for f in funcs.values() if f.name() != output.name()], lanes * 32 // output.type().bits())


def canny(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule strips of rows, in which stages with several readers roll."""
    _rolling(hl, output, [f for f in funcs.values() if f.name() != output.name()], lanes)


def unsharp(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule strips of rows of all channels; brightness, its blurs and the ratio by rows."""
    x, y, c = output.args()
    yi = hl.Var("yi")
    output.bound(c, 0, 3).split(y, y, yi, 32).reorder(x, c, yi, y).parallel(y).vectorize(x, lanes)
    for name in ("gray", "blur_y", "ratio"):
        stage = funcs[name]
        stage.store_at(output, y).compute_at(output, yi).vectorize(stage.args()[0], lanes)


def _tiles_of_several(size: tuple[int, int], together: int, skip: str = "-") -> Schedule:
    """Return a schedule in which each `together` stages share tiles of `size`; Funcs whose name begins with `skip` are
    left out."""

    def schedule(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
        xi, yi = _vars(hl, "xi yi")
        every = [f for f in funcs.values() if f.name() != output.name() and not f.name().startswith(skip)] + [output]
        wide = lanes * 32 // output.type().bits()
        targets = iter(every[::-1][::together][::-1])
        current = next(targets)
        for stage in every:
            x, y = stage.args()
            if stage is not current:
                stage.compute_at(current, current.args()[0]).vectorize(x, wide)
                continue
            stage.compute_root().tile(x, y, x, y, xi, yi, *size).parallel(y).vectorize(xi, wide)
            current = next(targets, current)

    return schedule


def mat_mul(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule tiles of 32 rows of three vectors, four of which are in registers (Halide's performance test)."""
    x, y = output.args()
    xi, yi, yii, xy = _vars(hl, "xi yi yii xy")
    product = funcs["product"]
    output.tile(x, y, xi, yi, (4 if lanes == 16 else 3) * lanes, 32).fuse(x, y, xy).parallel(xy)
    output.split(yi, yi, yii, 4).vectorize(xi, lanes).unroll(xi).unroll(yii)
    px, py = product.args()
    product.compute_at(output, yi).vectorize(px, lanes).unroll(py)
    product.update().reorder(px, py, product.rvars(0)[0]).vectorize(px, lanes).unroll(px).unroll(py)
    product.update().unroll(product.rvars(0)[0], 2)


def bgu(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule the grid by rows, a cell's sums in order; the output by rows, with the matrices of a row between grid
    lines."""
    histogram, line = funcs["histogram"], funcs["line"]
    funcs["gray_small"].compute_root().parallel(funcs["gray_small"].args()[1]).vectorize(
        funcs["gray_small"].args()[0], lanes
    )
    x, y, z, c = histogram.args()
    histogram.compute_root().parallel(y)
    rx, ry = histogram.rvars(0)
    histogram.update().reorder(c, rx, ry, x, y).unroll(c).parallel(y)
    for name in ("blurz", "blury", "blurx"):
        blurred = funcs[name]
        blurred.compute_root().parallel(blurred.args()[3]).parallel(blurred.args()[2]).vectorize(blurred.args()[0], 8)
    x, y, z, c = line.args()
    line.compute_root().reorder(c, x, z, y).bound(c, 0, 12).unroll(c).vectorize(x, 8).parallel(y)
    x, y, c = output.args()
    output.compute_root().reorder(c, x, y).bound(c, 0, 3).unroll(c).vectorize(x, lanes).parallel(y, 4)
    between = funcs["matrix_y"]
    bx, by, bz, bc = between.args()
    between.compute_at(output, y).reorder_storage(bc, bx, bz, by).reorder(bc, bx, bz, by).vectorize(bc, 4)
    for name in ("matrix_z", "slice_z"):
        stage = funcs[name]
        stage.compute_at(output, x).vectorize(stage.args()[0])
    funcs["matrix_z"].unroll(funcs["matrix_z"].args()[2])


def demosaic(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule layers one after the other, with contiguous channels and tiles of sums in registers as in
    `conv_layer`."""
    layers = [name for name in funcs if name.startswith("layer_") and not name.endswith("_sum")]
    for name in [*layers, "full"]:
        layer, total = funcs[name], funcs[f"{name}_sum"]
        co, ci, xo, xi = _vars(hl, "co ci xo xi")
        x, y, c = layer.args()
        wide = lanes if name != layers[-1] else 4
        most = 4 if name != layers[-1] else 1
        layer.compute_root().reorder_storage(c, x, y).split(c, co, ci, wide * most).split(x, xo, xi, 5)
        layer.reorder(ci, xi, xo, y, co).vectorize(ci, wide).unroll(ci).unroll(xi).parallel(y)
        x, y, c = total.args()
        rx, ry, rz = total.rvars(0)
        total.compute_at(layer, xo).reorder_storage(c, x, y).reorder(c, x, y).vectorize(c, wide).unroll(c).unroll(x)
        total.update().reorder(c, x, rz, rx, ry, y).vectorize(c, wide).unroll(c).unroll(x)
    for name in ("packed", "features"):
        x, y, c = funcs[name].args()
        funcs[name].compute_root().reorder_storage(c, x, y).reorder(c, x, y).parallel(y)
    x, y, c = output.args()
    output.compute_root().bound(c, 0, 3).reorder(c, x, y).unroll(c).parallel(y).vectorize(x, lanes)
    output.update().reorder(c, x, output.rvars(0)[0], y).unroll(c).vectorize(x, lanes).parallel(y)


def pyramid_blend(hl: Any, output: Any, funcs: Funcs, lanes: int) -> None:
    """Schedule levels of the pyramids by strips of rows, with the Funcs between them; the output's levels in strips
    too."""
    for name, func in funcs.items():
        root = func.name() == output.name() or name.split("_")[0] in ("first", "second", "mask", "result")
        if not root or "detail" in name or name.endswith("_edge"):
            continue
        func.compute_root().vectorize(func.args()[0], lanes).parallel(func.args()[-1])
        if len(func.args()) == 3:
            func.parallel(func.args()[1], 8)


SCHEDULES: dict[str, Schedule] = {
    f.__name__: f
    for f in (
        iir_blur, max_filter, lens_blur, depthwise_separable_conv, camera_pipe, conv_layer, bilateral_grid, hist,
        interpolate, local_laplacian, nl_means, harris, binomial, canny, unsharp, mat_mul, bgu, demosaic, pyramid_blend,
    )
}  # fmt: skip
SCHEDULES |= {f"blur_{pixel}": blur for pixel in ("f32", "u16", "u8")}
SCHEDULES |= {"canny_linked": _tiles_of_several((256, 128), 8), "stencil_chain": _tiles_of_several((256, 128), 8)}
SCHEDULES["stencil9"] = _tiles_of_several((256, 128), 8, skip="rows")
