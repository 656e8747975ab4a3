"""A real browser for tests: the machine's own Chromium, driven over its debugging pipe with nothing but the library.

One browser serves a whole test session. Every page collects what the browser says about it: console messages, errors,
broken policies, and each request that it made or tried to make.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PATIENCE = 60.0
# The browser reads commands from 3 and writes answers to 4; this becomes the browser once they are in place.
_LAUNCHER = """
import os, sys
ends = [os.dup(int(number)) for number in sys.argv[1:3]]
for place, end in zip((3, 4), [os.dup(end) if end in (3, 4) else end for end in ends]):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


def no_browser() -> NoReturn:
    """Skip the test, or fail where RNNCHECK_BROWSER says that a browser is required."""
    reason = "no Chromium on this machine; `make browser` installs Debian's where it can, or says how to get one"
    if os.environ.get("RNNCHECK_BROWSER") == "required":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


class Browser:
    """Chromium without a window. It speaks JSON messages that end with a zero byte, on two pipes."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        self._profile = tempfile.mkdtemp(prefix="rnncheck-browser-")
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        arguments = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-extensions", "--disable-background-networking", "--hide-scrollbars",
                     "--force-color-profile=srgb", f"--user-data-dir={self._profile}", "--remote-debugging-pipe",
                     "about:blank"]  # fmt: skip

        launcher = [sys.executable, "-c", _LAUNCHER, str(commands), str(answers)]
        self._process = subprocess.Popen(
            [*launcher, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(commands, answers)
        )
        os.close(commands)
        os.close(answers)
        self._last = 0
        self._buffer = b""
        self.pages: dict[str, Page] = {}

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come in between go to their pages."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        wanted = self._last
        while True:
            answer = self._receive()
            if answer.get("id") == wanted:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer.get("result", {})

    def pump(self, seconds: float) -> None:
        """Take in events for a while."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if b"\0" in self._buffer or select.select([self._from], [], [], left)[0]:
                self._receive()

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> Page:
        """A new page that shows a file."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self.pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            page.call(f"{domain}.enable")
        page.size(width, height)
        page.theme(dark)
        page.go(path.resolve().as_uri())
        return page

    def close(self) -> None:
        try:
            self.call("Browser.close")
            self._process.wait(timeout=10)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            assert time.monotonic() < end, "the browser does not answer"
            if select.select([self._from], [], [], 1.0)[0]:
                data = os.read(self._from, 1 << 20)
                assert data, "the browser has gone"
                self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        page = self.pages.get(answer.get("sessionId", ""))
        if page is not None and "method" in answer:
            page.on_event(answer["method"], answer["params"])
        return answer


class Page:
    """One open file."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self._loaded = False
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def on_event(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(parameters["message"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(parameters["args"])[:500])
        elif method == "Log.entryAdded":
            self.complaints.append(json.dumps(parameters["entry"])[:500])
        elif method == "Audits.issueAdded":
            self.complaints.append(json.dumps(parameters["issue"])[:500])

    def go(self, url: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=url)
        end = time.monotonic() + _PATIENCE
        while not self._loaded and time.monotonic() < end:
            self._browser.pump(0.02)
        assert self._loaded, f"{url} did not load"

    def size(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, dark: bool) -> None:
        value = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def media(self, kind: str) -> None:
        self.call("Emulation.setEmulatedMedia", media=kind)

    def run(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        codes = {"Enter": 13, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        common = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0])), "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def point(self, selector: str) -> None:
        """Move the pointer onto an element."""
        x, y = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const b = e.getBoundingClientRect();"
            f" return [b.x + b.width / 2, b.y + b.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        area: dict[str, Any] = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
            area = {"captureBeyondViewport": True, "clip": clip}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", **area)["data"]))

    def pdf(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)
        self._browser.pages.pop(self._session, None)
