"""Hostile names in every slot that could make a path: nothing is written, or removed, outside the output.

The slots: the name of a config, what it sweeps, the name of a bench and of a reranker, ids and tools of samples, the
files that run.json, leaderboard.json and a pack name, and the members of a zip file. A directory around the output is
compared before and after each command, and the places that absolute names point to are looked at. Ends with 1 when
anything outside changed.
"""

import contextlib
import itertools
import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from stresses.cases import Cases, Figure
from stresses.forked import call, preload
from subcommands import at_least
from tests.faults import contents, in_fork
from tests.made import tool_rows, written

CANARY = "ltr-escaped"
COUNT = 200
BASES = (
    *("../{c}", "../../{c}", "../../../../../../{c}", "a/../../{c}", "a/b/../../../{c}", "/{c}", "{root}/{c}", "//{c}"),
    *(
        "{root}/outside/keep",
        "../outside/keep",
        "..\\{c}",
        "C:\\{c}",
        "\\\\host\\{c}",
        "~/{c}",
        "~root/{c}",
        "$HOME/{c}",
    ),
    *("%2e%2e/{c}", "%252e%252e%252f{c}", "file:///{root}/{c}", "x#/../../{c}", "x?/../../{c}", "..;/{c}", "..../{c}"),
    *(".", "..", "...", "", " ", "./", "a/", ".hidden", "-rf", "--overwrite", "CON", "nul.txt", "a:b", "a*b", "*"),
    *("a\nb", "a\tb", "a\x00b", "a\u2025/{c}", "．．/{c}", "\u2024\u2024/{c}", "é\u0301", "\ufeff../{c}", "a" * 300),
    *("{c};touch {root}/{c}", "`touch {root}/{c}`", "$(touch {root}/{c})", "|touch {root}/{c}", "{c}'\"<>&", "a/./b"),
)
TAILS = ("", "/", "/.", ".json", "/x")


def options(parser):
    """Options of the command line."""
    parser.add_argument("count", nargs="?", type=at_least(1), default=COUNT, help="of names (default: %(default)s)")


def main(*, count):
    """A line for what changed outside."""
    preload()
    cases, wrong = Cases("paths", str(count)), 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        os.environ["LTR_CACHE_DIR"] = str(root / "cache")
        pairs = itertools.islice(itertools.product(TAILS, BASES), count)
        names = [(base.replace("{c}", CANARY).replace("{root}", str(root)) + tail) for tail, base in pairs]
        prepare(root)
        ran = [(slot, place) for place in range(len(names)) for slot in SLOTS]
        for (slot, place), found in cases.outcomes(ran, lambda slot, place: tried(root, slot, names[place])):
            if found:
                wrong += 1
                print(f"{slot} {names[place]!r}: {found}", flush=True)
    text = f"{count} names in {len(SLOTS)} slots, {wrong} wrote or removed anything outside"
    return Figure(text, is_good=not wrong, seconds=cases.seconds)


def prepare(root):
    """Samples, a run, a batch, a pack and what must stay as it is."""
    (root / "outside").mkdir()
    (root / "outside" / "keep").write_text("stays")
    (root / "made").mkdir()
    with contextlib.chdir(root / "made"):
        written("s.jsonl", tool_rows(range(6)))
        Path("c.yaml").write_text("name: one\nencoder: hash\ndata: {train: s.jsonl}\n")
        for words in ("run c.yaml -o runs", "pack runs/one -o pack.zip"):
            if in_fork(lambda words=words: call(words.split())):
                raise RuntimeError(f"ltr {words} fails: run it by hand")


def tried(root, slot, name):
    """What changed outside the output when the slot held the name; None where nothing did."""
    work = root / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(root / "made", work)
    commands = SLOTS[slot](work, name)
    before = outside(root)
    for words in commands:
        in_fork(lambda words=words: in_folder(work, words))
    after = outside(root)
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return [str(path) for path in changed[:3]] or None


def in_folder(work, words):
    """The command, called in the folder."""
    os.chdir(work)
    return call(words)


def outside(root):
    """All that lies around the output, and the places that absolute names and homes point to."""
    around = {name: content for name, content in contents(root).items() if not name.startswith(("work/out", "cache"))}
    homes = {path.parent for path in (Path("/x"), Path.home() / "x", Path(tempfile.gettempdir()) / "x")}
    return around | {f"{home}: {path.name}": b"" for home in homes for path in home.glob(f"*{CANARY}*")}


def config_name(work, name):
    """A run and a bench of that name."""
    (work / "c.yaml").write_text(f"name: {json.dumps(name)}\nencoder: hash\ndata: {{train: s.jsonl}}\n")
    (work / "b.yaml").write_text(
        f"name: {json.dumps(name)}\ndata: {{samples: s.jsonl}}\n"
        f"rerankers: [{{name: random, label: {json.dumps(name)}}}]\n"
    )
    return [["run", "c.yaml", "-o", "out", "--overwrite"], ["bench", "b.yaml", "-o", "out/bench"]]


def swept(work, name):
    """Runs that are named after what they sweep."""
    (work / "c.yaml").write_text(
        f"name: a\nencoder: hash\ndata: {{train: s.jsonl}}\nsweep: {{data.tools: [null, {json.dumps(name)}]}}\n"
    )
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
    return [
        *(["validate", one], ["compare", one, one], ["pack", one, "-o", "out/pack"], *reports),
        *([*batch, "--resume"], [*batch, "--overwrite"]),
    ]


def renamed(value, name):
    """The document with the name in the place of every key that is a file, and of every name."""
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
