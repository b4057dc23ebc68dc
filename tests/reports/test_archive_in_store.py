"""An archive in an object store, served by moto."""

from __future__ import annotations

import pytest

pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install '.[farm]'")
pytest.importorskip("s3fs", reason="s3fs is not installed: pip install '.[dev]'")
pytest.importorskip("moto.server", reason="moto is not installed: pip install '.[dev]'")

import fsspec
from moto.server import ThreadedMotoServer

from cts.cli import main
from reports.archive.adding import add


@pytest.fixture
def bucket(monkeypatch):
    """Return the URL of an empty bucket of a server on this machine."""
    serving = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    serving.start()
    host, port = serving.get_host_and_port()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "invented")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    fsspec.filesystem("s3").mkdir("farm")
    yield "s3://farm/archive"
    fsspec.filesystem("s3").clear_instance_cache()
    serving.stop()


def test_an_archive_in_a_store_answers_as_the_folder_does(bucket, example, tmp_path, capsys):
    for day, verdict in enumerate(("pass", "fail"), 1):
        journal = example.write_journal(tmp_path / str(day), [example.record("a[x]", verdict)], started=f"2027-0{day}-01T02:00:00Z")
        add([journal], tmp_path / "archive", {})
    fsspec.filesystem("s3").put(str(tmp_path / "archive"), bucket, recursive=True)
    shown = []
    for place in (str(tmp_path / "archive"), bucket):
        assert main(["history", place]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert "✓✗  a[x]" in shown[0]
