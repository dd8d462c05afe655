"""What a kernel is specialised to, and how memory of temporaries is shared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilefuse.runtime.arrays.layouts import (
    ALIGNMENT,
    INTERLEAVED,
    array_shape,
    contiguous,
    describe_layout,
    picture,
    planar,
    reach,
    storage_strides,
)
from tilefuse.runtime.launch.arena import ARENA_ALIGNMENT, Lifetime, arrange


def spec(extents, order, itemsize=4, pointer=64):
    p = contiguous(extents, order, itemsize)
    return describe_layout(p, [(0, n) for n in extents], pointer, itemsize)


def test_specs_of_contiguous_arrays():
    assert spec((640, 480), planar(2)) == ((1, None), (None, None), True)
    assert spec((640, 480, 3), planar(3)) == ((1, None, None), (None, None, (0, 3)), True)
    assert spec((640, 480, 3), INTERLEAVED) == ((3, None, 1), (None, None, (0, 3)), True)
    assert spec((640, 480, 9), planar(3)) == ((1, None, None), (None, None, None), True)


def test_a_spec_says_whether_rows_are_aligned():
    assert not spec((641, 480), planar(2)).aligned
    assert not spec((640, 480), planar(2), pointer=68).aligned
    assert spec((641, 1), planar(2), itemsize=16).aligned
    assert spec((16, 480, 3), INTERLEAVED, itemsize=1).aligned  # rows of 48 bytes
    assert not spec((15, 480, 3), INTERLEAVED, itemsize=1).aligned


def test_inputs_are_aligned_where_rows_of_outputs_start():
    p = contiguous((640, 480), planar(2), 4)
    box = [(-2, 640), (0, 480)]
    assert describe_layout(p, box, 64, 4, starts=[2]).aligned  # 4 columns later
    assert not describe_layout(p, box, 64, 4, starts=[0]).aligned
    assert not describe_layout(p, box, 64, 4, starts=[2, 3]).aligned
    assert describe_layout(p, box, 72, 4, starts=[0]).aligned


@pytest.mark.parametrize("order", [planar(3), INTERLEAVED])
@pytest.mark.parametrize("extents", [(1, 1, 1), (1, 5, 1), (5, 1, 1), (5, 7, 1)])
def test_one_channel_is_planar_whatever_its_order(order, extents):
    assert spec(extents, order).strides == (1, None, None)


def test_a_column_is_specialised_like_a_picture():
    assert spec((1, 9), planar(2)).strides == (1, None)
    assert spec((1, 9, 3), INTERLEAVED).strides == (3, None, 1)


def test_no_stride_of_a_flipped_or_thinned_picture_is_fixed():
    a = np.zeros((8, 9), np.float32)
    for v in (a[:, ::-1], a[:, ::2], np.broadcast_to(a[:, :1], (8, 9))):
        p = picture(v.shape, v.strides, 4, planar(2))
        assert describe_layout(p, [(0, n) for n in p.extents], 0, 4).strides == (None, None)
    transposed = picture(a.T.shape, a.T.strides, 4, planar(2))
    assert describe_layout(transposed, [(0, 8), (0, 9)], 0, 4).strides == (None, 1)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.sampled_from([1, 2, 4, 8]))
def test_temporaries_have_aligned_rows_and_distinct_elements(extents, itemsize):
    strides, size = storage_strides(extents, itemsize)
    assert strides[0] == 1
    assert all(s * itemsize % ALIGNMENT == 0 for s, n in zip(strides[1:], extents[1:], strict=True) if n > 1)
    low, high = reach(extents, strides)
    assert low == 0
    assert (high + 1) * itemsize <= size
    places = {sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(*extents)}
    assert len(places) == np.prod(extents)


def test_reach_of_negative_strides():
    assert reach((4, 3), (-1, 10)) == (-3, 20)


def test_shapes_are_in_the_order_of_the_array():
    assert array_shape((640, 480, 3), INTERLEAVED) == (480, 640, 3)
    assert array_shape((640, 480, 3), planar(3)) == (3, 480, 640)


lives = st.builds(
    lambda size, first, length: Lifetime(size, first, first + length),
    st.integers(1, 5000),
    st.integers(0, 8),
    st.integers(0, 4),
)


@given(st.lists(lives, max_size=12))
def test_no_two_living_temporaries_share_bytes(temporaries):
    offsets, total = arrange(temporaries)
    assert all(o % ARENA_ALIGNMENT == 0 for o in offsets)
    for i, (a, at_a) in enumerate(zip(temporaries, offsets, strict=True)):
        assert at_a + a.size <= total
        for b, at_b in zip(temporaries[:i], offsets[:i], strict=True):
            if a.first <= b.last and b.first <= a.last:
                assert at_a + a.size <= at_b or at_b + b.size <= at_a


def test_a_chain_needs_two_temporaries_whatever_its_length():
    _, total = arrange([Lifetime(1024, i, i + 1) for i in range(32)])
    assert total == 2048
