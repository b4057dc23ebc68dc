"""The errors of the suite that a user can do something about. Each message says what to do."""

from __future__ import annotations


class CtsError(Exception):
    """Base of every error that is reported to the user in one line, with exit code 2."""


class CasebookError(CtsError):
    """A YAML file says something that the casebook cannot take; the message names file, line, key and what was expected."""


class GeneratorError(CtsError):
    """A case cannot be turned into a program or its input data: a defect of the suite, found before any device ran."""


class NotExpressible(CtsError):
    """A front end has no way to say what a program does (for example a 64-bit stride in GLSL)."""
