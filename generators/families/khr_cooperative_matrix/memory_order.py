"""memory_order: matrices passed on through the same places for many rounds, with stale reads counted in the shader.

In round k, the matrices in memory are those of the source plus k modulo 8. So each reader knows the matrix that it must read, and has read
the one before from the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.layouts.matrix_arrays import WORKGROUP_BYTES, Tiles, lines_of, tight
from generators.layouts.tensor_writer import LayoutStep, TensorWriter, slice_step
from generators.parameters.declaration import parameter
from generators.parameters.memory_masks import EXTRAS
from generators.parameters.vocabulary import LAYOUTS, STORAGE_CLASSES, USES, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.load_store import MemoryOperand
from generators.program.memory import Array, Pointee, Role
from generators.program.program import Built, Program, Subcase
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import Matrix, MatrixType, ScalarValue, TensorLayout, TensorLayoutType, TensorView, TensorViewType, Value
from generators.program.workgroup import Handover, NothingStale
from generators.routines.rounds import rounds_subcase, small_integers, step_of_round
from generators.routines.turns import ended_turns, restart, take_turns
from generators.routines.workgroup import copy, last_workgroup
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MemoryAccess, MemoryScope, Scope, StorageClass, Use

Form = Literal["subgroup", "workgroup", "plain", "workgroups"]


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrices", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrices", default="a", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrices", default="16x16", decode=parse_shape)
    subgroups: int = parameter("subgroups of a workgroup", default=2)
    form: Form = parameter(
        "who reads what a subgroup stores: itself, the next subgroup, single invocations that copy it, or the next workgroup",
        default="workgroup",
    )
    storage: StorageClass = parameter("where the matrices are passed on", default="workgroup", labels=STORAGE_CLASSES)
    handover: Handover = parameter("what makes writes available and visible", default="barrier")
    written: Layout = parameter("layout in which matrices are stored", default="row", labels=LAYOUTS)
    read: Layout = parameter("layout in which matrices are loaded", default="row", labels=LAYOUTS)
    extra: MemoryAccess = parameter("further memory operands", default="none", labels=EXTRAS)
    access: Literal["matrix", "tensor", "tensor_stores", "tensor_loads"] = parameter(
        "which matrices are passed on through a tensor layout", default="matrix"
    )
    workgroups: int = parameter("workgroups that pass matrices on", default=3, applies=lambda parameters: parameters.form == "workgroups")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    run: int = parameter("number of the run, since timing differs from run to run")


_REACH: Mapping[Form, MemoryScope] = MappingProxyType(
    {
        "subgroup": MemoryScope.SUBGROUP,
        "workgroup": MemoryScope.WORKGROUP,
        "plain": MemoryScope.WORKGROUP,
        "workgroups": MemoryScope.QUEUE_FAMILY,
    }
)


def _fits(parameters: Parameters) -> bool:
    rows, columns = parameters.shape
    arrays = (parameters.storage is StorageClass.WORKGROUP) + (parameters.form == "plain")
    return arrays * parameters.subgroups * rows * columns * parameters.component.bytes <= WORKGROUP_BYTES


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = MappingProxyType({"fits_workgroup_memory": _fits})


class _Writer:
    """Writes the program of a case. Each subgroup of a workgroup has a tile."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        workgroups = parameters.workgroups if parameters.form == "workgroups" else 1
        self.builder = builder = ProgramBuilder(Scope.SUBGROUP, parameters.subgroups, workgroups)
        self.type = MatrixType(parameters.component, Scope.SUBGROUP, *parameters.shape, parameters.use)
        self.tiles = tight(self.type, parameters.written, (parameters.subgroups, 1))
        self.counts = tight(self.type, parameters.written, (builder.instances, 1))
        self.source = self._array("source", "input", self.tiles)
        role: Role = "scratch" if parameters.storage is StorageClass.WORKGROUP else "inout"
        self.handed = self._array("handed", role, self.tiles, parameters.storage)
        self.instance = builder.instance_index() if builder.instances > 1 else builder.literal(0)
        self.subgroup: ScalarValue = self.instance if workgroups == 1 else builder.built_in("own_subgroup", "subgroup")
        self.own = self._begin("own", self.subgroup)
        following = builder.arithmetic("following", "add", self.subgroup, builder.literal(1))
        wrapped = builder.arithmetic("wrapped", "modulo", following, builder.literal(parameters.subgroups))
        self.other = self.own if parameters.form == "subgroup" else self._begin("other", wrapped)
        self.written_base = self.load("written_base", self.source, self.own, parameters.written)
        self.read_base = self.load("read_base", self.source, self.other, parameters.read)

    def _array(self, name: str, role: Role, tiles: Tiles, storage: StorageClass = StorageClass.STORAGE_BUFFER) -> Array:
        return self.builder.array(name, tiles.pointee, tiles.length, storage, role)

    def _begin(self, name: str, index: ScalarValue) -> ScalarValue:
        return self.builder.arithmetic(name, "multiply", index, self.builder.literal(self.tiles.pitch))

    def _is_tensor(self, array: Array, sort: str) -> bool:
        return array is self.handed and self.parameters.access in ("tensor", sort)

    def _stride(self, layout: Layout) -> int:
        return lines_of(self.parameters.shape, layout)[1]

    def _operand(self, array: Array, made: MemoryAccess) -> MemoryOperand | None:
        extra = self.parameters.extra
        if not extra or array is not self.handed:
            return None
        return MemoryOperand(extra | MemoryAccess.NON_PRIVATE_POINTER | made, scope=_REACH[self.parameters.form])

    def _tensor(self, name: str, layout: Layout) -> tuple[TensorLayout, TensorView | None]:
        """Return the layout of a tensor that is a tile in ``layout``, and the view that transposes it if its lines are columns."""
        lines = lines_of(self.parameters.shape, layout)
        steps: tuple[LayoutStep, ...] = (("dimension", lines), slice_step((0, 0), lines))
        writer = TensorWriter(self.builder, "literal")
        made = writer.layout(self.builder.fresh(f"{name}_layout"), TensorLayoutType(2), *steps)
        if layout is Layout.ROW_MAJOR:
            return made, None
        return made, writer.view(self.builder.fresh(f"{name}_view"), TensorViewType((1, 0)))

    def load(self, name: str, array: Array, at: ScalarValue, layout: Layout) -> Matrix:
        """Load a tile in ``layout``."""
        memory = self._operand(array, MemoryAccess.MAKE_POINTER_VISIBLE)
        if not self._is_tensor(array, "tensor_loads"):
            return self.builder.load(name, self.type, array, at, self.builder.literal(self._stride(layout)), layout, memory)
        result = Value(name, self.type)
        before = self.builder.null(f"{name}_before", self.type)
        self.builder.add(TensorLoad(result, array, at, before, *self._tensor(name, layout), memory))
        return result

    def store(self, matrix: Matrix, array: Array, at: ScalarValue) -> None:
        """Store a tile in the layout of stored matrices."""
        layout = self.parameters.written
        memory = self._operand(array, MemoryAccess.MAKE_POINTER_AVAILABLE)
        if not self._is_tensor(array, "tensor_stores"):
            self.builder.store(matrix, array, at, self.builder.literal(self._stride(layout)), layout, memory)
        else:
            self.builder.add(TensorStore(matrix, array, at, *self._tensor(f"{matrix.name}_stored", layout), memory))

    def barrier(self) -> None:
        """Add the barrier between a store and the load of what it wrote, or between a load and the next store."""
        scope = MemoryScope.SUBGROUP if self.parameters.form == "subgroup" else MemoryScope.WORKGROUP
        self.builder.barrier(scope, self.parameters.handover)

    def plus(self, name: str, base: Matrix, number: ScalarValue) -> Matrix:
        """Return the matrix of a round: ``base`` + ``number`` (u32) modulo the period."""
        step = step_of_round(self.builder, name, self.parameters.component, number)
        return self.builder.elementwise(name, "add", base, self.builder.splat(f"{name}_splat", self.type, step))

    def counted(self, name: str, count: Matrix, seen: Matrix, expected: Matrix) -> Matrix:
        """Return ``count`` plus the square of what is wrong in ``seen``: squares never cancel each other."""
        wrong = self.builder.elementwise(f"{name}_wrong", "subtract", seen, expected)
        return self.builder.elementwise(name, "add", count, self.builder.elementwise(f"{name}_square", "multiply", wrong, wrong))

    def rounds(self) -> None:
        """Store, and load what another subgroup, or the same one, has stored, in each round of a loop."""
        builder, parameters = self.builder, self.parameters
        stale, last = (self._array(name, "output", self.counts) for name in ("stale", "last"))
        between, begin = self.handed, builder.null("none_stale", self.type)
        if parameters.form == "plain":
            between = builder.array("copied", self.tiles.pointee, self.tiles.length, StorageClass.WORKGROUP, "scratch")
        index, count, carried = Value("round", U32), Value("count", self.type), list[Carried]()
        with builder.loop(index, builder.operand("rounds", U32, "push_constant"), carried):
            number = builder.arithmetic("number", "add", index, builder.literal(1))
            self.store(self.plus("written", self.written_base, number), self.handed, self.own)
            self.barrier()
            if parameters.form == "plain":
                copy(builder, between, self.handed)
                self.barrier()
            seen = self.load("seen", between, self.other, parameters.read)
            carried.append(Carried(begin, count, self.counted("more", count, seen, self.plus("expected", self.read_base, number))))
            self.barrier()
        self.store(count, stale, self.own)
        builder.store(
            self.load("read", self.handed, self.other, parameters.read),
            last,
            self.own,
            builder.literal(self._stride(parameters.read)),
            parameters.read,
        )

    def turns(self) -> None:
        """Pass matrices from workgroup to workgroup, and check and restore them in the last one."""
        builder = self.builder
        stale, last = self._array("stale", "output", self.counts), self._array("last", "output", self.tiles)
        turn, counter = (builder.array(name, Pointee(U32), 1, StorageClass.STORAGE_BUFFER, "inout") for name in ("turn", "counter"))
        rounds = builder.operand("rounds", U32, "push_constant")
        with builder.stated(NothingStale((stale, last))):
            begin = builder.null("none_stale", self.type)
            count = take_turns(builder, rounds, turn, self.barrier, begin, self._pass_on)
            self.store(count, stale, self._begin("place", self.instance))
            with last_workgroup(builder, counter):
                seen = self.load("last_seen", self.handed, self.other, self.parameters.read)
                expected = self.plus("last_expected", self.read_base, ended_turns(builder, turn))
                self.store(self.counted("last_count", begin, seen, expected), last, self.own)
                builder.barrier()
                self.store(self.written_base, self.handed, self.own)
                restart(builder, turn, counter)

    def _pass_on(self, count: Matrix, ended: ScalarValue) -> Matrix:
        """Read the matrices of the turn before, and write the next ones."""
        seen = self.load("seen", self.handed, self.other, self.parameters.read)
        more = self.counted("more", count, seen, self.plus("expected", self.read_base, ended))
        self.barrier()
        following = self.builder.arithmetic("following_turn", "add", ended, self.builder.literal(1))
        self.store(self.plus("written", self.written_base, following), self.handed, self.own)
        return more


def build(parameters: Parameters) -> Built:
    """Build a case. The source holds small integers; a buffer that is passed on begins with the same."""
    writer = _Writer(parameters)
    if parameters.form == "workgroups":
        writer.turns()
    else:
        writer.rounds()

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        source = small_integers(parameters.component, writer.tiles.length, rng).view(np.uint8)
        return rounds_subcase(name, program, source, parameters.run, parameters.form == "workgroups")

    return Built(writer.builder.build(), draw)
