from __future__ import annotations

import pytest

FILE = "cases/khr_cooperative_matrix/copying.yaml"


def collected(done) -> list[str]:
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.parametrize("argument", ["cts", "cts/", "cases", "cases/khr_cooperative_matrix", FILE])
def test_package_folders_and_file_give_the_same_node_ids(checkout, argument):
    done = checkout.run(argument, "--collect-only", "-q")
    assert collected(done) == [f"{FILE}::copying[number:n{number}]" for number in range(8)]


def test_whole_suite_and_a_part_of_it_collect_no_case_twice(checkout):
    done = checkout.run("cts", FILE, f"{FILE}::copying[number:n1]", "--collect-only", "-q")
    assert len(collected(done)) == 8


def test_a_printed_id_is_accepted_back(checkout):
    done = checkout.run(f"{FILE}::copying[number:n3]", "-v")
    assert "copying[number:n3] PASS" in done.stdout
    assert "1 passed" in done.stdout


def test_a_named_case_need_not_be_in_the_tier_and_its_family_is_not_expanded(checkout):
    # This case is in no product at all.
    done = checkout.run(f"{FILE}::copying[number:n5/colour:green]", "-v")
    assert "collected 1 item" in done.stdout
    assert "copying[number:n5/colour:green] PASS" in done.stdout


def test_two_named_cases_run_in_the_order_named(checkout):
    done = checkout.run(f"{FILE}::copying[number:n5/colour:green]", f"{FILE}::copying[number:n1]", "--collect-only", "-q")
    assert sorted(collected(done)) == [f"{FILE}::copying[number:n1]", f"{FILE}::copying[number:n5/colour:green]"]


def test_k_selects_by_id(checkout):
    done = checkout.run("cts", "-k", "n3 or n4", "--collect-only", "-q")
    assert collected(done) == [f"{FILE}::copying[number:n3]", f"{FILE}::copying[number:n4]"]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("N3 or copying[number:n4", "34"),
        ("number and not (n3 or n4)", "012567"),
        ("red", ""),
        ("colour:red", "01234567"),
        ("COLOUR:re and n3", "3"),
        ("not colour:red", ""),
        ("colour:green or n2", "2"),
        ("not green", "01234567"),
        ("copying.yaml and n3", "3"),
        ("cts and n3", "3"),
        ("not cts and n3", ""),
    ],
)
def test_k_selects_as_pytest_does_and_makes_no_items_of_the_others(checkout, words, numbers):
    done = checkout.run("cts", "-k", words, "--collect-only", "-q")
    assert collected(done) == [f"{FILE}::copying[number:n{number}]" for number in numbers]
    assert "deselected" not in done.stdout


def test_a_wrong_expression_is_refused_by_pytest(checkout):
    done = checkout.run("cts", "-k", "n3 and", "--collect-only", "-q")
    assert done.returncode == 4
    assert "Wrong expression passed to '-k'" in done.stderr


def test_a_family_whose_tiers_are_not_pinned_says_which_command_pins_them(checkout):
    (checkout.root / "golden" / "tiers" / "copying.tsv").unlink()
    done = checkout.run("cts")
    assert done.returncode == 2
    assert "run 'cts golden --update --tiers --family copying'" in done.stdout


def test_tier_selects(checkout):
    assert len(collected(checkout.run("cts", "--tier", "nightly", "--collect-only", "-q"))) == 12
    assert len(collected(checkout.run("cts", "--tier", "full", "--collect-only", "-q"))) == 14


def test_a_case_list_selects_exactly_its_cases_whatever_their_tier(checkout):
    (checkout.root / "more.txt").write_text("copying[number:n5/colour:green]  # not in a product\n\n# nothing else\n", encoding="utf-8")
    (checkout.root / "list.txt").write_text(f"more.txt\n{FILE}::copying[number:n1]\n", encoding="utf-8")
    done = checkout.run("cts", "--case-list", "list.txt", "--collect-only", "-q")
    assert collected(done) == [f"{FILE}::copying[number:n5/colour:green]", f"{FILE}::copying[number:n1]"]


def test_the_plugin_is_idle_in_a_run_that_names_neither_cts_nor_cases(checkout):
    (checkout.root / "tests").mkdir()
    (checkout.root / "tests" / "test_other.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
    done = checkout.run()
    assert done.returncode == 0
    assert "1 passed" in done.stdout
    assert "suite:" not in done.stdout
    assert not (checkout.root / "log").exists()


@pytest.mark.parametrize("processes", [(), ("-n", "2")])
def test_a_selection_of_nothing_says_so(checkout, processes):
    done = checkout.run("cts", "-k", "nonesuch", *processes)
    assert done.returncode == 5
    assert "NO CASE WAS SELECTED: " in done.stdout


def test_a_run_of_an_empty_case_list_says_that_it_selects_nothing(checkout):
    (checkout.root / "list.txt").write_text("# nothing\n", encoding="utf-8")
    done = checkout.run("cts", "--case-list", "list.txt")
    assert done.returncode == 5
    assert "NO CASE WAS SELECTED: " in done.stdout
