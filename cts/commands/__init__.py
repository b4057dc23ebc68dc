"""The verbs of the command ``cts``, one module each.

The module of a verb has its name. It has ``configure(parser)``, which adds the verb's arguments, and ``run(options)``, which returns an
exit code. Its docstring is the description of ``cts VERB --help``. It is loaded only when the verb is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

JOBS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Judge a device": {
            "run": "judge a device, from any folder; the same as 'pytest cts'",
            "devices": "list the devices that can be judged",
            "list": "list or count cases",
            "merge": "join the report directories of shards to one",
            "fingerprint": "measure the arithmetic of a device's matrix unit",
        },
        "Show conformance": {
            "must-pass": "show what a device owes in a conformance run",
            "submit": "make a package of a conformance run that others can check",
            "verify": "check a package without the device",
        },
        "Explain a failure": {
            "report": "write the reports of a run, and print the causes of its failures",
            "schema": "print the JSON schema of the results of a run",
            "show": "show a case: parameters, requirements, shader, inputs, expected results",
            "blame": "gather evidence of whose fault a failure is",
            "minimise": "find the smallest case that fails in the same way",
            "repro": "write a folder that reproduces a case without the suite",
            "picture": "draw which elements of a tensor a case accesses",
            "run-module": "run a module of your own, and list its mistakes",
            "fuzz": "run random programs that no case enumerates",
        },
        "Compare runs": {
            "compare": "list new failures, fixed cases and slower cases",
            "compare-fingerprints": "list what differs in the arithmetic of two matrix units",
            "history": "show how cases ended in the runs of an archive or a folder",
            "archive": "keep the runs of a farm as Parquet files that programs can query",
            "known": "list known failures, or write them from a run",
        },
        "Maintain the suite": {
            "new-family": "write the skeleton of a new family",
            "check-family": "check all that is asked of a family, and say what is missing",
            "golden": "compare the cases with the pinned facts, or pin them",
            "coverage": "list the requirements that are covered",
            "pages": "write the tables and pictures of docs/",
            "spirv-val": "have spirv-val judge the modules of a tier",
            "positions": "list the positions taken where the specifications are ambiguous",
            "bugs": "list the classes of real bugs, and the families that would show them",
            "glsl": "list the cases that GLSL cannot express, and why",
        },
    }
)
"""The jobs that someone may have, and the verbs for each, with a line about each verb."""

VERBS = tuple(verb for verbs in JOBS.values() for verb in verbs)


def module_of(verb: str) -> str:
    """Return the name of a verb's module."""
    return f"{__name__}.{verb.replace('-', '_')}"
