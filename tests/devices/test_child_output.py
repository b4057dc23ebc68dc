from __future__ import annotations

import os

from cts.devices.child_output import Output


def test_last_words_steer_no_terminal():
    reading, writing = os.pipe()
    output = Output(reading)
    os.write(writing, b"one\x1b[31m\xff\ntwo\x7f\r")
    output.read()
    assert output.last_words() == "one\\x1b[31m\\xff\ntwo\\x7f"
    output.close()
    os.close(writing)
