"""Errors that a user can fix. Each message says how."""

from __future__ import annotations


class CtsError(Exception):
    """Base of every error that is reported to the user in one line, with exit code 2."""


class CasebookError(CtsError):
    """A YAML file has content that the casebook cannot accept; the message names file, line, key and the expected value."""


class GeneratorError(CtsError):
    """A case cannot be turned into a program or its input data: a defect of the suite, found before any device ran."""


class NotExpressible(CtsError):
    """A front end cannot express a program (for example a 64-bit stride in GLSL)."""
