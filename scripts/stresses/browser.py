"""A headless Chromium spoken to over a pipe: what a page does when it is opened."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from processes import QUIET

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe"),
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30  # seconds for an answer


class Browser:
    """One page of a browser of its own; `events` is what it reported since a page was last opened."""

    def __enter__(self):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        program = program or sys.exit("no Chromium here (Debian: apt-get install chromium)")
        self.profile = tempfile.mkdtemp(prefix="ltr-browser-")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def connect():  # the browser reads from 3 and writes to 4
            low, high = os.dup(to_read), os.dup(to_write)
            spare = [os.dup(low), os.dup(high)]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        command = [program, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        self.process = subprocess.Popen(command, close_fds=False, preexec_fn=connect, **QUIET)  # noqa: PLW1509
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

    def send(self, number, method, **parameters):
        """Write a message."""
        message = {"id": number, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.write_end, json.dumps(message).encode() + b"\0")

    def call(self, method, **parameters):
        """Return what the browser answers."""
        self.number += 1
        self.send(self.number, method, **parameters)
        while (message := self.message()).get("id") != self.number:
            self.note(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message.get("result", {})

    def message(self):
        """Return the next message."""
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], PATIENCE)[0]:
                raise TimeoutError(f"no word from the browser for {PATIENCE} s")
            self.buffer += os.read(self.read_end, 1 << 20)
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def note(self, event):
        """Keep the event; a dialog is closed, or nothing would go on."""
        self.events.append(event)
        if event.get("method") == "Page.javascriptDialogOpening":
            self.send(0, "Page.handleJavaScriptDialog", accept=False)

    def open(self, path):
        """Load the file and return the events until it is loaded and a moment after."""
        self.events, until = [], time.monotonic() + PATIENCE
        self.call("Page.navigate", url=Path(path).absolute().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > until:
                raise TimeoutError(f"{path}: not loaded")
            self.note(self.message())
        time.sleep(0.02)
        self.call("Runtime.evaluate", expression="0")
        return self.events
