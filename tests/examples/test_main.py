"""The scripts as a user runs them: on a photograph, writing a picture, saying what ran."""

import os
import subprocess
import sys

import imageio.v3
import numpy as np
import pytest
from _all import EXAMPLES
from _run import HERE, main

GRAY = (512, 512)
COLOR = (512, 512, 3)
SHAPES = {
    **dict.fromkeys(["blur_f32", "blur_u8", "blur_u16"], (510, 510)),
    **dict.fromkeys(["binomial", "canny", "canny_linked", "stencil9", "stencil_chain", "bilateral_grid"], GRAY),
    **dict.fromkeys(["unsharp", "hist", "iir_blur", "max_filter", "nl_means", "bgu"], COLOR),
    **dict.fromkeys(["local_laplacian", "interpolate", "pyramid_blend"], COLOR),
    "harris": (508, 508, 3),
    "camera_pipe": (488, 480, 3),
    "mat_mul": (1024, 1024),
    "conv_layer": (80, 100, 3),
    "depthwise_separable_conv": (112, 112, 3),
    "lens_blur": (500, 741, 3),  # of a pair of photographs
}
SLOW_ON_A_CPU = {"demosaic"}


def run(script, *arguments, check=True):
    return subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        capture_output=True, text=True, check=check, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in SLOW_ON_A_CPU])
def test_each_example_makes_a_picture_of_a_photograph(name, tmp_path, capsys):
    path = tmp_path / "new" / "picture.png"
    main([EXAMPLES[name]], ["--target", "cpu", "--output", str(path)])
    picture = imageio.v3.imread(path)
    assert picture.dtype == np.uint8
    assert picture.shape == SHAPES[name]
    assert picture.std() > 10
    said = capsys.readouterr().out
    assert "kernel" in said
    assert "tile" in said
    assert "ms" in said or "us" in said
    assert str(path) in said


def test_the_demo_is_a_script_of_its_own(tmp_path):
    path = tmp_path / "corners.png"
    said = run("harris.py", "--target", "cpu", "--output", str(path)).stdout
    assert "pipeline harris on cpu: 1 kernel" in said
    picture = imageio.v3.imread(path)
    red = (picture == (255, 26, 26)).all(axis=-1).mean()
    assert 0.001 < red < 0.1


def test_a_picture_of_ones_own(tmp_path):
    source, path = tmp_path / "gray.png", tmp_path / "out.png"
    imageio.v3.imwrite(source, np.arange(63 * 41, dtype=np.uint32).reshape(41, 63).astype(np.uint8))
    main([EXAMPLES["canny"]], ["--target", "reference", "--input", str(source), "--output", str(path)])
    assert imageio.v3.imread(path).shape == (41, 63)


def test_mlir_prints_the_algorithm():
    assert run("blur.py", "--mlir", "--variant", "blur_u8").stdout == EXAMPLES["blur_u8"].ir()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "h300"], "target 'h300' is unknown"),
        (["--target", "cpu", "--input", "nowhere.png"], "nowhere.png"),
    ],
)
def test_what_is_lacking_is_said_in_one_line(arguments, message):
    ran = run("blur.py", *arguments, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: ")
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_an_unknown_variant_is_refused():
    ran = run("blur.py", "--variant", "blur_f64", check=False)
    assert ran.returncode == 2
    assert "blur_f32" in ran.stderr


def test_custom_passes_keep_the_meaning(capsys):
    import custom_pass

    custom_pass.main([])
    said = capsys.readouterr().out
    assert "tile 64x16, 32x8x1 threads" in said
    assert "repeat-edges, pad-edges, schedule-by-hand, tile" in said
    assert "the results are the same" in said
