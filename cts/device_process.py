"""The process that holds a device: ``python -m cts.device_process FD [FD FD]`` answers requests on a socket until the socket is closed."""

from __future__ import annotations

from cts.devices.isolation_child import main
from cts.engine.memory import keep_memory
from cts.opening import open_device

if __name__ == "__main__":
    keep_memory()
    main(open_device)
