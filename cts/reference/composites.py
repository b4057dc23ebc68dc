"""Arrays, structs and cooperative vectors as values: a part has one place, and a change does not affect the other parts or the original
(KHR-TYPE-06, CV-COMP-01)."""

from __future__ import annotations

from cts.reference.state import State, evaluates
from cts.reference.trees import Tree, is_defined
from cts.reference.values import MatrixValue
from cts.reference.variables import changed, define, indices, part, value_of, whole
from cts.reference.vector_moves import kept
from generators.errors import GeneratorError, Rule
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.program.values import AnyValue, is_cooperative_vector


@evaluates(CompositeConstruct)
def construct(state: State, operation: CompositeConstruct) -> None:
    """Build a composite of the parts in their order."""
    parts = tuple(value_of(state, one) for one in operation.parts)
    made = whole(operation.result.type, parts)
    assert made is not None, "values are defined"
    define(state, operation.result.name, _kept(state, operation.result, made))


@evaluates(CompositeExtract)
def extract(state: State, operation: CompositeExtract) -> None:
    """Extract the part that the path leads to.

    Raises:
        GeneratorError: it is undefined, or a component of it is.
    """
    found = part(value_of(state, operation.composite), indices(state, operation.composite.type, operation.path))
    if found is None or not is_defined(found):
        what = f"{operation.result.name} of {operation.composite.name} is undefined in some invocations"
        raise GeneratorError("QC-CX-03", f"{what}; extract only parts that are defined in all of them (QC-CX-03)")
    define(state, operation.result.name, found)


@evaluates(CompositeInsert)
def insert(state: State, operation: CompositeInsert) -> None:
    """Insert another part into the composite."""
    composite, new = value_of(state, operation.composite), value_of(state, operation.part)
    path = indices(state, operation.composite.type, operation.path)
    made = changed(operation.composite.type, composite, path, new)
    complete = whole(operation.result.type, made) if is_defined(made) else made
    assert complete is not None, "the result has parts"
    define(state, operation.result.name, _kept(state, operation.result, complete))


def _kept(state: State, result: AnyValue, made: Tree) -> Tree:
    """Return a composite made from parts. A cooperative vector has their bits; an aggregate keeps the parts unchanged."""
    return kept(state, made) if is_cooperative_vector(result) and isinstance(made, MatrixValue) else made


@evaluates(CopyObject)
def copy_object(state: State, operation: CopyObject) -> None:
    """Copy the value."""
    define(state, operation.result.name, value_of(state, operation.value))


@evaluates(CopyMemory)
def copy_memory(state: State, operation: CopyMemory) -> None:
    """Raise GeneratorError if the source has not been written."""
    source, target = operation.source, operation.target
    found = part(state.variables.get(source.name), indices(state, source.type, operation.source_path))
    if found is None or not is_defined(found):
        raise GeneratorError(
            Rule.UNINITIALIZED, f"variable {source.name} is copied before it is written; first store to every part that is copied"
        )
    path = indices(state, target.type, operation.target_path)
    state.set_variable(target.name, changed(target.type, state.variables.get(target.name), path, found))
