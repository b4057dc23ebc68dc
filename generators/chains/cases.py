"""The parameters that families of chains share, the beginning of a program, and data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from generators.chains import tiles as chain_tiles
from generators.chains.decisions import U32, Decisions
from generators.chains.functions import PointerWriter, Storage
from generators.chains.tiles import ChainWriter
from generators.operands.run_time import from_host
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import layouts_of
from generators.program.builder import ProgramBuilder
from generators.program.operation import Hint
from generators.program.program import Built, Program, Subcase
from generators.program.values import ScalarValue
from generators.types import ComponentType, Layout, StorageClass

DecidingSource = Literal["push_constant", "buffer", "literal", "specialization", "workgroup", "subgroup"]
"""Sources of the deciding number: an operand, or the index of the workgroup or the subgroup."""


@dataclass(frozen=True, kw_only=True)
class ChainParameters(OneRow):
    """The parameters of a case whose program is a chain of multiply-adds that depends on a number n."""

    workgroups: int = parameter("workgroups of the dispatch", default=1)
    source: DecidingSource = parameter("where n comes from", default="push_constant")
    layouts: tuple[Layout, ...] = parameter("the layouts of A, B, C and Result", default="rrrr", decode=layouts_of(4))

    @property
    def n_decides(self) -> bool:
        """Tell whether n decides something."""
        return True

    @property
    def n_comes_at_run_time(self) -> bool:
        """Tell whether n comes from the subcase at run time."""
        return self.source in ("push_constant", "buffer")


@dataclass(frozen=True, kw_only=True)
class NumberParameters:
    """The parameters of a subcase that supplies n."""

    number: int = parameter(
        "n, if it is supplied at run time", default=3, applies=lambda parameters: parameters.n_decides and parameters.n_comes_at_run_time
    )


@dataclass(frozen=True)
class Form:
    """A form of control flow.

    Attributes:
        write: writes the chain.
        largest: the largest n of a form that runs n times; None for other forms.
        compares: whether a relation decides.
        hinted: whether an instruction takes a hint.
    """

    write: Callable[[ChainWriter, Decisions], None]
    largest: int | None = None
    compares: bool = True
    hinted: bool = True


@dataclass(frozen=True)
class CallForm:
    """A form of functions, calls and variables.

    Attributes:
        write: writes the chain.
        decides: whether n decides something.
        any_storage: whether the variables that pointers point to can be of any storage class; if not, the form fixes their class.
    """

    write: Callable[[PointerWriter], None]
    decides: bool = False
    any_storage: bool = True


@dataclass(frozen=True, kw_only=True)
class CallParameters(ChainParameters):
    """The parameters of a case of functions and calls; families declare which forms there are."""

    form: CallForm
    source: DecidingSource = parameter("where n comes from", default="push_constant", applies=lambda parameters: parameters.form.decides)
    control: Hint = parameter("the function control, for or against inlining", default="none")

    @property
    def n_decides(self) -> bool:
        """Tell whether n decides something."""
        return self.form.decides


def build_calls(parameters: CallParameters, storage: Storage = "function") -> Built:
    """Build a case of functions and calls: its program, and data that differ in every tile."""
    case = begin(parameters)
    parameters.form.write(PointerWriter(case.writer, Decisions(case.writer, case.n, "less", "none"), parameters.control, storage))
    return case.finish(lambda subcase: subcase.number)


ROW_FITS: Mapping[str, Callable[[ChainParameters], bool]] = MappingProxyType(
    {"row_fits": lambda parameters: chain_tiles.fits(parameters.row)}
)
"""The predicate that these families share."""


@dataclass(frozen=True)
class Decider:
    """The deciding number, unless it is a built-in.

    Attributes:
        component: its type.
        value: its value, if the program has it as a literal or a specialization constant.
        default: the default of the specialization constant, in the module.
    """

    component: ComponentType = U32
    value: int = 3
    default: int = 1


@dataclass(frozen=True)
class ChainCase:
    """A case whose program is under construction.

    Attributes:
        builder: the builder of the program.
        writer: writes the chain.
        n: the deciding number.
    """

    builder: ProgramBuilder
    writer: ChainWriter
    n: ScalarValue

    def finish(self, number: Callable[[Any], int]) -> Built:
        """Finish the program. Its subcases have data that differ in every tile.

        Args:
            number: returns n from the parameters of a subcase, if n comes at run time.
        """

        def draw(name: str, parameters: Any, program: Program, rng: np.random.Generator) -> Subcase:
            operands = {operand.name: number(parameters) for operand in from_host(program)}
            return Subcase(name, self.writer.inputs(rng), operands)

        return Built(self.builder.build(), draw)


def begin(parameters: ChainParameters, n: Decider = Decider(), storage: StorageClass = StorageClass.STORAGE_BUFFER) -> ChainCase:
    """Begin the program of a case: its arrays, which are in ``storage``, and the deciding number."""
    scope, source = parameters.scope, parameters.source
    builder = ProgramBuilder(scope, subgroups=parameters.subgroups, workgroups=parameters.workgroups)
    match source:
        case "workgroup" | "subgroup":
            number: ScalarValue = builder.built_in(f"{source}_index", source)
        case _:
            number = builder.operand("n", n.component, source, n.value, n.default)
    layouts = dict(zip("abcd", parameters.layouts, strict=True))
    return ChainCase(builder, ChainWriter(parameters.row, builder, scope, layouts, storage), number)
