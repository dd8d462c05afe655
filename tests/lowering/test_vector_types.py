"""Vector types in CUDA's text: any element, also by itself."""

import pytest
from xdsl.dialects import ub
from xdsl.dialects.builtin import VectorType, f16, f32, f64, i8, i16, i32, i64

from tilefuse.lowering.printers.cuda import Cuda


@pytest.mark.parametrize("element", [i8, i16, i32, i64, f16, f32, f64])
@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_vectors_of_up_to_16_bytes(element, count):
    type_ = VectorType(element, [count])
    if not 2 <= element.size * count <= 16:
        return
    found = Cuda().vector(type_, ub.PoisonOp(type_))
    assert len(found.lane_texts) == count
    assert {"load", "store", "make", "splat"} <= found.helpers.keys()


def test_an_integer_of_8_bytes_by_itself():
    type_ = VectorType(i64, [1])
    assert Cuda().vector(type_, ub.PoisonOp(type_)).ctype == "unsigned long long"
