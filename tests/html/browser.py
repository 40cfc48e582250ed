# SPDX-License-Identifier: GPL-2.0-only
"""A headless Chromium, driven through a pipe (the DevTools protocol): nothing but the standard library.

It notes what a page says on its console, what it asks the network for, and what its policy forbids.
"""
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

DEADLINE_SECONDS = float(os.environ.get("DEADLINE_SECONDS", "120"))
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--remote-debugging-pipe", "--window-size=1400,1000"]


def find():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser(contextlib.AbstractContextManager):
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="correlator-html-")
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()

        def place_pipes():
            # Chromium reads at 3 and writes to 4; neither may be overwritten before it is copied.
            reader, writer = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reader, 3)
            os.dup2(writer, 4)

        self.process = subprocess.Popen(
            [find(), *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=place_pipes, close_fds=False, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.events = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"],
                                 flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Network", "Log":
            self.call(f"{domain}.enable")

    def __exit__(self, *_):
        for fd in self.commands, self.answers:
            os.close(fd)
        # Its own session: what it started ends with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.profile.cleanup()

    def receive(self):
        end = time.monotonic() + DEADLINE_SECONDS
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError(f"the browser said nothing for {DEADLINE_SECONDS} s")
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        while (answer := self.receive()).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def await_event(self, method):
        while True:
            for index, event in enumerate(self.events):
                if event.get("method") == method:
                    return self.events[:index + 1]
            self.events.append(self.receive())

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.await_event("Page.loadEventFired")

    def evaluate(self, expression):
        """What a script says in the page, as a value; a promise is awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key, shift=False):
        text = {"Enter": "\r", "Space": " "}.get(key, "")
        event = {"key": " " if key == "Space" else key, "code": key, "modifiers": 8 if shift else 0,
                 "windowsVirtualKeyCode": KEYS[key]}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def drag(self, start, end):
        """By the mouse, from one point of the window to another."""
        for kind, (x, y), buttons in (("mousePressed", start, 1), ("mouseMoved", end, 1),
                                      ("mouseReleased", end, 0)):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                      buttons=buttons, clickCount=1)

    def complaints(self):
        """Errors, warnings, and what was asked of the network since the page was opened."""
        self.evaluate("1")  # what was said before it has been read by now
        found = []
        for event in self.events:
            method, said = event.get("method"), event.get("params", {})
            if method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                found.append(json.dumps(said)[:500])
            if method == "Network.requestWillBeSent" and said["type"] != "Document" \
                    and not said["request"]["url"].startswith("data:"):
                found.append(said["request"]["url"])
        return found


KEYS = {"Enter": 13, "Space": 32, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36,
        "End": 35, "PageUp": 33, "PageDown": 34}
