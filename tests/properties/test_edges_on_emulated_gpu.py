"""Generated CUDA on a CPU: warp tiles that end about where pictures do, in arrays that lie anywhere."""

import functools
import random
import re
import shutil

import numpy as np
import pytest
from emulated_cuda import emulate
from random_programs import warp_tiles

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

UNTOUCHED = 99


def array(dtype, height, width, later, beyond):
    """A picture that starts `later` elements after a multiple of 64 bytes, with so many between rows; its memory."""
    stride = width + beyond
    memory = np.full(height * stride + 256, UNTOUCHED, dtype)
    first = -memory.ctypes.data % 64 // memory.itemsize + later
    return memory[first : first + height * stride].reshape(height, stride)[:, :width], memory


@pytest.mark.parametrize("seed", range(16))
def test_edges(seed, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    choose = random.Random(seed)
    root = choose.random() < 0.4  # stores are under masks then
    element = hl.Float(32) if root else choose.choice([hl.UInt(8), hl.UInt(16), hl.Float(32)])
    vector = choose.choice([v for v in (2, 4, 8, 16) if v * element.bits() <= 128])
    warps, rows, left = choose.choice([2, 4]), choose.choice([2, 4, 6]), choose.choice([0, 1, 2])
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 2, "image")
    outer = hl.BoundaryConditions.repeat_edge if choose.random() < 0.7 else hl.BoundaryConditions.constant_exterior
    around = outer(image) if outer is hl.BoundaryConditions.repeat_edge else outer(image, 7)
    a, b = hl.Func("a"), hl.Func("b")
    a[x, y] = around[x - left, y] + around[x + 1, y]
    b[x, y] = hl.sqrt(a[x, y - 1] * a[x, y - 1] + a[x, y + 1]) if root else a[x, y - 1] + a[x, y + 1]
    schedule = warp_tiles(
        vector, warps, rows=rows, exchange=choose.choice([0, 1]), prefetch_rows=choose.choice([0, 1, 2])
    )
    (tile,) = (p for p in schedule if p.name == "tile")
    try:
        program = hl.Pipeline(b).compile("cpu", passes=schedule, strict_float=True)
    except PipelineError as error:
        pytest.skip(str(error))
    meaning = hl.Pipeline(b).compile("reference")
    dtype = {8: np.uint8, 16: np.uint16, 32: np.float32}[element.bits()]
    for number in range(4):
        tiles = choose.choice([1, 2, 3]) * choose.choice([29, 30, 31, 32]) * vector
        width = max(1, tiles + choose.randrange(-vector - 2, vector + 3))
        height = choose.choice([1, 3, warps * rows, warps * rows + 1, 2 * warps * rows - 1, 40])
        picture, _ = array(dtype, height, width, choose.choice([0, 0, 1, 3]), choose.choice([0, 0, 1, 2, 5]))
        out, memory = array(dtype, height, width, choose.choice([0, 0, 1, 3]), choose.choice([0, 0, 1, 2, 5]))
        picture[...] = np.random.default_rng(number).integers(0, 200, picture.shape)
        program(picture, out=out)
        np.testing.assert_array_equal(out, meaning(picture), err_msg=f"{width} x {height}, {tile}")
        out[...] = UNTOUCHED
        assert (memory == UNTOUCHED).all(), f"{width} x {height}, {tile}: stored outside of the picture"
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


@pytest.mark.parametrize("computed", [0, 1])
@pytest.mark.parametrize("exchange", [0, 1])
@pytest.mark.parametrize("integer", [hl.Int(32), hl.UInt(8), hl.Int(16)])
def test_floats_converted_before_they_are_passed_on(integer, exchange, computed, monkeypatch, tmp_path):
    emulate(monkeypatch, tmp_path)
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    around = hl.BoundaryConditions.repeat_edge(image)
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.sqrt(abs(around[x, y])) * 3 - hl.sqrt(abs(around[x + 1, y + 1]))
    f = f if computed else around
    g[x, y] = hl.cast(integer, f[x - 2, y]) + hl.cast(integer, f[x + 1, y - 1]) * hl.cast(integer, f[x, y + 1])
    schedule = warp_tiles(4, 2, rows=4, exchange=exchange)
    program = hl.Pipeline(g).compile("cpu", passes=schedule, strict_float=True)
    assert re.search(r"unsigned int (w_\w+_1_)(.|\n)*shfl_up_sync\(0xffffffffu, \1\[", program.source())
    picture = np.random.default_rng(1).uniform(-300, 300, (37, 132)).astype(np.float32)
    np.testing.assert_array_equal(program(picture), hl.Pipeline(g).compile("reference")(picture))


@pytest.mark.parametrize("outer", ["repeat_image", "mirror_image", "mirror_interior"])
@pytest.mark.parametrize("down", [0, 5, -71])  # rows from the picture to what is read
def test_rows_beyond_a_periodic_picture(outer, down, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    around = getattr(hl.BoundaryConditions, outer)(image)
    f = hl.Func("f")
    f[x, y] = around[x, y + down - 2] + 3 * around[x, y + down] + 5 * around[x, y + down + 1]
    program = hl.Pipeline(f).compile("cpu", passes=warp_tiles(4, 2, rows=4, exchange=0), strict_float=True)
    meaning = hl.Pipeline(f).compile("reference")
    for height in (1, 2, 7, 10, 11, 12, 40):  # a tile reads 11 rows
        picture, _ = array(np.float32, height, 128, 0, 0)
        out, _ = array(np.float32, height, 128, 0, 0)
        picture[...] = np.random.default_rng(height).integers(0, 200, picture.shape)
        program(picture, out=out)
        np.testing.assert_array_equal(out, meaning(picture), err_msg=f"{height} rows")
    assert misaligned, "no kernel ran"


@pytest.mark.parametrize(
    ("element", "dtype", "vector", "left"),
    [
        (hl.UInt(8), np.uint8, 4, 1),
        (hl.UInt(8), np.uint8, 8, 2),
        (hl.UInt(16), np.uint16, 8, 1),
        (hl.Float(32), np.float32, 4, 1),
        (hl.Float(32), np.float32, 4, 4),  # all lanes are needed
        (hl.Float(32), np.float32, 2, 1),
    ],
)
@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("inside", [False, True])  # all that is read is in the picture
def test_no_point_has_two_writers(element, dtype, vector, left, inside, shifted, monkeypatch, tmp_path):
    """Tiles that overlap may round differently: then a result would depend on which of them is the last."""
    writers, out = [], []

    def count():
        writers[-1] += out[-1] != UNTOUCHED
        out[-1][...] = UNTOUCHED

    emulate(monkeypatch, tmp_path, count)
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 2, "image")
    around = image if inside else hl.BoundaryConditions.repeat_edge(image)
    a, b = hl.Func("a"), hl.Func("b")
    a[x, y] = around[x - left, y] + around[x + (0 if inside else left), y]
    b[x, y] = a[x, y - 1] + a[x, y + 1]
    lanes = 32 - (1 if inside else 2) * -(-left // vector)
    schedule = warp_tiles(vector, 2, width=0 if shifted else lanes * vector, rows=4, exchange=0)
    program = hl.Pipeline(b).compile("cpu", passes=schedule)
    for width in (1, 2 * vector + 1, 29 * vector, 30 * vector + 1, 45 * vector - 1, 61 * vector + 3):
        for later, beyond in ((0, 0), (1, 0), (0, 3)):
            height, halo = 11, (1, left) if inside else (0, 0)
            picture, _ = array(dtype, height + 2 * halo[0], width + halo[1], later, beyond)
            picture[...] = 7
            out.append(array(dtype, height, width, later, beyond)[0])
            writers.append(np.zeros(out[-1].shape, int))
            program(picture, out=out[-1])
            np.testing.assert_array_equal(writers[-1], 1, err_msg=f"{width}, {later}, {beyond}")


@pytest.mark.parametrize(
    ("element", "dtype", "vector"),
    [
        (hl.UInt(8), np.uint8, 4),
        (hl.UInt(8), np.uint8, 8),
        (hl.UInt(8), np.uint8, 16),
        (hl.UInt(16), np.uint16, 4),
        (hl.UInt(16), np.uint16, 8),
        (hl.Float(32), np.float32, 4),
    ],
)
@pytest.mark.parametrize(("exterior", "prefetch_rows"), [(False, 0), (True, 0), (False, 1), (True, 2)])
def test_no_vector_leaves_the_picture(element, dtype, vector, exterior, prefetch_rows, monkeypatch, tmp_path):
    """Its last row may end in the midst of a word; the first may begin so, which is loaded all the same."""
    pictures = []
    found = emulate(monkeypatch, tmp_path, watched=lambda: pictures[-1])
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 2, "image")
    conditions = hl.BoundaryConditions
    around = conditions.constant_exterior(image, 5) if exterior else conditions.repeat_edge(image)
    a, b = hl.Func("a"), hl.Func("b")
    a[x, y] = around[x - 1, y] + around[x, y] * 3 + around[x + 2, y]
    b[x, y] = a[x, y - 2] + a[x, y + 1] * 5
    schedule = warp_tiles(vector, 2, rows=4, exchange=0, prefetch_rows=prefetch_rows)
    program, meaning = hl.Pipeline(b).compile("cpu", passes=schedule), hl.Pipeline(b).compile("reference")
    for width in (vector, 29 * vector, 30 * vector + 1, 45 * vector - 1, 61 * vector + 3):
        for height, later, beyond in ((1, 1, 0), (5, 3, 0), (9, 0, 1), (17, 1, 3), (18, 2, 0), (19, 3, 1)):
            picture, _ = array(dtype, height, width, later, beyond)
            picture[...] = np.random.default_rng(width).integers(0, 200, picture.shape)
            pictures.append(picture)
            result = program(picture)
            np.testing.assert_array_equal(result, meaning(picture), err_msg=f"{width} x {height}, {later}, {beyond}")
    assert found, "no kernel ran"
    assert not any(found)


@pytest.mark.parametrize("seed", range(10))
def test_no_vector_leaves_pictures_of_small_elements(seed, monkeypatch, tmp_path):
    """Planes and boxes, too; rows and planes may lie closer than they are long."""
    pictures = []
    found = emulate(monkeypatch, tmp_path, watched=lambda: pictures[-1])
    choose = random.Random(seed)
    element, dtype, vectors = choose.choice(
        [
            (hl.UInt(8), np.uint8, (4, 8, 16)),
            (hl.Int(8), np.int8, (4, 8, 16)),
            (hl.Bool(), np.bool_, (4, 8, 16)),
            (hl.UInt(16), np.uint16, (2, 4, 8)),
            (hl.Int(16), np.int16, (2, 4, 8)),
        ]
    )
    vector, planes = choose.choice(vectors), choose.choice([0, 1, 3])
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 3 if planes else 2, "image")
    conditions, inset = hl.BoundaryConditions, choose.choice([0, 0, 3])
    box = [(inset, image.width() - 2 * inset), (0, image.height() - inset // 2)]
    if choose.random() < 0.5:
        around = conditions.repeat_edge(image, [*box, (0, image.channels())] if planes else box)
    else:
        around = conditions.constant_exterior(image, dtype is np.bool_ or 5, box)
    join = (lambda p, q: p ^ q) if dtype is np.bool_ else (lambda p, q: p + q * 3)
    left, right = choose.choice([0, 1, 4]), choose.choice([1, 2, 4])
    reads = [around[x + at, y, *((k,) if planes else ())] for k in range(planes or 1) for at in (-left, right)]
    a, b = hl.Func("a"), hl.Func("b")
    a[x, y] = functools.reduce(join, reads)
    b[x, y] = join(a[x, y - choose.choice([0, 2])], a[x, y + choose.choice([1, 3])])
    schedule = warp_tiles(
        vector,
        choose.choice([1, 2]),
        rows=choose.choice([2, 4]),
        exchange=choose.choice([0, 0, 1]),
        prefetch_rows=choose.choice([0, 2]),
    )
    (tile,) = (p for p in schedule if p.name == "tile")
    try:
        program = hl.Pipeline(b).compile("cpu", passes=schedule)
    except PipelineError as error:
        pytest.skip(str(error))
    meaning = hl.Pipeline(b).compile("reference")
    for number in range(8):
        width = choose.choice([vector, 3, 29 * vector, 30 * vector + 1, 45 * vector - 1, 61 * vector + 3]) + 2 * inset
        height, apart = choose.choice([3, 4, 9, 17]), choose.choice([0, 1, 3])
        rows = choose.choice([width + apart, (width + apart) * max(1, planes), 4])
        beside = width + apart if rows > width + apart else rows * height + apart
        memory = np.random.default_rng(number).integers(0, 2, rows * height + beside * 3 + width + 64).astype(dtype)
        first = -memory.ctypes.data % 64 // memory.itemsize + choose.choice([0, 1, 2, 3, 5])
        steps = [n * memory.itemsize for n in (beside, rows, 1)]
        lies = np.lib.stride_tricks.as_strided(memory[first:], (max(1, planes), height, width), steps, writeable=False)
        pictures.append(lies if planes else lies[0])
        np.testing.assert_array_equal(program(pictures[-1]), meaning(pictures[-1]), err_msg=f"{number}: {tile}")
    assert found, "no kernel ran"
    assert not any(found)


@pytest.mark.parametrize("planes", [1, 2, 3])
def test_no_line_is_asked_for_of_planes_that_are_not_there(planes, monkeypatch, tmp_path):
    pictures = []
    found = emulate(monkeypatch, tmp_path, watched=lambda: pictures[-1])
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 3, "image")
    around, b = hl.BoundaryConditions.repeat_edge(image), hl.Func("b")
    b[x, y] = around[x - 1, y, 0] + around[x + 1, y + 1, 1] + around[x, y, 2]
    schedule = warp_tiles(4, 2, rows=4, prefetch_rows=1)
    program, meaning = hl.Pipeline(b).compile("cpu", passes=schedule), hl.Pipeline(b).compile("reference")
    for width, height in ((130, 18), (7, 1), (260, 9)):
        pictures.append(np.random.default_rng(width).random((planes, height, width), dtype=np.float32))
        np.testing.assert_array_equal(program(pictures[-1]), meaning(pictures[-1]))
    assert found, "no kernel ran"
    assert not any(found)


@pytest.mark.parametrize(("steps", "exchange"), [(2, False), (2, True), (3, False)])
@pytest.mark.parametrize(
    ("element", "dtype", "vector"),
    [(hl.UInt(8), np.uint8, 8), (hl.UInt(16), np.uint16, 4), (hl.Float(32), np.float32, 4)],
)
def test_like_kernels_of_arrays_that_lie_differently(element, dtype, vector, steps, exchange, monkeypatch, tmp_path):
    """The first step reads rows that lie anywhere, the last one stores such; temporaries lie well."""
    misaligned = emulate(monkeypatch, tmp_path)
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 2, "image")
    current, box = image, [(0, image.width()), (0, image.height())]
    for i in range(steps):
        around = hl.BoundaryConditions.constant_exterior(current, 3, box)
        step = hl.Func(f"step_{i}")
        step[x, y] = around[x - 1, y] + around[x + 1, y] + around[x, y - 1] + around[x, y + 1]
        current = step
    schedule = warp_tiles(vector, 2, width=30 * vector, algorithm="none", rows=4, exchange=exchange)
    program, meaning = (
        hl.Pipeline(current).compile(t, **o) for t, o in (("cpu", {"passes": schedule}), ("reference", {}))
    )
    for width in (1, 2 * vector + 1, 30 * vector, 61 * vector + 3, 90 * vector + 1):
        for lies in ((0, 0, 0, 0), (1, 0, 0, 3), (0, 3, 1, 0), (1, 1, 0, 0), (0, 0, 1, 1)):
            picture, _ = array(dtype, 21, width, *lies[:2])
            picture[...] = np.random.default_rng(width).integers(0, 9, picture.shape)
            out, memory = array(dtype, 21, width, *lies[2:])
            program(picture, out=out)
            assert len({k.name for k in program.kernels}) == 1
            np.testing.assert_array_equal(out, meaning(picture), err_msg=f"{width}, {lies}")
            out[...] = UNTOUCHED
            assert (memory == UNTOUCHED).all(), f"{width}, {lies}: stored outside of the picture"
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


def test_tiles_of_temporaries_begin_elsewhere_than_those_of_outputs(monkeypatch, tmp_path):
    """Two groups alike, of which one writes a temporary: its tiles begin where vectors may, so they share no kernel."""
    emulate(monkeypatch, tmp_path)
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image")
    inner, outer, reader = hl.Func("inner"), hl.Func("outer"), hl.Func("reader")
    for f in (inner, outer):
        f[x, y] = image[x - 1, y] + image[x + 1, y]
    reader[x, y] = inner[x - 1, y] * inner[x + 1, y]
    schedule = [p for p in warp_tiles(4, 2, algorithm="none", rows=4) if p.name not in ("inline-stages", "cse")]
    program = hl.Pipeline([reader, outer]).compile("cpu", passes=schedule)
    meaning = hl.Pipeline([reader, outer]).compile("reference")
    picture = np.random.default_rng(0).integers(0, 9, (16, 400)).astype(np.float32)
    for first in (0, 1, 3, 4):
        mins = {"image": (-8, 0), "reader": (2, 0), "outer": (first, 0)}
        got, expected = ([np.full((16, 120), UNTOUCHED, np.float32) for _ in range(2)] for _ in range(2))
        program(picture, out=got, mins=mins)
        meaning(picture, out=expected, mins=mins)
        for g, e in zip(got, expected, strict=True):
            np.testing.assert_array_equal(g, e, err_msg=f"from column {first}")


@pytest.mark.parametrize("exchange", [False, True])
@pytest.mark.parametrize(
    ("element", "dtype", "vector"),
    [
        (hl.UInt(8), np.uint8, 8),
        (hl.UInt(8), np.uint8, 16),
        (hl.UInt(16), np.uint16, 4),
        (hl.Float(32), np.float32, 2),
        (hl.Float(32), np.float32, 4),
    ],
)
def test_first_tiles_that_begin_before_rows(element, dtype, vector, exchange, monkeypatch, tmp_path):
    """Tiles that read a temporary begin at multiples of vectors, the output and its rows in memory anywhere."""
    misaligned = emulate(monkeypatch, tmp_path)
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 2, "image")
    around, a, b = hl.BoundaryConditions.repeat_edge(image), hl.Func("a"), hl.Func("b")
    a[x, y] = around[x - 1, y] + around[x + 1, y]
    b[x, y] = a[x - 1, y - 1] + a[x + 2, y + 1]
    schedule = [
        p for p in warp_tiles(vector, 2, algorithm="none", rows=4, exchange=exchange) if p.name != "inline-stages"
    ]
    program, meaning = hl.Pipeline(b).compile("cpu", passes=schedule), hl.Pipeline(b).compile("reference")
    picture = np.random.default_rng(0).integers(0, 9, (13, 70)).astype(dtype)
    for first in (*range(1 - vector, 2), vector + 3):
        for width in (1, vector + 1, 31 * vector + 2):
            out, memory = array(dtype, 11, width, *((0, 0) if first % 2 else (3, 1)))
            program(picture, out=out, mins={"b": (first, 1)})
            expected = meaning(picture, sizes={"b": (width, 11)}, mins={"b": (first, 1)})
            np.testing.assert_array_equal(out, expected, err_msg=f"{width} columns from {first}")
            out[...] = UNTOUCHED
            assert (memory == UNTOUCHED).all(), f"{width} columns from {first}: stored outside of the picture"
    assert len(program.kernels) == 2
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


@pytest.mark.parametrize(("element", "dtype", "vector"), [(hl.UInt(8), np.uint8, 8), (hl.UInt(16), np.uint16, 4)])
def test_interleaved_rows_are_not_loaded_in_words(element, dtype, vector, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 3, "image")
    around = hl.BoundaryConditions.repeat_edge(image)
    a, b = hl.Func("a"), hl.Func("b")
    a[x, y] = around[x - 1, y, 0] + around[x + 1, y, 1] + around[x, y, 2]
    b[x, y] = a[x, y - 1] + a[x, y + 1]
    schedule = warp_tiles(vector, 2, rows=4)
    program = hl.Pipeline(b).compile("cpu", passes=schedule)
    for width in (301, 320):
        memory = np.random.default_rng(width).integers(0, 200, (37, width, 3)).astype(dtype)
        picture = memory.transpose(2, 0, 1)
        np.testing.assert_array_equal(program(picture), hl.Pipeline(b).compile("reference")(picture))
    assert misaligned, "no kernel ran"
    assert not any(misaligned)


@pytest.mark.parametrize("vector", [2, 4, 8])
@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        (hl.Bool(), np.bool_),
        (hl.Int(8), np.int8),
        (hl.Int(16), np.int16),
        (hl.Float(16), np.float16),
        (hl.Int(32), np.int32),
        (hl.UInt(64), np.uint64),
        (hl.Float(64), np.float64),
    ],
)
def test_rows_of_any_element_that_lie_anywhere(element, dtype, vector, monkeypatch, tmp_path):
    misaligned = emulate(monkeypatch, tmp_path)
    x, y, image = hl.Var("x"), hl.Var("y"), hl.ImageParam(element, 2, "image")
    around = hl.BoundaryConditions.mirror_image(image)
    a = hl.Func("a")
    both = (lambda p, q: p & q) if dtype is np.bool_ else (lambda p, q: p + q)
    a[x, y] = both(around[x - 1, y], around[x + 1, y + 1])
    schedule = warp_tiles(vector, 2, rows=4)
    program = hl.Pipeline(a).compile("cpu", passes=schedule)
    width = 2 * 30 * vector + 61
    picture, _ = array(dtype, 19, width, later=1, beyond=0)
    picture[...] = np.random.default_rng(vector).integers(0, 2 if dtype is np.bool_ else 60, picture.shape)
    np.testing.assert_array_equal(program(picture), hl.Pipeline(a).compile("reference")(picture))
    assert misaligned, "no kernel ran"
    assert not any(misaligned)
