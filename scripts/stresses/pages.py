"""Pages made of hostile strings, in a headless Chromium; none may run script, open a dialog or fetch.

Every string of a run, of two runs compared, of a batch and of a bench is one of COUNT strings that would. Prints how
many pages did, and fails if any. --unescaped is the control: the same pages without escaping and without their policy
must be caught for at least 90 % of the strings, or the test sees nothing.
"""

import functools
import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

from ltr import load_config, run_batch
from ltr.benchmark.bench_run import Allowed, run_bench
from ltr.benchmark.config import load_bench
from ltr.experiments.batch import planned
from ltr.reporting import page as pages
from ltr.reporting.report import report_of
from stresses.browser import Browser
from stresses.cases import Cases, Figure
from stresses.hostile_strings import COUNT, hostile_bench, hostile_board, hostile_run, strings
from subcommands import ROOT, at_least

LEAST = 0.9  # of the strings must be caught by the control
LINES = 600  # to train on: the slots are the same with more
QUERIES = 12  # of a run: the slots are the same in all of them
HOOK = "window.fired=n=>console.log('fired '+n)"


def options(parser):
    """Options of the command line."""
    parser.add_argument("count", nargs="?", type=at_least(1), default=COUNT, help="of strings (default: %(default)s)")
    parser.add_argument("--unescaped", action="store_true", help="the control: pages that escape nothing")


def main(*, count, unescaped):
    """Open every page of every string."""
    if unescaped:
        escape_nothing()
    cases, caught, opened, total = Cases("pages", f"--unescaped {unescaped}"), set(), 0, {}
    texts = list(strings(count))
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        originals(Path(folder, "made"))
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=HOOK)

        def of_string(number):
            pages = hostile_pages(Path(folder, "made"), texts[number], Path(folder, "hostile"))
            return {kind: forbidden(browser.open(page, settle=0.02)) for kind, page in pages}

        for (number,), found in cases.outcomes([(number,) for number in range(count)], of_string):
            opened += len(found)
            for kind, counts in found.items():
                total = {key: total.get(key, 0) + value for key, value in counts.items()}
                if counts["scripts"] or counts["dialogs"]:
                    caught.add(number)
                if any(counts.values()) and not unescaped:
                    print(f"{kind}: {texts[number]!r}: {counts}", file=sys.stderr)
    text = f"{count} strings, {opened} pages: " + ", ".join(f"{value} {key}" for key, value in total.items())
    text += f"; strings that ran or opened something: {len(caught)} of {count}"
    if unescaped:
        missed = [text for number, text in enumerate(texts) if number not in caught]
        print(*map(repr, missed), sep="\n", file=sys.stderr)
        return Figure(f"without escaping: {text}", is_good=len(caught) >= LEAST * count, seconds=cases.seconds)
    return Figure(text, is_good=not any(total.values()), seconds=cases.seconds)


def originals(home):
    """A run, a second one, their batch and a bench, as they are made from some of the data of this checkout."""
    home.mkdir()
    lines = gzip.decompress((ROOT / "data/tools/train.jsonl.gz").read_bytes()).splitlines(keepends=True)
    (home / "train.jsonl").write_bytes(b"".join(lines[:LINES]))
    names = ("tools.yaml", "tools-recommended.yaml")
    configs = [load_config(ROOT / "configs" / name, [f"data.train={home / 'train.jsonl'}"]) for name in names]
    run_batch(planned(configs, home / "runs"), home / "runs")
    for file in (home / "runs").glob("*/*.jsonl"):
        file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:QUERIES]), "utf-8")
    run_bench(load_bench(str(ROOT / "configs" / "bench.yaml")), home / "bench", allowed=Allowed())


def hostile_pages(home, text, scratch):
    """The pages of the text."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(home, scratch)
    runs = [scratch / "runs" / name for name in ("tools", "tools-recommended")]
    for run in runs:
        hostile_run(run, text)
    hostile_board(scratch / "runs", text)
    hostile_bench(scratch / "bench", text)
    kinds = {"run": runs[:1], "comparison": runs, "batch": [scratch / "runs"], "bench": [scratch / "bench"]}
    for kind, directories in kinds.items():
        page = scratch / f"{kind}.html"
        page.write_text(report_of(directories, made=text), "utf-8")
        yield kind, page


def escape_nothing():
    """From here on pages are written as if nobody had thought of it."""
    from jinja2 import Environment, FunctionLoader

    without = pages.template_text(pages.PAGE).replace("{% if policy %}", "{% if false %}")
    load = functools.cache(lambda name: without if name == pages.PAGE else pages.template_text(name))
    bare = Environment(autoescape=False, loader=FunctionLoader(load))
    bare.filters["xmlattr"] = lambda attributes: "".join(f' {key}="{value}"' for key, value in attributes.items())
    bare.filters["page_table"] = pages.page_table
    pages.environment = lambda: bare


def forbidden(events):
    """What a page must never do, by kind."""
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
