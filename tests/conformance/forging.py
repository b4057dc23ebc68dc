"""Changes a package as a forger would: results, description and files, and then everything that follows from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cts.conformance.checking import Checked, assembled, check, check_package
from cts.conformance.package import STATEMENT, SUMS, checksums
from cts.conformance.refusal import Refused
from cts.conformance.statement import encoded
from cts.conformance.suite import Suite
from cts.devices import identity
from cts.devices.identity import NotADescription
from cts.journal.journal import META, RESULTS, journal_of, opened

Json = dict[str, Any]

WAIVERS = (
    """\
driver: embedded
seen: embedded 1
failures:
  - id: overwrites-c
    since: 1
    until: 1
    cases: [{family: muladd, when: {form: reuse}}]
    ends: [fail.value, pass]
    defects: [multiply_add.c_overwritten]
    what: a multiply-add overwrites its operand C
    smallest: ["muladd[row:16x16x32.s8.s8.s32.s32/data:wrap/form:reuse/layouts:cccc]"]
    link: https://example.org/issues/1
    expires: 2999-12-31
""",
    "overwrites.yaml",
)
"""The waiver of the planted mistake, and the name of its file."""

WAIVED = f"waivers/{WAIVERS[1]}"


@dataclass
class Forgery:
    """The members of a package, and ways to change them. Each way leaves checksums and statement as they are; see ``sealed``.

    Attributes:
        suite: the suite that made the package.
    """

    members: dict[str, bytes]
    suite: Suite = field(repr=False)

    def copy(self) -> Forgery:
        return Forgery(dict(self.members), self.suite)

    @property
    def results(self) -> list[Json]:
        return [json.loads(line) for line in self.members[RESULTS].splitlines()[1:]]

    @property
    def meta(self) -> Json:
        found: Json = json.loads(self.members[META])
        return found

    def write_results(self, results: list[Json], header: bytes = b'{"schema":5}\n') -> None:
        lines = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n" for one in results]
        self.members[RESULTS] = header + "".join(lines).encode()

    def change(self, chosen: Callable[[Json], bool], edit: Callable[[Json], object]) -> Json:
        """Edit the first result that is chosen, and return it as it was."""
        results = self.results
        result = next(one for one in results if chosen(one))
        before: Json = json.loads(json.dumps(result))
        edit(result)
        self.write_results(results)
        return before

    def change_all(self, edit: Callable[[Json], object]) -> None:
        results = self.results
        for one in results:
            edit(one)
        self.write_results(results)

    def change_meta(self, **fields: object) -> None:
        self.members[META] = json.dumps({name: value for name, value in (self.meta | fields).items() if value is not ...}).encode()

    def change_device(self, edit: Callable[[Json], object], is_sealed: bool = True) -> None:
        """Edit the device's description, with its digest unless not ``is_sealed``."""
        device = self.meta["device"]
        edit(device)
        if is_sealed:
            with suppress(NotADescription):
                device["digest"] = _digest_of(device)
        self.change_meta(device=device)

    def change_waiver(self, before: str, after: str) -> None:
        text = self.members[WAIVED].decode()
        assert before in text
        self.members[WAIVED] = text.replace(before, after).encode()

    def sealed(self) -> Forgery:
        """Write statement and checksums again, as far as they follow from the other members."""
        with suppress(Refused):
            self.members[STATEMENT] = encoded(check(self.members, self.suite).statement)
        self.members[SUMS] = checksums(self.members)
        return self

    def refused(self, checked: Callable[[dict[str, bytes], Suite], Checked] = check_package) -> set[str]:
        """Return the ids of the reasons why the package is refused. ``check`` leaves out whether statement and checksums fit."""
        try:
            return {one.id for one in checked(self.members, self.suite).refusals}
        except Refused as refused:
            return {refused.refusal.id}


def _digest_of(device: Json) -> str:
    """Return the digest that fits the record of a description."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "digest", lambda description: device["digest"])
        description = identity.description_of(device)
    return identity.digest(description)


def packed(folder: Path, suite: Suite) -> Forgery:
    """Return the package of the run in ``folder``, made of a clean checkout."""
    meta = json.loads((folder / "out" / META).read_bytes()) | {"suite_version": suite.version}
    with opened(journal_of(folder / "out")) as journal:
        members, checked = assembled(json.dumps(meta).encode(), journal, {WAIVERS[1]: folder / WAIVERS[1]}, suite)
    assert not checked.refusals, "\n".join(map(str, checked.refusals))
    return Forgery(members, suite)


def failed(result: Json) -> bool:
    """Tell whether a result is a failure of a case whose outputs follow from it."""
    return bool(result["verdict"] == "known_fail" and not result["policy"])


def passed(result: Json) -> bool:
    """Tell whether a result is a pass of a case whose outputs follow from it."""
    return bool(result["verdict"] == "pass" and result["family"] == "muladd" and not result["policy"])


def lacking(result: Json) -> bool:
    return bool(result["verdict"] == "not_supported" and result["family"] == "muladd")


def in_family(name: str) -> Callable[[Json], bool]:
    return lambda result: bool(result["family"] == name)


def now_passed(result: Json, **more: object) -> None:
    """Edit a failure into a pass."""
    result.update({"verdict": "pass", "code": "", "known": "", "reason": "", "message": "", "failures": []} | more)
