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
from pathlib import Path

from stresses.attacks import Cases, Figure, call, finished, scratch
from subcommands import at_least
from tests.made import tool_rows, written

VECTORS = (
    *("\x1b[31m", "\x1b[2J", "\x1b]0;own\x07", "\x1b]8;;http://evil.test\x1b\\", "\x1b]52;c;ZXZpbA==\x07", "\x07"),
    *("\x1bP1$q\x1b\\", "\x1b_x\x1b\\", "\x1b^x\x9c", "\x9b31m", "\x9d0;own\x9c", "\x90q\x9c", "\r", "\x08\x08"),
    *("\x7f", "\x0b\x0c", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "\x85", "\u061c", "[/x]", "[red]"),
    *("[link=http://evil.test]", ":bomb:", "\x1b", "\x9b", "\x1b(0"),
)
FRAMES = (
    *("{v}M{n}", "a {v}M{n}", "{v}{v}M{n}", "é{v}M{n} 漢", "{v}M{n}[/]", "\\{v}M{n}", "[{v}M{n}]", "{v}M{n}\t"),
    *("-{v}M{n}", "'{v}M{n}\""),
)
OURS = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[ABCDGJK])|[\r\n\t]")
FOREIGN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
WITH_DATA = """
validate s.jsonl --tools tools.json
train s.jsonl -o run --encoder hash --test s.jsonl
train s.jsonl -o run --encoder hash --overwrite --format json
evaluate run s.jsonl --by-tool --explain --baselines --group-by node_id
evaluate run s.jsonl -o evaluated --format json
rank run --samples s.jsonl -k 3 --explain
rank run --samples s.jsonl --format json
rank run --samples s.jsonl --format tsv
compare run evaluated
validate run
report run -o page.html
export csv s.jsonl -o x.csv
export trec run -o x.run
featurize s.jsonl -o x.jsonl --encoder hash -v
import csv log.csv -o imported.jsonl
import chats.jsonl -o chats.out.jsonl
init made --from s.jsonl --encoder hash
run c.yaml -o runs
bench b.yaml -o bench
pack run -o packed
update run outcomes.jsonl
mcp s.jsonl
cache info
env
list features --code plugin.py
""".strip().splitlines()
WITH_NAME = """
train {} -o x
train few.jsonl -o {}/{} --encoder hash
rank {} query
rank run {}
list {}
{}
train s.jsonl -o x --features {}
train s.jsonl -o x --set {}=1
evaluate run s.jsonl --metrics {}
config check bad.yaml
validate bad.jsonl
compare run {}
""".strip().splitlines()  # {} is the string: most of them fail, and say why


def options(parser):
    """Options of the command line."""
    parser.add_argument("count", nargs="?", type=at_least(3), default=300, help="of strings (default: %(default)s)")


def main(*, count):
    """What came raw."""
    pairs = itertools.islice(itertools.cycle(itertools.product(FRAMES, VECTORS)), count)
    texts = [frame.format(v=vector, n=n) for n, (frame, vector) in enumerate(pairs)]
    cases = Cases("terminal", str(count))
    os.environ |= {"COLUMNS": "200", "TERM": "xterm-256color"}

    def with_data(line):
        output, code = on_terminal(line.split())
        if code not in (0, 3) and not line.startswith("mcp"):
            return [f"exit {code}: {output[-200:]!r}"]
        return problems(output, texts)

    def with_name(line, number):
        text = texts[number]
        Path("bad.yaml").write_text(f"{json.dumps(text)}: 3\nname: {json.dumps(text)}\n", "utf-8")
        bad = {"trace_id": text, "node_id": 1, "query": text, "label": text}
        Path("bad.jsonl").write_text(json.dumps(bad), "utf-8")
        output, _ = on_terminal([word.replace("{}", text) for word in line.split()])
        return problems(output, [text])

    with scratch():
        prepare(texts)
        named = [(line, number) for number in range(count) for line in WITH_NAME]
        attacks = {"data": ([(line,) for line in WITH_DATA], with_data), "names": (named, with_name)}
        tried, wrong = cases.all_attacked(attacks)
    text = f"{count} strings, {tried:,} commands on a terminal, {wrong} with a foreign control byte or a traceback"
    return Figure(text, is_good=not wrong, seconds=cases.seconds)


def on_terminal(words):
    """Return what the command prints on a terminal, and its exit code."""
    child, terminal = pty.fork()
    if not child:
        code = 1
        try:
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
            code = call(words, is_shown=True)
            sys.stdout.flush()
        finally:
            os._exit(code)
    blocks = []
    with contextlib.suppress(OSError):  # the terminal is closed
        while block := os.read(terminal, 1 << 16):
            blocks.append(block)
    os.close(terminal)
    return b"".join(blocks).decode(errors="replace"), finished(child)


def problems(output, texts):
    """Return what the output holds that it must not; a command that prints nothing did not run."""
    if not output.strip():
        return ["nothing is printed"]
    if "Traceback (most recent call last)" in output:
        return [f"a traceback: {output[-300:]!r}"]
    raw = [f"{text!r} is printed as it is" for text in texts if FOREIGN.search(text) and text in output]
    foreign = FOREIGN.search(OURS.sub("", output))
    return raw[:1] or ([f"{foreign[0]!r} is printed"] if foreign else [])


def prepare(texts):
    """Write samples, a catalogue, logs and configs that hold the strings wherever a text can stand."""
    rows = list(tool_rows(range(len(texts))))
    for place, row in enumerate(rows):
        text = texts[place // 10 % len(texts)]
        row |= {"query": f"{row['query']} {text}", "trace_id": f"t {text}", "tool_description": f"about {text}"}
        row |= {"node_id": f"n{place // 5 % 2}", "tool": f"{row['tool']} get_{text}", "context": text}
    written("s.jsonl", rows)
    written("few.jsonl", tool_rows(range(2)))
    tools = {row["tool"]: {"name": row["tool"], "description": row["tool_description"]} for row in rows}
    Path("tools.json").write_text(json.dumps({"tools": list(tools.values())}))
    cells = [text.replace('"', '""').replace("\0", "") for text in texts]
    lines = [f'"{cell}","x{cell}|y{cell}","x{cell}"' for cell in cells if "\n" not in cell and "\r" not in cell]
    Path("log.csv").write_text("query,candidates,label\n" + "\n".join(lines) + "\n", "utf-8")
    written("chats.jsonl", map(chat, texts))
    offered = {"offered": [rows[0]["tool"], rows[1]["tool"]], "right": rows[0]["tool"]}
    written("outcomes.jsonl", ({"query": text} | offered for text in texts))
    Path("c.yaml").write_text(
        "name: one\nencoder: hash\ndata: {train: s.jsonl}\n"
        f"sweep: {{train.l2: [0.1, 0.2]}}\n# {json.dumps(texts[0])}\n"
    )
    Path("b.yaml").write_text(
        "rerankers: [random, {name: bm25, label: '[link=http://evil.test]:bomb:[/x]'}]\ndata: {samples: s.jsonl}\n"
    )
    Path("plugin.py").write_text(
        f"import ltr\n@ltr.feature('tool.own', 'rel', title={texts[1]!r})\n"
        f"def own(candidates, state, context):\n    {texts[2]!r}\n    return candidates\n"
    )


def chat(text):
    """Return a line of a log of chats."""
    called = {"id": text, "type": "function", "function": {"name": f"call {text}", "arguments": "{}"}}
    names = (f"call {text}", "other")
    tools = [{"type": "function", "function": {"name": name, "description": text}} for name in names]
    said = [{"role": "user", "content": text}, {"role": "assistant", "tool_calls": [called]}]
    return {"messages": said, "tools": tools}
