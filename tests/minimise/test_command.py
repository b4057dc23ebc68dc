"""The command: the input that it refuses, and its help."""

from __future__ import annotations

import pytest

from cts.cli import main

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
