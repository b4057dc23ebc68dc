"""vector_memory_order: vectors passed from invocation to invocation for many rounds, with stale reads counted in the shader.

In round k, the vectors in memory are those of the source plus k modulo 8. So each reader knows the vector that it must read, and has read
the one before from the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.layouts.vector_arrays import VectorArray
from generators.parameters.declaration import parameter
from generators.parameters.memory_masks import EXTRAS
from generators.parameters.vocabulary import STORAGE_CLASSES
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVector, CooperativeVectorType, Scalar, ScalarValue, Value
from generators.program.vector_builder import VectorBuilder
from generators.program.workgroup import Handover, NothingStale
from generators.routines.rounds import rounds_subcase, small_integers, step_of_round
from generators.routines.turns import ended_turns, restart, take_turns
from generators.routines.workgroup import last_workgroup
from generators.types import COMPONENT_TYPES, ComponentType, MemoryAccess, MemoryScope, Scope, StorageClass

_WORKGROUP_BYTES = 12 * 1024
"""Maximum workgroup memory of a case: every device has 16 KiB."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the vectors", labels=COMPONENT_TYPES)
    length: int = parameter("components of a vector", default=8)
    invocations: int = parameter("invocations of a workgroup", default=128)
    form: Literal["own", "neighbour", "mirrored", "workgroups"] = parameter(
        "whose vector an invocation loads: its own, without a barrier; its neighbour's; its mirror image's; or the next workgroup's",
        default="neighbour",
    )
    storage: StorageClass = parameter("where the vectors are passed on", default="workgroup", labels=STORAGE_CLASSES)
    handover: Handover = parameter(
        "what makes writes available and visible", default="barrier", applies=lambda parameters: parameters.form != "own"
    )
    extra: MemoryAccess = parameter("further memory operands", default="none", labels=EXTRAS)
    workgroups: int = parameter("workgroups that pass vectors on", default=3, applies=lambda parameters: parameters.form == "workgroups")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    run: int = parameter("number of the run, since timing differs from run to run")


def _slots(parameters: Parameters, count: int) -> VectorArray:
    return VectorArray(CooperativeVectorType(parameters.component, parameters.length), count, first=0, guard=0)


def _fits(parameters: Parameters) -> bool:
    shared = parameters.storage is StorageClass.WORKGROUP
    return not shared or _slots(parameters, parameters.invocations).bytes <= _WORKGROUP_BYTES


def _tight(parameters: Parameters) -> bool:
    return parameters.form != "workgroups" or parameters.length * parameters.component.bytes % 16 == 0


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = MappingProxyType({"fits_workgroup_memory": _fits, "tight": _tight})


class _Writer:
    """Writes the program of a case. Each invocation of a workgroup has a slot."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        workgroups = parameters.workgroups if parameters.form == "workgroups" else 1
        self.builder = builder = ProgramBuilder(
            Scope.WORKGROUP, workgroups=workgroups, shape=WorkgroupShape(invocations=parameters.invocations)
        )
        self.vectors = VectorBuilder(builder)
        self.slots = _slots(parameters, parameters.invocations)
        self.counts = _slots(parameters, parameters.invocations * workgroups)
        self.type = self.slots.type
        self.source = self.slots.declare(builder, "source", "input")
        role: Literal["scratch", "inout"] = "scratch" if parameters.storage is StorageClass.WORKGROUP else "inout"
        self.handed = self.slots.declare(builder, "handed", role, parameters.storage)
        self.own: ScalarValue
        self.other: ScalarValue
        self.written_base: CooperativeVector
        self.read_base: CooperativeVector

    def begin(self, lane: Scalar) -> None:
        """Add what each invocation, number ``lane`` of its workgroup, does first."""
        builder, count = self.builder, self.parameters.invocations
        match self.parameters.form:
            case "own":
                slot: Scalar = lane
            case "mirrored":
                slot = builder.arithmetic("mirrored", "subtract", builder.literal(count - 1), lane)
            case _:
                following = builder.arithmetic("following", "add", lane, builder.literal(1))
                slot = builder.arithmetic("neighbour", "modulo", following, builder.literal(count))
        self.own = self.slots.offset(builder, "own", lane)
        self.other = self.slots.offset(builder, "other", slot)
        self.written_base = self.vectors.load("written_base", self.type, self.source, self.own)
        self.read_base = self.vectors.load("read_base", self.type, self.source, self.other)

    def _operand(self, made: MemoryAccess) -> MemoryOperand | None:
        parameters = self.parameters
        if not parameters.extra:
            return None
        if parameters.form == "own":
            return MemoryOperand(parameters.extra)
        scope = MemoryScope.QUEUE_FAMILY if parameters.form == "workgroups" else MemoryScope.WORKGROUP
        return MemoryOperand(parameters.extra | MemoryAccess.NON_PRIVATE_POINTER | made, scope=scope)

    def load(self, name: str) -> CooperativeVector:
        """Load the other invocation's vector."""
        return self.vectors.load(name, self.type, self.handed, self.other, self._operand(MemoryAccess.MAKE_POINTER_VISIBLE))

    def store(self, vector: CooperativeVector) -> None:
        """Store the own vector."""
        self.vectors.store(vector, self.handed, self.own, self._operand(MemoryAccess.MAKE_POINTER_AVAILABLE))

    def barrier(self) -> None:
        """Add the barrier between a store and the load of what it wrote, or between a load and the next store."""
        if self.parameters.form != "own":
            self.builder.barrier(handover=self.parameters.handover)

    def plus(self, name: str, base: CooperativeVector, number: ScalarValue) -> CooperativeVector:
        """Return the vector of a round: ``base`` + ``number`` (u32) modulo the period."""
        step = step_of_round(self.builder, name, self.parameters.component, number)
        return self.vectors.arithmetic(name, "add", base, self.vectors.splat(f"{name}_splat", self.type, step, replicated=True))

    def counted(self, name: str, count: CooperativeVector, seen: CooperativeVector, expected: CooperativeVector) -> CooperativeVector:
        """Return ``count`` plus the square of what is wrong in ``seen``: squares never cancel each other."""
        wrong = self.vectors.arithmetic(f"{name}_wrong", "subtract", seen, expected)
        return self.vectors.arithmetic(name, "add", count, self.vectors.arithmetic(f"{name}_square", "multiply", wrong, wrong))

    def rounds(self) -> None:
        """Store, and load what another invocation, or the same one, has stored, in each round of a loop."""
        builder, vectors = self.builder, self.vectors
        stale, last = (self.slots.declare(builder, name, "output") for name in ("stale", "last"))
        rounds, lane = builder.operand("rounds", U32, "push_constant"), Value("lane", U32)
        with builder.per_invocation(lane, self.parameters.invocations):
            self.begin(lane)
            begin = vectors.null("none_stale", self.type)
            index, count, carried = Value("round", U32), Value("count", self.type), list[Carried]()
            with builder.loop(index, rounds, carried):
                number = builder.arithmetic("number", "add", index, builder.literal(1))
                self.store(self.plus("written", self.written_base, number))
                self.barrier()
                more = self.counted("more", count, self.load("seen"), self.plus("expected", self.read_base, number))
                carried.append(Carried(begin, count, more))
                self.barrier()
            vectors.store(count, stale, self.own)
            vectors.store(self.load("read"), last, self.own)

    def turns(self) -> None:
        """Pass vectors from workgroup to workgroup, and check and restore them in the last one."""
        builder, vectors = self.builder, self.vectors
        stale, last = self.counts.declare(builder, "stale", "output"), self.slots.declare(builder, "last", "output")
        turn, counter = (builder.array(name, Pointee(U32), 1, StorageClass.STORAGE_BUFFER, "inout") for name in ("turn", "counter"))
        rounds, me = builder.operand("rounds", U32, "push_constant"), Value("me", U32)
        with builder.stated(NothingStale((stale, last))), builder.per_invocation(me, self.parameters.invocations):
            self.begin(builder.built_in("lane", "local_invocation"))
            begin = vectors.null("none_stale", self.type)
            count = take_turns(builder, rounds, turn, self.barrier, begin, self._pass_on)
            vectors.store(count, stale, self.counts.offset(builder, "place", me))
            with last_workgroup(builder, counter):
                expected = self.plus("last_expected", self.read_base, ended_turns(builder, turn))
                vectors.store(self.counted("last_count", begin, self.load("last_seen"), expected), last, self.own)
                builder.barrier()
                self.store(self.written_base)
                restart(builder, turn, counter)

    def _pass_on(self, count: CooperativeVector, ended: Scalar) -> CooperativeVector:
        """Read the vectors of the turn before, and write the next ones."""
        more = self.counted("more", count, self.load("seen"), self.plus("expected", self.read_base, ended))
        self.barrier()
        following = self.builder.arithmetic("following_turn", "add", ended, self.builder.literal(1))
        self.store(self.plus("written", self.written_base, following))
        return more


def build(parameters: Parameters) -> Built:
    """Build a case. The source holds small integers; a buffer that is passed on begins with the same."""
    writer = _Writer(parameters)
    if parameters.form == "workgroups":
        writer.turns()
    else:
        writer.rounds()

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        source = writer.slots.pack(small_integers(parameters.component, (writer.slots.slots, parameters.length), rng))
        return rounds_subcase(name, program, source, parameters.run, parameters.form == "workgroups")

    return Built(writer.builder.build(), draw)
