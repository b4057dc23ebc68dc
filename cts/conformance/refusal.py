"""Why a package is refused: ids for programs, with a sentence for docs/conformance.md."""

from __future__ import annotations

from dataclasses import dataclass

from cts.worded import Worded
from generators.errors import CtsError


class Check(Worded):
    """The rules of a package, in the order of docs/conformance.md. The words tell what is wrong with a package that breaks the rule."""

    ARCHIVE = "package.archive", "the file is not a zip archive, or a part of it cannot be read"
    MEMBERS = "package.members", "the archive has a member too many, too few, twice, or with a name that no package has"
    SIZE = "package.size", "the members are larger than any run's results"
    CHECKSUM = "package.checksum", "SHA256SUMS does not have the digest of each other member"
    STATEMENT = "package.statement", "statement.json is not what follows from the other members and the suite"
    DIRTY = "suite.dirty", "the suite that ran had changes that are in no commit"
    SUITE = "suite.version", "another version of the suite ran than the one that checks"
    SOURCES = "suite.sources", "statement.json has other digests of the suite's folders", "the folder"
    RUN = "run", "the run was partial, or had an option that no conformance run has", "the field of meta.json"
    DEVICE = "device.description", "the device's description is not whole, or its digest does not fit"
    MALFORMED = "journal.malformed", "a line of the journal is no result"
    ORDER = "journal.order", "the lines of the journal are not sorted by case"
    MISSING = "case.missing", "a case of the run has no result"
    DOUBLED = "case.doubled", "a case has several results"
    UNKNOWN = "case.unknown", "a result is of no case of the run"
    SUPPORTED = "case.supported", "a case counts as not supported, and the device's description has all that it needs"
    UNSUPPORTED = "case.unsupported", "a case has run, and the device's description lacks something that it needs"
    RESULT = "result", "a result is not what follows from the case and the recorded outputs", "the field"
    OWED = "owed", "a case that the device owes has not passed, and no waiver is for it"
    FILES = "waiver.files", "the files of known failures are not those that the run used, or cannot be read"
    NO_ENTRY = "waiver.unknown", "a known failure rests on an entry that no file has"
    DRIVER = "waiver.driver", "a waiver does not name the first and the last version of the driver, or the driver is of another version"
    REFERENCE = "waiver.reference", "a waiver has no public reference: an address such as https://example.org/issues/1"
    EXPIRED = "waiver.expired", "a waiver does not name its last day, or the run ended after it"


@dataclass(frozen=True)
class Refusal:
    """One reason why a package is refused.

    Attributes:
        subject: the case, member or field.
        text: the reason for people, one line.
        name: what follows the id of the check; empty if nothing does.
    """

    check: Check
    subject: str
    text: str
    name: str = ""

    @property
    def id(self) -> str:
        """Return the id of the check, with the name after it."""
        return self.check.of(self.name)

    def __str__(self) -> str:
        return f"{self.id}: {self.subject}: {self.text}" if self.subject else f"{self.id}: {self.text}"


def refusal(check: Check, subject: str, why: object = "", name: str = "") -> Refusal:
    """Return the refusal of a check: its words, and why in this place."""
    return Refusal(check, subject, f"{check.words}: {why}" if why else check.words, name)


class Refused(CtsError):
    """A package cannot be read at all.

    Attributes:
        refusal: why.
    """

    def __init__(self, reason: Refusal) -> None:
        super().__init__(str(reason))
        self.refusal = reason
