"""A headless Chromium that opens files, controlled by its DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

SECONDS = 60
"""The limit for any answer, in seconds."""

KEYS = {"Enter": 13, "Escape": 27}

_EXECUTE = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"


class BrowserError(Exception):
    """The browser does not answer, or a script in the page threw."""


def installed() -> str:
    """Return the path of Chromium; empty if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


class Chromium:
    """One tab of a separate browser. All methods wait until their request is done."""

    def __init__(self, profile: Path) -> None:
        """Start it with an empty profile."""
        to_browser, ours_out = os.pipe()
        ours_in, from_browser = os.pipe()
        # The ends of the pipes must not be descriptors 3 and 4, which Chromium reads and writes.
        high = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (to_browser, from_browser)]
        command = [installed(), *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _EXECUTE, *map(str, high), *command],
            pass_fds=high,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for one in high:
            os.close(one)
        os.close(to_browser)
        os.close(from_browser)
        self._out, self._in, self._rest = ours_out, ours_in, b""
        self._number = 0
        self._session = ""
        self.events: list[dict[str, Any]] = []
        """Requests and exceptions of the page since it was opened."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and return its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        """Return the next message, and keep it if it is an event."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], SECONDS)
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                raise BrowserError(f"Chromium said nothing for {SECONDS} s" if not ready else "Chromium ended")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, page: Path, fragment: str = "") -> None:
        """Reload a file, and wait until it is loaded."""
        self.send("Page.navigate", url="about:blank")
        self.events.clear()
        self.send("Page.navigate", url=page.resolve().as_uri() + fragment)
        self.loaded()

    def loaded(self) -> None:
        """Wait until the page that is being loaded, if any, has loaded."""
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression; wait for it if it is a promise.

        Raises:
            BrowserError: it threw.
        """
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{script}: {answer['exceptionDetails'].get('exception', {}).get('description', 'threw')}")
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true. Checks it every 5 ms, even after another page is loaded."""
        waiting = f"new Promise((done) => {{ const look = () => ({condition}) ? done(true) : setTimeout(look, 5); look(); }})"
        for _ in range(5):
            try:
                self.run(waiting)
                return
            except BrowserError as error:
                if "context was destroyed" not in str(error) and "navigated" not in str(error):
                    raise
        raise BrowserError(f"never true: {condition}")

    def text(self, selector: str) -> str:
        """Return the visible text of the first element that a selector names."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def texts(self, selector: str) -> list[str]:
        """Return the visible texts of all elements that a selector names."""
        return list(self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText)"))

    def click(self, selector: str) -> None:
        """Click with the mouse in the middle of the first element that a selector names.

        Raises:
            BrowserError: there is none, or it cannot be seen.
        """
        found = self.run(
            f"""(() => {{
                const element = document.querySelector({json.dumps(selector)});
                element.scrollIntoView({{block: "center", behavior: "instant"}});
                const box = element.getClientRects()[0];
                const at = {{x: box.x + Math.min(box.width, 40) / 2, y: box.y + box.height / 2}};
                const top = document.elementFromPoint(at.x, at.y);
                if (!element.contains(top) && !top?.contains(element)) throw new Error("something covers it");
                return at;
            }})()"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=found["x"], y=found["y"], button="left", clickCount=1)

    def press(self, *keys: str) -> None:
        """Press keys one after another: characters, or names of KEYS."""
        for key in keys:
            code = {"windowsVirtualKeyCode": KEYS[key]} if key in KEYS else {"text": key}
            self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **code)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def look(self, file: Path, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Write a picture of the page as PNG, ``width`` x ``height`` CSS pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        file.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def wrong(self) -> list[str]:
        """Return the forbidden events of the page: uncaught exceptions, and requests for anything except itself."""
        found = []
        for event in self.events:
            details = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(details["exceptionDetails"].get("exception", {}).get("description")))
            if event["method"] == "Network.requestWillBeSent" and not details["request"]["url"].startswith(("file:", "about:", "data:")):
                found.append(details["request"]["url"])
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the browser."""
        os.close(self._out)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
