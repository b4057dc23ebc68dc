"""The operations of the suite on the cases of one kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cts.front_ends import FrontEnd
from cts.verdict.codes import Reason
from cts.verdict.effort import Effort
from cts.verdict.failure import Failure
from cts.verdict.verdict import Verdict
from generators.casebook import Case

Json = dict[str, Any]


class Stopwatch:
    """Seconds by step.

    Attributes:
        unfinished: the step whose block last raised; empty if none did.
    """

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.steps: dict[str, float] = {}
        self.unfinished = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the time of the block to ``name``, even if it raises."""
        begin = time.perf_counter()
        try:
            yield
        except BaseException:
            self.unfinished = self.unfinished or name
            raise
        finally:
            self.steps[name] = self.steps.get(name, 0.0) + time.perf_counter() - begin

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.start


@dataclass(frozen=True)
class Judgement:
    """The part of a result that judging decides.

    Attributes:
        verdict, code, reason, message, subcases, policy: as in CaseResult.
        failures: what is not permitted; of a quality warning, what is permitted and not expected.
    """

    verdict: Verdict
    code: str = ""
    reason: str = ""
    message: str = ""
    subcases: int = 0
    policy: str = ""
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Kind:
    """The functions of one kind of case. Each of them is given cases of that kind alone.

    Attributes:
        judged_by: the protocol of what can judge such cases.
        unjudged: why another does not, with ``{name}`` for its name.
        judge: has one that can judge a case do so, and explains a failure with some effort. Raises DeviceFailure where it fails, and
            anything else where we do.
        digests: of the case's module, its inputs and what is expected, as the columns of ``golden/tiers`` have them; ``-`` for what a
            case of this kind does not have.
        show: what ``cts show`` knows of a case beyond its id, values and requirements; the second argument has any of ``glsl``,
            ``spirv``, ``inputs`` and ``expected`` that were asked for.
        lines: what ``show`` gave as lines of text.
        reproduce: writes the folder of ``cts repro``. Raises CtsError where it cannot.
    """

    judged_by: type[Any]
    unjudged: str
    judge: Callable[[Case, Any, FrontEnd, Stopwatch, Effort], Judgement]
    digests: Callable[[Case], tuple[str, str, str]]
    show: Callable[[Case, Collection[str]], Json]
    lines: Callable[[Mapping[str, Any]], Iterator[str]]
    reproduce: Callable[[Case, Path, FrontEnd], None]


def not_supported(missing: Reason) -> Judgement:
    """Return the judgement of a case with a missing need."""
    return Judgement(Verdict.NOT_SUPPORTED, missing.code, one_line(missing.text), missing.text)


def one_line(text: str) -> str:
    """Return the first line of ``text`` that is not blank; empty if there is none."""
    lines = text.strip().splitlines()
    return lines[0].strip() if lines else ""
