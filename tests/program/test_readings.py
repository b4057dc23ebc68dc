"""Each reading has one function for each operation of the language, in the module that has the name of the operation's module."""

from __future__ import annotations

import typing
from dataclasses import dataclass

import pytest

from cts.reference.evaluate import evaluate
from cts.reference.state import evaluates
from generators.errors import GeneratorError, Rule
from generators.glsl.emit import emit as print_glsl
from generators.glsl.shader import prints
from generators.program.callbacks import Reduce
from generators.program.operation import Effect, Operation
from generators.program.program import Program, Subcase
from generators.program.reading import NoEntry, Reading, language, module_name
from generators.spirv.emit import emit
from generators.spirv.shader import emits
from generators.types import Scope

READINGS = {"spirv": emits, "glsl": prints, "reference": evaluates}


def is_read(reading: str, kind: type[Operation]) -> bool:
    """Return whether the reading has a function for the class: no shader has effects, but the code that has them."""
    return reading == "reference" or not issubclass(kind, Effect)


@dataclass(frozen=True)
class Unheard(Operation):
    pass


PROGRAM = Program((), (), (Unheard(),), Scope.SUBGROUP)


def test_the_language_has_operations_and_effects():
    effects = {kind.__name__ for kind in language() if issubclass(kind, Effect)}
    assert {"Copied", "TileCopied", "VectorComponentsStored"} <= effects
    assert {"Reduce", "Loop", "SubgroupVote"} <= {kind.__name__ for kind in language()} - effects
    assert len(language()) > 90


@pytest.mark.parametrize("kind", language(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", READINGS)
def test_each_operation_has_a_function_in_the_module_of_its_name(name, kind):
    reading = READINGS[name]
    if not is_read(name, kind):
        with pytest.raises(NoEntry):
            reading.function(kind)
        return
    function = reading.function(kind)
    assert function.__module__ == f"{reading.package}.{module_name(kind)}"
    _, operation, *_ = typing.get_type_hints(function).values()
    assert kind in (typing.get_args(operation) or (operation,))


@pytest.mark.parametrize(
    ("read", "package"),
    [
        (emit, "generators.spirv"),
        (print_glsl, "generators.glsl"),
        (lambda program: evaluate(program, Subcase("one", {})), "cts.reference"),
    ],
    ids=READINGS,
)
def test_a_reading_without_the_operation_names_its_package(read, package):
    with pytest.raises(NoEntry) as caught:
        read(PROGRAM)
    assert (caught.value.operation, caught.value.package) == ("Unheard", package)


def test_no_operation_has_two_functions():
    reading = Reading[list[str]]("generators.spirv")
    reading(Reduce)(lambda found, _: found.append("first"))
    with pytest.raises(GeneratorError) as caught:
        reading(Reduce)(lambda found, _: found.append("second"))
    assert caught.value.rule == Rule.TWO_ENTRIES


def test_an_error_inside_a_module_of_a_reading_is_not_a_missing_function(monkeypatch):
    def broken(name: str) -> None:
        raise ModuleNotFoundError(name="numpy.absent")

    monkeypatch.setattr("generators.program.reading.import_module", broken)
    with pytest.raises(ModuleNotFoundError):
        Reading[None]("generators.spirv").function(Reduce)
