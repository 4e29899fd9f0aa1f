"""A headless Chromium spoken to over a pipe, for the parts beside this file: what a page does, and how it looks."""

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

FLAGS = (
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
NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30  # seconds for an answer


def chromium():
    """The browser's program; the script ends where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    return program or sys.exit("no Chromium here (Debian: apt-get install chromium)")


class Browser:
    """One page of a browser of its own; `events` is what it reported since a page was last opened."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="ltr-browser-")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def connect():  # the browser reads from 3 and writes to 4
            low, high = os.dup(to_read), os.dup(to_write)
            spare = [os.dup(low), os.dup(high)]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        command = [chromium(), *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, close_fds=False, preexec_fn=connect, **quiet)  # noqa: PLW1509
        os.close(to_read)
        os.close(to_write)
        self.events, self.buffer, self.number, self.session = [], b"", 0, None
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *failure):
        self.process.terminate()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        """What the browser answers."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            message = self.message(PATIENCE)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message.get("result", {})
            self.note(message)

    def message(self, patience):
        """The next message."""
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], patience)[0]:
                raise TimeoutError(f"no word from the browser for {patience} s")
            self.buffer += os.read(self.read_end, 1 << 20)
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def note(self, event):
        """Keep the event; a dialog is closed, or nothing would go on."""
        self.events.append(event)
        if event.get("method") == "Page.javascriptDialogOpening":
            closing = {"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": False}}
            os.write(self.write_end, json.dumps(closing | {"sessionId": self.session}).encode() + b"\0")

    def open(self, path, settle=0.05):
        """Load the file; what happens until it is loaded and a moment after is in the events, which are returned."""
        self.events = []
        self.call("Page.navigate", url=Path(path).absolute().as_uri())
        until = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > until:
                raise TimeoutError(f"{path}: not loaded")
            self.note(self.message(PATIENCE))
        time.sleep(settle)
        self.call("Runtime.evaluate", expression="0")
        return self.events

    def value(self, expression):
        """What the expression is on the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def picture(self, out, *, width, height=800, media="", scheme="light", whole=True):
        """The page as a PNG."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(out).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, out):
        """The page as it prints."""
        Path(out).write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))
