"""The types of arrays of lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

U8, U16, U32, U64 = (np.dtype(f"<u{size}") for size in (1, 2, 4, 8))
