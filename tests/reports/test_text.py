"""The text of a report for a terminal."""

from __future__ import annotations

from cts.cli import main
from reports.text import LISTED


def test_a_report_shows_causes_with_the_conditions_that_decide(example, tmp_path, capsys):
    records = [
        example.record(f"a[type:{type_}/n:{n}]", "crash" if type_ == "f16" else "pass", code="crash.dispatch" if type_ == "f16" else "")
        for n in range(8)
        for type_ in ("f16", "f32", "s8")
    ]
    example.write_journal(tmp_path, records)
    main(["report", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("Crash: 8 cases of a: because of crash")
    assert lines[at + 1 : at + 4] == [
        "    crash.dispatch",
        "    8 of 8 cases with type:f16 fail; 0 pass",
        "    for example a[type:f16/n:0]",
    ]
    assert lines[-1] == str(tmp_path / "index.html")


def test_a_report_of_many_causes_says_where_the_rest_is(example, tmp_path, capsys):
    families = [f"family_{number:02d}" for number in range(LISTED + 3)]
    example.write_journal(tmp_path, [example.record(f"{family}[n:1]", "crash", code=f"crash.{family}") for family in families])
    main(["report", str(tmp_path)])
    assert "and 3 more causes: see summary.json" in capsys.readouterr().out
