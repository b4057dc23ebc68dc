"""The options of the suite among pytest's arguments. A run that does not concern the suite needs only this module."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cts.checkout import PACKAGE, is_root
from generators.errors import CtsError
from generators.suggestion import FAMILIES, suggestion


class SelectionError(CtsError):
    """The request names something that does not exist; the message names things that do."""


@dataclass(frozen=True)
class Request:
    """The cases that the command line names.

    Attributes:
        files: a family's file -> the ids named in it; an empty tuple for the whole file.
        everything: whether every file of ``cases/`` is named.
        alone: whether nothing else is named.
    """

    everything: bool
    files: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    alone: bool = False


def in_cases(argument: str, directory: Path, root: Path) -> bool:
    """Tell whether an argument of pytest names ``cases/`` or something in it."""
    path, cases = _path(argument, directory), root / "cases"
    return path == cases or cases in path.parents


def is_suite(argument: str, directory: Path, root: Path, pyargs: bool) -> bool:
    """Tell whether an argument of pytest names the suite or a part of it."""
    return _is_whole(argument, directory, root, pyargs) or in_cases(argument, directory, root)


def _is_whole(argument: str, directory: Path, root: Path, pyargs: bool) -> bool:
    return (pyargs and argument == PACKAGE.name) or is_package(_path(argument, directory), root)


def is_package(path: Path, root: Path) -> bool:
    """Tell whether a path names the package ``cts``, that is the whole suite: in the checkout ``root``, or the running package."""
    return path in (root / PACKAGE.name, PACKAGE)


def _path(argument: str, directory: Path) -> Path:
    # Like pytest, do not resolve symbolic links.
    return Path(os.path.abspath(directory / argument.partition("[")[0].partition("::")[0]))


def parse_arguments(arguments: Sequence[str], directory: Path, root: Path, pyargs: bool = False) -> Request | None:
    """Return the options of the suite among pytest's arguments; None if they name neither ``cts`` nor anything in ``cases/``.

    Args:
        arguments: files, folders and node ids.
        directory: the base of relative arguments.
        root: the root of the checkout, or of the files of an installed wheel.
        pyargs: whether an argument may name the package (pytest's ``--pyargs``).

    Raises:
        SelectionError: a path in ``cases/`` does not exist.
    """
    cases = root / "cases"
    everything, concerned, alone = False, False, True
    files: dict[Path, tuple[str, ...]] = {}
    for argument in arguments:
        name, bracket, rest = argument.partition("[")
        path_text, *parts = name.split("::")
        path = _path(argument, directory)
        if _is_whole(argument, directory, root, pyargs):
            everything = concerned = True
        elif in_cases(argument, directory, root):
            concerned = True
            if not path.exists():
                known = [str(p.relative_to(root)) for p in cases.glob("*/*.yaml") if p.parent.name != "requirements"]
                raise SelectionError(f"no such file {path_text}; {suggestion(path_text, known, FAMILIES)}")
            if parts:
                known_ids = files.get(path)
                if known_ids != ():
                    files[path] = (*(known_ids or ()), parts[-1] + bracket + rest)
            elif path.is_file():
                files[path] = ()
            else:
                files.update(dict.fromkeys(path.rglob("*.yaml"), ()))
        else:
            alone = False
    return Request(everything, {} if everything else files, alone) if concerned else None


def check_unconcerned(root: Path, options: Sequence[str]) -> None:
    """Refuse options of the suite in a run that judges no case.

    Args:
        root: the root of the checkout.
        options: the options that are given.

    Raises:
        SelectionError: there is one.
    """
    if options and not is_root(root):
        raise SelectionError(f"pytest's rootdir {root} is not a checkout of the suite: give --rootdir the folder that has cases/ and cts/")
    if options:
        name = options[0]
        raise SelectionError(f"{name} is an option of the conformance suite: name what to judge, for example 'pytest cts {name} …'")


class NotSendable(CtsError):
    """pytest-xdist cannot send an argument to its workers."""


def check_sendable(arguments: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse arguments that pytest-xdist cannot send to its workers.

    Raises:
        NotSendable: the bytes of an argument are not UTF-8.
    """
    for argument in [os.fspath(one) for one in arguments]:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise NotSendable(
                f"-n: pytest-xdist cannot send an argument whose bytes are not UTF-8 ({argument}): name another path, or leave out -n"
            )
