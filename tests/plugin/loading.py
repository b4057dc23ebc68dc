"""Imports and makes what most runs need, in the process from which they are forked.

Plugins that pytest loads by name are left out, because it would warn that it can no longer rewrite them. Modules that import names which
doubles.py replaces, such as cts.minimise.data, are left out too.
"""

from __future__ import annotations

import gc
from importlib import import_module

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from reports.page_template import compile_templates

IMPORTED = (
    "pytest",
    "execnet.gateway_base",
    "execnet.multi",
    "http.client",
    "numpy.random",
    "numpy.typing",
    "xml.sax.saxutils",
    "cts.blame.report",
    "cts.defects.known",
    "cts.defects.single_edits",
    "cts.devices.isolation",
    "cts.element_walk.of_case",
    "cts.engine.foretelling",
    "cts.engine.setup",
    "cts.judges",
    "cts.kinds.showing",
    "cts.pictures.drawing",
    "cts.run.collection",
    "cts.run.forking",
    "cts.run.judging",
    "cts.run.main_process",
    "cts.run.overview",
    "cts.run.reports",
    "generators.spirv.emit",
    "reports.commands",
    "reports.writer",
    "_pytest.faulthandler",
    "_pytest.junitxml",
    "_pytest.legacypath",
    "_pytest.python",
    "_pytest.terminal",
)

for name in IMPORTED:
    import_module(name)
EmbeddedDevice(load_profile("universal"))
compile_templates()
# A collection in a run would write to all objects, and so copy their pages.
gc.collect()
gc.freeze()
