"""A hostile client of ltr mcp: lines that are no messages, wrong types anywhere, huge and deep values, and no reading.

The server answers each request that can be answered, prints nothing but messages, and answers a good client's question
afterwards. Needs the package mcp. Ends with 1 when it died, printed anything else, or forgot a question.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from stresses.cases import Figure
from stresses.mutated_inputs import changed
from subcommands import ROOT, at_least
from tests.made import damaged, tool_rows, written

AT_ONCE = 50  # lines between two questions of a good client
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}}
CALL = {"name": "find_tools", "arguments": {"query": "what is the map?", "k": 2}}


def options(parser):
    """Options of the command line."""
    parser.add_argument("number", nargs="?", type=at_least(1), default=2000, help="of lines (default: %(default)s)")
    parser.add_argument("--seed", type=at_least(0), default=0, help="of every line (default: %(default)s)")


def main(*, number, seed):
    """What the server did."""
    if find_spec("mcp") is None:
        return "the package mcp is not installed: pip install mcp"
    draw, answered, problems = random.Random(seed), 0, []
    with tempfile.TemporaryDirectory() as folder:
        samples, run = written(Path(folder) / "s.jsonl", tool_rows(range(20))), Path(folder) / "run"
        ltr("train", samples, "-o", run, "--encoder", "hash", "-q").wait()
        server = ltr("mcp", run, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ask(server, request(0, "initialize", HELLO), 0, problems)
        send(server, b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        for first in range(0, number, AT_ONCE):
            for place in range(first, min(number, first + AT_ONCE)):
                send(server, hostile(draw, place))
            question = f"good-{first}"
            answer = ask(server, request(question, "tools/call", CALL), question, problems)
            answered += bool(answer and answer.get("result", {}).get("structuredContent", {}).get("tools"))
            if server.poll() is not None or problems:
                break
        server.stdin.close()
        code = server.wait(timeout=60)
    questions = -(-number // AT_ONCE)
    text = f"{number:,} hostile lines, {answered} of {questions} questions between them answered, exit {code}"
    print(*problems[:5], sep="\n", end="\n" if problems else "")
    return Figure(text, is_good=answered == questions and code == 0 and not problems)


def ltr(*words, **pipes):
    """A command as a process."""
    command = [sys.executable, "-m", "ltr", *map(str, words)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | pipes
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, **pipes)


def request(number, method, parameters):
    """A request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


def hostile(draw, number):
    """A line: a request with a value changed, its bytes damaged, or something huge, deep or foreign."""
    good = [
        request(number, "tools/call", CALL),
        request(number, "tools/list", {}),
        request(number, "initialize", HELLO),
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}},
    ]
    content = json.dumps(changed(draw, draw.choice(good))).encode()
    kind = draw.randrange(10)
    if kind == 0:
        content = damaged(draw, content)
    elif kind == 1:
        content = b"[" * draw.choice([10, 2000, 100_000])
    elif kind == 2:
        long = CALL | {"arguments": {"query": "map " * draw.choice([10, 300_000]), "k": 1}}
        content = json.dumps(request(number, "tools/call", long)).encode()
    elif kind == 3:
        content = draw.choice([b"", b"\x00\x01", b"\xff\xfe", b"null", b"3", b"[]", b'"x"', b"GET / HTTP/1.1", b"{}"])
    return content.replace(b"\n", b" ").replace(b"\r", b" ")


def send(server, content):
    """A line to the server."""
    try:
        server.stdin.write(content + b"\n")
        server.stdin.flush()
    except BrokenPipeError:
        return


def ask(server, message, number, problems):
    """The answer to the request; what comes before it are answers to others."""
    send(server, json.dumps(message).encode())
    while line := server.stdout.readline():
        try:
            answer = json.loads(line)
        except ValueError:
            problems.append(f"it printed {line[:100]!r}")
            return None
        if isinstance(answer, dict) and answer.get("id") == number:
            return answer
    problems.append("it ended")
    return None
