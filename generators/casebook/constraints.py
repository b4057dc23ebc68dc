"""Constraints between parameters, decided on partial cases.

An assignment is a list with the number of a label for each parameter, or UNASSIGNED. A constraint looks at it and answers ALLOWED,
FORBIDDEN, or the parameter that it needs to know next. That is enough to enumerate the allowed cases without visiting the others,
and to tell whether a partial case can be completed at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Protocol

from generators.errors import CasebookError

UNASSIGNED = -1
ALLOWED = -1
FORBIDDEN = -2

Assignment = list[int]
Row = tuple[int, ...]


class Constraint(Protocol):
    """A rule on the parameters of a family."""

    @property
    def because(self) -> str:
        """Why the rule exists."""
        ...

    def decide(self, assignment: Assignment) -> int:
        """Return ALLOWED, FORBIDDEN, or the number of the parameter that it needs next."""
        ...


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Forbids the cases that have one of the named labels on every named parameter.

    Attributes:
        labels: (parameter, labels), both by number.
    """

    labels: tuple[tuple[int, frozenset[int]], ...]
    because: str

    def decide(self, assignment: Assignment) -> int:
        needed = FORBIDDEN
        for parameter, labels in self.labels:
            label = assignment[parameter]
            if label == UNASSIGNED:
                needed = parameter
            elif label not in labels:
                return ALLOWED
        return needed


class _Needed(BaseException):
    """A predicate asked for a parameter that has no value yet. Not an Exception, so no predicate catches it by accident."""

    def __init__(self, parameter: int) -> None:
        self.parameter = parameter


class _Observed(Mapping[str, Any]):
    """The values of an assignment. It records which parameters are read, in order."""

    def __init__(self, predicate: Predicate, assignment: Assignment) -> None:
        self._predicate = predicate
        self._assignment = assignment
        self.read: dict[int, None] = {}

    def __getitem__(self, name: str) -> Any:
        parameter = self._predicate.numbers[name]
        label = self._assignment[parameter]
        if label == UNASSIGNED:
            raise _Needed(parameter)
        self.read[parameter] = None
        return self._predicate.values[parameter][label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._predicate.numbers)

    def __len__(self) -> int:
        return len(self._predicate.numbers)


@dataclass(slots=True)
class _Question:
    """A node of a predicate's decision tree: the parameter to ask for, and the next node for each label."""

    parameter: int
    answers: dict[int, _Question | bool] = field(default_factory=dict)


@dataclass(slots=True)
class Predicate:
    """Forbids the cases for which a function of the values is false.

    The function must depend on nothing but the values that it reads. A decision tree keeps the values that it read and its answers, so it
    runs once for each combination of the values that matter to it.

    Attributes:
        name: its name, for messages.
        function: gets the object that ``view`` makes of the values.
        numbers: parameter name -> number.
        values: the values by parameter and label number.
        place: file, line and key, for messages; may be empty.
        view: makes the function's argument from the values by name.
    """

    name: str
    because: str
    function: Callable[[Any], bool]
    numbers: Mapping[str, int]
    values: Sequence[Sequence[Any]]
    place: str = ""
    view: Callable[[Mapping[str, Any]], Any] = lambda values: values
    _root: dict[int, _Question | bool] = field(default_factory=dict)

    def afresh(self) -> Predicate:
        """Return a copy of the predicate with its own empty decision tree."""
        return replace(self, _root={})

    def decide(self, assignment: Assignment) -> int:
        answers, answer = self._root, 0
        while True:
            node = answers.get(answer)
            if node is None:
                return self._ask(assignment)
            if node is True:
                return ALLOWED
            if node is False:
                return FORBIDDEN
            answer = assignment[node.parameter]
            if answer == UNASSIGNED:
                return node.parameter
            answers = node.answers

    def _ask(self, assignment: Assignment) -> int:
        observed = _Observed(self, assignment)
        leaf: bool | _Question
        try:
            leaf = bool(self.function(self.view(observed)))
        except _Needed as needed:
            leaf = _Question(needed.parameter)
        except Exception as error:
            values = ", ".join(
                f"{name}={observed[name]!r}" for name, parameter in self.numbers.items() if assignment[parameter] != UNASSIGNED
            )
            problem = f"{type(error).__name__}: {error}"
            place = f"{self.place}: " if self.place else ""
            raise CasebookError(f"{place}predicate '{self.name}' cannot judge {values}: {problem}; it may read only parameters") from error
        answers, answer = self._root, 0
        for parameter in observed.read:
            node = answers.setdefault(answer, _Question(parameter))
            assert isinstance(node, _Question)
            answers, answer = node.answers, assignment[parameter]
        answers[answer] = leaf
        return leaf.parameter if isinstance(leaf, _Question) else (ALLOWED if leaf else FORBIDDEN)


def for_one_case(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Return copies of the constraints for questions about one case: the decision trees of the originals do not grow with each judged
    case."""
    return [rule.afresh() if isinstance(rule, Predicate) else rule for rule in constraints]


Choices = Sequence[Sequence[int]]
"""For each parameter, the numbers of the labels to choose from; empty for a parameter that stays unassigned."""


def _pending(constraints: Sequence[Constraint], assignment: Assignment, choices: Choices) -> list[tuple[int, Constraint]] | None:
    """Return the constraints that are still open, each with the parameter that it needs; None if one is violated."""
    pending = []
    for constraint in constraints:
        needed = constraint.decide(assignment)
        if needed == FORBIDDEN:
            return None
        if needed >= 0 and choices[needed]:
            pending.append((needed, constraint))
    return pending


def rows(constraints: Sequence[Constraint], choices: Choices, assignment: Assignment | None = None) -> list[Row]:
    """Return every allowed row, in lexicographic order of ``choices``.

    Args:
        constraints: a constraint that asks for a parameter without choices is left undecided.
        choices: the labels to enumerate.
        assignment: parameters assigned beforehand, which have no choices.
    """
    found: list[Row] = []
    current = [UNASSIGNED] * len(choices) if assignment is None else list(assignment)
    free = [parameter for parameter, labels in enumerate(choices) if len(labels) > 1]
    for parameter, labels in enumerate(choices):
        if len(labels) == 1:
            current[parameter] = labels[0]
    opening = _pending(constraints, current, choices)
    if opening is None:
        return found
    waiting: dict[int, tuple[Constraint, ...]] = {}
    for parameter, constraint in opening:
        waiting[parameter] = (*waiting.get(parameter, ()), constraint)

    def descend(depth: int, waiting: dict[int, tuple[Constraint, ...]]) -> None:
        if depth == len(free):
            found.append(tuple(current))
            return
        parameter = free[depth]
        if not waiting:
            tails = [choices[a] if len(choices[a]) > 1 else (current[a],) for a in range(parameter, len(choices))]
            head = tuple(current[:parameter])
            found.extend(head + tail for tail in product(*tails))
            return
        here = waiting.get(parameter)
        for label in choices[parameter]:
            current[parameter] = label
            if here is None:
                descend(depth + 1, waiting)
                continue
            later = {a: constraints for a, constraints in waiting.items() if a != parameter}
            for constraint in here:
                needed = constraint.decide(current)
                if needed == FORBIDDEN:
                    break
                if needed >= 0 and choices[needed]:
                    later[needed] = (*later.get(needed, ()), constraint)
            else:
                descend(depth + 1, later)
        current[parameter] = UNASSIGNED

    descend(0, waiting)
    return found


def _is_idle(constraint: Constraint, choices: Choices) -> bool:
    """Tell whether the constraint forbids nothing because it names, for one of its parameters, only labels that the choices lack."""
    return isinstance(constraint, Exclusion) and any(
        choices[parameter] and labels.isdisjoint(choices[parameter]) for parameter, labels in constraint.labels
    )


class Completion:
    """Tells whether partial rows can be completed within ``choices``."""

    def __init__(self, constraints: Sequence[Constraint], choices: Choices) -> None:
        self._choices = choices
        known = [labels[0] if len(labels) == 1 else UNASSIGNED for labels in choices]
        # Most constraints of a family do not concern the labels of one product
        self._constraints = [rule for rule in constraints if rule.decide(known) != ALLOWED and not _is_idle(rule, choices)]
        self._known: dict[Row, bool] = {}

    def possible(self, assignment: Assignment) -> bool:
        """Tell whether some allowed row contains ``assignment``."""
        key = tuple(assignment)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._search(list(assignment), self._constraints)
        return known

    def _search(self, assignment: Assignment, constraints: Sequence[Constraint]) -> bool:
        pending = _pending(constraints, assignment, self._choices)
        if pending is None:
            return False
        if not pending:
            return True
        parameter = pending[0][0]
        open_ = [constraint for _, constraint in pending]
        for label in self._choices[parameter]:
            assignment[parameter] = label
            if self._search(assignment, open_):
                return True
        assignment[parameter] = UNASSIGNED
        return False
