"""Known failures of a driver, from ``golden/known_failures/*.yaml``. docs/known_failures.md has the schema.

A known failure changes only the verdict of a case: it does not leave out a case, or move one to another tier.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from cts.front_ends import FRONT_ENDS, FrontEnd
from cts.verdict.codes import Code, beginning, is_within
from cts.verdict.effort import Budget, Effort
from cts.verdict.failure_lists import FAILS, FLAKES, SKIPS, Expressions, FailureList, ListError, read_expressions, read_fails
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Case, Casebook, find_case
from generators.document import Element, read_document
from generators.errors import CasebookError

FOLDER = Path("golden", "known_failures")

FAILING = frozenset({Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.DEVICE_LOST, Verdict.FLAKY, Verdict.RESOURCE_ERROR})
"""Verdicts that a known failure may have."""

_COSTLY = frozenset({Verdict.DEVICE_LOST, Verdict.TIMEOUT})
"""Verdicts in a list of failures whose cases can harm other cases that run beside them."""

_COMPILING = frozenset(code.of("pipeline") for code in (Code.CRASH, Code.TIMEOUT, Code.FAIL_CALL))
"""The codes of failures of a compiler."""

Version = tuple[int, ...]

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_VERSION = re.compile(r"\d+(\.\d+)*")
_WILDCARD = re.compile(r"[*?[]")


def _matches(label: str, patterns: Sequence[str]) -> bool:
    # Most patterns are labels, and fnmatch would compile each of them.
    return label in patterns or any(fnmatchcase(label, pattern) for pattern in patterns if _WILDCARD.search(pattern))


@dataclass(frozen=True)
class Selector:
    """Cases of one family.

    Attributes:
        id: the id of the only case; empty if ``when`` selects cases.
        when: name of a parameter -> patterns of labels, one of which a selected case has; ``*`` matches any characters. A case that does
            not have the parameter matches no pattern. Empty for all cases.
    """

    family: str
    id: str = ""
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def selects(self, case: Case) -> bool:
        """Tell whether a case is selected."""
        if self.id:
            return case.id == self.id
        if case.family != self.family:
            return False
        labels = case.named
        return all(name in labels and _matches(labels[name], patterns) for name, patterns in self.when)


@dataclass(frozen=True)
class KnownFailure:
    """One defect of a driver.

    Attributes:
        id: names it in results.
        since, until: the first and the last version of the driver that have it; empty if not known.
        selectors: select the cases that show it.
        ends: codes with which such a case may end, or their beginnings; includes ``pass`` if only some of the cases fail.
        defects: ids of defects (cts/defects/glossary.yaml): the diagnosis of a wrong value must name one of them. Empty for any value.
        front_end: the only front end whose modules show it; None if both do.
        what: what the driver does, in one line.
        evidence: how we know whose fault it is, in one line.
        smallest: ids of the smallest cases that show it.
        seen: the driver and its version, as docs/findings.md names them.
        link: a link to a report to the driver's authors; empty if there is none.
        limit: the time limit in seconds for a step of such a case; None for the limit of the run.
        place: file, line and key.
        expires: the last day on which a conformance package may rest on the entry (``2027-03-31``); empty if none may.
    """

    id: str
    since: Version
    until: Version
    selectors: tuple[Selector, ...]
    ends: tuple[str, ...]
    defects: tuple[str, ...]
    front_end: FrontEnd | None
    what: str
    evidence: str
    smallest: tuple[str, ...]
    seen: str
    link: str
    place: str
    limit: float | None = None
    expires: str = ""

    def selects(self, case: Case) -> bool:
        """Tell whether a case shows it."""
        return any(selector.selects(case) for selector in self.selectors)

    def concerns(self, version: Version) -> bool:
        """Tell whether a version of the driver has it. A version that is not known has every failure."""
        return not version or ((not self.since or self.since <= version) and (not self.until or version <= self.until))

    @property
    def costs_the_device(self) -> bool:
        """Tell whether a case that shows it may lose the device or never finish, which can harm shaders that run beside it or later.

        A case of an entry with a limit is slow, but finishes.
        """
        costly = [Code.DEVICE_LOST.of()]
        if self.limit is None:
            costly.append(Code.TIMEOUT.of("dispatch"))
        return any(is_within(end, code) or is_within(code, end) for end in self.ends for code in costly)

    @property
    def is_of_the_compiler(self) -> bool:
        """Tell whether such a case always fails while its pipeline is made."""
        return all(end in _COMPILING for end in self.ends)

    @property
    def ends_the_compiler(self) -> bool:
        """Tell whether such a case always runs into its own limit while its pipeline is made, so its process is ended."""
        return self.limit is not None and all(is_within(end, Code.TIMEOUT.of("pipeline")) for end in self.ends)

    def foresees(self, result: CaseResult) -> bool:
        """Tell whether a failed case ended as it says."""
        if not any(is_within(result.code, code) for code in self.ends):
            return False
        if not self.defects or result.code != Code.FAIL_VALUE:
            return True
        named = [{match.id for match in failure.matches if match.id} for failure in result.failures]
        return any(named) and all(not ids.isdisjoint(self.defects) for ids in named if ids)


@dataclass(frozen=True)
class KnownFailures:
    """The known failures of one driver. Data for other processes.

    Attributes:
        file: the name of the file in golden/known_failures; empty if there is none, or none is wanted.
        entries: the entries that concern the version of the driver, in the order of the files.
        lists: lists of failures.
        flakes: lists of cases that may fail or pass.
        skips: lists of cases that are not judged.
        others: names of further files with entries.
    """

    file: str = ""
    entries: tuple[KnownFailure, ...] = ()
    lists: tuple[FailureList, ...] = ()
    flakes: tuple[Expressions, ...] = ()
    skips: tuple[Expressions, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all files."""
        lists = (*(one.name for one in self.lists), *(one.name for one in self.flakes), *(one.name for one in self.skips))
        return (*((self.file,) if self.file else ()), *self.others, *lists)

    @property
    def said(self) -> str:
        """Return the names of all files, for people."""
        golden = f"{FOLDER.as_posix()}/{self.file}"
        return ", ".join(golden if name == self.file else name for name in self.names)

    @cached_property
    def _by_family(self) -> Mapping[str, tuple[KnownFailure, ...]]:
        families = {selector.family for entry in self.entries for selector in entry.selectors}
        return {name: tuple(one for one in self.entries if any(name == each.family for each in one.selectors)) for name in families}

    def entries_of(self, case: Case, front_end: str) -> list[KnownFailure]:
        """Return the entries that a case shows with a front end."""
        entries = self._by_family.get(case.family, ())
        return [entry for entry in entries if entry.front_end in (None, front_end) and entry.selects(case)]

    def costs_the_device(self, case: Case, front_end: str) -> bool:
        """Tell whether a case is known to lose or harm the device."""
        listed = (verdict for one in self.lists for verdict in one.cases.get(case.id, ()))
        return any(entry.costs_the_device for entry in self.entries_of(case, front_end)) or any(verdict in _COSTLY for verdict in listed)

    def ends_the_compiler(self, case: Case, front_end: str) -> bool:
        """Tell whether the process that makes the case's pipeline is known to be ended meanwhile."""
        return any(entry.ends_the_compiler for entry in self.entries_of(case, front_end))

    def settles(self, result: CaseResult, case: Case) -> bool:
        """Tell whether a timeout needs no second run alone: no other process on the device caused it.

        This is so for a known failure of the driver's compiler, and for a known failure whose entry has a limit.
        """
        if not is_within(result.code, Code.TIMEOUT.of()) or self.judged(result, case).verdict is not Verdict.KNOWN_FAIL:
            return False
        if is_within(result.code, Code.TIMEOUT.of("pipeline")):
            return True
        return any(entry.limit is not None and entry.foresees(result) for entry in self.entries_of(case, result.front_end))

    def effort(self, case: Case, front_end: str, budget: Budget) -> Effort:
        """Return the effort to explain a failure of a case: a known failure that names no defect needs no diagnosis."""
        entries = self.entries_of(case, front_end)
        foreseen = tuple(id_ for entry in entries for id_ in entry.defects)
        decided = tuple(end for entry in entries if not entry.defects for end in entry.ends)
        limits = [entry.limit for entry in entries if entry.limit is not None]
        return Effort(foreseen, decided, budget, min(limits, default=None))

    def judged(self, result: CaseResult, case: Case) -> CaseResult:
        """Return a result with its verdict changed according to the known failures.

        A case that failed as an entry says is a ``known_fail``. A case that passed, although every entry that names it says that it fails,
        is an ``unexpected_pass``. Every other result stays unchanged.
        """
        if result.verdict is Verdict.COMPILED:
            # Nobody knows how a failure ends that shows only when the shader runs.
            disproved = [entry for entry in self.entries_of(case, result.front_end) if entry.is_of_the_compiler]
            return _unexpected(result, disproved[0]) if disproved else result
        passed = result.verdict in (Verdict.PASS, Verdict.QUALITY_WARNING)
        if not passed and result.verdict not in FAILING:
            return result
        judged = self._by_entries(result, case, passed)
        return judged if judged.verdict is Verdict.KNOWN_FAIL else self._by_lists(judged, result, passed)

    def _by_lists(self, judged: CaseResult, result: CaseResult, passed: bool) -> CaseResult:
        """Apply the lists to a result; ``judged`` is the result after the entries were applied."""
        flakes = next((one for one in self.flakes if one.match(result.id)), None)
        if passed:
            listed = next((one for one in self.lists if result.id in one.cases), None)
            if flakes is not None:
                return result
            return judged if listed is None or judged is not result else _unexpected_by(result, listed)
        listed = next((one for one in self.lists if result.verdict in one.cases.get(result.id, ())), None)
        name = listed.name if listed is not None else flakes.name if flakes is not None else ""
        return _known_by(result, name) if name and result.verdict is not Verdict.RESOURCE_ERROR else judged

    def _by_entries(self, result: CaseResult, case: Case, passed: bool) -> CaseResult:
        entries = self.entries_of(case, result.front_end)
        if not entries:
            return result
        if passed:
            return result if any("pass" in entry.ends for entry in entries) else _unexpected(result, entries[0])
        known = next((entry for entry in entries if entry.foresees(result)), None)
        return result if known is None else _known(result, known)


def _known(result: CaseResult, entry: KnownFailure) -> CaseResult:
    message = f"known failure '{entry.id}': {entry.what}\n{entry.link}\n".replace("\n\n", "\n")
    message += result.message or result.reason
    return replace(result, verdict=Verdict.KNOWN_FAIL, known=entry.id, reason=entry.what, message=message)


def _unexpected(result: CaseResult, entry: KnownFailure) -> CaseResult:
    reason = f"passed, but '{entry.id}' of the known failures says that it fails: {entry.what}"
    message = f"{reason}\nIf the driver has been fixed, give the entry the last version that fails as 'until': {entry.place}"
    code = Code.UNEXPECTED_PASS.of()
    return replace(result, verdict=Verdict.UNEXPECTED_PASS, code=code, known=entry.id, reason=reason, message=message)


def _known_by(result: CaseResult, name: str) -> CaseResult:
    message = f"known failure, by {name}\n{result.message or result.reason}"
    return replace(result, verdict=Verdict.KNOWN_FAIL, known=name, message=message)


def _unexpected_by(result: CaseResult, listed: FailureList) -> CaseResult:
    reason = f"passed, but {listed.name} says that it fails"
    message = f"{reason}\nIf the driver has been fixed, remove the line, or let 'cts known update' do it"
    return replace(
        result, verdict=Verdict.UNEXPECTED_PASS, code=Code.UNEXPECTED_PASS.of(), known=listed.name, reason=reason, message=message
    )


NONE_KNOWN = KnownFailures()


@dataclass(frozen=True)
class File:
    """A file of known failures.

    Attributes:
        driver: how the name of the driver begins in results; the version follows.
        entries: all entries.
    """

    path: Path
    driver: str
    entries: tuple[KnownFailure, ...]

    def version(self, driver: str) -> Version | None:
        """Return the version from a driver's name in results; empty if it has none, and None if the file is for another driver."""
        if driver != self.driver and not driver.startswith(f"{self.driver} "):
            return None
        found = _VERSION.match(driver[len(self.driver) :].strip())
        return _version(found[0]) if found else ()


def known_failures(root: Path, casebook: Casebook, driver: str) -> KnownFailures:
    """Return the known failures of a driver.

    Args:
        root: the root of the checkout.
        driver: the driver's name and version, as in results.

    Raises:
        CasebookError: a file is malformed, names something that the casebook does not have, or two files are for this driver.
    """
    found = NONE_KNOWN
    for path in _paths(root):
        file = File(path, _driver(read_document(path)), ())
        version = file.version(driver)
        if version is None:
            continue
        if found.file:
            raise CasebookError(f"{path}: both {found.file} and {path.name} have the known failures of '{driver}': join them")
        entries = load_file(path, casebook).entries
        found = KnownFailures(path.name, tuple(entry for entry in entries if entry.concerns(version)))
    return found


def with_files(known: KnownFailures, paths: Sequence[Path], casebook: Casebook, driver: str) -> KnownFailures:
    """Return known failures together with the failures of further files: YAML of the same schema, or lists of deqp-runner.

    Args:
        known: the failures of golden/known_failures.
        paths: the paths of the files. Their names give their kinds.
        driver: the driver's name and version, as in results.

    Raises:
        CasebookError: a YAML file is malformed.
        ListError: a list is malformed, a file is for another driver, or its name does not give its kind.
    """
    for path in paths:
        if path.name.endswith((FAILS, ".csv")):
            known = replace(known, lists=(*known.lists, read_fails(path, casebook)))
        elif path.name.endswith(FLAKES):
            known = replace(known, flakes=(*known.flakes, read_expressions(path)))
        elif path.name.endswith(SKIPS):
            known = replace(known, skips=(*known.skips, read_expressions(path)))
        elif path.suffix == ".yaml":
            file = load_file(path, casebook)
            version = file.version(driver)
            if version is None:
                raise ListError(f"{path} has the known failures of '{file.driver}', and the driver is '{driver}': leave the file out")
            entries = tuple(entry for entry in file.entries if entry.concerns(version))
            known = replace(known, entries=(*known.entries, *entries), others=(*known.others, path.name))
        else:
            raise ListError(
                f"{path}: the end of the name must say what known failures a file has: {FAILS}, {FLAKES}, {SKIPS}, .csv or .yaml"
            )
    return known


def load_files(root: Path, casebook: Casebook) -> dict[str, File]:
    """Return every file by its name without ``.yaml``.

    Raises:
        CasebookError: see known_failures.
    """
    return {path.stem: load_file(path, casebook) for path in _paths(root)}


def load_file(path: Path, casebook: Casebook) -> File:
    """Read a file, and check that the casebook has what it names.

    Raises:
        CasebookError: it is malformed, or the casebook lacks a family, a parameter, a label or a case that it names.
    """
    document = read_document(path)
    fields = document.fields(("driver", "seen", "failures"))
    seen = fields["seen"].text()
    entries: dict[str, KnownFailure] = {}
    for element in fields["failures"].items("known failures"):
        entry = _entry(element, seen, casebook)
        if entry.id in entries:
            raise element.error(f"the id '{entry.id}' is taken by {entries[entry.id].place}")
        entries[entry.id] = entry
    return File(path, _driver(document), tuple(entries.values()))


def _paths(root: Path) -> list[Path]:
    return sorted((root / FOLDER).glob("*.yaml"))


def _driver(document: Element) -> str:
    entries = document.entries("a mapping with the keys driver, seen, failures")
    if "driver" not in entries:
        raise document.error("key 'driver' is missing; expected driver, seen, failures")
    return entries["driver"].text("how the driver's name begins in results")


_REQUIRED = ("id", "cases", "ends", "what", "smallest")
_OPTIONAL = ("since", "until", "defects", "front_end", "evidence", "seen", "link", "limit", "expires")


def _entry(element: Element, seen: str, casebook: Casebook) -> KnownFailure:
    fields = element.fields(_REQUIRED, _OPTIONAL)
    id_ = fields["id"].text()
    if not _ID.fullmatch(id_):
        raise fields["id"].error(f"'{id_}' is not an id; expected words of lower-case letters and digits with '-' between them")
    smallest = tuple(_case(one, casebook).id for one in fields["smallest"].items("case ids"))
    if not smallest:
        raise fields["smallest"].error("expected at least one case id")
    selectors = tuple(_selector(one, casebook) for one in fields["cases"].items("case ids, or families with conditions"))
    if not selectors:
        raise fields["cases"].error("expected at least one case id, or a family with conditions")
    since, until = (_bound(fields[name]) if name in fields else () for name in ("since", "until"))
    if since and until and until < since:
        raise fields["until"].error("it is before 'since'")
    return KnownFailure(
        id=id_,
        since=since,
        until=until,
        selectors=selectors,
        ends=tuple(map(_end, fields["ends"].items("codes"))),
        defects=tuple(one.text() for one in fields["defects"].items("ids of defects")) if "defects" in fields else (),
        front_end=_front_end(fields["front_end"]) if "front_end" in fields else None,
        what=_one_line(fields["what"]),
        evidence=_one_line(fields["evidence"]) if "evidence" in fields else "",
        smallest=smallest,
        seen=fields["seen"].text() if "seen" in fields else seen,
        link=fields["link"].text() if "link" in fields else "",
        place=element.place,
        limit=fields["limit"].integer(1, 3600) if "limit" in fields else None,
        expires=_day(fields["expires"]) if "expires" in fields else "",
    )


def _day(element: Element) -> str:
    text = element.label("a day")
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise element.error(f"'{text}' is not a day; expected year, month and day, as 2027-03-31") from None


def _front_end(element: Element) -> FrontEnd:
    name = element.text("a front end")
    for front_end in FRONT_ENDS:
        if name == front_end:
            return front_end
    raise element.error(f"there is no front end '{name}'; expected one of {', '.join(FRONT_ENDS)}")


def _one_line(element: Element) -> str:
    return " ".join(element.text().split())


def _end(element: Element) -> str:
    code = element.text("a code")
    begins = beginning(code)
    verdicts = {verdict.value for verdict in FAILING} | {"pass"}
    if code not in verdicts and (begins is None or begins.split(".")[0] not in verdicts):
        raise element.error(f"'{code}' is not the code of a failure; expected one that begins with {', '.join(sorted(verdicts))}")
    return code


def _version(text: str) -> Version:
    return tuple(map(int, text.split(".")))


def _bound(element: Element) -> Version:
    text = element.label("a version")
    if not _VERSION.fullmatch(text):
        raise element.error(f"'{text}' is not a version; expected numbers with dots between them")
    return _version(text)


def _case(element: Element, casebook: Casebook) -> Case:
    try:
        return find_case(casebook, element.text("a case id"))
    except CasebookError as error:
        raise element.error(str(error)) from error


def _selector(element: Element, casebook: Casebook) -> Selector:
    if not element.is_mapping:
        case = _case(element, casebook)
        return Selector(case.family, case.id)
    fields = element.fields(("family",), ("when",))
    name = fields["family"].text()
    if name not in casebook.families:
        raise fields["family"].error(f"there is no family '{name}'")
    return Selector(name, when=tuple(_conditions(fields["when"], casebook, name)) if "when" in fields else ())


def _conditions(element: Element, casebook: Casebook, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    family = casebook.families[name]
    parameters = {parameter.name: parameter for parameter in family.parameters}
    for parameter, labels in element.entries("a mapping from parameters to labels").items():
        if parameter not in parameters:
            raise labels.error(f"family '{name}' has no parameter '{parameter}'; expected one of {', '.join(parameters)}")
        patterns = tuple(one.label() for one in labels.items("labels")) if labels.is_sequence else (labels.label(),)
        for pattern in patterns:
            if not any(_matches(label, (pattern,)) for label in parameters[parameter].labels):
                raise labels.error(
                    f"parameter '{parameter}' has no label '{pattern}'; expected one of {', '.join(parameters[parameter].labels)}"
                )
        yield parameter, patterns
