"""The cases that .ci/run leaves out on lavapipe: they exist, and other cases test the same labels."""

from __future__ import annotations

from pathlib import Path

from generators.casebook import expand
from tests.suite import REPOSITORY, casebook

LIST = REPOSITORY / ".ci" / "slow-on-lavapipe"


def test_cases_left_out_are_in_the_smoke_tier_and_each_of_their_labels_stays() -> None:
    node_ids = LIST.read_text(encoding="utf-8").splitlines()
    left_out = [tuple(node_id.split("::")) for node_id in node_ids]
    assert len(set(left_out)) == len(left_out) > 0
    book = casebook()
    for path in sorted({path for path, _ in left_out}):
        ids = {id_ for of, id_ in left_out if of == path}
        cases = expand(book.family(Path(path).stem), "smoke")
        assert (REPOSITORY / path).is_file()
        assert ids <= {case.id for case in cases}, path
        staying = {label for case in cases if case.id not in ids for label in case.named.items()}
        assert all(label in staying for case in cases if case.id in ids for label in case.named.items()), path
