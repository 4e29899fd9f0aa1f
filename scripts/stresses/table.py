"""Write the table of docs/reliability.md from the figures that were recorded with LTR_STRESS_RECORD=1."""

import json
import shlex
import subprocess
import time

from stresses.attacks import Figure
from subcommands import ROOT

FIGURES, PAGE = ROOT / "docs/reliability.json", ROOT / "docs/reliability.md"
BEGIN = "| what | target | figure | command | time | measured |"
ROWS = {  # what is promised, and the target, by the words of its command
    "mutations": ("Damaged input: samples, configs, compressed files, models, logs and so on", "140,000: 0 tracebacks"),
    "kills": ("kill -9 while a command runs", "600 of 600 resumed to the same bytes"),
    "kills --commands batch": ("kill -9 of a batch of 24 runs", "the same bytes"),
    "faults": ("A call that changes the disk fails, or is the last before a kill", "0 earlier results lost"),
    "disk": ("A full disk, a directory without the right to write, a full stdout", "0 wrong"),
    "signals": ("SIGINT and SIGTERM", "200: 130 or 143 within 2 s"),
    "pages": ("Hostile strings in every slot of every page", "600: 0 scripts, dialogs, requests"),
    "pages --unescaped": ("The same without escaping: the control", "at least 90 % caught"),
    "terminal": ("Hostile strings on a terminal", "300 × every command: 0 control bytes"),
    "paths": ("Hostile names in every slot that makes a path", "200: 0 outside the output"),
    "concurrency": ("Processes at once", "16 × 50 on one cold cache: 0 errors"),
    "journal": ("Appends to a journal, writers killed", "0 outcomes lost"),
    "determinism": ("The same run again", "100: same bytes; 12 kernels: same ranks"),
    "sockets": ("Network addresses used", "0"),
    "sizes": ("Peak memory", "tools below 500 MB, a line below 300 MB"),
    "limits": ("What small files, numbers in models and forks may cost", "0 wrong"),
    "client": ("A hostile MCP client", "every question answered"),
    "cluster": ("A node of a cluster killed in the middle", "the same bytes"),
    "pythons": ("The wheel under each Python", "metrics equal, weights to 1e-9"),
    "extras": ("The tests with other encoders installed", "all pass"),
    "mutants": ("Mutants that die", "90 % of those that are not equivalent"),
}


def main():
    """The rows, written below what stands above them."""
    figures = json.loads(FIGURES.read_text("utf-8"))
    lines = [BEGIN, "| --- | --- | --- | --- | --- | --- |"]
    for name, (what, target) in ROWS.items():
        for found in figures.get(name, [{}]):
            shown = f"`{found['command']}`" if found else ""
            when, seconds = f"{found.get('date', '')} {found.get('commit', '')}".strip(), found.get("seconds", 0)
            took = "" if not found else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
            figure = found.get("figure", "not measured yet")
            lines.append(f"| {what} | {target} | {figure} | {shown} | {took} | {when} |")
    before, _, after = PAGE.read_text("utf-8").partition(BEGIN)
    rest = "\n".join(line for line in after.splitlines()[1:] if not line.startswith("|"))
    PAGE.write_text(f"{before.rstrip()}\n\n" + "\n".join(lines) + "\n" + (f"{rest}\n" if rest.strip() else ""), "utf-8")
    measured = sum(name in figures for name in ROWS)
    return Figure(f"{measured} of {len(ROWS)} rows are measured", is_good=True)


def record(words, text, seconds):
    """Keep the figure of a part beside those of other options; some parts have rows of their own with an option."""
    name = max((row for row in ROWS if set(row.split()) <= set(words)), key=len, default=words[0])
    figures = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    found = {"figure": text, "command": f"scripts/stress {shlex.join(words)}", "seconds": round(seconds, 1)}
    found |= {"date": time.strftime("%Y-%m-%d"), "commit": commit}
    others = [each for each in figures.get(name, []) if each["command"] != found["command"]]
    figures[name] = [*others, found]
    FIGURES.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", "utf-8")
