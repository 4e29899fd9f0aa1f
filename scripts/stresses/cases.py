"""The cases of a part: each is done once, and a later call with LTR_STRESS_RESUME goes on behind those that were done.

Several processes share the cases of a part with LTR_STRESS_SHARE=0/3, 1/3 and 2/3; a call without it then tells of all.
"""

import hashlib
import json
import os
import time
from dataclasses import dataclass

from subcommands import ROOT

STATE = ROOT / ".stress"


@dataclass(frozen=True, slots=True)
class Figure:
    """What a part found, in one line, and how long it took."""

    text: str
    is_good: bool
    seconds: float | None = None  # None: as long as the part ran


class Cases:
    """Outcomes by case, a line each in a file of .stress/; with LTR_STRESS_RESUME those of the same settings count."""

    def __init__(self, part, settings):
        digest = hashlib.sha256(settings.encode()).hexdigest()[:8]
        self.path, self.seconds = STATE / f"{part}-{digest}.jsonl", 0.0
        self.mine, self.of = map(int, os.environ.get("LTR_STRESS_SHARE", "0/1").split("/"))
        entries = self.earlier(settings) if os.environ.get("LTR_STRESS_RESUME") else None
        if entries is None:
            STATE.mkdir(exist_ok=True)
            self.path.write_text(json.dumps({"settings": settings}) + "\n")
        self.entries = entries or {}

    def earlier(self, settings):
        """What an earlier call with the same settings did, whole lines only; None without one."""
        if not self.path.exists():
            return None
        lines = [line for line in self.path.read_text().splitlines(keepends=True) if line.endswith("\n")]
        entries = [json.loads(line) for line in lines]
        if not entries or entries[0] != {"settings": settings}:
            return None
        return {json.dumps(entry["case"]): entry for entry in entries[1:]}

    def outcomes(self, cases, work):
        """Each case (a tuple of plain values) with what work(*case) returned, plain values too."""
        for place, case in enumerate(cases):
            key = json.dumps(case)
            if key not in self.entries:
                if place % self.of != self.mine:
                    continue
                begin = time.monotonic()
                outcome = work(*case)
                line = json.dumps({"case": case, "outcome": outcome, "seconds": time.monotonic() - begin})
                with self.path.open("a") as file:
                    file.write(line + "\n")
                self.entries[key] = json.loads(line)
            self.seconds += self.entries[key]["seconds"]
            yield case, self.entries[key]["outcome"]
