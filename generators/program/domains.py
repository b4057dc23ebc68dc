"""Domains: the invocations among which a value is uniform, and the domains that operations demand of their operands.

An operation derives the domain of its results. The domain of a result is the narrowest among its operands, the region in which it is
computed, and the condition that decides whether it is computed.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence

from generators.errors import GeneratorError
from generators.program.array_conversion import ConstructCoopMat, ExtractCoopMat
from generators.program.arrays import ArrayLoad, AtomicAdd
from generators.program.composites import CompositeExtract, CompositeInsert, CopyMemory
from generators.program.control_flow import Branch, Exit, Loop, Merged, PerInvocation, Stated, Switch
from generators.program.cooperative_vectors import CooperativeVectorLoad
from generators.program.elements import MatrixCoordinate, MatrixLength
from generators.program.functions import Call
from generators.program.operation import InvocationOperation, Operation, VectorOperation
from generators.program.program import Program
from generators.program.scalars import BuiltInName, BuiltInScalar, InstanceIndex
from generators.program.subgroup_operations import BallotCount, BallotFind, SubgroupOperation
from generators.program.values import is_aggregate, is_cooperative_vector, is_matrix, is_scalar
from generators.program.variables import Variable, VariableLoad, VariableStore, holds_matrix, leads_to_component
from generators.program.walking import names_read, regions, results
from generators.types import Scope, StorageClass


class Domain(enum.IntEnum):
    """The invocations among which a value is uniform, the widest group first."""

    DISPATCH = 0
    WORKGROUP = 1
    SUBGROUP = 2
    INVOCATION = 3


_SCOPES = {Scope.WORKGROUP: Domain.WORKGROUP, Scope.SUBGROUP: Domain.SUBGROUP}

_BUILT_INS: Mapping[BuiltInName, Domain] = {
    "workgroup": Domain.WORKGROUP,
    "workgroup_y": Domain.WORKGROUP,
    "workgroup_z": Domain.WORKGROUP,
    "workgroups_x": Domain.DISPATCH,
    "workgroups_y": Domain.DISPATCH,
    "workgroup_invocations": Domain.DISPATCH,
    "local_invocation": Domain.INVOCATION,
    "subgroup": Domain.SUBGROUP,
    "subgroups": Domain.DISPATCH,
    "subgroup_size": Domain.DISPATCH,
    "subgroup_invocation": Domain.INVOCATION,
    "draw_invocation": Domain.INVOCATION,
}


def check_domains(program: Program) -> Mapping[str, Domain]:
    """Return the domains of the program's values, by name.

    Raises:
        GeneratorError: an operation of a whole scope instance has an operand that differs among its invocations, or only some invocations
            execute it (KHR-UNI-01); or an operation with cooperative vectors is not code of single invocations (CV-CTRL-01).
    """
    checker = _Checker(_SCOPES[program.scope])
    checker.run(program.operations, Domain.DISPATCH)
    return checker.domains


class _Checker:
    """Derives domains in program order.

    Attributes:
        widest: the narrowest domain that operations with matrices accept.
        alone: whether the operations are code that each invocation runs for itself.
        own: names of variables that hold a different value for each invocation.
    """

    def __init__(self, scope: Domain) -> None:
        self.scope = scope
        self.domains: dict[str, Domain] = {}
        self.alone = False
        self.own: set[str] = set()

    def of(self, names: Iterable[str]) -> Domain:
        """Return the domain of a result that depends on values."""
        return max((self.domains.get(name, Domain.DISPATCH) for name in names), default=Domain.DISPATCH)

    def run(self, operations: Sequence[Operation], around: Domain) -> None:
        """Derive the domains of results; ``around`` is the domain of the conditions that decide whether the operations are executed."""
        for operation in operations:
            self._step(operation, around)

    def _step(self, operation: Operation, around: Domain) -> None:
        match operation:
            case PerInvocation():
                self._demand(operation, around, "run")
                self.alone = True
                self.run(operation.body, around)
                self.alone = False
            case VectorOperation():
                if not self.alone:
                    raise GeneratorError(
                        "CV-CTRL-01",
                        f"{type(operation).__name__} is executed by single invocations: put it inside "
                        "ProgramBuilder.per_invocation (CV-CTRL-01)",
                    )
                self._define(operation, max(around, self.of(names_read(operation)), self._memory(operation)))
            case VariableLoad() | VariableStore() if leads_to_component(operation.variable.type, operation.path):
                self._define(operation, Domain.INVOCATION)
            case VariableLoad() | VariableStore() | CopyMemory() if self.alone and not holds_matrix(_target(operation).type):
                self._variable(operation, around)
            case CompositeExtract() if is_matrix(operation.composite):
                self._demand(operation, around, "take the same matrix")
                self._define(operation, Domain.INVOCATION)
            case CompositeInsert() if is_matrix(operation.composite):
                self._demand(operation, around, "make the same matrix")
                self._define(operation, self.scope)
            case ConstructCoopMat() | ExtractCoopMat():
                self._convert(operation, around)
            case InstanceIndex() | MatrixLength():
                self._define(operation, self.scope)
            case Stated():
                self._inside(operation, around)
            case AtomicAdd() | MatrixCoordinate():
                self._define(operation, Domain.INVOCATION)
            case BuiltInScalar():
                self._define(operation, _BUILT_INS[operation.which])
            case SubgroupOperation():
                ballot = self.of([operation.ballot.name]) if isinstance(operation, BallotCount | BallotFind) else around
                self._define(operation, max(around, ballot, Domain.SUBGROUP) if operation.is_uniform else Domain.INVOCATION)
            case Loop():
                self._loop(operation, around)
            case Branch() | Switch() | Exit():
                self._decide(operation, around)
            case Call():
                self._define(operation, max(around, self.of(names_read(operation))))
            case InvocationOperation():
                self._define(operation, max(around, self.of(names_read(operation)), self._memory(operation)))
            case _:
                self._demand(operation, max(around, self.of(names_read(operation, inside=False))), "have equal operands")
                self._define(operation, self.scope)
                self._inside(operation, around)

    def _convert(self, operation: ConstructCoopMat | ExtractCoopMat, around: Domain) -> None:
        """Derive the domain of a conversion between arrays of single invocations and a matrix, which the subgroup executes together
        (QC-UNI-01)."""
        if self.alone:
            raise GeneratorError(
                "QC-UNI-01",
                f"{type(operation).__name__} is executed by a whole subgroup: put it outside ProgramBuilder.per_invocation (QC-UNI-01)",
            )
        self._demand(operation, around, "run")
        self._define(operation, self.scope if isinstance(operation, ConstructCoopMat) else Domain.INVOCATION)

    def _define(self, operation: Operation, domain: Domain) -> None:
        for value in results(operation):
            self.domains[value.name] = domain

    def _variable(self, operation: VariableLoad | VariableStore | CopyMemory, around: Domain) -> None:
        """Derive the domain of a loaded variable: a variable differs between invocations after a value that differs has been stored to
        it."""
        domain = max(around, self.of(names_read(operation)))
        source = operation.source if isinstance(operation, CopyMemory) else _target(operation)
        if source.name in self.own:
            domain = Domain.INVOCATION
        if isinstance(operation, VariableLoad):
            self._define(operation, max(domain, self.scope))
        elif domain > self.scope:
            self.own.add(_target(operation).name)

    def _memory(self, operation: Operation) -> Domain:
        """Return the domain of the memory that an operation reads."""
        if isinstance(operation, ArrayLoad | CooperativeVectorLoad) and operation.array.storage is StorageClass.WORKGROUP:
            return Domain.WORKGROUP
        return Domain.DISPATCH

    def _inside(self, operation: Operation, around: Domain) -> None:
        for body in regions(operation):
            self.run(body, around)

    def _demand(self, operation: Operation, found: Domain, what: str) -> None:
        if found > self.scope:
            raise GeneratorError(
                "KHR-UNI-01",
                f"{type(operation).__name__} must {what} in all invocations of its scope instance, but depends on "
                "values of single invocations (KHR-UNI-01)",
            )

    def _decide(self, operation: Branch | Switch | Exit, around: Domain) -> None:
        decision = operation.selector.name if isinstance(operation, Switch) else None
        names = [decision] if decision is not None else _names((operation.condition.left, operation.condition.right))  # type: ignore[union-attr]
        domain = max(around, self.of(names))
        self._inside(operation, domain)
        merged: Sequence[Merged] = getattr(operation, "merged", ())
        for one in merged:
            sources = self.of(source.name for source in one.sources)
            self.domains[one.result.name] = max(domain, sources)
            if is_matrix(one.result):
                self._demand(operation, domain, "choose the same matrix")

    def _loop(self, loop: Loop, around: Domain) -> None:
        domain = max(around, self.of(_names((loop.limit, loop.start, loop.step))))
        self.domains[loop.index.name] = domain
        scalars = [one for one in loop.carried if _is_own(one.current)]
        for one in scalars:
            self.domains[one.current.name] = max(domain, self.of([one.initial.name]))
        while True:
            before = len(self.own)
            self.run(loop.body, domain)
            own = len(self.own)
            after = {one.current.name: max(self.domains[one.current.name], self.of([one.next.name])) for one in scalars}
            if all(self.domains[name] is found for name, found in after.items()) and own == before:
                return
            self.domains.update(after)


def _target(operation: VariableLoad | VariableStore | CopyMemory) -> Variable:
    return operation.target if isinstance(operation, CopyMemory) else operation.variable


def _is_own(value: object) -> bool:
    """Tell whether a value may differ between invocations."""
    return is_scalar(value) or is_cooperative_vector(value) or is_aggregate(value)


def _names(values: Iterable[object]) -> list[str]:
    return [value.name for value in values if is_scalar(value)]
