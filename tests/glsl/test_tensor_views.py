"""Types of tensor views in GLSL and SPIR-V, made from literals and from specialization constants."""

import re

from generators.glsl.emit import emit as glsl
from generators.program.builder import U32, ProgramBuilder
from generators.program.tensor import ViewCreate, ViewSet
from generators.program.values import TensorViewType, Value
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit as spirv
from generators.types import Scope


def program(specialized):
    builder = ProgramBuilder(Scope.SUBGROUP)
    if specialized:
        own = builder.operand("own", U32, "specialization", 1, 0)
        rank = builder.operand("rank", U32, "specialization", 2, 2)
        places = tuple(builder.operand(f"place_{i}", U32, "specialization", 1 - i, i) for i in range(2))
        type_ = TensorViewType(places, own, rank)
    else:
        type_ = TensorViewType((1, 0), True)
    view = Value("view", type_)
    builder.add(ViewCreate(view))
    builder.add(ViewSet(Value("clipped", type_), view, "clip", tuple(builder.literal(n) for n in (1, 2, 3, 4))))
    return builder.build()


def test_literals():
    text = glsl(program(specialized=False))
    assert "tensorViewNV<2, true, 1, 0> view = createTensorViewNV(2, true, 1, 0);" in text
    assert "tensorViewNV<2, true, 1, 0> clipped = setTensorViewClipNV(view, 1u, 2u, 3u, 4u);" in text


def test_the_flag_of_own_dimensions_is_a_bool_in_glsl():
    text = glsl(program(specialized=True))
    assert re.search(r"layout\(constant_id = \d+\) const bool own = false;", text)
    assert re.search(r"layout\(constant_id = \d+\) const uint place_0 = 0u;", text)
    assert "tensorViewNV<rank, own, place_0, place_1> view = createTensorViewNV(rank, own, place_0, place_1);" in text


def test_the_flag_of_own_dimensions_is_compared_with_zero_in_spirv():
    text = disassemble(spirv(program(specialized=True)))
    (view,) = re.findall(r"OpTypeTensorViewNV (%\w+) (%\w+) (%\w+) (%\w+)", text)
    assert re.search(rf"{view[1]} = OpSpecConstantOp %\w+ (INotEqual|OpINotEqual|171)", text), text
    assert all(re.search(rf"{constant} = OpSpecConstant ", text) for constant in (view[0], *view[2:])), text
