"""Hostile names in every slot that could make a path: nothing is written, or removed, outside the output.

The slots: the name of a config, what it sweeps, the name of a bench and of a reranker, ids and tools of samples, the
files that run.json, leaderboard.json and a pack name, and the members of a zip file. A directory around the output is
compared before and after each command, and the places that absolute names point to are looked at. Ends with 1 when
anything outside changed.
"""

import itertools
import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from stresses.attacks import Cases, Figure, call, must, scratch
from subcommands import at_least
from tests.faults import contents, in_fork
from tests.made import tool_rows, written

CANARY = "ltr-escaped"
BASES = (
    *("../{c}", "../../{c}", "../../../../../../{c}", "a/../../{c}", "a/b/../../../{c}", "/{c}", "{root}/{c}"),
    *("//{c}", "{root}/outside/keep", "../outside/keep", "..\\{c}", "C:\\{c}", "\\\\host\\{c}", "~/{c}", "~root/{c}"),
    *("%2e%2e/{c}", "%252e%252e%252f{c}", "file:///{root}/{c}", "x#/../../{c}", "x?/../../{c}", "..;/{c}"),
    *("..../{c}", "$HOME/{c}", ".", "..", "...", "", " ", "./", "a/", ".hidden", "-rf", "--overwrite", "CON"),
    *("nul.txt", "a:b", "a*b", "*", "a\nb", "a\tb", "a\x00b", "a\u2025/{c}", "．．/{c}", "\u2024\u2024/{c}", "é\u0301"),
    *("\ufeff../{c}", "a" * 300, "{c};touch {root}/{c}", "`touch {root}/{c}`", "$(touch {root}/{c})"),
    *("|touch {root}/{c}", "{c}'\"<>&", "a/./b"),
)
TAILS = ("", "/", "/.", ".json", "/x")


def options(parser):
    """Options of the command line."""
    parser.add_argument("count", nargs="?", type=at_least(1), default=200, help="of names (default: %(default)s)")


def main(*, count):
    """A line a slot."""
    cases = Cases("paths", str(count))
    with scratch() as root:
        pairs = itertools.islice(itertools.product(TAILS, BASES), count)
        names = [(base.replace("{c}", CANARY).replace("{root}", str(root)) + tail) for tail, base in pairs]
        prepare(root)

        def attack(slot):
            return lambda place: tried(root, SLOTS[slot], names[place])

        places = [(place,) for place in range(count)]
        _, wrong = cases.all_attacked({slot: (places[: len(names)], attack(slot)) for slot in SLOTS})
    text = f"{count} names in {len(SLOTS)} slots, {wrong} wrote or removed anything outside"
    return Figure(text, is_good=not wrong, seconds=cases.seconds)


def prepare(root):
    """Make samples, a run, a batch, a pack and what must stay as it is."""
    (root / "outside").mkdir()
    (root / "outside" / "keep").write_text("stays")
    written("s.jsonl", tool_rows(range(6)))
    Path("c.yaml").write_text("name: one\nencoder: hash\ndata: {train: s.jsonl}\n")
    must("run c.yaml -o runs", "pack runs/one -o pack.zip")
    (root / "made").mkdir()
    for name in ("s.jsonl", "c.yaml", "runs", "pack.zip"):
        Path(name).rename(root / "made" / name)


def tried(root, slot, name):
    """Return what changed outside the output when the slot held the name."""
    work = root / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(root / "made", work)
    commands, before = slot(work, name), outside(root)
    for words in commands:
        in_fork(lambda words=words: (os.chdir(work), call(words))[1])
    after = outside(root)
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return [f"{name!r}: {path}" for path in changed[:3]]


def outside(root):
    """Return all that lies around the output, and in the places that absolute names and homes point to."""
    around = {name: content for name, content in contents(root).items() if not name.startswith(("work/out", "cache"))}
    homes = {path.parent for path in (Path("/x"), Path.home() / "x", Path(tempfile.gettempdir()) / "x")}
    return around | {f"{home}: {path.name}": b"" for home in homes for path in home.glob(f"*{CANARY}*")}


def config_name(work, name):
    """A run and a bench of that name."""
    quoted = json.dumps(name)
    (work / "c.yaml").write_text(f"name: {quoted}\nencoder: hash\ndata: {{train: s.jsonl}}\n")
    rerankers = f"rerankers: [{{name: random, label: {quoted}}}]"
    (work / "b.yaml").write_text(f"name: {quoted}\ndata: {{samples: s.jsonl}}\n{rerankers}\n")
    return [["run", "c.yaml", "-o", "out", "--overwrite"], ["bench", "b.yaml", "-o", "out/bench"]]


def swept(work, name):
    """Runs that are named after what they sweep."""
    sweep = f"sweep: {{data.tools: [null, {json.dumps(name)}]}}"
    (work / "c.yaml").write_text(f"name: a\nencoder: hash\ndata: {{train: s.jsonl}}\n{sweep}\n")
    return [["run", "c.yaml", "-o", "out", "--overwrite"]]


def ids(work, name):
    """Samples with the name as trace, node and tool, trained on and written in every format."""
    rows = [row | {"trace_id": f"{row['trace_id']}{name}", "node_id": name} for row in tool_rows(range(6))]
    written(work / "s.jsonl", (row | {"tool": f"{row['tool']}{name}"} for row in rows))
    formats = [["export", kind, "out/run", "-o", f"out/x.{kind}"] for kind in ("trec", "csv")]
    train = ["train", "s.jsonl", "-o", "out/run", "--encoder", "hash"]
    return [train, ["report", "out/run", "-o", "out/page.html"], *formats]


def run_record(work, name):
    """A run whose record, and a batch whose leaderboard, names such files."""
    runs = shutil.copytree(work / "runs", work / "out" / "runs")
    for path in (runs / "one" / "run.json", runs / "leaderboard.json"):
        path.write_text(json.dumps(renamed(json.loads(path.read_text()), name)))
    one, batch = "out/runs/one", ["run", "c.yaml", "-o", "out/runs"]
    reports = [["report", home, "-o", f"out/page{number}.html"] for number, home in enumerate((one, "out/runs"))]
    reads = [["validate", one], ["compare", one, one], ["pack", one, "-o", "out/pack"]]
    return [*reads, *reports, [*batch, "--resume"], [*batch, "--overwrite"]]


def renamed(value, name):
    """Return the document with the name in the place of every key that is a file, and of every name."""
    if isinstance(value, dict):
        changed = {name if "." in key else key: renamed(entry, name) for key, entry in value.items()}
        return changed | {key: name for key in ("run", "path") if key in value}
    return [renamed(entry, name) for entry in value] if isinstance(value, list) else value


def zipped(work, name):
    """A pack as a zip file whose members have such names."""
    with zipfile.ZipFile(work / "pack.zip") as pack:
        members = {info.filename: pack.read(info) for info in pack.infolist()}
    with zipfile.ZipFile(work / "evil.zip", "w") as pack:
        for member, content in members.items():
            pack.writestr(member, content)
        pack.writestr(zipfile.ZipInfo(name or "x"), b"outside")
    return [["rank", "evil.zip", "what is the map?"], ["pack", "evil.zip", "-o", "out/again"], ["validate", "evil.zip"]]


def output(work, name):
    """An output of that name under the output directory, as a script that trusts a name would write."""
    (work / "out").mkdir()
    safe = name.replace("..", "").lstrip("/") or "x"
    return [["train", "s.jsonl", "-o", f"out/{safe}", "--encoder", "hash"], ["init", f"out/{safe}-new"]]


SLOTS = {
    "names of configs": config_name,
    "sweeps": swept,
    "ids of samples": ids,
    "records of runs": run_record,
    "members of packs": zipped,
    "outputs": output,
}
