"""The command: the input that it refuses, and its help."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cts.cli import main
from cts.commands.minimise import take_away
from cts.minimise.data import Fewest
from cts.minimise.ending import Ending
from cts.minimise.walk import Smallest
from cts.verdict.verdict import Verdict
from generators.casebook import find_case
from tests.suite import casebook

PASSING = "load_store[component:u32/shape:8x8]"


def test_a_case_that_passes_is_not_minimised(capsys):
    assert main(["minimise", PASSING, "--device", "embedded"]) == 2
    assert "nothing to minimise" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--runs", "--time-limit"])
def test_a_bound_that_is_not_a_number_is_refused(option, capsys):
    assert main(["minimise", PASSING, "--device", "embedded", option, "many"]) == 2
    assert option in capsys.readouterr().err


def test_help_says_what_the_exit_codes_are(capsys):
    with pytest.raises(SystemExit):
        main(["minimise", "--help"])
    assert "Exit code" in capsys.readouterr().out


def smallest():
    return Smallest(find_case(casebook(), PASSING), Ending(Verdict.FAIL, "fail.value"), (), complete=True)


def settings(**changes):
    return SimpleNamespace(spec=SimpleNamespace(selector="a device"), front_end=changes.get("front_end", "spirv"))


def test_it_ends_with_the_command_that_reproduces_the_smallest_case():
    assert take_away(smallest(), None, settings(), None) == [f"  reproduce: cts repro '{PASSING}' DIR --device 'a device'"]


def test_one_dispatch_is_reproduced_by_the_option_that_writes_it():
    first, whole = take_away(smallest(), Fewest(None, None, {}, complete=True), settings(front_end="glsl"), None)
    assert first.endswith(f"cts minimise '{PASSING}' --device 'a device' --front-end glsl --out DIR")
    assert whole.endswith(f"cts repro '{PASSING}' DIR --device 'a device' --front-end glsl")


def test_a_written_folder_is_named_instead():
    assert take_away(smallest(), None, settings(), Path("there")) == ["  reproduced in there"]
