"""Pages made of hostile strings, in a headless Chromium; none may run script, open a dialog or fetch.

Every string of a run, of two runs compared, of a batch and of a bench is one of COUNT strings that would. Prints how
many pages did, and fails if any. --unescaped is the control: the same pages without escaping and without their policy
must be caught for at least 90 % of the strings, or the test sees nothing.
"""

import gzip
import json
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

from stresses.attacks import Cases, Figure, must, scratch
from stresses.browser import Browser
from subcommands import ROOT, at_least
from tests.hostile_strings import COUNT, hostile_bench, hostile_board, hostile_run, strings

LEAST = 0.9  # of the strings must be caught by the control
LINES = 600  # to train on: the slots are the same with more
QUERIES = 12  # of a run: the slots are the same in all of them
HOOK = "window.fired=n=>console.log('fired '+n)"
RUNS = ("tools", "tools-recommended")
PAGES = {"run": "runs/tools", "comparison": "runs/tools runs/tools-recommended", "batch": "runs", "bench": "bench"}
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def options(parser):
    """Options of the command line."""
    parser.add_argument("count", nargs="?", type=at_least(1), default=COUNT, help="of strings (default: %(default)s)")
    parser.add_argument("--unescaped", action="store_true", help="the control: pages that escape nothing")


def main(*, count, unescaped):
    """Open every page of every string."""
    cases, caught, opened, total = Cases("pages", f"--unescaped {unescaped}"), set(), 0, Counter()
    texts = list(strings(count))
    with scratch(), Browser() as browser:
        originals()
        if unescaped:
            escape_nothing()
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=HOOK)

        def of_string(number):
            make_pages(texts[number], keeps_policy=not unescaped)
            return {kind: forbidden(browser.open(f"hostile/{kind}.html")) for kind in PAGES}

        for (number,), found in cases.outcomes([(number,) for number in range(count)], of_string):
            opened += len(found)
            for kind, counts in found.items():
                total.update(counts)
                if counts["scripts"] or counts["dialogs"]:
                    caught.add(number)
                if any(counts.values()) and not unescaped:
                    print(f"{kind}: {texts[number]!r}: {counts}", file=sys.stderr)
    text = f"{count} strings, {opened} pages: " + ", ".join(f"{value} {key}" for key, value in total.items())
    text += f"; strings that ran or opened something: {len(caught)} of {count}"
    if unescaped:
        print(*(repr(text) for number, text in enumerate(texts) if number not in caught), sep="\n", file=sys.stderr)
        return Figure(f"without escaping: {text}", is_good=len(caught) >= LEAST * count, seconds=cases.seconds)
    return Figure(text, is_good=not any(total.values()), seconds=cases.seconds)


def originals():
    """Make a run, a second one, their batch and a bench of some of the data of this checkout."""
    lines = gzip.decompress((ROOT / "data/tools/train.jsonl.gz").read_bytes()).splitlines(keepends=True)
    Path("train.jsonl").write_bytes(b"".join(lines[:LINES]))
    configs = " ".join(str(ROOT / "configs" / f"{name}.yaml") for name in RUNS)
    must(f"run {configs} -o made/runs --set data.train={Path('train.jsonl').absolute()}")
    must(f"bench {ROOT / 'configs' / 'bench.yaml'} -o made/bench")
    for file in Path("made/runs").glob("*/*.jsonl"):
        file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:QUERIES]), "utf-8")


def make_pages(text, *, keeps_policy):
    """Write the pages of the text below hostile/."""
    home = Path("hostile")
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree("made", home)
    for name in RUNS:
        hostile_run(home / "runs" / name, text)
    hostile_board(home / "runs", text)
    hostile_bench(home / "bench", text)
    for kind, directories in PAGES.items():
        page = home / f"{kind}.html"
        must(f"report {' '.join(f'{home}/{each}' for each in directories.split())} -o {page}")
        if not keeps_policy:
            page.write_text(POLICY.sub("", page.read_text("utf-8")), "utf-8")


def escape_nothing():
    """Let pages be written from here on as if nobody had thought of it."""
    import jinja2

    whole = jinja2.Environment.__init__
    jinja2.Environment.__init__ = lambda self, *_, **options: whole(self, **options | {"autoescape": False})
    jinja2.defaults.DEFAULT_FILTERS["xmlattr"] = lambda attributes: "".join(
        f' {key}="{value}"' for key, value in attributes.items()
    )


def forbidden(events):
    """Return how often a page did what it must never do, by kind."""
    counts = {"scripts": 0, "dialogs": 0, "requests": 0, "console errors": 0}
    for event in events:
        method, details = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            counts["scripts"] += json.dumps(details).count("fired ")
        elif method == "Page.javascriptDialogOpening":
            counts["dialogs"] += 1
        elif method == "Network.requestWillBeSent" and details["type"] != "Document":
            counts["requests"] += 1
        elif method == "Runtime.exceptionThrown" or (
            method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning")
        ):
            counts["console errors"] += 1
    return counts
