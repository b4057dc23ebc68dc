from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cts.devices.device import DeviceDescription, MatrixRow, VectorRow
from cts.devices.identity import NONE, DeviceChanged, Difference, check_same, differences, digest, record_of

ROW = MatrixRow(8, 4, 16, "f16", "f16", "f32", "f32", False, 3)
OTHER_ROW = replace(ROW, m=16)
VECTOR_ROW = VectorRow("f16", "f16", "f16", "f16", "f16", True)
FIRST = DeviceDescription(
    *("GPU", "driver 1.0", "00ff", "vulkan", "1.4.0", 32, 1024, 32768),
    features={"cooperativeMatrix": True},
    limits={"maxBufferSize": 1000},
    rows=(ROW, OTHER_ROW),
    extra={"index": 0, "extensions": ["VK_KHR_cooperative_matrix"]},
    vector_rows=(VECTOR_ROW,),
)


def changed(**values: object) -> tuple[Difference, ...]:
    return differences(record_of(FIRST), record_of(replace(FIRST, **values)))


@pytest.mark.parametrize(
    ("values", "name", "old", "new"),
    [
        ({"name": "Another"}, "name", '"GPU"', '"Another"'),
        ({"driver": "driver 1.1"}, "driver", '"driver 1.0"', '"driver 1.1"'),
        ({"features": {"cooperativeMatrix": False}}, "features.cooperativeMatrix", "true", "false"),
        ({"features": {}}, "features.cooperativeMatrix", "true", NONE),
        ({"limits": {"maxBufferSize": 999}}, "limits.maxBufferSize", "1000", "999"),
        ({"rows": (ROW,)}, "row 16x4x16 f16 f16 f32 f32 scope 3", "listed", NONE),
        ({"rows": (ROW, OTHER_ROW, ROW)}, "row 8x4x16 f16 f16 f32 f32 scope 3", "listed", "listed 2 times"),
        ({"vector_rows": ()}, "vector row f16 f16 f16 f16 f16 True", "listed", NONE),
        ({"extra": {"index": 0, "extensions": []}}, "extra.extensions", '["VK_KHR_cooperative_matrix"]', "[]"),
    ],
)
def test_each_value_that_differs_is_named(values, name, old, new):
    assert changed(**values) == (Difference(name, old, new),)
    assert digest(replace(FIRST, **values)) != digest(FIRST)


def test_neither_the_order_of_rows_nor_the_place_among_the_devices_is_a_difference():
    other = replace(FIRST, rows=(OTHER_ROW, ROW), extra={**FIRST.extra, "index": 1})
    assert differences(record_of(FIRST), record_of(other)) == ()
    check_same(FIRST, other)


def test_a_record_read_from_json_is_still_the_same_device():
    assert differences(json.loads(json.dumps(record_of(FIRST))), record_of(FIRST)) == ()


def test_a_changed_device_says_the_first_differences_in_one_line_and_then_all():
    with pytest.raises(DeviceChanged) as raised:
        check_same(FIRST, replace(FIRST, limits={f"limit{number}": number for number in range(5)}))
    first, *rest = str(raised.value).splitlines()
    assert "limits.maxBufferSize: 1000 → none" in first
    assert len(rest) == len(raised.value.differences) == 6
