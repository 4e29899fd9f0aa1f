"""Every command on a terminal, with hostile text wherever text of strangers can stand: no control byte but our own.

The strings colour, set titles, make links, write the clipboard, go back, hide and reorder text, in escapes of seven
and eight bits, and use the markup of Rich. They stand in samples, catalogues, logs and configs, and in names of files
and arguments of commands that fail. Ends with 1 when one reaches the terminal raw, or a traceback is printed.
"""

import contextlib
import itertools
import json
import os
import pty
import re
import sys
import tempfile
from pathlib import Path

from stresses.cases import Cases, Figure
from stresses.forked import call_as_it_is, preload
from subcommands import at_least
from tests.made import tool_rows, written

VECTORS = (
    *("\x1b[31m", "\x1b[2J", "\x1b]0;own\x07", "\x1b]8;;http://evil.test\x1b\\", "\x1b]52;c;ZXZpbA==\x07"),
    *(
        "\x1bP1$q\x1b\\",
        "\x1b_x\x1b\\",
        "\x1b^x\x9c",
        "\x9b31m",
        "\x9d0;own\x9c",
        "\x90q\x9c",
        "\x07",
        "\r",
        "\x08\x08",
    ),
    *("\x7f", "\x0b\x0c", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\x85", "\u061c", "[/x]", "[red]"),
    *("[link=http://evil.test]", ":bomb:", "\x1b", "\x9b", "\x1b(0"),
)
FRAMES = (
    "{v}M{n}",
    "a {v}M{n}",
    "{v}{v}M{n}",
    "é{v}M{n} 漢",
    "{v}M{n}[/]",
    "\\{v}M{n}",
    "[{v}M{n}]",
    "{v}M{n}\t",
    "-{v}M{n}",
    "'{v}M{n}\"",
)
COUNT = 300
OURS = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[ABCDGJK])|[\r\n\t]")
FOREIGN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
WITH_DATA = (
    "validate s.jsonl --tools tools.json",
    "train s.jsonl -o run --encoder hash --test s.jsonl",
    "train s.jsonl -o run --encoder hash --overwrite --format json",
    "evaluate run s.jsonl --by-tool --explain --baselines --group-by node_id",
    "evaluate run s.jsonl -o evaluated --format json",
    "rank run --samples s.jsonl -k 3 --explain",
    "rank run --samples s.jsonl --format json",
    "rank run --samples s.jsonl --format tsv",
    "compare run evaluated",
    "validate run",
    "report run -o page.html",
    "export csv s.jsonl -o x.csv",
    "export trec run -o x.run",
    "featurize s.jsonl -o x.jsonl --encoder hash -v",
    "import csv log.csv -o imported.jsonl",
    "import chats.jsonl -o chats.out.jsonl",
    "init made --from s.jsonl --encoder hash",
    "run c.yaml -o runs",
    "bench b.yaml -o bench",
    "pack run -o packed",
    "update run outcomes.jsonl",
    "mcp s.jsonl",
    "cache info",
    "env",
    "list features --code plugin.py",
)
WITH_NAME = (  # {} is the string: most of them fail, and say why
    ("train", "{}", "-o", "x"),
    ("train", "few.jsonl", "-o", "{}/{}", "--encoder", "hash"),
    ("rank", "{}", "query"),
    ("rank", "run", "{}"),
    ("list", "{}"),
    ("{}",),
    ("train", "s.jsonl", "-o", "x", "--features", "{}"),
    ("train", "s.jsonl", "-o", "x", "--set", "{}=1"),
    ("evaluate", "run", "s.jsonl", "--metrics", "{}"),
    ("config", "check", "bad.yaml"),
    ("validate", "bad.jsonl"),
    ("compare", "run", "{}"),
)


def options(parser):
    """Options of the command line."""
    parser.add_argument("count", nargs="?", type=at_least(3), default=COUNT, help="of strings (default: %(default)s)")


def strings(count):
    """The first so many: each vector in each frame, with a mark behind it."""
    pairs = itertools.islice(itertools.cycle(itertools.product(FRAMES, VECTORS)), count)
    return [frame.format(v=vector, n=n) for n, (frame, vector) in enumerate(pairs)]


def main(*, count):
    """A line for what came raw."""
    preload()
    texts, cases, wrong = strings(count), Cases("terminal", str(count)), 0
    os.environ |= {"COLUMNS": "200", "TERM": "xterm-256color"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["LTR_CACHE_DIR"] = str(Path(folder, "cache"))
        prepare(texts)
        lines = [("data", words) for words in WITH_DATA]
        lines += [("name", place, n) for n in range(count) for place in range(len(WITH_NAME))]
        ran = 0
        for case, found in cases.outcomes(lines, lambda kind, *rest: WORK[kind](texts, *rest)):
            ran += 1
            wrong += bool(found)
            if found:
                print(f"{case}: {found}", flush=True)
    text = f"{count} strings, {ran:,} commands on a terminal, {wrong} with a foreign control byte or a traceback"
    return Figure(text, is_good=not wrong, seconds=cases.seconds)


def with_data(texts, words):
    """What is wrong with a command that reads the strings."""
    output, code = on_terminal(words.split())
    if code not in (0, 3) and not words.startswith("mcp"):
        return f"exit {code}: {output[-200:]!r}"
    return problem(output, texts)


def with_name(texts, place, number):
    """What is wrong with a command that is given the string."""
    text = texts[number]
    Path("bad.yaml").write_text(f"{json.dumps(text)}: 3\nname: {json.dumps(text)}\n", "utf-8")
    Path("bad.jsonl").write_text(json.dumps({"trace_id": text, "node_id": 1, "query": text, "label": text}), "utf-8")
    output, _ = on_terminal([word.replace("{}", text) for word in WITH_NAME[place]])
    return problem(output, [text])


WORK = {"data": with_data, "name": with_name}


def on_terminal(words):
    """What the command prints on a terminal, and its exit code."""
    child, terminal = pty.fork()
    if not child:
        code = 1
        try:
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
            code = call_as_it_is(words)
            sys.stdout.flush()
        finally:
            os._exit(code)
    blocks = []
    with contextlib.suppress(OSError):  # the terminal is closed
        while block := os.read(terminal, 1 << 16):
            blocks.append(block)
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return b"".join(blocks).decode(errors="replace"), code


def problem(output, texts):
    """What the output holds that it must not; a command that prints nothing did not run."""
    if not output.strip():
        return "nothing is printed"
    if "Traceback (most recent call last)" in output:
        return f"a traceback: {output[-300:]!r}"
    raw = next((text for text in texts if FOREIGN.search(text) and text in output), None)
    if raw:
        return f"{raw!r} is printed as it is"
    foreign = FOREIGN.search(OURS.sub("", output))
    return f"{foreign[0]!r} is printed" if foreign else None


def prepare(texts):
    """Samples, a catalogue, logs and configs that hold the strings wherever a text can stand."""
    rows = list(tool_rows(range(len(texts))))
    names = [f"get_{text}" for text in texts]
    for place, row in enumerate(rows):
        text = texts[place // 10 % len(texts)]
        row |= {"query": f"{row['query']} {text}", "trace_id": f"t {text}", "tool_description": f"about {text}"}
        row["node_id"] = f"n{place // 5 % 2}"
        row["tool"] = f"{row['tool']} {names[place // 10 % len(names)]}"
        row["context"] = text
    written("s.jsonl", rows)
    written("few.jsonl", tool_rows(range(2)))
    tools = [
        {"name": row["tool"], "description": row["tool_description"]} for row in {r["tool"]: r for r in rows}.values()
    ]
    Path("tools.json").write_text(json.dumps({"tools": tools}))
    cells = [text.replace('"', '""').replace("\0", "") for text in texts]
    lines = [f'"{cell}","x{cell}|y{cell}","x{cell}"' for cell in cells if "\n" not in cell and "\r" not in cell]
    Path("log.csv").write_text("query,candidates,label\n" + "\n".join(lines) + "\n", "utf-8")
    written("chats.jsonl", (chat(text) for text in texts))
    written(
        "outcomes.jsonl",
        ({"query": text, "offered": [rows[0]["tool"], rows[1]["tool"]], "right": rows[0]["tool"]} for text in texts),
    )
    name = json.dumps(texts[0])
    Path("c.yaml").write_text(
        f"name: one\nencoder: hash\ndata: {{train: s.jsonl}}\nsweep: {{train.l2: [0.1, 0.2]}}\n# {name}\n"
    )
    Path("b.yaml").write_text(
        "rerankers: [random, {name: bm25, label: '[link=http://evil.test]:bomb:[/x]'}]\ndata: {samples: s.jsonl}\n"
    )
    Path("plugin.py").write_text(
        f"import ltr\n@ltr.feature('tool.own', 'rel', title={texts[1]!r})\n"
        f"def own(candidates, state, context):\n    {texts[2]!r}\n    return candidates\n"
    )


def chat(text):
    """A line of a log of chats."""
    called = {"id": text, "type": "function", "function": {"name": f"call {text}", "arguments": "{}"}}
    names = (f"call {text}", "other")
    tools = [{"type": "function", "function": {"name": name, "description": text}} for name in names]
    return {
        "messages": [{"role": "user", "content": text}, {"role": "assistant", "tool_calls": [called]}],
        "tools": tools,
    }
