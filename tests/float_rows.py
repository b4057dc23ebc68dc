"""One operation on a row of floats under execution modes: its program, the values that the reference model allows, and a device's
results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.devices.device import Device
from cts.reference.evaluate import evaluate
from cts.verdict.expected import Expectation
from generators.dispatch import dispatch, kernel
from generators.numerics.formats import encode, values
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion
from generators.program.float_controls import FloatControl, FloatMode
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use

MODES = {
    "rte": FloatMode.ROUNDING_MODE_RTE,
    "rtz": FloatMode.ROUNDING_MODE_RTZ,
    "preserve": FloatMode.DENORM_PRESERVE,
    "flush": FloatMode.DENORM_FLUSH_TO_ZERO,
    "special": FloatMode.SIGNED_ZERO_INF_NAN_PRESERVE,
}


def controls(text: str) -> tuple[FloatControl, ...]:
    """Return modes such as ``rte16 flush32``."""
    return tuple(FloatControl(MODES[word[:-2]], int(word[-2:])) for word in text.split())


@dataclass(frozen=True)
class Row:
    """An operation on a matrix of one row. Integers among the operands are bits, floats are numbers."""

    operation: str
    component: str
    modes: str
    left: Sequence[float | int]
    right: Sequence[float | int] = ()
    to: str = ""

    def _bits(self, numbers: Sequence[float | int]) -> np.ndarray:
        component = COMPONENT_TYPES[self.component]
        found = [each if isinstance(each, int) else int(encode(component, np.array(each))) for each in numbers]
        return np.array(found, component.bits_dtype)

    def program(self) -> Program:
        builder = ProgramBuilder(Scope.SUBGROUP, float_controls=controls(self.modes))
        component, count = COMPONENT_TYPES[self.component], len(self.left)
        type_ = MatrixType(component, Scope.SUBGROUP, 1, count, Use.ACCUMULATOR)
        zero, stride = builder.literal(0), builder.literal(count)
        loaded = []
        for name, given in (("left", self.left), ("right", self.right)):
            if given and not (name == "right" and self.operation == "times_scalar"):
                array = builder.array(f"{name}_in", Pointee(component), count, StorageClass.STORAGE_BUFFER, "input")
                loaded.append(builder.load(name, type_, array, zero, stride, Layout.ROW_MAJOR))
        target = COMPONENT_TYPES[self.to] if self.to else component
        match self.operation:
            case "move":
                result = loaded[0]
            case "negate":
                result = builder.negate("result", loaded[0])
            case "convert":
                result = builder.convert("result", loaded[0], target, Conversion.F_TO_F)
            case "times_scalar":
                scalar = builder.operand("scalar", component, "literal", int(self._bits(self.right)[0]))
                result = builder.times_scalar("result", loaded[0], scalar)
            case _:
                result = builder.elementwise("result", self.operation, *loaded)
        out = builder.array("out", Pointee(target), count, StorageClass.STORAGE_BUFFER, "output")
        builder.store(result, out, zero, stride, Layout.ROW_MAJOR)
        return builder.build()

    def subcase(self) -> Subcase:
        inputs = {"left_in": self._bits(self.left).view(np.uint8)}
        if self.right and self.operation != "times_scalar":
            inputs["right_in"] = self._bits(self.right).view(np.uint8)
        return Subcase("only", inputs)

    def expectation(self) -> Expectation:
        """Return the values that the reference model allows."""
        (placed,) = evaluate(self.program(), self.subcase()).placed
        return placed.expectation

    def result(self, device: Device) -> np.ndarray:
        """Return the bits of a device's results."""
        program, subcase = self.program(), self.subcase()
        target = COMPONENT_TYPES[self.to or self.component]
        contents = {**subcase.inputs, "out": np.zeros(len(self.left) * target.bytes, np.uint8)}
        (outcome,) = device.run(kernel(program, emit(program)), [dispatch(program, subcase, contents)])
        return outcome.outputs["out"].view(target.bits_dtype)

    def numbers(self, device: Device) -> list[float]:
        """Return the numbers of a device's results."""
        return values(self.result(device), COMPONENT_TYPES[self.to or self.component]).tolist()
