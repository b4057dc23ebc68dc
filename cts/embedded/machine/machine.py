"""The state of a running workgroup, and the scheduler of its blocks.

All invocations run together; a mask says which of them execute. When they diverge, the first block in structured order runs next, with
every invocation that waits for it. So invocations reconverge at merge blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time
from typing import Any, Protocol

import numpy as np

from cts.devices.device import DeviceTimeout, Step
from cts.embedded.diagnostics import UndefinedUse, Unsupported, Violation
from cts.embedded.faults import replaceable
from cts.embedded.memory.element_accesses import ElementAccesses
from cts.embedded.memory.ordering import Clock
from cts.embedded.observations import Observation, Severity, first_invocation, severity_of
from cts.embedded.settings import Settings
from cts.embedded.types.limits import ELEMENTS_A_STEP
from cts.embedded.types.spirv_types import Type, Void
from cts.embedded.types.values import Mask, Value, blend, settle, varies
from generators.types import Scope

Run = Callable[[], Value]
Entry = tuple[int, Run, int, Type]
"""Result id (0: none), the function that computes the result, number of the instruction in the module, type of the result."""

_NARROW_RANGE = 1 << 32
"""How many bytes of a buffer 32-bit indexing can reach (Vulkan, "Buffer Indexing Calculations")."""


@dataclass(frozen=True)
class Phi:
    """OpPhi. ``sources``: label of the predecessor -> id of the value."""

    result: int
    type: Type
    sources: dict[int, int]


@dataclass
class Branch:
    """How a block ends.

    Attributes:
        targets: labels: one for OpBranch, one each for true and false, or the default and one for each literal.
        condition: id of the condition or selector, 0 if there is none.
        literals: the literals of OpSwitch, as bit patterns; None for OpBranchConditional.
    """

    targets: tuple[int, ...]
    condition: int = 0
    literals: tuple[int, ...] | None = None


@dataclass
class Return:
    """OpReturn (``value`` 0) and OpReturnValue."""

    value: int = 0


@dataclass
class Unreachable:
    """OpUnreachable."""


@dataclass
class Block:
    """A prepared block.

    Attributes:
        label: its id.
        order: its position in structured order.
        phis, entries: its instructions, without the terminator.
        end: its terminator.
        end_index: the terminator's number in the module.
        cost: the steps that it takes, see ``Limits``.
    """

    label: int
    order: int
    phis: list[Phi] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    end: Branch | Return | Unreachable = field(default_factory=Unreachable)
    end_index: int = 0
    cost: int = 1


@dataclass
class Function:
    """A prepared function.

    Attributes:
        parameters: ids of its parameters.
        result: its return type.
        entry: label of its first block.
        blocks: label -> block.
        begin: functions to run at each call, before the first block. They create its variables.
        pointers: ids of its results that are pointers.
    """

    parameters: tuple[int, ...]
    result: Type
    entry: int
    blocks: dict[int, Block] = field(default_factory=dict)
    begin: list[Callable[[], None]] = field(default_factory=list)
    pointers: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Detour:
    """A selection that has been executed with invocations going several ways.

    Attributes:
        merge: label of its merge block.
        arrivals: labels of the blocks before the merge block, each with the mask of the invocations that come from it.
        doubtful: the invocations that went several ways.
    """

    merge: int
    arrivals: Sequence[tuple[int, Mask]]
    doubtful: Mask


class Recovers(Protocol):
    """Decides how a machine goes on after an instruction: see ``recovery.Recovery``."""

    def after(self, error: UndefinedUse | Violation, run: Run, type_: Type) -> Value:
        """Return the value of an instruction that raised ``error``."""
        ...

    def branch(self, error: UndefinedUse, function: Function, block: Block) -> Detour | None:
        """Make the undefined condition of the branch at the end of ``block`` defined, or go both ways."""
        ...

    def doubt(self, phis: Sequence[Phi], doubtful: Mask) -> None:
        """Make phis undefined for the invocations that went several ways to them."""
        ...


class Machine:
    """A workgroup.

    Attributes:
        values: id -> value.
        lanes, subgroup_size, subgroups: number of invocations, invocations in a subgroup, number of subgroups.
        everyone: a mask of all invocations.
        mask: a mask of the invocations that execute.
        full: whether all invocations execute.
        helpers: a mask of the helper invocations.
        clock: orders accesses, to find races.
        strict: whether undefined behaviour raises Violation.
        warnings: its warnings, once each, in order.
        observations: collects mistakes; None to stop at the first.
        is_running: whether a workgroup has begun.
        uninitialised: number of an instruction that read memory without a value -> description of that memory.
        recovery: decides how to go on after an instruction that could not be executed.
        index: number of the instruction that is being executed, for messages.
        constants: the contents of ``values`` when a workgroup begins.
        workgroup: number of the workgroup in x, y and z.
        workgroups: number of workgroups in x, y and z.
        steps: how many steps this dispatch has taken.
        callback: whether a function runs for elements, not for invocations (``call_for_elements``).
        element_accesses: accesses of that function, if it may write memory; otherwise None.
        wide_indexing: whether the entry point has 64-bit indexing.
    """

    def __init__(self, bound: int, settings: Settings) -> None:
        self.values: list[Value] = [None] * bound
        self.strict = settings.strict
        self.warnings: dict[str, None] = {}
        self.index = -1
        self.callback = False
        self.element_accesses: ElementAccesses | None = None
        self.wide_indexing = False
        self.constants: list[Value] = []
        self.workgroup = (0, 0, 0)
        self.workgroups = (1, 1, 1)
        self.steps = 0
        self._limits = settings.limits
        self._end = None if self._limits.seconds is None else process_time() + self._limits.seconds
        self._tolerated = settings.tolerated
        self._weight = 1
        self._is_quiet = False
        self.is_running = False
        self.observations = settings.observations
        self.uninitialised: dict[int, str] = {}
        self.recovery: Recovers | None = None
        self._take_phis = settings.faults.performing(take_phis)
        self.resize(1, 1)

    def resize(self, lanes: int, subgroup_size: int) -> None:
        """Set the number of invocations, and of invocations in a subgroup. Keep the values."""
        self.lanes = lanes
        self.subgroup_size = subgroup_size
        self.subgroups = -(-lanes // subgroup_size)
        self.everyone = np.ones(lanes, bool)
        self.mask: Mask = self.everyone
        self.helpers: Mask = ~self.everyone
        self.full = True
        self.clock = Clock(self.subgroups, subgroup_size, lanes)

    def _endless(self) -> DeviceTimeout:
        steps = self.steps > self._limits.steps
        limit = f"{self._limits.steps:,} steps" if steps else f"{self._limits.seconds:g} s of processor time"
        return DeviceTimeout(f"the kernel did not end within {limit}", step=Step.DISPATCH, spent=False)

    def begin_dispatch(self) -> None:
        """Begin a dispatch, in which nothing has been accessed yet."""
        self.clock.begin_dispatch()
        self.steps = 0

    def begin_workgroup(self, workgroup: tuple[int, int, int]) -> None:
        """Begin ``workgroup``. All of its invocations execute."""
        self.workgroup = workgroup
        self.is_running = True
        self.clock.begin_workgroup()
        self.values[:] = self.constants
        self.mask, self.full = self.everyone, True
        self.helpers = ~self.everyone

    def forbid(self, rule: str, text: str, where: Mask | None = None, severity: Severity | None = None, cause: str = "") -> None:
        """Report undefined behaviour.

        Args:
            rule: the broken rule.
            text: what happened.
            where: the invocations concerned; None if it is not about single ones. Ones that do not execute do not count.
            severity: None for the usual severity of the rule.
            cause: see ``Observation``.

        Raises:
            Violation: the machine is strict, does not collect mistakes, and does not tolerate the rule.
        """
        if self._is_quiet:
            return
        if self.observations is not None:
            invocation = None if where is None or self.callback or where.shape != self.mask.shape else first_invocation(where & self.mask)
            kind = severity or severity_of(rule)
            workgroup = self.workgroup if self.is_running else None
            self.observations.note(Observation(kind, rule, text, self.index, workgroup=workgroup, invocation=invocation, cause=cause))
        elif rule in self._tolerated:
            self.warnings[f"{text} [{rule}]"] = None
        elif self.strict:
            raise Violation(rule, text)

    def check_range(self, name: str, end: int) -> None:
        """Report an access to the buffer ``name`` that ends beyond the bytes that 32-bit indexing reaches.

        Raises:
            Violation: there is such an access, and the machine is strict.
        """
        if end > _NARROW_RANGE and not self.wide_indexing:
            self.forbid(
                "VUID-RuntimeSpirv-None-10834", f"an access ends at byte {end} of '{name}', beyond 32 bits, without 64-bit indexing"
            )

    def rely_on_robustness(self, rule: str, text: str, where: Mask | None = None) -> None:
        """Note an access that is defined only with robust access. The run continues."""
        if self.observations is not None:
            self.forbid(rule, text, where, Severity.ROBUSTNESS)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Report nothing within the block, because some of its values are never used."""
        outer, self._is_quiet = self._is_quiet, True
        try:
            yield
        finally:
            self._is_quiet = outer

    @contextmanager
    def only(self, mask: Mask) -> Iterator[None]:
        """Let only the invocations of ``mask`` execute within the block."""
        outer = self.mask, self.full
        self.mask, self.full = mask, bool(mask.all())
        try:
            yield
        finally:
            self.mask, self.full = outer

    def instances(self, scope: Scope) -> int:
        """Return how many instances of a scope the workgroup has."""
        return self.subgroups if scope is Scope.SUBGROUP else 1

    def active_instances(self, scope: Scope) -> np.ndarray | None:
        """Return the instances of a scope that execute, or None if all do.

        Raises:
            Violation: some invocations of an instance execute and others do not.
        """
        if self.callback:
            raise Unsupported("a whole cooperative matrix in a function that is called for elements")
        if self.full:
            return None
        by_instance = self.mask.reshape(self.instances(scope), -1)
        some, every = by_instance.any(axis=1), by_instance.all(axis=1)
        if not np.array_equal(some, every):
            instance = int(np.flatnonzero(some != every)[0])
            active = int(by_instance[instance].sum())
            raise Violation(
                "KHR-UNI-01",
                f"only {active} of {by_instance.shape[1]} invocations of {scope.name.lower()} {instance} execute this, not all together",
            )
        return None if every.all() else np.flatnonzero(every)

    def uniform(self, value: Value, scope: Scope, what: str, rule: str = "KHR-UNI-02") -> Value:
        """Return a scalar on which all invocations of an instance must agree: itself, or an array of shape (instances,).

        Raises:
            Violation: the scalar differs within an instance, which breaks ``rule``.
        """
        if not varies(value):
            return value
        by_instance = value.reshape(self.instances(scope), -1)
        first = by_instance[:, :1]
        different = by_instance != first
        different &= self.mask.reshape(by_instance.shape)
        if different.any():
            instance = int(np.flatnonzero(different.any(axis=1))[0])
            some = f"{first[instance, 0]} and {by_instance[instance][different[instance]][0]}"
            raise Violation(rule, f"{what} is not uniform within a {scope.name.lower()}: invocations have {some}")
        return first[:, 0]

    def call(self, function: Function, arguments: Sequence[Value]) -> Value:
        """Run a function with the invocations that execute now, and return its result.

        Raises:
            Violation: undefined behaviour.
            DeviceTimeout: the function does not end within the limits.
        """
        values = self.values
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            values[parameter] = argument
        for begin in function.begin:
            begin()
        # Pointers of an earlier call may point to other variables, but no invocation uses them any more.
        for pointer in function.pointers:
            values[pointer] = None
        caller = self.mask, self.full
        returned: Value = None
        pending: dict[int, list[tuple[int, Mask]]] = {}
        doubtful: dict[int, Mask] = {}
        by_order: dict[int, Block] = {}
        block, arrivals = function.blocks[function.entry], [(0, self.mask)]
        while True:
            self.steps += block.cost * self._weight
            if self.steps > self._limits.steps or (self._end is not None and process_time() > self._end):
                raise self._endless()
            if block.phis:
                self._take_phis(self, block.phis, arrivals)
            if doubtful and block.order in doubtful and self.recovery is not None:
                self.recovery.doubt(block.phis, doubtful.pop(block.order))
            self.execute(block)
            self.index = block.end_index
            end = block.end
            if isinstance(end, Branch):
                try:
                    ways = self.ways(end)
                except UndefinedUse as error:
                    if self.recovery is None:
                        raise
                    detour = self.recovery.branch(error, function, block)
                    if detour is None:
                        ways = self.ways(end)
                    else:
                        order, ways = function.blocks[detour.merge].order, []
                        pending.setdefault(order, []).extend(detour.arrivals)
                        doubtful[order] = detour.doubtful | doubtful.get(order, False)
            elif isinstance(end, Return):
                if end.value:
                    value = values[end.value]
                    returned = value if returned is None else blend(function.result, self.mask, value, returned)
                ways = []
            else:
                self.forbid("SPIR-V 3.42.17 OpUnreachable", "an invocation reaches OpUnreachable", self.mask)
                ways = []
            if len(ways) == 1 and not pending:
                label, mask = ways[0]
                arrivals, block = [(block.label, mask)], function.blocks[label]
                continue
            for label, mask in ways:
                pending.setdefault(function.blocks[label].order, []).append((block.label, mask))
            if not pending:
                break
            first = min(pending)
            by_order = by_order or {one.order: one for one in function.blocks.values()}
            block, arrivals = by_order[first], pending.pop(first)
            mask = arrivals[0][1]
            for _, other in arrivals[1:]:
                mask = mask | other
            self.mask, self.full = mask, bool(mask.all())
        self.mask, self.full = caller
        return None if isinstance(function.result, Void) else returned

    def call_for_elements(self, function: Function, arguments: Sequence[Value], groups: np.ndarray, may_write: bool = False) -> Value:
        """Run a function once for each of ``groups.size`` elements, which are the lanes while it runs.

        Args:
            function: the function. Neither it nor a function that it calls may have values of other lanes.
            arguments: scalars, or arrays of shape (elements,).
            groups: for each element, its subgroup + 1; 0 for the whole workgroup. Any invocation of that group may make the call,
                so records of memory accesses name no single invocation.
            may_write: whether the function may write memory; see ElementAccesses.

        Raises:
            Violation: undefined behaviour.
            DeviceTimeout: the function does not end within the limits.
        """
        caller = self.lanes, self.everyone, self.mask, self.full, self._weight
        self.lanes, self.everyone = groups.size, np.ones(groups.size, bool)
        self.mask, self.full, self.callback = self.everyone, True, True
        self.element_accesses = ElementAccesses(self.forbid) if may_write else None
        self._weight = 1 + groups.size // ELEMENTS_A_STEP
        try:
            with self.clock.on_behalf_of(groups):
                return self.call(function, arguments)
        finally:
            self.lanes, self.everyone, self.mask, self.full, self._weight = caller
            self.callback = False
            self.element_accesses = None

    def execute(self, block: Block) -> None:
        """Execute the instructions of a block, without its phis and its terminator."""
        values, entries = self.values, iter(block.entries)
        while True:
            try:
                if self.full:
                    for result, run, self.index, type_ in entries:  # noqa: B007 (recovery uses type_)
                        values[result] = run()
                else:
                    for result, run, self.index, type_ in entries:
                        new = run()
                        if result:
                            values[result] = blend(type_, self.mask, new, values[result])
                return
            except (UndefinedUse, Violation) as error:
                if self.recovery is None:
                    raise
                new = self.recovery.after(error, run, type_)
                if result:
                    values[result] = new if self.full else blend(type_, self.mask, new, values[result])

    def ways(self, end: Branch) -> list[tuple[int, Mask]]:
        """Return the labels that the invocations go to, each with its mask."""
        if not end.condition:
            return [(end.targets[0], self.mask)]
        condition = settle(self.values[end.condition], self.mask)
        if end.literals is None:
            yes, no = end.targets
            if not varies(condition):
                return [(yes if condition else no, self.mask)]
            return self._split([(yes, self.mask & condition), (no, self.mask & ~condition)])
        if not varies(condition):
            index = end.literals.index(condition) + 1 if condition in end.literals else 0
            return [(end.targets[index], self.mask)]
        rest: Mask = self.mask
        ways: dict[int, Mask] = {}
        for literal, target in zip(end.literals, end.targets[1:], strict=True):
            taken = self.mask & (condition == literal)
            rest = rest & ~taken
            ways[target] = ways[target] | taken if target in ways else taken
        ways[end.targets[0]] = ways[end.targets[0]] | rest if end.targets[0] in ways else rest
        return self._split(list(ways.items()))

    def _split(self, ways: list[tuple[int, Mask]]) -> list[tuple[int, Mask]]:
        ways = [way for way in ways if np.count_nonzero(way[1])]
        if len(ways) == 1:
            return [(ways[0][0], self.mask)]
        return ways


@replaceable
def take_phis(machine: Machine, phis: Sequence[Phi], arrivals: Sequence[tuple[int, Mask]]) -> None:
    """Set the values of a block's phis. Read all of their sources before changing any value.

    Args:
        machine: the workgroup.
        phis: the block's phis.
        arrivals: labels of predecessors, each with the mask of the invocations that come from it.
    """
    values = machine.values
    chosen: list[Any] = []
    for phi in phis:
        value = values[phi.sources[arrivals[0][0]]]
        for label, mask in arrivals[1:]:
            value = blend(phi.type, mask, values[phi.sources[label]], value)
        chosen.append(settle(value, machine.mask))
    for phi, value in zip(phis, chosen, strict=True):
        values[phi.result] = value if machine.full else blend(phi.type, machine.mask, value, values[phi.result])
